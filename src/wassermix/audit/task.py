"""The work of an audit in pieces: a curve for each class pair, or a point between three classes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from wassermix.audit.choice import chosen_rows, spelled, wanted_classes, wanted_pairs
from wassermix.audit.curve import curve_along
from wassermix.audit.judged import Judge, check_samples, short, smoothed, widened
from wassermix.audit.paths import class_path
from wassermix.audit.result import Frames, PairCurve, PerformanceGeodesic, PerformanceSimplex, Three
from wassermix.audit.settings import AuditSettings
from wassermix.core import labels
from wassermix.core.classifier import Classifier, evaluating
from wassermix.core.streams import stream
from wassermix.embed import Embedding, Pixel
from wassermix.embed.protocol import is_image
from wassermix.geodesic.path import Geodesic
from wassermix.geodesic.surface import SimplexGeodesic

__all__ = ["GeodesicTask", "SimplexTask"]

FRAME_PAIRS, FRAME_SAMPLES, FRAME_TIMES = 6, 4, 11
"""Pictures are kept of so many of the weakest pairs, for so many samples, at so many times."""


@dataclass(frozen=True, eq=False)
class _Task:
    """A model, the samples ``x (n, ...)`` with classes ``y (n,)`` between which it is judged, and how."""

    model: Classifier
    x: Tensor
    y: Tensor
    settings: AuditSettings
    embed: Embedding | None = None
    class_names: Sequence[str] = ()
    about: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "y", check_samples(self.x, self.y))

    @cached_property
    def space(self) -> Embedding:
        """Where paths are straight: the embedding given, or data space."""
        return Pixel().fit(self.x[:1]) if self.embed is None else self.embed

    @cached_property
    def chosen(self) -> dict[int, Tensor]:
        """The rows of each class."""
        return chosen_rows(self.y, self.settings.per_class, self.settings.seed)

    def parameters(self) -> dict[str, Any]:
        """What the result depends on beside the model, the samples and the classes."""
        asked = self.settings
        names = {"class_names": list(self.class_names)} if self.class_names else {}
        return {
            "points": asked.points, "per_class": asked.per_class, "sigma": asked.noise,
            "draws": asked.draws if asked.noise else 1, "seed": asked.seed,
            "embed": Pixel.name if self.embed is None else self.embed.name,
            "entropy": asked.entropy if asked.pairing == "entropic" else None,
            "transport": asked.pairing, **names,
        }  # fmt: skip

    def _judge(self, count: int) -> Judge:
        asked = self.settings
        return smoothed(self.model, asked.noise, draws=asked.draws, seed=asked.seed, count=count, like=self.x)


class GeodesicTask(_Task):
    """A curve for each pair of classes."""

    folder: ClassVar[str] = ""
    files: ClassVar[tuple[str, ...]] = (".json", ".npz")
    read = staticmethod(PerformanceGeodesic.read)

    @property
    def name(self) -> str:
        """The name of the files, unless the user gives one."""
        return f"geodesic-{self.settings.name}"

    @cached_property
    def pairs(self) -> list[tuple[int, int]]:
        """The class pairs to audit."""
        return wanted_pairs(self.settings.pairs, self.chosen, self.class_names)

    def __len__(self) -> int:
        return len(self.pairs)

    def told(self) -> dict[str, Any]:
        """All that a resumed audit must share."""
        return {**self.about, **self.parameters(), "pairs": spelled(self.pairs)}

    def piece(self, number: int) -> dict[str, Any]:
        """The curve of one pair, as a log holds it."""
        source, target = self.pairs[number]
        with torch.no_grad(), evaluating(self.model):
            path = self.path(source, target)
            times = torch.linspace(0, 1, self.settings.points)
            return asdict(curve_along(self._judge(len(path)), path, source, target, times=times))

    def result(self, pieces: Sequence[Mapping[str, Any]]) -> PerformanceGeodesic:
        """All curves."""
        curves = [PairCurve(**piece) for piece in pieces]
        return PerformanceGeodesic(curves, self.parameters(), dict(self.about))

    def writers(self, pieces: Sequence[Mapping[str, Any]]) -> dict[str, Callable[[Path], object]]:
        """The result's files, with pictures along its weakest pairs where the samples are images."""
        audit = self.result(pieces)
        if is_image(tuple(self.x.shape[1:])):
            shown = [(pair.source, pair.target) for pair in audit.weakest(FRAME_PAIRS)]
            audit = replace(audit, frames=_frames([self.path(*pair) for pair in shown], shown))
        return audit.writers()

    @staticmethod
    def told_by(record: Mapping[str, Any]) -> dict[str, Any]:
        """What :meth:`told` told when a file was made."""
        pairs = [(pair["source"], pair["target"]) for pair in record["pairs"]]
        return {**record, **record["parameters"], "pairs": spelled(pairs)}

    @torch.no_grad()
    def path(self, source: int, target: int) -> Geodesic:
        """The path between two classes, the same whenever it is asked for."""
        asked = self.settings
        return class_path(
            self.x[self.chosen[source]],
            self.x[self.chosen[target]],
            (source, target),
            embed=self.space,
            pairing=asked.pairing,
            entropy=asked.entropy,
            generator=stream(asked.seed, "audit pairing", source, target),
        )


