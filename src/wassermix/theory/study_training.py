"""The study's parts on training: what augmentation is worth, both regularisers, the theorem's probability."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import optimize

from wassermix.theory.augmentation import break_even_ratio, effective_samples, worst_ratio
from wassermix.theory.curves import BATCHES, MU, SIGMA, Curve, Values, jackknifed, means, stream
from wassermix.theory.gaussian_model import sample, standard_error
from wassermix.theory.regularizer import (
    label_entropy,
    linear_minimizer,
    linear_regularizer,
    logistic_path_loss,
    printed_minimizer,
    total_variation,
)
from wassermix.theory.theorem import (
    Setting,
    conditions_hold,
    improvement,
    printed_probability,
    proof_probability,
)

__all__ = ["augmented", "linear", "regularized", "theorem"]

DECAY = 1.0  # the proposition's lambda2
TIMES = np.linspace(0, 1, 101)


def augmented(samples: int) -> dict[str, Any]:
    """Effective number of real samples over m, for some r = 1 - 2t, from simulated trainings."""
    ratios, n0, count = np.array([0.5, 1, 2, 4, 8, 16, 32, 64, 128]), 10, samples // 100
    return {
        "ratio": ratios.tolist(),
        "n0": n0,
        "trainings": count,
        "shrinkage": {
            f"{r:g}": {
                **_effective_curve(n0, ratios, r, count=count),
                "worst": [worst_ratio(r), effective_samples(1.0, worst_ratio(r), r)],
                "break_even": break_even_ratio(r),
            }
            for r in (0.1, 0.25, 2**0.5 - 1, 0.6)
        },
    }


def _effective_curve(n0: int, ratios: Values, r: float, *, count: int) -> Curve:
    found = [_effective(n0, int(n0 * m), r, count=count) for m in ratios]
    return {
        "theory": [effective_samples(1.0, m, r) for m in ratios],
        "simulated": [value for value, _ in found],
        "error": [error for _, error in found],
    }


def _effective(n0: int, n1: int, r: float, *, count: int) -> tuple[float, float]:
    """The effective number in units of ``n0``, read off the mean and spread of simulated estimates.

    The estimate of ``n`` real samples has ``|mean|^2 / variance of a coordinate = n |mu|^2 / sigma^2``. Of
    that ratio ``R`` the relative squared error is ``2 / (d count)`` from the variance and ``4 / (R count)``
    from the mean.
    """
    generator = stream(f"augmented {n1} {r:g}")
    sums = np.zeros((count, len(MU)))
    for size, mean in ((n0, MU), (n1, r * MU)):
        x, y = sample(mean, SIGMA, count * size, generator=generator)
        sums += (y[:, None] * x).reshape(count, size, -1).sum(axis=1)
    variance = sums.var(axis=0, ddof=1).mean()
    ratio = float(sums.mean(axis=0) @ sums.mean(axis=0)) / variance - len(MU) / count
    value = float(ratio * SIGMA**2 / (MU @ MU) / n0)
    return value, value * float(np.sqrt((2 / len(MU) + 4 / ratio) / count))


def linear(samples: int) -> dict[str, Any]:
    """The regularised linear loss over its weight: what an optimiser finds on samples, and its error."""
    weights = np.linspace(0, 0.4, 9)
    best = [linear_minimizer(MU, w, DECAY) for w in weights]
    found = np.array([_trained(weights, samples // BATCHES, number) for number in range(BATCHES)])
    return {
        "weight": weights.tolist(),
        "decay": DECAY,
        "length": means([np.linalg.norm(theta) for theta in best], found[..., 0]),
        "reg": means([linear_regularizer(theta, MU) for theta in best], found[..., 1]),
        "error": means([standard_error(theta, MU, SIGMA) for theta in best], found[..., 2]),
        "length_printed": [float(np.linalg.norm(printed_minimizer(MU, w, DECAY))) for w in weights],
    }


def _trained(weights: Values, count: int, number: int) -> list[tuple[float, float, float]]:
    """For each weight: length, Reg and error (on new samples) of what an optimiser finds on ``count``."""
    generator = stream(f"linear {number}")
    x, y = sample(MU, SIGMA, count, generator=generator)
    ends = np.stack([x[y < 0].mean(axis=0), x[y > 0].mean(axis=0)])
    new, right = sample(MU, SIGMA, count, generator=generator)
    found = []
    for weight in weights:
        theta = optimize.minimize(_objective, np.zeros(len(MU)), args=(ends, weight)).x
        error = float(np.mean(right * (new @ theta) < 0))
        found.append((float(np.linalg.norm(theta)), _path_variation(theta, ends), error))
    return found


def _objective(theta: Values, ends: Values, weight: float) -> float:
    """``E[-y theta' x] + weight / 2 Reg^2 + decay / 2 |theta|^2`` on samples, Reg from its definition."""
    loss = -float(theta @ (ends[1] - ends[0])) / 2
    return loss + weight / 2 * _path_variation(theta, ends) ** 2 + DECAY / 2 * float(theta @ theta)


def _path_variation(theta: Values, ends: Values) -> float:
    """Total variation over t of ``-(2t - 1) theta' x_t``, whose mean is the same for every pairing."""
    scores = ends @ theta
    return total_variation(-(2 * TIMES - 1) * ((1 - TIMES) * scores[0] + TIMES * scores[1]))


def regularized(samples: int) -> dict[str, Any]:
    """Reg of logistic classifiers over their scale, under cross-entropy and KL; 1 is the true posterior."""
    scales, entropy = np.linspace(0, 2, 41), label_entropy(TIMES)
    draws = stream("regularized").standard_normal((BATCHES, samples // (20 * BATCHES)))
    exact = np.array([logistic_path_loss(TIMES, 1.0, scale) for scale in scales])
    drawn = np.array([[_drawn_loss(batch, scale) for scale in scales] for batch in draws])
    return {
        "scale": scales.tolist(),
        "ce": jackknifed(_variations(exact), drawn, _variations),
        "kl": jackknifed(_variations(exact - entropy), drawn - entropy, _variations),
        "calibrated": {"ce": total_variation(entropy), "kl": 0.0},
    }


def _drawn_loss(noise: Values, scale: float) -> Values:
    """Mean cross-entropy over t of samples ``2t - 1 + noise`` on optimal paths, ``|mu| = sigma = 1``."""
    logits = 2 * scale * (2 * TIMES[:, None] - 1 + noise)
    return np.asarray((np.logaddexp(0, logits) - TIMES[:, None] * logits).mean(axis=1))


def _variations(losses: Values) -> Values:
    """Total variation of each loss ``(k, times)``: ``(k,)``."""
    return np.array([total_variation(loss) for loss in losses])


def theorem(samples: int) -> dict[str, Any]:
    """The theorem's printed probability over n1, beside what its proof needs and what simulation finds."""
    counts = [100, 300, 1000, 3000, 10_000, 30_000, 100_000]
    settings = [Setting(2, 10.0, SIGMA, 10, n1, 0.1) for n1 in counts]
    found = [improvement(s, count=samples // 5, generator=stream(f"theorem {s.n1}")) for s in settings]
    return {
        "n1": counts,
        **{key: vars(settings[0])[key] for key in ("dim", "length", "n0", "shrinkage")},
        "conditions": [conditions_hold(s) for s in settings],
        "printed": [printed_probability(s) for s in settings],
        "needed_by_proof": [proof_probability(s) for s in settings],
        "simulated": [share for share, _ in found],
        "error": [error for _, error in found],
    }
