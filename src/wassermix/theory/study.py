"""``wassermix reproduce theory``: every formula of the Gaussian model beside a simulation of it.

Each part returns curves, ``theory`` and ``simulated`` over the same abscissa, with ``error``, the
simulation's standard error, where it has one. docs/draw_theory.py draws them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats
from scipy.optimize import linear_sum_assignment

from wassermix.core.streams import stream_seed
from wassermix.theory.augmentation import effective_samples, label_sum, mixed_both_ways
from wassermix.theory.gaussian_model import (
    certified_accuracy,
    certified_accuracy_of_draws,
    l2_error,
    linf_bound,
    linf_error,
    sample,
    smoothed_error,
    standard_error,
)
from wassermix.theory.geodesic_spread import random_covariance, spread_of_pairs
from wassermix.theory.regularizer import label_entropy, logistic_path_loss, total_variation
from wassermix.theory.theorem import (
    Setting,
    conditions_hold,
    improvement,
    printed_probability,
    proof_probability,
)
from wassermix.theory.wasserstein_ball import mean_shift_error, worst_error, worst_gaussian

__all__ = ["run"]

Values = NDArray[np.float64]
Tell = Callable[[str, float], None]
MU, SIGMA = np.array([1.2, 0.8, 0.0, -0.4]), 1.0
THETA = np.array([1.0, 1.0, 0.3, -0.2])  # near mu but not on it, as an estimate is
SAMPLES, SEED, ALPHA = 100_000, 0, 0.001


def run(out: Path, tell: Tell) -> dict[str, Any]:
    """All parts of the study, in the order of docs/theory.md; nothing is kept in ``out``."""
    record: dict[str, Any] = {"mu": MU.tolist(), "theta": THETA.tolist(), "sigma": SIGMA, "samples": SAMPLES}
    for number, (name, part) in enumerate(PARTS.items()):
        tell(name, number / len(PARTS))
        record[name] = part()
    return {**record, "summary": _summary(record)}


def attacked() -> dict[str, Any]:
    """Errors over eps: l2, linf and the paper's bound of it; the worst step is taken on every sample."""
    x, y = sample(MU, SIGMA, SAMPLES, generator=_generator("attacked"))
    eps = np.linspace(0, 1, 11)
    steps = {"l2": THETA / np.linalg.norm(THETA), "linf": np.sign(THETA)}
    moved = {n: [np.mean(y * ((x - e * y[:, None] * s) @ THETA) < 0) for e in eps] for n, s in steps.items()}
    return {
        "eps": eps.tolist(),
        "l2": _curve([l2_error(THETA, MU, SIGMA, eps=e) for e in eps], moved["l2"]),
        "linf": _curve([linf_error(THETA, MU, SIGMA, eps=e) for e in eps], moved["linf"]),
        "linf_printed": [float(linf_bound(THETA, MU, SIGMA, eps=e)) for e in eps],
    }


def smoothed() -> dict[str, Any]:
    """The error under noise: variances added up, and the paper's sum of standard deviations."""
    generator, noise = _generator("smoothed"), np.linspace(0, 2, 11)
    x, y = sample(MU, SIGMA, SAMPLES, generator=generator)
    drawn = [np.mean(y * ((x + s * generator.standard_normal(x.shape)) @ THETA) < 0) for s in noise]
    return {
        "noise": noise.tolist(),
        "right": _curve([smoothed_error(THETA, MU, SIGMA, noise=s) for s in noise], drawn),
        "printed": [float(standard_error(THETA, MU, SIGMA + s)) for s in noise],
    }


def certified() -> dict[str, Any]:
    """Certified accuracy over the radius: the population's, and with n votes under two noises."""
    radii, generator = np.linspace(0, 2, 41), _generator("certified")
    x, y = sample(MU, SIGMA, SAMPLES, generator=generator)
    distance = y * (x @ THETA) / np.linalg.norm(THETA)
    curves = {
        f"noise {noise:g}, n {draws}": _curve(
            [
                certified_accuracy_of_draws(THETA, MU, SIGMA, radius=r, noise=noise, draws=draws, alpha=ALPHA)
                for r in radii
            ],
            _certified_shares(distance, radii, noise=noise, draws=draws, generator=generator),
        )
        for noise, draws in ((0.25, 1000), (1.0, 1000), (1.0, 100_000))
    }
    population = _curve(
        [certified_accuracy(THETA, MU, SIGMA, radius=r) for r in radii],
        [np.mean(distance >= r) for r in radii],
    )
    return {"radius": radii.tolist(), "alpha": ALPHA, "population": population, "draws": curves}