class SimplexTask(_Task):
    """A point on the triangle of three classes for each of the weights ``(i, j, k) / (points - 1)``."""

    folder: ClassVar[str] = "simplex"
    files: ClassVar[tuple[str, ...]] = (".json", ".svg")
    read = staticmethod(PerformanceSimplex.read)

    @property
    def name(self) -> str:
        """The name of the files, unless the user gives one."""
        return f"{'-'.join(map(str, self.classes))}-{self.settings.name}"

    @cached_property
    def classes(self) -> tuple[int, int, int]:
        """The corners."""
        return wanted_classes(self.settings.classes or (), self.chosen, self.class_names)

    @cached_property
    def weights(self) -> list[Three]:
        """Every place that is looked at."""
        steps = self.settings.points - 1
        grid = [(i, j, steps - i - j) for i in range(steps + 1) for j in range(steps + 1 - i)]
        return [(a / steps, b / steps, c / steps) for a, b, c in grid]

    @cached_property
    def surface(self) -> SimplexGeodesic:
        """Each sample of the first class with its partners in the others, as many of each class."""
        xs = [self.x[self.chosen[number]] for number in self.classes]
        count = min(map(len, xs))
        with torch.no_grad():
            ends = [self._partners(xs[0][:count], x[:count], place) for place, x in enumerate(xs[1:], 1)]
            home = self.space.encode(xs[0][:count])
            y = labels.soft(torch.tensor(self.classes), max(self.classes) + 1, home.dtype).to(home)
            return SimplexGeodesic(torch.stack([home, *ends]), y, self.space)

    def __len__(self) -> int:
        return len(self.weights)

    def told(self) -> dict[str, Any]:
        """All that a resumed audit must share."""
        return {**self.about, **self.parameters(), "classes": list(self.classes)}

    def piece(self, number: int) -> dict[str, Any]:
        """Loss, KL and decisions at one place."""
        with torch.no_grad(), evaluating(self.model):
            point = self.surface.at(torch.tensor(self.weights[number]))
            logp = self._judge(len(self.surface))(point.x)
        y = widened(point.y, logp)
        loss, decided = labels.cross_entropy(logp, y).mean(), logp.argmax(dim=1)
        return {
            "loss": short(float(loss)),
            "kl": short(float(loss - labels.entropy(y).mean())),
            "decided": [short(float((decided == c).float().mean())) for c in self.classes],
        }

    def result(self, pieces: Sequence[Mapping[str, Any]]) -> PerformanceSimplex:
        """The whole triangle."""
        kl = [piece["kl"] for piece in pieces]
        return PerformanceSimplex(
            classes=self.classes,
            weights=self.weights,
            loss=[piece["loss"] for piece in pieces],
            kl=kl,
            decided=[(a, b, c) for a, b, c in (piece["decided"] for piece in pieces)],
            worst=self.weights[max(range(len(kl)), key=lambda k: kl[k])],
            images=len(self.surface),
            parameters=self.parameters(),
            about=dict(self.about),
        )

    def writers(self, pieces: Sequence[Mapping[str, Any]]) -> dict[str, Callable[[Path], object]]:
        """The result's files."""
        return self.result(pieces).writers()

    @staticmethod
    def told_by(record: Mapping[str, Any]) -> dict[str, Any]:
        """What :meth:`told` told when a file was made."""
        return {**record, **record["parameters"]}

    def _partners(self, x0: Tensor, x1: Tensor, place: int) -> Tensor:
        """Where each of ``x0 (n, ...)`` ends in the class of ``x1 (n, ...)``, in the order of ``x0``."""
        asked = self.settings
        generator = stream(asked.seed, "audit pairing", self.classes[0], self.classes[place])
        path = class_path(
            x0, x1, embed=self.space, pairing=asked.pairing, entropy=asked.entropy, generator=generator
        )
        return path.end


@torch.no_grad()
def _frames(paths: list[Geodesic], pairs: list[tuple[int, int]]) -> Frames:
    """Pictures along paths, the same number of samples for each."""
    count = min(FRAME_SAMPLES, *(len(path) for path in paths))
    t = torch.linspace(0, 1, FRAME_TIMES)
    few = [path.rows(torch.arange(count)) for path in paths]
    frames = torch.stack([torch.stack([path.at(float(s)).x for s in t], dim=1) for path in few])
    packed = frames.clamp(0, 1).mul(255).round().to(torch.uint8).cpu().numpy()
    return Frames(packed, np.array(pairs), t.numpy())
