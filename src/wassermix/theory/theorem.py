"""The paper's theorem on augmentation, as printed: its conditions, its probability, and what its proof needs.

The theorem (section 4) says: with probability at least ``P(|X| <= log(n1) / sigma) P(A and B)``, ``X ~ N(0,
I_d)``, the augmented estimate has an error no larger. The proof needs another event, whose probability tends
to 0, and the printed bound can be above the probability that simulation finds: see :func:`improvement`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import stats

from wassermix.theory.augmentation import estimates
from wassermix.theory.gaussian_model import score

__all__ = ["Setting", "conditions_hold", "improvement", "printed_probability", "proof_probability"]


@dataclass(frozen=True)
class Setting:
    """The theorem's quantities: ``dim`` d, ``length`` |mu|, ``sigma``, ``n0``, ``n1`` and ``shrinkage`` r."""

    dim: int
    length: float
    sigma: float
    n0: int
    n1: int
    shrinkage: float

    @property
    def inner(self) -> float:
        """``sqrt(n0) (r + n0) / (sqrt(n1) sigma)``: the inner radius of event A, which is in event B too."""
        return math.sqrt(self.n0) * (self.shrinkage + self.n0) / (math.sqrt(self.n1) * self.sigma)


def conditions_hold(setting: Setting) -> bool:
    """``r n1 + n0 > sqrt(n1) log n1`` and ``inner <= log n1``; ``inner <= |mu|`` for B's root.

    (The theorem prints ``t`` for ``r`` in the first; it asks them of a number ``N1 < n1``. Here ``n1``
    itself must satisfy them, which is stricter.)
    """
    s = setting
    enough = s.shrinkage * s.n1 + s.n0 > math.sqrt(s.n1) * math.log(s.n1)
    return enough and s.inner <= math.log(s.n1) and s.inner <= s.length


def printed_probability(setting: Setting) -> float:
    """``P(|X| <= log(n1) / sigma) P(A) P(B)``; length and direction of ``X`` are independent, so A and B are.

    ``A``: ``inner <= |X| <= log n1``, a chi distribution's. ``B``: ``mu' X / |X| <= sqrt(|mu|^2 -
    inner^2)``, where the cosine ``c`` of a random direction has ``(1 + c) / 2 ~ Beta((d-1)/2, (d-1)/2)``;
    ``dim >= 2``.
    """
    s = setting
    norm, half = stats.chi(s.dim), (s.dim - 1) / 2
    ring = max(0.0, norm.cdf(math.log(s.n1)) - norm.cdf(s.inner))
    cosine = math.sqrt(max(0.0, s.length**2 - s.inner**2)) / s.length
    return float(norm.cdf(math.log(s.n1) / s.sigma) * ring * stats.beta.cdf((1 + cosine) / 2, half, half))


def proof_probability(setting: Setting) -> float:
    """What the proof uses for the first factor: ``P(|theta_n1 - r mu| <= r log(n1) / n1)``, tending to 0.

    ``theta_n1 - r mu ~ N(0, sigma^2 I / n1)``, so it is ``P(|X| <= r log(n1) / (sigma sqrt(n1)))``, not the
    printed ``P(|X| <= log(n1) / sigma)``.
    """
    s = setting
    return float(stats.chi(s.dim).cdf(s.shrinkage * math.log(s.n1) / (s.sigma * math.sqrt(s.n1))))


def improvement(setting: Setting, *, count: int, generator: np.random.Generator) -> tuple[float, float]:
    """Share of ``count`` simulated estimates that augmentation did not make worse, and its standard error."""
    s = setting
    mu = np.zeros(s.dim)
    mu[0] = s.length
    plain, augmented = estimates(
        mu, s.sigma, s.n0, ratio=s.n1 / s.n0, shrinkage=s.shrinkage, count=count, generator=generator
    )
    share = float(np.mean(score(augmented, mu, s.sigma) >= score(plain, mu, s.sigma)))
    return share, math.sqrt(max(share * (1 - share), 1 / count) / count)
