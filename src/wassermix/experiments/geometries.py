"""``wassermix reproduce geometry``: what known data sets look like to transport, and how entropy blurs."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from wassermix.core.samples import LabelledSamples, TensorSamples
from wassermix.core.streams import stream
from wassermix.data import load_data
from wassermix.embed import PCA, Embedding, Pixel, Standard
from wassermix.experiments.vector_data import VECTORS
from wassermix.geodesic.geometry import Geometry, data_geometry, sentence
from wassermix.geodesic.geometry_settings import GeometrySettings
from wassermix.transport import assign, solve_coupling

__all__ = ["run"]

Tell = Callable[[str, float], None]
Embeddings = list[tuple[str, Embedding]]
ENTROPIES = (0.05, 0.02, 0.01, 0.002, 0.001)
POINTS, PROBLEMS = 64, 20


def run(out: Path, tell: Tell) -> dict[str, Any]:
    """Every data set in its embeddings, and the blur of entropic plans on digits; ``out`` is not used."""
    cases, found = _cases(), {}
    for number, (name, (samples, embeddings)) in enumerate(cases.items()):
        tell(name, number / (len(cases) + 1))
        found[name] = data_geometry(samples, embeddings, GeometrySettings())
    tell("blur", len(cases) / (len(cases) + 1))
    rows = {name: [{**asdict(one), "kept": one.kept} for one in measured] for name, measured in found.items()}
    words = [
        f"{name}, {_last(measured, embed)}" for name, measured in found.items() for embed in _names(measured)
    ]
    return {"data": rows, "blur": blur(), "summary": words}


def _cases() -> dict[str, tuple[LabelledSamples, Embeddings]]:
    """Data that need no download, each with the embeddings that suit it."""
    digits: Embeddings = [("pixel", Pixel()), ("pca", PCA(64)), ("pca:8", PCA(8))]
    cases: dict[str, tuple[LabelledSamples, Embeddings]] = {"mnist5k": (load_data("mnist5k").train, digits)}
    for name, load in VECTORS.items():
        x, y = load(0)
        samples = TensorSamples(torch.from_numpy(x).float(), torch.from_numpy(y))
        cases[name] = samples, [("standard", Standard())]
    return cases


def _names(measured: list[Geometry]) -> list[str]:
    return list(dict.fromkeys(one.embed for one in measured))


def _last(measured: list[Geometry], embed: str) -> str:
    return sentence([one for one in measured if one.embed == embed])


def blur() -> dict[str, Any]:
    """Digits in 64 principal components, 64 of each class: what plans leave of the target's variance.

    ``image``: the variance of the barycentric image of one class against that of the other; ``spread``: the
    variance half-way, against the mean of both. Entropies are shares of the mean cost.
    """
    data = load_data("mnist5k").train
    x = data.get(torch.arange(len(data)))
    z, y = PCA(64).fit(x).encode(x).double(), data.y
    pairs = [_pair(z, y, number) for number in range(PROBLEMS)]
    plans: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
        "exact": lambda z0, z1: z1[assign(z0, z1)],
        **{f"entropy {e:g}": functools.partial(_image, entropy=e) for e in ENTROPIES},
        "random": lambda z0, z1: z1,
    }
    return {name: _left(pairs, plan) for name, plan in plans.items()}


def _pair(z: Tensor, y: Tensor, number: int) -> tuple[Tensor, Tensor]:
    """Samples of two random classes, ``(POINTS, d)`` each."""
    generator = stream(0, "blur", number)
    labels = torch.randperm(int(y.max()) + 1, generator=generator)[:2]
    rows = [torch.nonzero(y == label).flatten() for label in labels]
    first, second = (z[own[torch.randperm(len(own), generator=generator)[:POINTS]]] for own in rows)
    return first, second


def _image(z0: Tensor, z1: Tensor, entropy: float) -> Tensor:
    """The barycentric image ``diag(P 1)^-1 P z1``; its rows sum to ``1/n``."""
    plan = solve_coupling(z0, z1, entropy=entropy).plan
    return plan @ z1 / plan.sum(dim=1, keepdim=True)


def _left(pairs: list[tuple[Tensor, Tensor]], plan: Callable[[Tensor, Tensor], Tensor]) -> dict[str, float]:
    images = [(z0, z1, plan(z0, z1)) for z0, z1 in pairs]
    image = [_variance(mapped) / _variance(z1) for _, z1, mapped in images]
    spread = [_variance((z0 + mapped) / 2) * 2 / (_variance(z0) + _variance(z1)) for z0, z1, mapped in images]
    return {"image": sum(image) / len(image), "spread": sum(spread) / len(spread)}


def _variance(z: Tensor) -> float:
    return float(z.var(dim=0).sum())
