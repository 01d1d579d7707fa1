"""Does a model of others fit the data? Scale, channel order and normalisation are tried out and said."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from wassermix.core.classifier import Classifier, evaluating
from wassermix.core.errors import InputError
from wassermix.core.intervals import compare_paired
from wassermix.core.samples import LabelledSamples, evenly_spaced

__all__ = ["are_probabilities", "model_warnings", "require_logits"]

LOOKED_AT = 200
SURE = 0.001
"""Another reading of the inputs is mentioned where McNemar's exact p is below this and it gains this much:"""
GAIN = 0.1


def require_logits(logits: object, *, samples: int, name: str) -> Tensor:
    """Refuse outputs that are no finite ``(n, k)`` tensor with ``k >= 2``, saying what to do."""
    expected = f"expected logits ({samples}, k), one column for each class"
    if isinstance(logits, dict) or hasattr(logits, "logits"):
        raise InputError(f"{name} gives a {type(logits).__name__}; {expected}: wrap it to return its logits")
    if not isinstance(logits, Tensor):
        raise InputError(f"{name} gives a {type(logits).__name__}; {expected}")
    if logits.dim() != 2 or len(logits) != samples:
        raise InputError(f"{name} gives outputs of shape {tuple(logits.shape)}; {expected}")
    if logits.shape[1] == 1:
        raise InputError(
            f"{name} gives one column, as a score of one class; {expected}: for a score s of two classes "
            "return torch.cat([-s / 2, s / 2], dim=1)"
        )
    if not bool(torch.isfinite(logits).all()):
        raise InputError(f"{name} answers with NaN or infinite numbers; its weights are broken")
    return logits


@torch.no_grad()
def model_warnings(
    model: Classifier, samples: LabelledSamples, *, mean: tuple[float, ...], std: tuple[float, ...]
) -> list[str]:
    """Sentences about what seems wrong between a model and the data; empty where all is well.

    The model is asked about 200 evenly spaced samples as they are, and as it would see them on another
    scale, with the data's ``mean`` and ``std`` taken out, or with its channels in another order. A reading
    with which it is clearly more often right is named.
    """
    rows = torch.tensor(evenly_spaced(len(samples), LOOKED_AT))
    x, y = samples.get(rows), samples.y[rows]
    with evaluating(model):
        logits = require_logits(model(x), samples=len(x), name="the model")
        right = logits.argmax(dim=1) == y
        found = [*_probabilities(logits), *_one_class(logits, y)]
        words, other = max(_readings(model, x, y, mean, std), key=lambda one: int(one[1].sum()))
    if _clearly_better(other, right):
        found.append(
            f"The model is right on {right.float().mean():.0%} of {len(x)} samples as they are, but on "
            f"{other.float().mean():.0%} {words}"
        )
    return found


def are_probabilities(outputs: Tensor) -> bool:
    """Whether outputs ``(n, k)`` are shares that sum to 1, as after a softmax."""
    sums = outputs.sum(dim=1)
    return bool((outputs >= 0).all()) and torch.allclose(sums, torch.ones_like(sums), atol=1e-3)


def _probabilities(logits: Tensor) -> Iterator[str]:
    if are_probabilities(logits):
        yield (
            "The model gives probabilities, not logits: certificates hold all the same, but the gradients of "
            "attacks vanish; remove its last softmax, or return the logarithm"
        )


def _one_class(logits: Tensor, y: Tensor) -> Iterator[str]:
    said = logits.argmax(dim=1).unique()
    if len(said) == 1 and len(y.unique()) > 1:
        yield f"The model says class {int(said)} whatever it is shown: weights or scale are probably off"


def _readings(
    model: Classifier, x: Tensor, y: Tensor, mean: tuple[float, ...], std: tuple[float, ...]
) -> Iterator[tuple[str, Tensor]]:
    """What else the model may have been made for, and where it would be right then."""
    readings: dict[str, Callable[[Tensor], Tensor]] = {
        "with the data's mean and deviation taken out: it lacks normalisation; give --mean and --std": (
            lambda z: (z - _column(mean, z)) / _column(std, z)
        )
    }
    if x.dim() == 4:
        readings["on the scale 0 to 255: give --std 1/255"] = lambda z: 255 * z
        readings["on the scale -1 to 1: give --mean 0.5 --std 0.5"] = lambda z: 2 * z - 1
        if x.shape[1] == 3:
            readings["with red and blue exchanged: it was made for BGR images"] = lambda z: z.flip(1)
    for words, change in readings.items():
        yield words, model(change(x)).argmax(dim=1) == y


def _column(values: tuple[float, ...], like: Tensor) -> Tensor:
    return torch.tensor(values, dtype=like.dtype).reshape(1, -1, *[1] * (like.dim() - 2))


def _clearly_better(other: Tensor, plain: Tensor) -> bool:
    test = compare_paired(other.numpy(), plain.numpy())
    return test.difference >= GAIN and test.p_value < SURE
