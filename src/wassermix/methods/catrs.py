"""CAT-RS: how hard a sample is under noise decides which of its noises are trained on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from wassermix.attacks import Ball, ascend
from wassermix.core import labels
from wassermix.core.classifier import Classifier
from wassermix.core.errors import InputError
from wassermix.methods.batch import Batch
from wassermix.methods.noise import copies, forward_copies, noises
from wassermix.methods.options import require_range
from wassermix.methods.protocol import Counting
from wassermix.methods.search import searching
from wassermix.methods.teacher import AVERAGE, OWN, smoothed_prediction

__all__ = ["CATRS", "like_noise"]

VOTES, FRESH = 256, 16
"""Default draws of a teacher: before training for each sample, and at each step."""


@dataclass(frozen=True, kw_only=True)
class CATRS:
    """Confidence-aware training: few noises of hard samples, the worst noise of easy ones.

    1. A teacher's smoothed prediction p and share of votes v at each sample.
    2. ``K ~ Binomial(m, v_y)``, at least 1; of the m losses ``CE(f(x + d_i), y)`` the K smallest count:
       ``low = (their sum) / m``.
    3. Where ``K = m``, each noise climbs ``KL(p | f(x + d))`` by T steps of ``2 * eps / T`` within eps of its
       start and gets its old mean and variance back: ``high = max_i KL(p | f(x + d'_i))``.
    4. ``mean(low + weight * 1[K = m] high)``; no gradient through p.

    The reference's teacher is a Gaussian network with 10,000 noises for each training image. Here it is

    - the network of a run (its folder): it votes once on every training sample under ``draws`` noises, before
      the first step, and p = v are its votes, whatever crop of the sample is seen later. It does not vote on
      samples that an augmenter puts beside the batch: there p = v = y, the sample's own label;
    - the moving average of the weights (``average``): mean softmax and votes from ``draws`` fresh noises at
      each step;
    - the network itself (``own``): the same from the step's own m noises.

    Args:
        sigma: the noise.
        noises: m.
        eps: how far a noise may be moved, in l2 on the data scale.
        steps: T.
        weight: the factor of the worst noise.
        teacher: ``own``, ``average``, or the folder of a run.
        draws: noises of a teacher other than ``own``; none is 256 for a run's folder, 16 for ``average``.
    """

    sigma: float = 0.5
    noises: int = 4
    eps: float = 1.0
    steps: int = 4
    weight: float = 1.0
    teacher: str = OWN
    draws: int | None = None

    reference: ClassVar[str] = "Jeong, Kim, Shin 2023"

    def __post_init__(self) -> None:
        require_range(self, 0, sigma=self.sigma, eps=self.eps, weight=self.weight)
        require_range(self, 1, noises=self.noises, steps=self.steps, draws=self._given_draws)

    @property
    def asked(self) -> int:
        """Noises under which the teacher sees a sample: m of the network itself, else ``draws``."""
        return self.noises if self.teacher == OWN else self._given_draws

    @property
    def _given_draws(self) -> int:
        if self.draws is not None:
            return self.draws
        return FRESH if self.teacher == AVERAGE else VOTES

    @property
    def counting(self) -> Counting | None:
        """The votes of a run's network, counted before training; None for a teacher that changes."""
        if self.teacher in (OWN, AVERAGE):
            return None
        return Counting(self.sigma, self.asked)

    @property
    def passes(self) -> float:
        """m (T + 2), and a third of a pass for each noise of a teacher that is asked at each step."""
        return self.noises * (self.steps + 2) + (self.asked / 3 if self.counting is None else 0)

    def loss(self, model: Classifier, batch: Batch) -> dict[str, Tensor]:
        """The terms ``low`` and ``high``."""
        noise = noises(batch.x, self.sigma, count=self.noises, generator=batch.generator)
        target, votes = self.taught(model, batch, noise)
        kept = self.accepted(votes, batch)
        moved = self.moved(model, batch, noise, target)
        logits = forward_copies(model, batch.x + torch.cat([noise, moved]))
        plain, worst = logits.split(self.noises)
        high = _divergence(target, worst).amax(dim=0)
        return {
            "low": low_losses(plain, batch.y, kept).mean(),
            "high": self.weight * (high * (kept == self.noises)).mean(),
        }

    def taught(self, model: Classifier, batch: Batch, noise: Tensor) -> tuple[Tensor, Tensor]:
        """The teacher's prediction p and votes v: ``(n, k), (n, k)``."""
        if self.teacher == OWN:
            with searching(model):
                return smoothed_prediction(model, batch.x + noise)
        if self.counting is not None:
            return self._looked_up(batch)
        if batch.teacher is None:
            raise InputError(f"CATRS: teacher is '{self.teacher}', but the batch brings no teacher")
        fresh = noises(batch.x, self.sigma, count=self.asked, generator=batch.generator)
        return smoothed_prediction(batch.teacher, batch.x + fresh)

    def _looked_up(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """The votes that the batch brings, as p and as v; a label in place of those that are missing."""
        if batch.votes is None:
            raise InputError(
                f"CATRS: teacher is '{self.teacher}', but the batch brings no votes of it; in a loop of your "
                "own give Batch(votes=...) from wassermix.methods.teacher.count_votes, or use teacher=own"
            )
        votes = batch.votes.to(batch.x.dtype)
        votes = torch.where(votes.isnan(), labels.soft(batch.y, votes.shape[1]).to(votes.dtype), votes)
        return votes, votes

    def accepted(self, votes: Tensor, batch: Batch) -> Tensor:
        """K for each sample: ``(n, k) -> (n,)``; of a soft label v_y is the votes weighted by it."""
        right = (votes * labels.soft(batch.y, votes.shape[1])).sum(dim=1)
        device = votes.device if batch.generator is None else batch.generator.device
        draws = torch.rand(self.noises, len(batch), generator=batch.generator, device=device)
        return (draws.to(votes.device) < right).sum(dim=0).clamp_min(1)

    def moved(self, model: Classifier, batch: Batch, noise: Tensor, target: Tensor) -> Tensor:
        """The noises after their climb, each with its old mean and variance: ``(m, n, ...)``."""
        start = (batch.x + noise).flatten(0, 1)
        goal = copies(target, self.noises)
        with searching(model):
            end = ascend(
                lambda point: _divergence(goal, model(point)),
                start,
                start,
                ball=Ball(self.eps, "l2", bounds=None),
                steps=self.steps,
                step_size=2 * self.eps / self.steps,
                generator=batch.generator,
            )
        return like_noise(end.reshape(noise.shape) - batch.x, noise)


def low_losses(logits: Tensor, y: Tensor, kept: Tensor) -> Tensor:
    """The sum of the ``kept`` smallest of m cross-entropies, over m: ``(m, n, k), y, (n,) -> (n,)``."""
    count = len(logits)
    losses = labels.cross_entropy(logits.flatten(0, 1), copies(y, count)).reshape(count, -1)
    rank = torch.arange(count, device=logits.device).unsqueeze(1)
    return (losses.sort(dim=0).values * (rank < kept)).sum(dim=0) / count


def like_noise(moved: Tensor, noise: Tensor) -> Tensor:
    """``moved`` shifted and scaled to the mean and variance that each noise of ``(m, n, ...)`` had."""
    axes = tuple(range(2, noise.dim()))
    (var, mean), (old_var, old_mean) = (
        torch.var_mean(d, dim=axes, keepdim=True, correction=0) for d in (moved, noise)
    )
    scale = (old_var / var.clamp_min(torch.finfo(var.dtype).tiny)).sqrt()
    return (moved - mean) * scale + old_mean


def _divergence(target: Tensor, logits: Tensor) -> Tensor:
    """``KL(target | softmax(logits))`` over the last dimension."""
    own: Tensor = torch.special.xlogy(target, target).sum(dim=-1)
    return own - (target * logits.log_softmax(dim=-1)).sum(dim=-1)
