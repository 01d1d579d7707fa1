"""The performance geodesic and simplex in memory: a model between two classes, or between three."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from wassermix.audit.result import PerformanceGeodesic, PerformanceSimplex
from wassermix.audit.settings import AuditSettings
from wassermix.audit.task import GeodesicTask, SimplexTask
from wassermix.core.classifier import Classifier
from wassermix.core.pieces import Progress
from wassermix.core.settings import settings_from
from wassermix.embed import Embedding

__all__ = ["performance_geodesic", "performance_simplex"]


def performance_geodesic(
    model: Classifier,
    x: Tensor,
    y: Tensor,
    *,
    embed: Embedding | None = None,
    class_names: Sequence[str] = (),
    progress: Progress | None = None,
    **settings: Any,
) -> PerformanceGeodesic:
    """``R(t) = E l(f(x_t), y_t)`` between classes of held-out samples ``x (n, ...)``, ``y (n,)``.

    ``settings`` are those of :class:`AuditSettings`, such as ``pairs=[(3, 8)]``, ``points=11``,
    ``sigma=0.25`` or ``pairing="random"``. Paths lie in data space, or in that of ``embed``, between at most
    ``per_class`` samples of each class, drawn by ``seed`` alone: two models are compared on the same paths.
    With ``sigma`` the model is audited under noise: its probabilities are averaged over ``draws`` noises
    (many: the smoothed classifier), the same for all times.
    """
    asked = settings_from(AuditSettings, settings, where="audit")
    task = GeodesicTask(model, x, y, asked, embed, class_names)
    return task.result(_pieces(task, progress))


def performance_simplex(
    model: Classifier,
    x: Tensor,
    y: Tensor,
    *,
    classes: tuple[int, int, int] | str,
    embed: Embedding | None = None,
    class_names: Sequence[str] = (),
    progress: Progress | None = None,
    **settings: Any,
) -> PerformanceSimplex:
    """The model between three classes of held-out samples ``x (n, ...)``, ``y (n,)``.

    The weights are ``(i, j, k) / (points - 1)``: ``points`` along each side. The surface is the generalised
    geodesic from the first class (:class:`SimplexGeodesic`), between equally many samples of each class: with
    exact pairing its corners are the samples themselves. The rest as in :func:`performance_geodesic`.
    """
    asked = settings_from(AuditSettings, {**settings, "classes": classes}, where="audit")
    task = SimplexTask(model, x, y, asked, embed, class_names)
    return task.result(_pieces(task, progress))


def _pieces(task: GeodesicTask | SimplexTask, progress: Progress | None) -> list[dict[str, Any]]:
    pieces = []
    for number in range(len(task)):
        pieces.append(task.piece(number))
        if progress is not None:
            progress(number + 1, len(task))
    return pieces
