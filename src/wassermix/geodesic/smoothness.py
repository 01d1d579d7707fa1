"""Smoothness of the loss along a geodesic: how much a classifier's loss moves between two classes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, get_args

import torch
from torch import Tensor

from wassermix.core import labels as labelling
from wassermix.core.classifier import Classifier, keeping_statistics
from wassermix.core.errors import InputError
from wassermix.core.samples import LabelledSamples
from wassermix.embed import Embedding
from wassermix.geodesic.path import LABELS, Geodesic, Labels, PathPoint, value_and_velocity
from wassermix.transport import ExactMap, PairMap, TransportMap

__all__ = ["GeodesicSmoothness", "geodesic_smoothness"]

Score = Literal["kl", "ce"]
SCORES = get_args(Score)
Estimator = Literal["differences", "derivative"]
ESTIMATORS = get_args(Estimator)
Pairing = Literal["exact", "entropic", "random"]
PAIRINGS = get_args(Pairing)
Loss = Callable[[Tensor, Tensor], Tensor]
"""``loss(outputs (n, ...), y (n, k)) -> (n,)``."""

SURE = 0.999
"""A soft label with this much on one class counts as that class; others are samples between classes."""


def geodesic_smoothness(
    net: Classifier,
    path: Geodesic,
    *,
    score: Score | Loss = "kl",
    points: int = 4,
    power: int = 1,
    label_term: bool = True,
    estimator: Estimator = "differences",
    generator: torch.Generator | None = None,
    sigma: float = 0.0,
) -> Tensor:
    """The geodesic regulariser ``Reg = int_0^1 |d/dt R(t)| dt`` to the given ``power``, a scalar.

    ``R(t) = sum_i w_i l(f(x_i(t)), y_i(t))`` is the mean loss of the path's samples at time ``t``; noise of
    size ``sigma`` is drawn once and added at all times alike.

    ``differences``: ``sum_k |R(t_{k+1}) - R(t_k)|`` over ``points`` times, among them always 0 and 1. Never
    above the integral, equal to it where ``R`` is monotone between the times, non-decreasing under
    refinement; needs no second derivative.
    ``derivative``: the mean of ``|R'(t)|`` over ``points`` times drawn from U(0, 1), by forward-mode
    differentiation: unbiased for the integral of this batch's ``|R'|``.

    ``score="ce"`` is the paper's cross-entropy; ``kl`` subtracts the label's entropy: else a constant
    classifier costs nothing and a calibrated one ``2 log 2``; a function is a loss of one's own.
    ``label_term=False`` holds the label still, as the formula in the paper's text does (its appendix does
    not). ``power=2`` is the form of its proposition.
    Running statistics of batch norm are left alone.
    """
    _require_points(points, power)
    _require_choice("estimator", estimator, ESTIMATORS)
    noise = _noise(path, sigma, generator)
    loss = _loss(score) if isinstance(score, str) else score
    estimate = _differences if estimator == "differences" else _derivative
    with keeping_statistics(net):
        total = estimate(_Risk(net, path, loss, noise), points, label_term=label_term, generator=generator)
    return total if power == 1 else total**power


@dataclass(frozen=True)
class _Risk:
    """``R(t)``: the mean loss of a path's samples, with the same noise at all times."""

    net: Classifier
    path: Geodesic
    loss: Loss
    noise: Tensor | None

    def at(self, times: Tensor) -> Tensor:
        """``R`` at each of ``times (p,)``."""
        point, outputs = self.outputs(times)
        return self.mean(self.loss(outputs, _widened(point.y, outputs)), len(times))

    def outputs(self, times: Tensor) -> tuple[PathPoint, Tensor]:
        """All samples at all times, time by time, and what the network says of them: ``(p n, ...)``."""
        point = _stacked(self.path, times)
        x = point.x
        if self.noise is not None:
            x = x + self.noise.repeat(len(times), *[1] * (self.noise.dim() - 1))
        return point, self.net(x)

    def mean(self, values: Tensor, times: int) -> Tensor:
        """The weighted mean over the samples at each time: ``(p n,) -> (p,)``."""
        return values.reshape(times, -1) @ self.path.weights.to(values)


