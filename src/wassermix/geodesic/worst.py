"""The search for the worst time on each path: where the current model's loss is largest (Eq. 6)."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from wassermix.core import labels
from wassermix.core.classifier import Classifier, evaluating, frozen
from wassermix.core.draws import normal, permutation, uniform
from wassermix.core.errors import InputError
from wassermix.geodesic.path import Geodesic

__all__ = ["Scorer", "Search", "device_of", "place", "search_passes", "worst_times"]

Search = Literal["random", "grid", "golden", "gradient"]
GOLDEN = (5**0.5 - 1) / 2
GOLDEN_STEPS = 6


@dataclass(frozen=True)
class Scorer:
    """How bad a model is on each sample: KL to its label or cross-entropy, under noise or an attack."""

    model: Classifier
    score: Literal["kl", "ce"] = "kl"
    sigma: float = 0.0
    attack: Callable[[Classifier, Tensor, Tensor], Tensor] | None = None
    batch_size: int = 256

    def __call__(self, x: Tensor, y: Tensor, noise: Tensor | None = None) -> Tensor:
        """``(n, *shape), (n, k) -> (n,)``; ``noise`` in units of ``sigma``, the same for all candidates."""
        home = device_of(self.model, x.device)
        judge = labels.kl_score if self.score == "kl" else labels.cross_entropy
        parts = []
        for start in range(0, len(x), self.batch_size):
            rows = slice(start, start + self.batch_size)
            seen = x[rows] if noise is None else x[rows] + self.sigma * noise[rows]
            seen, target = seen.to(home), y[rows].to(home)
            if self.attack is not None:
                seen = _moved(seen, self.attack(self.model, seen.detach(), target.detach()))
            parts.append(judge(self.model(seen), target))
        return torch.cat(parts).to(x.device)


def _moved(x: Tensor, attacked: Tensor) -> Tensor:
    """The attacked inputs; where they depend on a time, the attack is held fixed and moves along."""
    return x + (attacked - x).detach() if x.requires_grad else attacked


def device_of(model: Classifier, otherwise: torch.device) -> torch.device:
    """Where a model's parameters are; a plain function works wherever its input is."""
    parameters = model.parameters() if isinstance(model, nn.Module) else iter(())
    return next((parameter.device for parameter in parameters), otherwise)


