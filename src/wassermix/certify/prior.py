"""A prior for the e-values of ``grid``, learnt from images that are not certified with it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import special

from wassermix.certify.settings import Prior
from wassermix.core.errors import InputError

__all__ = ["learn_prior"]

FAMILY = ((0.5, 0.5), (1.0, 1.0), *((float(a), 1.0) for a in (5, 20, 100, 500, 2500, 12500)))
"""The betas that are mixed: ever closer to certainty."""
FLAT = 0.02
"""The share that is spread evenly, so that no image is unforeseen."""


def learn_prior(hits: npt.ArrayLike, draws: npt.ArrayLike, *, rounds: int = 200) -> Prior:
    """Weights of a fixed family of betas that make the counts of other images likely (by EM).

    The counts must come from other images than those to be certified, or from other draws. The guarantee
    does not depend on how good the prior is, only the number of draws does; on image classifiers spread
    like those of the benchmark the saving over Beta(1/2, 1/2) was, in simulation, within 2%.
    """
    k, n = np.broadcast_arrays(np.asarray(hits, dtype=np.float64), np.asarray(draws, dtype=np.float64))
    if k.ndim != 1 or not k.size or bool(((k < 0) | (k > n)).any()):
        raise InputError("a prior is learnt from hits and draws of at least one image, with hits <= draws")
    fit = np.stack([special.betaln(k + a, n - k + b) - special.betaln(a, b) for a, b in FAMILY], axis=1)
    likelihood = np.exp(fit - fit.max(axis=1, keepdims=True))
    weights = np.full(len(FAMILY), 1 / len(FAMILY))
    for _ in range(rounds):
        owners = likelihood * weights
        weights = (owners / owners.sum(axis=1, keepdims=True)).mean(axis=0)
    weights = (1 - FLAT) * weights + FLAT / len(FAMILY)
    return tuple((float(weight), a, b) for weight, (a, b) in zip(weights, FAMILY))
