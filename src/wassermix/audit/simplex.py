"""The performance simplex: a model between three classes at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from wassermix import __version__
from wassermix.audit.performance import audit_parameters, chosen_rows, short, smoothed, widened
from wassermix.core import labels
from wassermix.core.classifier import Classifier, evaluating
from wassermix.core.errors import InputError
from wassermix.embed import Embedding, Pixel
from wassermix.geodesic.surface import SimplexGeodesic
from wassermix.transport import solve_exact

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
    images: int
    """Particles on the surface."""
    parameters: dict[str, Any]

    def as_dict(self) -> dict[str, Any]:
        """What the file holds."""
        return {"version": __version__, **asdict(self)}

    @classmethod
    def from_dict(cls, value: dict[str, Any]) -> PerformanceSimplex:
        """Read back what :meth:`as_dict` gave."""
        first, second, third = value["classes"]
        return cls(
            (first, second, third),
            [(a, b, c) for a, b, c in value["weights"]],
            value["loss"],
            value["kl"],
            [(a, b, c) for a, b, c in value["decided"]],
            (value["worst"][0], value["worst"][1], value["worst"][2]),
            value["images"],
            value["parameters"],
        )

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
    points: int = 9,
    per_class: int = 200,
    sigma: float = 0.0,
    draws: int = 1,
    embed: Embedding | None = None,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> PerformanceSimplex:
    """The model between three classes of held-out samples ``x (n, ...)``, ``y (n,)``.

    The weights are ``(i, j, k) / (points - 1)``: ``points`` along each side. The surface is the generalised
    geodesic from the first class (:class:`SimplexGeodesic`) in data space, or in that of ``embed``, with
    exact couplings between equally many samples of each class: its corners are the samples themselves.
    Samples and noise depend on ``seed`` alone, so that two models are compared on the same surface;
    ``sigma`` and ``draws`` as in :func:`performance_geodesic`.
    """
    if points < 2 or per_class < 1 or draws < 1 or sigma < 0:
        raise InputError("audit: points is at least 2, per_class and draws at least 1, sigma not negative")
    chosen = chosen_rows(y, per_class, seed)
    if len(set(classes)) != 3 or not set(classes) <= set(chosen):
        raise InputError(f"audit: three different classes that have samples are needed; got {classes}")
    embed = Pixel().fit(x[:1]) if embed is None else embed
    steps = points - 1
    grid = [(i, j, steps - i - j) for i in range(points) for j in range(points - i)]
    weights = [(a / steps, b / steps, c / steps) for a, b, c in grid]
    rows = []
    with torch.no_grad(), evaluating(model):
        surface = _exact_surface([x[chosen[c]] for c in classes], classes, embed)
        judge = smoothed(model, sigma, draws=draws, seed=seed, count=len(surface), like=x)
        for number, w in enumerate(weights):
            rows.append(_judged(judge, surface, torch.tensor(w), classes))
            if progress is not None:
                progress(number + 1, len(weights))
    loss, kl, decided = (list(column) for column in zip(*rows))
    worst = weights[max(range(len(kl)), key=lambda k: kl[k])]
    parameters = audit_parameters(points, per_class, sigma, draws=draws, seed=seed, embed=embed, entropy=None)
    return PerformanceSimplex(classes, weights, loss, kl, decided, worst, len(surface), parameters)


def _exact_surface(xs: list[Tensor], classes: tuple[int, int, int], embed: Embedding) -> SimplexGeodesic:
    """Each sample of the first class with its exact partners in the others, as many of each class."""
    count = min(map(len, xs))
    clouds = [embed.encode(x[:count]) for x in xs]
    home = clouds[0]
    corners = [home, *(solve_exact(home, cloud).push(cloud) for cloud in clouds[1:])]
    y = labels.soft(torch.tensor(classes), max(classes) + 1, home.dtype).to(home)
    return SimplexGeodesic(torch.stack(corners), y, embed)


def _judged(
    judge: Callable[[Tensor], Tensor],
    surface: SimplexGeodesic,
    weights: Tensor,
    classes: tuple[int, int, int],
) -> tuple[float, float, tuple[float, float, float]]:
    point = surface.at(weights)
    logp = judge(point.x)
    y = widened(point.y, logp)
    loss, decided = labels.cross_entropy(logp, y).mean(), logp.argmax(dim=1)
    first, second, third = (short(float((decided == c).float().mean())) for c in classes)
    return short(float(loss)), short(float(loss - labels.entropy(y).mean())), (first, second, third)
