"""What a certification will cost: passes and minutes, from a short measurement."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from wassermix.certify.choice import choose_backend
from wassermix.certify.rule import Rule, picks_class, rule_for
from wassermix.certify.samplers import resolve_sampler
from wassermix.certify.settings import BLOCK, CertifySettings
from wassermix.certify.votes import NoiseBlock, Voter, voting
from wassermix.core.classifier import Classifier
from wassermix.core.cost import Cost
from wassermix.core.samples import LabelledSamples, evenly_spaced

__all__ = ["CostEstimate", "estimate_cost", "simulate_draws"]

PILOT = 1024
"""Draws on each image of the pilot: enough to tell a hopeless image from a flawless one."""


@dataclass(frozen=True, kw_only=True)
class CostEstimate(Cost):
    """Forward passes expected and at most, and the minutes they take on this process."""

    images: int
    passes_at_most: int


def estimate_cost(
    model: Classifier,
    split: LabelledSamples,
    indices: Sequence[int],
    *,
    settings: CertifySettings,
    seconds: float = 3.0,
    pilots: int = 32,
) -> CostEstimate:
    """Run the model for about ``seconds`` on a few of the images and estimate the whole.

    ``fixed`` costs ``n0 + n`` passes per image, known beforehand; for the others the hit rates of the
    pilot images are taken as their probabilities and the stopping rule is simulated on them.
    """
    chosen = [indices[position] for position in evenly_spaced(len(indices), min(pilots, len(indices)))]
    some = split.get(torch.tensor(chosen))
    settings = resolve_sampler(settings, some)
    settings = choose_backend(model, some[0], settings, images=len(indices)).settings
    rates, speed = _pilot(model, split, chosen, settings=settings, seconds=seconds)
    picks = settings.n0 if picks_class(settings) else 0
    draws = simulate_draws(rule_for(settings), np.repeat(rates, 8), seed=settings.seed).mean()
    per_image = picks + float(draws)
    return CostEstimate(
        images=len(indices),
        passes=round(per_image * len(indices)),
        passes_at_most=(picks + settings.n) * len(indices),
        passes_per_second=speed,
    )


def simulate_draws(rule: Rule, rates: np.ndarray, *, seed: int = 0) -> np.ndarray:
    """The draws that the rule spends on images whose class has these probabilities (paths,)."""
    generator = np.random.default_rng(seed)
    draws, hits, before = np.full(len(rates), rule.looks[-1]), np.zeros(len(rates), dtype=np.int64), 0
    active = np.ones(len(rates), dtype=bool)
    for look, count in enumerate(rule.looks):
        hits[active] += generator.binomial(count - before, rates[active])
        stopped = active & rule.finished(look, hits)
        draws[stopped] = count
        active, before = active & ~stopped, count
    return draws


def _pilot(
    model: Classifier,
    split: LabelledSamples,
    chosen: Sequence[int],
    *,
    settings: CertifySettings,
    seconds: float,
) -> tuple[np.ndarray, float]:
    """Hit rates of as many of the chosen images as the time allows (one at least), and passes per second."""
    rates, passed = [], 0
    first = split.get(torch.tensor([chosen[0]]))[0]
    with voting(model, tuple(first.shape), settings) as votes:
        votes([NoiseBlock(first, chosen[0], "predict", 0)])  # compiles and warms up, outside the clock
        started = time.perf_counter()
        for index in chosen:
            classes = _classes(votes, split.get(torch.tensor([index]))[0], index, settings=settings)
            target = int(split.y[index]) if not picks_class(settings) else int(np.bincount(classes).argmax())
            rates.append(float(np.mean(classes == target)))
            passed += len(classes)
            if time.perf_counter() - started > seconds:
                break
        return np.array(rates), passed / (time.perf_counter() - started)


def _classes(votes: Voter, x: torch.Tensor, index: int, *, settings: CertifySettings) -> np.ndarray:
    size = settings.batch_size // BLOCK
    noise = [NoiseBlock(x, index, "predict", block) for block in range(max(PILOT // BLOCK, size))]
    parts = [votes(noise[start : start + size]) for start in range(0, len(noise), size)]
    return np.concatenate(parts).reshape(-1)