def place(path: Geodesic, t: Tensor, max_distance: float | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """Samples, labels and times at ``t (n,)``, none further than ``max_distance`` (l2) from its start.

    A sample beyond is drawn back on the straight line in data space to its (decoded) start, and its time and
    label with it.
    """
    point = path.at(t)
    if max_distance is None:
        return point.x, point.y, t
    home = path.embed.decode(path.start)
    move = (point.x - home).reshape(len(t), -1)
    shrink = (max_distance / move.norm(dim=1).clamp_min(1e-12)).clamp(max=1.0)
    x = home + (shrink[:, None] * move).reshape(home.shape)
    return x, path.at(t * shrink).y, t * shrink


def search_passes(search: Search, candidates: int) -> float:
    """Forward and backward passes that :func:`worst_times` costs a scored sample; a forward is a third."""
    if search == "gradient":
        return 1.0 + candidates  # two draws and the last point forward, every step forward and backward
    return (candidates + (2 + GOLDEN_STEPS if search == "golden" else 0)) / 3


def worst_times(
    path: Geodesic,
    group: Tensor,
    scorer: Scorer,
    *,
    search: Search = "random",
    candidates: int = 5,
    t_max: float = 0.5,
    share: float = 0.25,
    max_distance: float | None = None,
    generator: torch.Generator | None = None,
) -> tuple[Tensor, Tensor]:
    """The worst time of each group of samples: ``(times (groups,), scores (groups,))``.

    ``group (n,)`` numbers the samples that share a time, from 0. The score of a time is the mean over a
    random ``share`` of its group. ``random`` tries ``candidates - 1`` draws from U[0, t_max] and ``t_max``
    itself; ``grid`` even steps from 0 to ``t_max`` (one alone is ``t_max``); ``golden`` refines the best grid
    interval; ``gradient`` ascends ``d score / dt`` from the better of a draw and ``t_max``.
    """
    if candidates < 1 or not 0 < t_max <= 1 or not 0 < share <= 1:
        raise InputError("augment: candidates is at least 1, t_max and search_share are within (0, 1]")
    asked = _Asked(path, group, scorer, share=share, max_distance=max_distance, generator=generator)
    with ExitStack() as stack:
        stack.enter_context(evaluating(scorer.model))
        stack.enter_context(frozen(scorer.model))
        if search == "gradient":
            return _ascend(asked, candidates, t_max, generator)
        with torch.no_grad():
            if search == "random":
                return _best(asked, _drawn(asked.groups, candidates, t_max, generator, like=path.start))
            grid = torch.linspace(t_max, 0, candidates).flip(0).to(path.start)  # one alone is t_max
            if search == "grid":
                return _best(asked, grid[:, None].expand(candidates, asked.groups))
            if search == "golden":
                return _golden(asked, grid)
    raise InputError(f"augment.search='{search}' is none of random, grid, golden, gradient")


class _Asked:
    """The score as a function of one time for each group, on a fixed share of rows with fixed noise."""

    def __init__(
        self,
        path: Geodesic,
        group: Tensor,
        scorer: Scorer,
        *,
        share: float,
        max_distance: float | None,
        generator: torch.Generator | None,
    ) -> None:
        self.groups = int(group.max()) + 1
        rows = _some_of_each(group, self.groups, share, generator)
        self.path, self.group = path.rows(rows), group[rows]
        self.counts = torch.bincount(self.group, minlength=self.groups).to(path.start)
        self.scorer, self.max_distance = scorer, max_distance
        self.noise: Tensor | None = None
        if scorer.sigma > 0:
            shape = (len(rows), *path.at(0.0).embed.decode(path.start[:1]).shape[1:])
            self.noise = normal(shape, generator, path.start.device)

    def __call__(self, t: Tensor) -> Tensor:
        """Mean score of each group at its time: ``(groups,) -> (groups,)``."""
        x, y, _ = place(self.path, t[self.group], self.max_distance)
        score = self.scorer(x, y, self.noise)
        return torch.zeros_like(self.counts).index_add(0, self.group, score.to(self.counts)) / self.counts


def _some_of_each(group: Tensor, groups: int, share: float, generator: torch.Generator | None) -> Tensor:
    """A random ``share`` of the rows of each group, at least one, in order."""
    if share == 1:
        return torch.arange(len(group), device=group.device)
    mixed = permutation(len(group), generator).to(group.device)
    order = mixed[group[mixed].argsort(stable=True)]
    counts = torch.bincount(group, minlength=groups)
    first = counts.cumsum(0) - counts
    place_in_group = torch.arange(len(group), device=group.device) - first[group[order]]
    wanted = (counts * share).ceil()
    return order[place_in_group < wanted[group[order]]].sort().values


def _drawn(
    groups: int, candidates: int, t_max: float, generator: torch.Generator | None, *, like: Tensor
) -> Tensor:
    times = t_max * uniform((candidates, groups), generator, like.device).to(like)
    times[-1] = t_max
    return times


def _best(asked: _Asked, times: Tensor) -> tuple[Tensor, Tensor]:
    scores = torch.stack([asked(t) for t in times])
    score, which = scores.max(dim=0)
    return times.gather(0, which[None])[0], score


def _golden(asked: _Asked, grid: Tensor) -> tuple[Tensor, Tensor]:
    """Golden-section search in the two grid intervals round each group's best grid point."""
    best, top = _best(asked, grid[:, None].expand(len(grid), asked.groups))
    step = grid[1] - grid[0] if len(grid) > 1 else grid[-1]
    low, high = (best - step).clamp_min(0), (best + step).clamp(max=float(grid[-1]))
    inner = [high - GOLDEN * (high - low), low + GOLDEN * (high - low)]
    values = [asked(inner[0]), asked(inner[1])]
    for _ in range(GOLDEN_STEPS):
        for t, value in zip(inner, values):
            best, top = torch.where(value > top, t, best), torch.maximum(value, top)
        left = values[0] > values[1]
        low, high = torch.where(left, low, inner[0]), torch.where(left, inner[1], high)
        new = torch.where(left, high - GOLDEN * (high - low), low + GOLDEN * (high - low))
        fresh = asked(new)
        inner = [torch.where(left, new, inner[1]), torch.where(left, inner[0], new)]
        values = [torch.where(left, fresh, values[1]), torch.where(left, values[0], fresh)]
    return best, top


def _ascend(
    asked: _Asked, steps: int, t_max: float, generator: torch.Generator | None
) -> tuple[Tensor, Tensor]:
    """Sign ascent from the better of a draw and ``t_max``, halving the step at a turn; the best seen wins."""
    with torch.no_grad():
        best, top = _best(asked, _drawn(asked.groups, 2, t_max, generator, like=asked.path.start))
    t, step, last = best, torch.full_like(best, t_max / 3), torch.zeros_like(best)
    for _ in range(steps):
        t = t.detach().requires_grad_()
        with torch.enable_grad():
            value = asked(t)
            slope = torch.autograd.grad(value.sum(), t)[0]
        best, top = torch.where(value > top, t, best).detach(), torch.maximum(value, top).detach()
        step, last = torch.where(slope * last < 0, step / 2, step), slope
        t = (t.detach() + step * slope.sign()).clamp(0, t_max)
    with torch.no_grad():
        value = asked(t)
    return torch.where(value > top, t, best), torch.maximum(value, top)
