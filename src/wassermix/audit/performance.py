"""The performance geodesic: a model's loss and decisions on the way from each class to another."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor

from wassermix import __version__
from wassermix.core import labels
from wassermix.core.classifier import Classifier, evaluating
from wassermix.core.errors import InputError
from wassermix.core.streams import stream
from wassermix.embed import Embedding, Pixel
from wassermix.geodesic.path import Geodesic
from wassermix.transport import solve_coupling, solve_exact

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["PairCurve", "PerformanceGeodesic", "exact_path", "performance_geodesic", "smoothed"]

BATCH = 500
LOWEST = -1e4
"""A log-probability that stands for minus infinity, which no file can hold."""


@dataclass(frozen=True)
class PairCurve:
    """A model between two classes: means over the path's samples at each time ``t``."""

    source: int
    target: int
    t: list[float]
    loss: list[float]
    """Cross-entropy to the mixed label, which alone has the entropy log 2 at the middle."""
    kl: list[float]
    """Cross-entropy less that entropy: the model's own fault."""
    accuracy: list[float]
    """Share decided for the nearer class; at the middle either counts."""
    as_source: list[float]
    as_target: list[float]
    as_other: list[float]
    total_variation: float
    """``sum |KL(t_{k+1}) - KL(t_k)|``: the regulariser's value on these points."""
    total_variation_loss: float
    """The same for the cross-entropy."""
    worst_t: float
    """Where the KL is largest."""
    flip_t: float | None
    """Where the target first has as many decisions as the source; None where it never does."""
    images: int
    """Particles on the path."""


@dataclass(frozen=True, eq=False)
class PerformanceGeodesic:
    """The curves of all audited class pairs, with the parameters that made them."""

    pairs: list[PairCurve]
    parameters: dict[str, Any]

    def as_dict(self) -> dict[str, Any]:
        """What the audit's JSON file holds."""
        return {
            "version": __version__,
            "parameters": self.parameters,
            "pairs": [asdict(pair) for pair in self.pairs],
            "mean": self.mean(),
        }

    @classmethod
    def from_dict(cls, value: dict[str, Any]) -> PerformanceGeodesic:
        """Read back what :meth:`as_dict` gave."""
        return cls([PairCurve(**pair) for pair in value["pairs"]], value["parameters"])

    def mean(self) -> dict[str, list[float]]:
        """Curves averaged over the pairs: the paper's Fig. 2."""
        keys = ("loss", "kl", "accuracy", "as_source", "as_target", "as_other")
        table = {key: torch.tensor([getattr(pair, key) for pair in self.pairs]) for key in keys}
        return {"t": self.pairs[0].t, **{key: values.mean(dim=0).tolist() for key, values in table.items()}}

    def matrix(self, key: Literal["total_variation", "kl", "accuracy", "as_other"] = "kl") -> Tensor:
        """One number a pair, ``(k, k)`` symmetric with NaN where nothing was audited.

        Curves count by their mean over the inner half ``0.25 <= t <= 0.75``, where the classes meet (over
        all times where none lies there).
        """
        size = 1 + max(max(pair.source, pair.target) for pair in self.pairs)
        table = torch.full((size, size), torch.nan)
        for pair in self.pairs:
            value = getattr(pair, key)
            if isinstance(value, list):
                inner = [v for t, v in zip(pair.t, value) if 0.25 <= t <= 0.75] or value
                value = sum(inner) / len(inner)
            table[pair.source, pair.target] = table[pair.target, pair.source] = value
        return table

    def weakest(self, count: int = 5) -> list[PairCurve]:
        """The pairs between which the model is worst: the largest KL anywhere on the path first."""
        return sorted(self.pairs, key=lambda pair: max(pair.kl), reverse=True)[:count]

    def plot(self) -> Figure:
        """Loss, decisions and the matrix of pairs as a figure."""
        from wassermix.audit.figures import plot_performance

        return plot_performance(self)


