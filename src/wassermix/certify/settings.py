"""The settings of a certification: everything that a certificate must say about itself."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from wassermix.core.errors import InputError
from wassermix.core.settings import as_record, from_record, setting

__all__ = ["BLOCK", "Backend", "CertifySettings", "Layout", "Precision", "default_radii"]

BLOCK = 128
"""Noise draws in one seeded block."""
MOST_DRAWS = 10**9
"""More would take a year, and a damaged file that asks for them all of the memory."""
FINEST = 2**24
"""Grids with so many steps per unit are finer than float32, so nothing could be told to lie on them."""

Backend = Literal["auto", "eager", "compile"]
Layout = Literal["channels_last", "contiguous"]
Precision = Literal["float32", "float64", "bfloat16"]
Bound = Literal["randomised", "plain"]
Prior = tuple[tuple[float, float, float], ...]
"""A mixture of betas: (weight, a, b) of each; weights sum to 1."""
SAMPLERS = ("auto", "exact", "gaussian")
FORMER_SAMPLER = "torch"
"""The noise of versions that drew from torch's own generator: 32 bits of seed, kept to replay their files."""

_FIELD_GRIDS = {0.25: 0.75, 0.5: 1.75, 1.0: 2.5}
_REQUIRED = ("sigma", "mode", "n", "alpha")
"""What a file must say: a certificate does not borrow these from a default."""


def default_radii(sigma: float) -> tuple[float, ...]:
    """The radii that the field's tables show for this sigma; for another sigma 0, sigma/2, ..., 3 sigma."""
    if sigma in _FIELD_GRIDS:
        return tuple(0.25 * i for i in range(round(_FIELD_GRIDS[sigma] / 0.25) + 1))
    return tuple(0.5 * i * sigma for i in range(7))


