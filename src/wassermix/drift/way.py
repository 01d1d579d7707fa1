"""Where does it break? The performance geodesic from the reference to the new data."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from wassermix.core.classifier import Classifier, evaluating
from wassermix.core.labels import soft
from wassermix.drift.pairs import Partners
from wassermix.embed import Pixel
from wassermix.geodesic.path import Geodesic

__all__ = ["Way", "performance_way", "way_between"]

FALL = 0.05
"""The model starts to fail where the carried accuracy has fallen by so much."""
MOST = 1000


@dataclass(frozen=True, eq=False)
class Way:
    """The model along the geodesic, ``t = 0`` the reference, ``t = 1`` the new data."""

    t: tuple[float, ...]
    accuracy: tuple[float, ...]
    """How often the model decides for the label that the plan carries along."""
    confidence: tuple[float, ...]
    """Mean of the largest probability (at temperature 1)."""
    fails_at: float | None
    """The first time at which accuracy is 5 points below its start, interpolated; None: nowhere."""


def way_between(reference: Tensor, labels: Tensor, new: Tensor, partners: Partners, *, k: int) -> Geodesic:
    """Straight lines from each new sample's partner to it, with the partner's label all along."""
    index = torch.from_numpy(partners.reference)
    embed = Pixel().fit(reference[:1])
    start, end = embed.encode(reference[index]), embed.encode(new)
    y = soft(labels[index], k)
    weights = torch.full((len(new),), 1 / len(new))
    return Geodesic(start, end, y, y, weights=weights, embed=embed, labels="hard")


@torch.no_grad()
def performance_way(model: Classifier, path: Geodesic, *, points: int = 11) -> Way:
    """Accuracy and confidence at ``points`` evenly spaced times."""
    times = torch.linspace(0, 1, points).tolist()
    accuracy, confidence = [], []
    with evaluating(model):
        for t in times:
            at = path.at(t)
            p = torch.cat([model(part) for part in at.x.split(MOST)]).softmax(1)
            accuracy.append(float((p.argmax(1) == at.y.argmax(1)).float().mean()))
            confidence.append(float(p.amax(1).mean()))
    return Way(tuple(times), tuple(accuracy), tuple(confidence), _failing(times, accuracy))


def _failing(times: list[float], accuracy: list[float]) -> float | None:
    floor = accuracy[0] - FALL
    for place in range(1, len(times)):
        if accuracy[place] < floor:
            above, below = accuracy[place - 1], accuracy[place]
            part = (above - floor) / (above - below)
            return times[place - 1] + part * (times[place] - times[place - 1])
    return None
