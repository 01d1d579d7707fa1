"""The curve of a model along one path."""

from __future__ import annotations

from itertools import pairwise

from torch import Tensor

from wassermix.audit.judged import Judge, short, widened
from wassermix.audit.result import PairCurve
from wassermix.core import labels
from wassermix.geodesic.path import Geodesic

__all__ = ["curve_along"]


def curve_along(judge: Judge, path: Geodesic, source: int, target: int, *, times: Tensor) -> PairCurve:
    """Loss, KL, accuracy and decisions at each of ``times (k,)``."""
    rows = [_judged(judge, path, source, target, t=float(t)) for t in times]
    loss, kl, accuracy, as_source, as_target = (list(column) for column in zip(*rows))
    t = [round(float(value), 6) for value in times]
    return PairCurve(
        source=source,
        target=target,
        t=t,
        loss=loss,
        kl=kl,
        accuracy=accuracy,
        as_source=as_source,
        as_target=as_target,
        as_other=[short(max(0.0, 1 - a - b)) for a, b in zip(as_source, as_target)],
        total_variation=_variation(kl),
        total_variation_loss=_variation(loss),
        worst_t=t[max(range(len(kl)), key=lambda k: kl[k])],
        flip_t=_flip(t, as_source, as_target),
        images=len(path),
    )


def _judged(
    judge: Judge, path: Geodesic, source: int, target: int, *, t: float
) -> tuple[float, float, float, float, float]:
    """Loss, KL, accuracy and the shares decided for source and target at one time."""
    point = path.at(t)
    logp = judge(point.x)
    y = widened(point.y, logp)
    decided, weights = logp.argmax(dim=1), path.weights
    loss = float((weights * labels.cross_entropy(logp, y)).sum())
    entropy = float((weights * labels.entropy(y)).sum())
    first = float((weights * (decided == source)).sum())
    second = float((weights * (decided == target)).sum())
    accuracy = first + second if abs(t - 0.5) < 1e-9 else (first if t < 0.5 else second)
    return short(loss), short(loss - entropy), short(accuracy), short(first), short(second)


def _variation(values: list[float]) -> float:
    return sum(abs(b - a) for a, b in pairwise(values))


def _flip(t: list[float], as_source: list[float], as_target: list[float]) -> float | None:
    """Where the target's lead over the source first reaches 0, interpolated."""
    lead = [b - a for a, b in zip(as_source, as_target)]
    for k in range(len(t)):
        if lead[k] >= 0 and as_target[k] > 0:
            if k == 0 or lead[k - 1] >= 0:
                return t[k]
            return t[k - 1] + (t[k] - t[k - 1]) * lead[k - 1] / (lead[k - 1] - lead[k])
    return None
