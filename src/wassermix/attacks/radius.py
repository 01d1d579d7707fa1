"""What an attack's radius may be: written as 8/255, and small enough to mean something."""

from __future__ import annotations

import math

from wassermix.attacks.norms import Norm
from wassermix.core.errors import InputError

__all__ = ["Bounds", "check_eps", "parse_number"]

Bounds = tuple[float, float] | None
"""The lowest and highest value of an input; None for vectors without a scale."""


def parse_number(text: float | str) -> float:
    """A number, or one written as a fraction: ``"8/255"`` is 0.0313..."""
    try:
        top, slash, bottom = str(text).partition("/")
        value = float(top) / float(bottom if slash else 1)
    except (ValueError, ZeroDivisionError) as error:
        raise InputError(f"'{text}' is not a number; expected one such as 0.5 or 8/255") from error
    if math.isnan(value):
        raise InputError(f"'{text}' is not a number; expected one such as 0.5 or 8/255")
    return value


def check_eps(
    eps: float, norm: Norm, *, bounds: Bounds, dimension: int | None, allow_any: bool = False
) -> None:
    """Refuse a radius whose ball holds every input: no classifier could resist it.

    On inputs in [0,1] with ``d`` entries that is ``eps > 1`` in linf and ``eps > sqrt(d)`` in l2, which
    is not asked while the dimension is unknown (None).
    """
    if not eps >= 0:
        raise InputError(f"attack: eps is {eps}; expected a radius of 0 or more")
    if bounds is None or allow_any or (norm == "l2" and dimension is None):
        return
    widest = (bounds[1] - bounds[0]) * (1.0 if norm == "linf" else math.sqrt(dimension or 0))
    if eps > widest:
        raise InputError(
            f"attack: eps is {eps:g} in {norm}, but inputs in [{bounds[0]:g}, {bounds[1]:g}] "
            f"lie at most {widest:g} apart, so the ball holds every input; "
            + (_LINF_HINT if norm == "linf" else "eps is on the data scale, not on 0-255: write 128/255; ")
            + "to attack without a limit on purpose set allow_any_eps=True"
        )


_LINF_HINT = (
    "eps is on the data scale: write 8/255; the 'linf 2.0' of the paper's MNIST tables was "
    "an l2 radius, norm='l2'; "
)
