"""How often a rule certifies falsely, by exact dynamic programming over the counts at its looks."""

from __future__ import annotations

import numpy as np
from scipy import stats

from wassermix.certify.bounds import SMALLEST_UNIFORM
from wassermix.certify.rule import Rule

WIDTH = 9.0
"""Counts further from their mean than so many deviations are left out; their mass is added to the result."""


def false_rate(rule: Rule, p: float, *, final_level: float, threshold: float) -> float:
    """The probability that a class of probability ``p`` is certified beyond ``threshold`` = Phi(r / sigma).

    Paths that have not stopped are carried from look to look as a distribution over hits. At the budget
    the randomised bound exceeds the threshold where u is at most ``(level - P(X > k)) / P(X = k)``.
    """
    sigma, reached = rule.sigma, 0.0  # type: ignore[attr-defined]
    hits, mass, before = np.array([0]), np.array([1.0]), 0
    for look, draws in enumerate(rule.looks):
        hits, mass = _advance(hits, mass, draws - before, draws, p)
        before = draws
        if draws == rule.looks[-1]:
            return reached + float(mass @ _accepted(hits, draws, threshold, final_level)) + _left_out(rule)
        stops = np.asarray(rule.finished(look, hits))
        proved = np.nan_to_num(rule.radius(np.full(len(hits), draws), hits), nan=-1.0)
        reached += float(mass[stops & (proved >= sigma * stats.norm.ppf(threshold) - 1e-12)].sum())
        hits, mass = hits[~stops], mass[~stops]
        if not len(hits):
            return reached
    return reached


def _advance(
    hits: np.ndarray, mass: np.ndarray, step: int, draws: int, p: float
) -> tuple[np.ndarray, np.ndarray]:
    """The distribution of hits after ``step`` more draws, within ``WIDTH`` deviations of the mean."""
    low, high = hits.min(), hits.max()
    start = np.zeros(high - low + 1)
    start[hits - low] = mass
    spread = np.arange(step + 1)
    usual = np.abs(spread - step * p) <= WIDTH * np.sqrt(step * p * (1 - p)) + 30
    spread = spread[usual]
    total = np.convolve(start, stats.binom.pmf(spread, step, p))
    places = low + spread[0] + np.arange(len(total))
    near = np.abs(places - draws * p) <= WIDTH * np.sqrt(draws * p * (1 - p)) + 30
    return places[near], total[near]


def _accepted(hits: np.ndarray, draws: int, threshold: float, level: float) -> np.ndarray:
    """The share of numbers u for which the randomised bound reaches the threshold."""
    room = level - stats.binom.sf(hits, draws, threshold)
    share = np.clip(room / np.maximum(stats.binom.pmf(hits, draws, threshold), 1e-300), 0.0, 1.0)
    return np.where(share >= SMALLEST_UNIFORM, share, 0.0)


def _left_out(rule: Rule) -> float:
    """A generous bound on the mass that was left out: four tails at each look."""
    return 40 * len(rule.looks) * float(stats.norm.sf(WIDTH))
