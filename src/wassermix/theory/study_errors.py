"""The study's first parts: errors, certificates and the worst Gaussians, each a share of drawn samples."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special, stats

from wassermix.theory.curves import MU, SIGMA, THETA, Values, shares, stream
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
from wassermix.theory.wasserstein_ball import mean_shift_error, worst_error, worst_gaussian

__all__ = ["attacked", "ball", "certified", "smoothed"]

ALPHA = 0.001


def attacked(samples: int) -> dict[str, Any]:
    """Errors over eps: l2, linf and the paper's bound of it; the worst step is taken on every sample."""
    x, y = sample(MU, SIGMA, samples, generator=stream("attacked"))
    eps = np.linspace(0, 1, 11)
    steps = {"l2": THETA / np.linalg.norm(THETA), "linf": np.sign(THETA)}
    moved = {n: [np.mean(y * ((x - e * y[:, None] * s) @ THETA) < 0) for e in eps] for n, s in steps.items()}
    return {
        "eps": eps.tolist(),
        "l2": shares([l2_error(THETA, MU, SIGMA, eps=e) for e in eps], moved["l2"], samples=samples),
        "linf": shares([linf_error(THETA, MU, SIGMA, eps=e) for e in eps], moved["linf"], samples=samples),
        "linf_printed": [float(linf_bound(THETA, MU, SIGMA, eps=e)) for e in eps],
    }


def smoothed(samples: int) -> dict[str, Any]:
    """The error under noise: variances added up, and the paper's sum of standard deviations."""
    generator, noise = stream("smoothed"), np.linspace(0, 2, 11)
    x, y = sample(MU, SIGMA, samples, generator=generator)
    drawn = [np.mean(y * ((x + s * generator.standard_normal(x.shape)) @ THETA) < 0) for s in noise]
    return {
        "noise": noise.tolist(),
        "right": shares([smoothed_error(THETA, MU, SIGMA, noise=s) for s in noise], drawn, samples=samples),
        "printed": [float(standard_error(THETA, MU, SIGMA + s)) for s in noise],
    }


def certified(samples: int) -> dict[str, Any]:
    """Certified accuracy over the radius: the population's, and with n votes under two noises."""
    radii, generator = np.linspace(0, 2, 41), stream("certified")
    x, y = sample(MU, SIGMA, samples, generator=generator)
    distance = y * (x @ THETA) / np.linalg.norm(THETA)
    curves = {
        f"noise {noise:g}, n {draws}": shares(
            [
                certified_accuracy_of_draws(THETA, MU, SIGMA, radius=r, noise=noise, draws=draws, alpha=ALPHA)
                for r in radii
            ],
            _certified_shares(distance, radii, noise=noise, draws=draws, generator=generator),
            samples=samples,
        )
        for noise, draws in ((0.25, 1000), (1.0, 1000), (1.0, 100_000))
    }
    population = shares(
        [certified_accuracy(THETA, MU, SIGMA, radius=r) for r in radii],
        [np.mean(distance >= r) for r in radii],
        samples=samples,
    )
    return {"radius": radii.tolist(), "alpha": ALPHA, "population": population, "draws": curves}


def _certified_shares(
    distance: Values, radii: Values, *, noise: float, draws: int, generator: np.random.Generator
) -> list[float]:
    """Votes drawn for each sample, bounded as Clopper and Pearson do, and counted at each radius."""
    hits = np.maximum(generator.binomial(draws, special.ndtr(distance / noise)), 1)
    bound = stats.beta.ppf(ALPHA, hits, draws - hits + 1)
    return [float(np.mean(bound >= special.ndtr(r / noise))) for r in radii]


def ball(samples: int) -> dict[str, Any]:
    """The error of Gaussians within eps of W2: the worst ones, and those with the means moved alone."""
    eps, generator = np.linspace(0, 0.95, 20), stream("ball")
    mu = np.array([1.0, 0.0])
    worst = [_error(*worst_gaussian(mu, 1.0, e), samples, generator) for e in eps]
    moved = [_error((1 - e) * mu, np.eye(2), samples, generator) for e in eps]
    return {
        "eps": eps.tolist(),
        "worst": shares([worst_error(1.0, 1.0, e) for e in eps], worst, samples=samples),
        "mean_shift": shares([mean_shift_error(1.0, 1.0, e) for e in eps], moved, samples=samples),
    }


def _error(mean: Values, cov: Values, samples: int, generator: np.random.Generator) -> float:
    """Share of ``N(mean, cov)`` on the wrong side of the first axis, the best classifier's boundary."""
    return float(np.mean(generator.multivariate_normal(mean, cov, samples)[:, 0] < 0))