def _certified_shares(
    distance: Values, radii: Values, *, noise: float, draws: int, generator: np.random.Generator
) -> list[float]:
    """Votes drawn for each sample, bounded as Clopper and Pearson do, and counted at each radius."""
    hits = np.maximum(generator.binomial(draws, special.ndtr(distance / noise)), 1)
    bound = stats.beta.ppf(ALPHA, hits, draws - hits + 1)
    return [float(np.mean(bound >= special.ndtr(r / noise))) for r in radii]


def ball() -> dict[str, Any]:
    """The worst Gaussians within eps of W2: our formula, draws from them, and the means moved alone."""
    eps, generator = np.linspace(0, 0.95, 20), _generator("ball")
    mu = np.array([1.0, 0.0])
    drawn = []
    for e in eps:
        mean, cov = worst_gaussian(mu, 1.0, e)
        drawn.append(np.mean(generator.multivariate_normal(mean, cov, SAMPLES) @ mu < 0))
    return {
        "eps": eps.tolist(),
        "worst": _curve([worst_error(1.0, 1.0, e) for e in eps], drawn),
        "mean_shift": [mean_shift_error(1.0, 1.0, e) for e in eps],
    }


def augmented() -> dict[str, Any]:
    """Effective number of real samples over m, for some r = 1 - 2t, from simulated trainings."""
    ratios, n0, count = np.array([0.5, 1, 2, 4, 8, 16, 32]), 10, 2000
    return {
        "ratio": ratios.tolist(),
        "n0": n0,
        "trainings": count,
        "shrinkage": {
            f"{r:g}": {
                "theory": [effective_samples(1.0, m, r) for m in ratios],
                "simulated": [_effective(n0, int(n0 * m), r, count=count) for m in ratios],
            }
            for r in (0.1, 0.25, 2**0.5 - 1, 0.6)
        },
    }


def _effective(n0: int, n1: int, r: float, *, count: int) -> float:
    """The effective number in units of ``n0``, read off the mean and spread of simulated estimates.

    The estimate of ``n`` real samples has ``|mean|^2 / variance of a coordinate = n |mu|^2 / sigma^2``.
    """
    generator = _generator(f"augmented {n1} {r:g}")
    sums = np.zeros((count, len(MU)))
    for size, mean in ((n0, MU), (n1, r * MU)):
        x, y = sample(mean, SIGMA, count * size, generator=generator)
        sums += (y[:, None] * x).reshape(count, size, -1).sum(axis=1)
    variance = sums.var(axis=0, ddof=1).mean()
    squared = float(sums.mean(axis=0) @ sums.mean(axis=0)) - len(MU) * variance / count
    return float(squared / variance * SIGMA**2 / (MU @ MU) / n0)


def pairing() -> dict[str, Any]:
    """What pairing changes and what not: the spread half-way, by dimension, and the theorem's sum."""
    generator, dims = _generator("pairing"), [1, 2, 4, 8, 16, 32, 64]
    x0, x1 = generator.standard_normal((100, 8)) - 0.5, generator.standard_normal((100, 8)) + 0.5
    return {
        "sum_changes_by": max(
            float(np.abs(label_sum(*mixed_both_ways(x0, x1, p, 0.3)) - 0.4 * label_sum(x0, x1)).max())
            for p in (_matched(x0, x1), generator.permutation(100))
        ),
        "dims": dims,
        "random": float(random_covariance(np.eye(1), np.eye(1), 0.5)[0, 0]),
        "exact": {
            str(n): [_matched_spread(n, d, generator=generator) for d in dims] for n in (16, 64, 256, 1024)
        },
    }


def _matched(x0: Values, x1: Values) -> NDArray[np.int64]:
    cost = (x0**2).sum(1)[:, None] + (x1**2).sum(1) - 2 * x0 @ x1.T
    return np.asarray(linear_sum_assignment(cost)[1])