def performance_geodesic(
    model: Classifier,
    x: Tensor,
    y: Tensor,
    *,
    pairs: Literal["all"] | Sequence[tuple[int, int]] = "all",
    points: int = 21,
    per_class: int = 500,
    sigma: float = 0.0,
    draws: int = 1,
    embed: Embedding | None = None,
    entropy: float | None = None,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> PerformanceGeodesic:
    """``R(t) = E l(f(x_t), y_t)`` between classes of held-out samples ``x (n, ...)``, ``y (n,)``.

    Paths are exact W2 geodesics in data space (or in that of ``embed``; ``entropy`` makes them entropic)
    between at most ``per_class`` samples of each class, drawn by ``seed`` alone: two models are compared on
    the same paths. With ``sigma`` the model is audited under noise: its probabilities are averaged over
    ``draws`` noises (many: the smoothed classifier), the same for all times.
    """
    if points < 2 or per_class < 1 or draws < 1 or sigma < 0:
        raise InputError("audit: points is at least 2, per_class and draws at least 1, sigma not negative")
    embed = Pixel().fit(x[:1]) if embed is None else embed
    chosen = chosen_rows(y, per_class, seed)
    wanted = wanted_pairs(pairs, list(chosen))
    times = torch.linspace(0, 1, points)
    curves = []
    with torch.no_grad(), evaluating(model):
        for number, (source, target) in enumerate(wanted):
            path = exact_path(
                x[chosen[source]], x[chosen[target]], source, y1=target, embed=embed, entropy=entropy
            )
            judge = smoothed(model, sigma, draws=draws, seed=seed, count=len(path), like=x)
            curves.append(_curve(judge, path, source, target, times=times))
            if progress is not None:
                progress(number + 1, len(wanted))
    parameters = audit_parameters(
        points, per_class, sigma, draws=draws, seed=seed, embed=embed, entropy=entropy
    )
    return PerformanceGeodesic(curves, parameters)


def audit_parameters(
    points: int,
    per_class: int,
    sigma: float,
    *,
    draws: int,
    seed: int,
    embed: Embedding | None,
    entropy: float | None,
) -> dict[str, Any]:
    """What the curves depend on beside the model, the samples and the pairs."""
    return {
        "points": points, "per_class": per_class, "sigma": sigma, "draws": draws if sigma else 1,
        "seed": seed, "embed": Pixel.name if embed is None else embed.name, "entropy": entropy,
        "transport": "exact" if entropy is None else "entropic",
    }  # fmt: skip


def exact_path(
    x0: Tensor, x1: Tensor, y0: int, *, y1: int, embed: Embedding, entropy: float | None = None
) -> Geodesic:
    """The geodesic between two clouds, a particle for each entry of the plan where that is exact."""
    num_classes = max(y0, y1) + 1
    z0, z1 = embed.encode(x0), embed.encode(x1)
    if entropy is None:
        coupling = solve_exact(z0, z1)
        return Geodesic.from_coupling(z0, z1, coupling, y0=y0, y1=y1, embed=embed, num_classes=num_classes)
    end = solve_coupling(z0, z1, entropy).push(z1)
    first, last = (labels.soft(torch.full((len(z0),), c), num_classes).to(z0) for c in (y0, y1))
    return Geodesic(z0, end, first, last, weights=torch.full_like(z0[:, 0], 1 / len(z0)), embed=embed)


def smoothed(
    model: Classifier, sigma: float, *, draws: int, seed: int, count: int, like: Tensor
) -> Callable[[Tensor], Tensor]:
    """Samples ``(count, ...)`` to log-probabilities ``(count, k)``, averaged over fixed noises if asked."""

    def plain(x: Tensor) -> Tensor:
        logp = torch.cat([model(rows).log_softmax(dim=1) for rows in x.split(BATCH)])
        return logp.clamp_min(LOWEST)

    def noise(draw: int) -> Tensor:  # made again at each time, for together they may not fit into memory
        generator = stream(seed, "audit noise", draw)
        return torch.randn((count, *like.shape[1:]), generator=generator).to(like)

    if sigma == 0:
        return plain

    def averaged(x: Tensor) -> Tensor:
        each = torch.stack([plain(x + sigma * noise(draw)) for draw in range(draws)])
        return each.logsumexp(dim=0) - torch.tensor(float(draws)).log().to(each)

    return averaged


def _curve(
    judge: Callable[[Tensor], Tensor], path: Geodesic, source: int, target: int, *, times: Tensor
) -> PairCurve:
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
    judge: Callable[[Tensor], Tensor], path: Geodesic, source: int, target: int, *, t: float
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


def widened(y: Tensor, logp: Tensor) -> Tensor:
    """Labels padded with empty classes to the model's outputs, which must name every class of the labels."""
    missing = logp.shape[1] - y.shape[1]
    if missing < 0:
        raise InputError(
            f"audit: the model has {logp.shape[1]} outputs, but there are samples of class {y.shape[1] - 1}; "
            "expected an output for each class, counted from 0"
        )
    return torch.nn.functional.pad(y, (0, missing))


def short(value: float) -> float:
    """Six decimals: what a file holds."""
    return round(value, 6)


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


def chosen_rows(y: Tensor, per_class: int, seed: int) -> dict[int, Tensor]:
    """Rows of each class, at most ``per_class``, drawn by ``seed`` alone."""
    chosen = {}
    for kind in y.unique().tolist():
        rows = (y == kind).nonzero()[:, 0]
        order = torch.randperm(len(rows), generator=stream(seed, "audit", kind))
        chosen[int(kind)] = rows[order[:per_class].sort().values.to(rows.device)]
    return chosen


def wanted_pairs(pairs: str | Sequence[tuple[int, int]], present: Iterable[int]) -> list[tuple[int, int]]:
    """The class pairs to audit: all of those present, or those named."""
    present = sorted(present)
    if isinstance(pairs, str):
        if pairs != "all":
            raise InputError(f"audit: pairs is 'all' or a list of class pairs; got '{pairs}'")
        if len(present) < 2:
            raise InputError(f"audit: samples of two classes are needed; got {len(present)}")
        return list(combinations(present, 2))
    if not pairs:
        raise InputError("audit: no pairs; expected 'all' or class pairs such as [(3, 8)]")
    for source, target in pairs:
        if source == target or source not in present or target not in present:
            raise InputError(
                f"audit: pair {source}-{target} is not two different classes of {present[0]}..{present[-1]}"
            )
    return list(pairs)
