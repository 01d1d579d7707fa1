"""What cannot be combined, said before training starts."""

from __future__ import annotations

from wassermix.methods.method import Method

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
        regularizer: the regulariser, if any: it adds a term of its own on clean pairs and goes with all.
        shape: the shape of one sample, ``(c, h, w)`` or ``(d,)``, where known.
    """
    names = type(method).__name__, type(augment).__name__
    if hasattr(augment, "on") and not getattr(method, "one_view", False):
        return (
            f"{names[1]} mixes inside the network, in one forward of one copy of each sample, but {names[0]} "
            "runs several copies; use erm or gaussian with it, or mixup with this method"
        )
    if shape is None:
        return None
    return _misfit(method, shape) or (_misfit(augment, shape) if augment is not None else None)


def _misfit(part: object, shape: tuple[int, ...]) -> str | None:
    name = type(part).__name__
    if len(shape) != 3 and getattr(part, "needs_images", False):
        return f"{name} works on images (c, h, w), but the data's samples have shape {shape}; choose another"
    if len(shape) == 3 and getattr(part, "norm", None) == "linf" and getattr(part, "eps", 0.0) > 1:
        return (
            f"{name}: an linf ball of radius {getattr(part, 'eps', 0.0):g} holds every image in [0, 1]; eps "
            "is on that scale: write 8/255, or norm=l2 for the paper's MNIST setting"
        )
    return None