def _matched_spread(points: int, dim: int, *, generator: np.random.Generator) -> float:
    """The spread half-way between optimal partners, a mean over some pairs of clouds ``N(0, I)``."""
    repeats = max(1, 512 // points)
    clouds = generator.standard_normal((repeats, 2, points, dim))
    return float(np.mean([spread_of_pairs(a, b[_matched(a, b)], 0.5) for a, b in clouds]))


def regularized() -> dict[str, Any]:
    """Reg of logistic classifiers over their scale, under cross-entropy and KL; 1 is the true posterior."""
    scales, times = np.linspace(0, 2, 41), np.linspace(0, 1, 201)
    losses = [logistic_path_loss(times, 1.0, scale) for scale in scales]
    entropy = label_entropy(times)
    return {
        "scale": scales.tolist(),
        "ce": [total_variation(loss) for loss in losses],
        "kl": [total_variation(loss - entropy) for loss in losses],
        "calibrated": {"ce": total_variation(entropy), "kl": 0.0},
    }


def theorem() -> dict[str, Any]:
    """The theorem's printed probability over n1, beside what its proof needs and what simulation finds."""
    counts = [100, 300, 1000, 3000, 10_000, 30_000, 100_000]
    settings = [Setting(2, 10.0, SIGMA, 10, n1, 0.1) for n1 in counts]
    found = [improvement(s, count=20_000, generator=_generator(f"theorem {s.n1}")) for s in settings]
    return {
        "n1": counts,
        **{key: vars(settings[0])[key] for key in ("dim", "length", "n0", "shrinkage")},
        "conditions": [conditions_hold(s) for s in settings],
        "printed": [printed_probability(s) for s in settings],
        "needed_by_proof": [proof_probability(s) for s in settings],
        "simulated": [share for share, _ in found],
        "error": [error for _, error in found],
    }


def _curve(theory: list[Any], simulated: list[Any]) -> dict[str, list[float]]:
    """Both curves, and the standard error of a simulated share."""
    shares = [float(value) for value in simulated]
    errors = [float(np.sqrt(p * (1 - p) / SAMPLES)) for p in shares]
    return {"theory": [float(value) for value in theory], "simulated": shares, "error": errors}


def _summary(record: dict[str, Any]) -> list[str]:
    """The largest gap between theory and simulation in standard errors, and what does not hold."""
    curves = [record["attacked"]["l2"], record["attacked"]["linf"], record["smoothed"]["right"]]
    curves += [
        record["ball"]["worst"],
        record["certified"]["population"],
        *record["certified"]["draws"].values(),
    ]
    gap = max(_gap(curve) for curve in curves)
    checked = sum(len(curve["theory"]) for curve in curves)
    proof = record["theorem"]
    broken = sum(
        holds and printed > share + 5 * error
        for holds, printed, share, error in zip(
            proof["conditions"], proof["printed"], proof["simulated"], proof["error"]
        )
    )
    return [
        f"Errors and certificates: {checked} values of theory, "
        f"the furthest {gap:.1f} standard errors from simulation.",
        f"The theorem's printed probability is above the simulated one at {broken} of "
        f"{sum(proof['conditions'])} sizes that meet its conditions: it is no lower bound.",
        f"Pairing changes the sum that the theorem sees by {record['pairing']['sum_changes_by']:.0e}.",
    ]


def _gap(curve: dict[str, list[float]]) -> float:
    """The largest gap in standard errors; shares of exactly 0 or 1 count with that of one sample."""
    theory, simulated = np.array(curve["theory"]), np.array(curve["simulated"])
    error = np.sqrt(np.maximum(theory * (1 - theory), 1 / SAMPLES) / SAMPLES)
    return float(np.max(np.abs(theory - simulated) / error))


def _generator(purpose: str) -> np.random.Generator:
    return np.random.default_rng(stream_seed(SEED, "theory", purpose))


PARTS: dict[str, Callable[[], dict[str, Any]]] = {
    "attacked": attacked,
    "smoothed": smoothed,
    "certified": certified,
    "ball": ball,
    "augmented": augmented,
    "pairing": pairing,
    "regularized": regularized,
    "theorem": theorem,
}