class GeodesicSmoothness:
    """Smoothness of the loss on the path between two classes of the batch (the paper's Reg).

    One class pair per step, at most ``pair_size`` samples of each; ``weight`` rises from 0 over the first
    share ``ramp`` of training. ``pairing`` says where each sample goes: to its image under the ``entropic``
    plan, blurred by ``entropy`` (the paper's, and what the weight was settled with), to its ``exact``
    partner, or to a ``random`` one, the control. Options are those of :func:`geodesic_smoothness`.
    """

    reference: ClassVar[str] = "Zhu et al. 2023, Eq. 10"
    wants_embedding: ClassVar[bool] = True

    def __init__(
        self,
        *,
        weight: float = 0.1,
        score: Score = "kl",
        points: int = 4,
        pair_size: int = 32,
        power: int = 1,
        label_term: bool = True,
        estimator: Estimator = "differences",
        pairing: Pairing = "entropic",
        entropy: float = 0.02,
        labels: Labels = "mix",
        ramp: float = 0.0,
    ) -> None:
        if weight < 0 or pair_size < 1 or not 0 <= ramp <= 1:
            raise InputError("regularizer: weight is not negative, pair_size at least 1, ramp within [0, 1]")
        _require_points(points, power)
        _require_choice("score", score, SCORES)
        _require_choice("estimator", estimator, ESTIMATORS)
        _require_choice("labels", labels, LABELS)
        _require_choice("pairing", pairing, PAIRINGS)
        self.weight, self.score, self.points, self.pair_size = weight, score, points, pair_size
        self.power, self.label_term, self.estimator = power, label_term, estimator
        self.pairing, self.entropy, self.labels, self.ramp = pairing, entropy, labels, ramp

    def batch_passes(self, size: int, /) -> float:
        """Forward and backward passes of one term, whatever the batch: one for each sample and time."""
        factor = 2.0 if self.estimator == "derivative" else 1.0
        return factor * self.points * self.pair_size

    def loss(
        self,
        model: Classifier,
        x: Tensor,
        y: Tensor,
        *,
        embed: Embedding | None = None,
        generator: torch.Generator | None = None,
        sigma: float = 0.0,
        progress: float = 0.0,
        source: LabelledSamples | None = None,
    ) -> Tensor:
        """The weighted term for clean samples ``x``; 0 where they show fewer than two classes.

        Rows whose soft label lies between classes are left out. Where the batch has fewer than ``pair_size``
        of a class, both classes are drawn from ``source`` instead, if there is one; with soft labels always,
        for new samples between classes may carry the label of one.
        """
        weight = self.weight * (min(1.0, progress / self.ramp) if self.ramp else 1.0)
        pair = self._pair(x, y, generator=generator, source=source)
        if weight == 0 or pair is None:
            return x.new_zeros(())
        with torch.no_grad():
            path = Geodesic.fit(
                pair[0],
                pair[1],
                embed=embed,
                transport=self._map(),
                labels=self.labels,
                y0=pair[2],
                y1=pair[3],
            )
        return weight * geodesic_smoothness(
            model,
            path,
            score=self.score,
            points=self.points,
            power=self.power,
            label_term=self.label_term,
            estimator=self.estimator,
            generator=generator,
            sigma=sigma,
        )

    def _map(self) -> TransportMap | float:
        """Where samples go, for :meth:`Geodesic.fit`; they are drawn in random order already."""
        if self.pairing == "entropic":
            return self.entropy
        return ExactMap() if self.pairing == "exact" else PairMap()

    def _pair(
        self, x: Tensor, y: Tensor, *, generator: torch.Generator | None, source: LabelledSamples | None
    ) -> tuple[Tensor, Tensor, int, int] | None:
        """Samples of two classes that are drawn at random from those in the batch."""
        classes = y
        if y.dim() == 2:
            top, classes = y.max(dim=1)
            classes = torch.where(top >= SURE, classes, -1)
        present = classes.unique()
        present = present[present >= 0]
        if len(present) < 2:
            return None
        first, second = (int(c) for c in present[_order(len(present), generator, x.device)[:2]])
        rows = [(classes == c).nonzero()[:, 0] for c in (first, second)]
        if source is not None and (y.dim() == 2 or min(map(len, rows)) < self.pair_size):
            here = [(source.y == c).nonzero()[:, 0] for c in (first, second)]
            parts = [source.get(self._some(r, generator)).to(x.device) for r in here]
        else:
            parts = [x[self._some(r, generator)] for r in rows]
        return parts[0], parts[1], first, second

    def _some(self, rows: Tensor, generator: torch.Generator | None) -> Tensor:
        return rows[_order(len(rows), generator, rows.device)[: self.pair_size]]


