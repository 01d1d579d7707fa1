"""The performance simplex: a model between three classes at once."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from wassermix import labels
from wassermix.audit.performance import _chosen, smoothed, widened
from wassermix.embed import Embedding, Pixel
from wassermix.errors import InputError
from wassermix.modes import Classifier, evaluating
from wassermix.simplex import SimplexGeodesic

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["PerformanceSimplex", "performance_simplex"]


@dataclass(frozen=True)
class PerformanceSimplex:
    """Loss, KL and the share of decisions for each class, at weights on the triangle of three classes."""

    classes: tuple[int, int, int]
    weights: list[tuple[float, float, float]]
    loss: list[float]
    kl: list[float]
    decided: list[tuple[float, float, float]]
    worst: tuple[float, float, float]
    """The weights where the KL is largest."""

    def as_dict(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)

    def plot(self) -> Figure:
        """The KL over the triangle."""
        from wassermix.audit.figures import plot_simplex

        return plot_simplex(self)


def performance_simplex(
    model: Classifier,
    x: Tensor,
    y: Tensor,
    *,
    classes: tuple[int, int, int],
    steps: int = 8,
    per_class: int = 200,
    sigma: float = 0.0,
    draws: int = 1,
    embed: Embedding | None = None,
    seed: int = 0,
) -> PerformanceSimplex:
    """The model's loss at the weights ``(i, j, k) / steps`` of the generalised geodesic of three classes."""
    chosen = _chosen(y, per_class, seed)
    if len(set(classes)) != 3 or not set(classes) <= set(chosen):
        raise InputError(f"audit: three different classes that have samples are needed; got {classes}")
    if steps < 1:
        raise InputError(f"audit: steps is {steps}; expected 1 or more")
    embed = Pixel().fit(x[:1]) if embed is None else embed
    grid = [(i, j, steps - i - j) for i in range(steps + 1) for j in range(steps + 1 - i)]
    weights = [(a / steps, b / steps, c / steps) for a, b, c in grid]
    with torch.no_grad(), evaluating(model):
        surface = SimplexGeodesic.fit([x[chosen[c]] for c in classes], list(classes), embed=embed)
        judge = smoothed(model, sigma, draws=draws, seed=seed, count=len(surface), like=x)
        rows = [_judged(judge, surface, torch.tensor(w), classes) for w in weights]
    loss, kl, decided = (list(column) for column in zip(*rows))
    worst = weights[max(range(len(kl)), key=lambda k: kl[k])]
    return PerformanceSimplex(classes, weights, loss, kl, decided, worst)


def _judged(
    judge: Any, surface: SimplexGeodesic, weights: Tensor, classes: tuple[int, int, int]
) -> tuple[float, float, tuple[float, float, float]]:
    point = surface.at(weights)
    logp = judge(point.x)
    y = widened(point.y, logp)
    loss, decided = labels.cross_entropy(logp, y).mean(), logp.argmax(dim=1)
    first, second, third = (float((decided == c).float().mean()) for c in classes)
    return float(loss), float(loss - labels.entropy(y).mean()), (first, second, third)
