"""SmoothMix: less certainty on the way from a sample to its adversarial example."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from wassermix.attacks import Ball, ascend
from wassermix.attacks.norms import project
from wassermix.core import labels
from wassermix.core.classifier import Classifier
from wassermix.core.errors import InputError
from wassermix.methods.batch import Batch
from wassermix.methods.noise import copies, forward_copies, noises
from wassermix.methods.options import require_range
from wassermix.methods.search import box, ramp, searching
from wassermix.methods.smoothed import majority, smoothed_log_probability, smoothed_loss

__all__ = ["SmoothMix", "mix_divergence"]


@dataclass(frozen=True, kw_only=True)
class SmoothMix:
    """Cross-entropy under noise, plus less and less certainty on the way to an adversarial example.

    1. T steps of length ``step_size`` along the unit gradient of the smoothed loss lead from x to x_T;
       only the data's box limits them.
    2. ``mean CE(f(x + d_i), y)`` over m noises, ``p_bar`` the mean prediction.
    3. ``x_mix = (1 - l) x + l x_T``, l ~ U[0, 1/2] for each sample, with target ``(1 - l) p_bar + l / k``.
    4. ``weight * w * mean 1[argmax p_bar = y] KL(target | p(x_mix + d_i))``, w growing from 0.1 to 1 over the
       warm-up; the same noises throughout, and gradients through ``p_bar`` too. Of a soft label y is the
       class with more than half of it; without one the term is 0.

    Args:
        sigma: the noise.
        noises: m.
        steps: T.
        step_size: the length of a step, on the data scale.
        weight: the factor of the mixing term.
        mix_step: x is replaced by the point after this many steps (0: x itself; 1: the one-step adversary),
            kept within ``mix_step * step_size * w`` of x.
        warm_up: the share of training over which w grows (10 of 90 epochs: 0.11).
    """

    sigma: float = 0.5
    noises: int = 4
    steps: int = 4
    step_size: float = 1.0
    weight: float = 5.0
    mix_step: int = 0
    warm_up: float = 0.11

    reference: ClassVar[str] = "Jeong et al. 2021"

    def __post_init__(self) -> None:
        require_range(self, 0, sigma=self.sigma, step_size=self.step_size, weight=self.weight)
        require_range(self, 1, noises=self.noises, steps=self.steps)
        require_range(self, 0, 1, warm_up=self.warm_up)
        if not 0 <= self.mix_step <= self.steps:
            raise InputError(f"SmoothMix: mix_step is {self.mix_step}; expected 0 to steps={self.steps}")

    @property
    def passes(self) -> float:
        """m (T + 2)."""
        return float(self.noises * (self.steps + 2))

    def loss(self, model: Classifier, batch: Batch) -> dict[str, Tensor]:
        """The terms ``ce`` and ``mix``."""
        noise = noises(batch.x, self.sigma, count=self.noises, generator=batch.generator)
        near, far = self.ends(model, batch, noise)
        share = self.shares(batch)
        per_sample = share.reshape(-1, *[1] * (near.dim() - 1))
        mixed = (1 - per_sample) * near + per_sample * far
        logits = forward_copies(model, torch.cat([near + noise, mixed + noise]))
        clean, moved = logits.split(self.noises)
        apart = mix_divergence(clean, moved, share)
        right = smoothed_log_probability(clean).argmax(dim=1) == majority(batch.y)
        grown = ramp(batch.progress, self.warm_up, start=0.1)
        return {
            "ce": labels.cross_entropy(clean.flatten(0, 1), copies(batch.y, self.noises)).mean(),
            "mix": self.weight * grown * (apart * right).mean(),
        }

    def shares(self, batch: Batch) -> Tensor:
        """l ~ U[0, 1/2] for each sample: ``(n,)``."""
        device = batch.x.device if batch.generator is None else batch.generator.device
        draws = torch.rand(len(batch), generator=batch.generator, device=device, dtype=batch.x.dtype)
        return draws.to(batch.x.device) / 2

    def ends(self, model: Classifier, batch: Batch, noise: Tensor) -> tuple[Tensor, Tensor]:
        """The clean end and the adversarial end x_T of the mixing, for noises ``(m, n, ...)``."""
        grown = ramp(batch.progress, self.warm_up, start=0.1)
        first = self._climb(model, batch, noise, batch.x, steps=self.mix_step)
        radius = self.mix_step * self.step_size * grown
        near = batch.x + project(first - batch.x, radius, "l2") if self.mix_step else batch.x
        return near, self._climb(model, batch, noise, first, steps=self.steps - self.mix_step)

    def _climb(self, model: Classifier, batch: Batch, noise: Tensor, start: Tensor, *, steps: int) -> Tensor:
        with searching(model):
            return ascend(
                lambda point: smoothed_loss(forward_copies(model, point + noise), batch.y),
                batch.x,
                start,
                ball=Ball(math.inf, "l2", box(batch.x)),
                steps=steps,
                step_size=self.step_size,
                generator=batch.generator,
            )


def mix_divergence(clean: Tensor, moved: Tensor, share: Tensor) -> Tensor:
    """``mean_i KL((1 - l) p_bar + l / k | p(x_mix + d_i))``: ``(m, n, k), (m, n, k), (n,) -> (n,)``."""
    share = share.unsqueeze(1)
    target = (1 - share) * smoothed_log_probability(clean).exp() + share / clean.shape[2]
    target = target.clamp_min(torch.finfo(target.dtype).tiny)  # where l is 0 and p_bar underflows
    return (target * (target.log() - moved.log_softmax(dim=2))).sum(dim=2).mean(dim=0)