def _differences(risk: _Risk, points: int, *, label_term: bool, generator: torch.Generator | None) -> Tensor:
    path = risk.path
    inner = _uniform(points - 2, generator)
    times = torch.cat([torch.tensor([0.0, 1.0]), inner]).sort().values.to(path.start)
    if label_term:
        return risk.at(times).diff().abs().sum()
    _, outputs = risk.outputs(times)
    middle = _stacked(path, (times[1:] + times[:-1]) / 2)
    y = _widened(middle.y, outputs)
    step = risk.loss(outputs[len(path) :], y) - risk.loss(outputs[: -len(path)], y)
    return risk.mean(step, points - 1).abs().sum()


def _derivative(risk: _Risk, points: int, *, label_term: bool, generator: torch.Generator | None) -> Tensor:
    path = risk.path
    times = _uniform(points, generator).to(path.start)
    outputs, velocity = value_and_velocity(
        lambda moving: risk.outputs(moving)[1], times, torch.ones_like(times)
    )
    point = _stacked(path, times)
    y = _widened(point.y, outputs).detach().requires_grad_()
    outputs = outputs if outputs.requires_grad else outputs.detach().requires_grad_()
    with torch.enable_grad():
        total = risk.loss(outputs, y).sum()
    by_output, by_label = torch.autograd.grad(total, (outputs, y), create_graph=True, allow_unused=True)
    speed = _product(by_output, velocity, outputs)
    if label_term:
        speed = speed + _product(by_label, _widened(point.dy, outputs), outputs)
    return risk.mean(speed, points).abs().mean()


def _product(gradient: Tensor | None, velocity: Tensor, outputs: Tensor) -> Tensor:
    """``<gradient, velocity>`` for each sample; 0 where the loss does not depend on this."""
    if gradient is None:
        return outputs.new_zeros(len(outputs))
    return (gradient * velocity).reshape(len(outputs), -1).sum(dim=1)


def _stacked(path: Geodesic, times: Tensor) -> PathPoint:
    """All samples at all times, time by time: ``(p n, ...)``."""
    count = len(times)
    many = replace(
        path,
        start=path.start.repeat(count, 1),
        end=path.end.repeat(count, 1),
        y0=path.y0.repeat(count, 1),
        y1=path.y1.repeat(count, 1),
    )
    return many.at(times[:, None].expand(count, len(path)).reshape(-1))


def _noise(path: Geodesic, sigma: float, generator: torch.Generator | None) -> Tensor | None:
    if sigma == 0:
        return None
    shape = path.at(0.0).x.shape
    device = path.start.device if generator is None else generator.device
    return sigma * torch.randn(shape, generator=generator, device=device).to(path.start)


def _require_points(points: int, power: int) -> None:
    if points < 2 or power < 1:
        raise InputError(f"regularizer: points is at least 2 and power at least 1; got {points} and {power}")


def _require_choice(name: str, value: str, choices: Sequence[str]) -> None:
    if value not in choices:
        raise InputError(f"regularizer: {name} is '{value}'; expected one of {', '.join(choices)}")


def _loss(score: str) -> Loss:
    _require_choice("score", score, SCORES)
    return labelling.kl_score if score == "kl" else labelling.cross_entropy


def _widened(y: Tensor, outputs: Tensor) -> Tensor:
    """Labels padded with empty classes to the width of the outputs."""
    missing = outputs.shape[1] - y.shape[1] if outputs.dim() == 2 else 0
    return torch.nn.functional.pad(y, (0, missing)) if missing > 0 else y


def _uniform(count: int, generator: torch.Generator | None) -> Tensor:
    device = "cpu" if generator is None else generator.device
    return torch.rand(count, generator=generator, device=device).cpu()


def _order(count: int, generator: torch.Generator | None, device: torch.device) -> Tensor:
    drawn = torch.randperm(
        count, generator=generator, device="cpu" if generator is None else generator.device
    )
    return drawn.to(device)
