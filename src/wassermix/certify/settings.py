"""The settings of a certification: everything that a certificate must say about itself."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, get_args

from wassermix.core.errors import InputError

__all__ = ["BLOCK", "Backend", "CertifySettings", "Mode", "Precision", "default_radii"]

BLOCK = 128
"""Noise draws in one seeded block."""

Mode = Literal["fixed", "grid", "tolerance"]
Backend = Literal["eager", "compile", "auto"]
Precision = Literal["float32", "float64", "bfloat16"]

_FIELD_GRIDS = {0.25: 0.75, 0.5: 1.75, 1.0: 2.5}


def default_radii(sigma: float) -> tuple[float, ...]:
    """The radii that the field's tables show for this sigma; for another sigma 0, sigma/2, ..., 3 sigma."""
    if sigma in _FIELD_GRIDS:
        return tuple(0.25 * i for i in range(round(_FIELD_GRIDS[sigma] / 0.25) + 1))
    return tuple(0.5 * i * sigma for i in range(7))


@dataclass(frozen=True)
class CertifySettings:
    """How to certify: mode, noise, budget, level, and what runs the model.

    ``mode`` is ``fixed`` (Cohen's procedure: ``n0`` draws pick the class, ``n`` fresh ones bound it),
    ``grid`` (stops as soon as all ``radii`` are proved or hopeless) or ``tolerance`` (stops when the
    radius is known to within ``tolerance``). ``evaluation`` lets ``grid`` and ``tolerance`` count the
    known label instead of spending draws on picking a class; a prediction of another class then shows
    as an abstention. ``alpha`` is the probability that an image's certificate is false.
    """

    sigma: float
    mode: Mode = "fixed"
    n0: int = 100
    n: int = 100_000
    alpha: float = 0.001
    radii: tuple[float, ...] = ()
    tolerance: float = 0.0
    seed: int = 0
    evaluation: bool = True
    batch_size: int = 256
    backend: Backend = "eager"
    precision: Precision = "float32"

    def __post_init__(self) -> None:
        _check(self)
        radii = tuple(sorted({0.0, *map(float, self.radii)})) if self.radii else default_radii(self.sigma)
        object.__setattr__(self, "radii", radii)
        object.__setattr__(self, "tolerance", float(self.tolerance) or 0.1 * self.sigma)

    @property
    def picks_class(self) -> bool:
        """Whether ``n0`` separate draws pick the class first."""
        return self.mode == "fixed" or not self.evaluation

    @property
    def name(self) -> str:
        """The file name that design gives to such a certification."""
        return f"{self.mode}-s{self.sigma:g}-n{self.n}"

    def with_backend(self, backend: Backend) -> CertifySettings:
        """The same settings with the backend that was really used."""
        return replace(self, backend=backend)

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {**asdict(self), "radii": list(self.radii)}

    @staticmethod
    def from_dict(values: dict[str, Any]) -> CertifySettings:
        """Back from :meth:`as_dict`; other keys are passed over, so a whole summary works too."""
        names = CertifySettings.__dataclass_fields__
        missing = {"sigma", "mode", "n", "alpha"} - values.keys()
        if missing:
            raise InputError(f"a certification's parameters lack {', '.join(sorted(missing))}")
        chosen = {key: value for key, value in values.items() if key in names}
        return CertifySettings(**{**chosen, "radii": tuple(values.get("radii", ()))})


def _check(settings: CertifySettings) -> None:
    """Raise an :class:`InputError` that names the first setting that cannot be meant."""
    s = settings
    _choose("mode", s.mode, get_args(Mode))
    _choose("backend", s.backend, get_args(Backend))
    _choose("precision", s.precision, get_args(Precision))
    _demand(math.isfinite(s.sigma) and s.sigma > 0, "sigma", s.sigma, "a positive number")
    _demand(0 < s.alpha < 1, "alpha", s.alpha, "a level between 0 and 1, such as 0.001")
    _demand(s.n >= 1, "n", s.n, "at least 1 draw")
    _demand(s.n0 >= 1, "n0", s.n0, "at least 1 draw")
    _demand(s.tolerance >= 0, "tolerance", s.tolerance, "a positive width of radius, or 0 for 0.1 * sigma")
    _demand(all(math.isfinite(r) and r >= 0 for r in s.radii), "radii", s.radii, "numbers of at least 0")
    whole = s.batch_size > 0 and s.batch_size % BLOCK == 0
    _demand(whole, "batch_size", s.batch_size, f"a multiple of the noise block, {BLOCK}")


def _choose(name: str, value: str, choices: Sequence[str]) -> None:
    _demand(value in choices, name, value, f"one of {', '.join(choices)}")


def _demand(holds: bool, name: str, value: object, expected: str) -> None:
    if not holds:
        raise InputError(f"certify: {name} is {value!r}; expected {expected}")