@dataclass(frozen=True, kw_only=True)
class CertifySettings:
    """How to certify: rule, noise, budget, level, and what runs the model.

    ``mode`` is the name of a rule: ``fixed`` (Cohen's procedure: ``n0`` draws pick the class, ``n`` fresh
    ones bound it), ``grid`` (stops as soon as all ``radii`` are proved or hopeless), ``tolerance`` (stops
    when the radius is known to within ``tolerance``), or another's own. ``evaluation`` lets rules other
    than ``fixed`` count the known label instead of spending draws on picking a class; a prediction of
    another class then shows as an abstention. ``alpha`` is the probability that an image's certificate is
    false.

    ``sampler="exact"`` certifies the classifier "round to the images' grid, clip, then predict" with noise
    drawn in integers, so that the guarantee holds to the last bit for inputs on that grid; ``auto`` is
    ``exact`` where the images lie on one. ``backend="auto"`` measures, where there is much to draw, which
    batch size and layout are fastest here and whether compiling pays; the file says what was taken, and
    ``auto`` only where the parts of it took different ones. ``bound="randomised"`` is Stevens' sharper
    form of the Clopper-Pearson bound, ``"plain"`` the field's own.
    """

    sigma: float = setting(help="the noise; by default the run's own", identity=False, from_run=True)
    mode: str = setting("fixed", "fixed: the field's own; grid, tolerance: fewer draws")
    n0: int = setting(100, "draws that pick the class")
    n: int = setting(100_000, "noise draws for each image (at most, where the mode stops early)")
    alpha: float = setting(0.001, "probability that an image's certificate is false")
    radii: tuple[float, ...] = setting((), "radii of the table and the grid, with commas", identity=False)
    tolerance: float = setting(0.0, "tolerance mode: width of radius; 0 is sigma/10")
    seed: int = setting(0, "seed of the noise", identity=False)
    evaluation: bool = setting(
        True, "count the votes of the known label; else the class is picked first", hidden=True
    )
    batch_size: int = setting(
        256, f"noisy copies in one forward, a multiple of {BLOCK}", identity=False, hidden=True
    )
    backend: Backend = setting(
        "auto", "what runs the model; auto measures what is fastest where it pays", identity=False
    )
    precision: Precision = setting("float32", "bfloat16 certifies another classifier")
    sampler: str = setting("auto", "exact: integer noise for 8- or 16-bit images; gaussian: floats")
    bound: Bound = setting("randomised", "plain: the field's own Clopper-Pearson bound, never larger")
    share: float = setting(
        0.5, "share of alpha for looks before the budget; the rest is for the bound at its end", hidden=True
    )
    prior: Prior = setting(
        (),
        "grid mode: betas (weight, a, b) for the e-values, fixed before any draw",
        identity=False,
        hidden=True,
    )
    layout: Layout = setting(
        "channels_last", "how batches of images lie in memory", identity=False, hidden=True
    )
    grid: int = setting(
        0, "exact sampler: steps of the images' grid per unit; 0 finds it", identity=False, hidden=True
    )

    def __post_init__(self) -> None:
        _check(self)
        radii = tuple(sorted({0.0, *map(float, self.radii)})) if self.radii else default_radii(self.sigma)
        object.__setattr__(self, "radii", radii)
        object.__setattr__(self, "tolerance", float(self.tolerance) or 0.1 * self.sigma)

    @property
    def name(self) -> str:
        """The file name of such a certification, unless another is given."""
        return f"{self.mode.replace(':', '.')}-s{self.sigma:g}-n{self.n}"

    def with_backend(self, backend: Backend) -> CertifySettings:
        """The same settings with the backend that was really used."""
        return replace(self, backend=backend)

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON; the layout only where it is not the one that files do not mention."""
        record = as_record(self)
        return {key: value for key, value in record.items() if (key, value) != ("layout", "channels_last")}

    @staticmethod
    def from_dict(values: Mapping[str, Any]) -> CertifySettings:
        """Back from :meth:`as_dict`; other keys are passed over, so a whole summary works too."""
        missing = [key for key in _REQUIRED if values.get(key) is None]
        if missing:
            raise InputError(f"a certification's parameters lack {', '.join(sorted(missing))}")
        # what files of earlier versions do not say is what those versions did
        share = 1.0 if values.get("mode") == "tolerance" else 0.5
        former = {"sampler": FORMER_SAMPLER, "bound": "plain", "share": share}
        return from_record(CertifySettings, {**former, **values})


def _check(settings: CertifySettings) -> None:
    """Raise an :class:`InputError` that names the first setting that cannot be meant."""
    s = settings
    _choose("backend", s.backend, get_args(Backend))
    _choose("layout", s.layout, get_args(Layout))
    _choose("precision", s.precision, get_args(Precision))
    _choose("bound", s.bound, get_args(Bound))
    _demand(s.sampler in (*SAMPLERS, FORMER_SAMPLER), "sampler", s.sampler, f"one of {', '.join(SAMPLERS)}")
    _demand(0 < s.share <= 1, "share", s.share, "a share above 0, at most 1")
    proper = all(0 < number < math.inf for part in s.prior for number in part)
    _demand(proper, "prior", s.prior, "betas with positive (weight, a, b)")
    _demand(math.isfinite(s.sigma) and s.sigma > 0, "sigma", s.sigma, "a positive number")
    _demand(0 < s.alpha < 1, "alpha", s.alpha, "a level between 0 and 1, such as 0.001")
    _demand(1 <= s.n <= MOST_DRAWS, "n", s.n, f"1 to {MOST_DRAWS:,} draws")
    _demand(1 <= s.n0 <= MOST_DRAWS, "n0", s.n0, f"1 to {MOST_DRAWS:,} draws")
    _demand(0 <= s.grid < FINEST, "grid", s.grid, f"steps per unit below {FINEST}, or 0 to find them")
    _demand(s.tolerance >= 0, "tolerance", s.tolerance, "a positive width of radius, or 0 for 0.1 * sigma")
    _demand(all(math.isfinite(r) and r >= 0 for r in s.radii), "radii", s.radii, "numbers of at least 0")
    whole = s.batch_size > 0 and s.batch_size % BLOCK == 0
    _demand(whole, "batch_size", s.batch_size, f"a multiple of the noise block, {BLOCK}")


def _choose(name: str, value: str, choices: Sequence[str]) -> None:
    _demand(value in choices, name, value, f"one of {', '.join(choices)}")


def _demand(holds: bool, name: str, value: object, expected: str) -> None:
    if not holds:
        raise InputError(f"certify: {name} is {value!r}; expected {expected}")
