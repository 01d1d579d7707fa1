"""What cannot be combined, said before training starts."""

from __future__ import annotations

from collections.abc import Sequence

from wassermix.augment.protocol import Augmentation
from wassermix.core.registry import has_trait
from wassermix.geodesic.protocol import Regularizer
from wassermix.methods.phases import Phases
from wassermix.methods.protocol import InBall, Method, counting_of, teacher_of

__all__ = ["compatible"]


def compatible(
    method: Method,
    augment: object | None = None,
    regularizer: object | None = None,
    *,
    shape: tuple[int, ...] | None = None,
) -> str | None:
    """None where the parts go together, else the sentence that says why not.

    Args:
        method: the training method.
        augment: the augmenter, if any.
        regularizer: the regulariser, if any.
        shape: the shape of one sample, ``(c, h, w)`` or ``(d,)``, where known.
    """
    for part, protocol in ((method, Method), (regularizer, Regularizer)):
        if part is not None and not isinstance(part, protocol):
            lacking = [name for name in _members(protocol) if not hasattr(part, name)]
            return f"{type(part).__name__} is no {protocol.__name__.lower()}: it lacks {', '.join(lacking)}"
    names = type(method).__name__, type(augment).__name__
    inside = augment is not None and Augmentation(augment).mixes_inside
    if inside and not has_trait(method, "one_view"):
        return (
            f"{names[1]} mixes inside the network, in one forward of one copy of each sample, but {names[0]} "
            "runs several copies; use erm or gaussian with it, or mixup with this method"
        )
    if augment is not None and counting_of(method) is not None and not Augmentation(augment).adds:
        return (
            f"{names[1]} mixes every sample, but {names[0]}'s teacher '{teacher_of(method)}' votes on the "
            "samples as they are; let the weights' average teach (method.teacher=average average=0.999), or "
            "use an augmenter that adds samples, such as geodesic"
        )
    if shape is None:
        return None
    parts = (method, *_inside(method), augment, regularizer)
    reasons = (_misfit(part, shape) for part in parts if part is not None)
    return next((reason for reason in reasons if reason is not None), None)


def _members(protocol: type) -> list[str]:
    return sorted(name for name in vars(protocol) if not name.startswith("_"))


def _inside(method: Method) -> Sequence[Method]:
    return method.methods if isinstance(method, Phases) else ()


def _misfit(part: object, shape: tuple[int, ...]) -> str | None:
    name = type(part).__name__
    if len(shape) != 3 and has_trait(part, "needs_images"):
        return f"{name} works on images (c, h, w), but the data's samples have shape {shape}; choose another"
    if len(shape) == 3 and isinstance(part, InBall) and part.norm == "linf" and part.eps >= 1:
        return (
            f"{name}: an linf ball of radius {part.eps:g} holds every image in [0, 1]; eps is on that scale: "
            "write 8/255, or norm=l2 for the paper's MNIST setting"
        )
    return None
