"""A model between three classes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from wassermix.audit import performance_geodesic, performance_simplex, simplex_to_files
from wassermix.core.errors import InputError
from wassermix.embed import PCA


def corners(n: int = 10) -> tuple[Tensor, Tensor]:
    y = torch.arange(3 * n) % 3
    return torch.eye(3)[y], y


def test_the_corners_belong_to_their_classes_and_a_calibrated_model_has_no_kl() -> None:
    audit = performance_simplex(lambda x: x.clamp_min(1e-9).log(), *corners(), classes=(0, 1, 2), points=5)
    assert len(audit.weights) == 15
    assert max(audit.kl) == pytest.approx(0, abs=1e-3)
    first = audit.weights.index((1.0, 0.0, 0.0))
    assert audit.decided[first] == (1.0, 0.0, 0.0)
    assert audit.plot().axes


def test_the_worst_weights_are_where_the_model_is_wrong() -> None:
    audit = performance_simplex(
        lambda x: torch.tensor([5.0, 5.0, -5.0]).expand(len(x), 3), *corners(), classes=(0, 1, 2), points=5
    )
    assert audit.worst == (0.0, 0.0, 1.0)


def test_three_different_classes_are_needed() -> None:
    with pytest.raises(InputError, match="three different"):
        performance_simplex(lambda x: x, *corners(), classes=(0, 1, 1))
    with pytest.raises(InputError, match="points"):
        performance_simplex(lambda x: x, *corners(), classes=(0, 1, 2), points=1)
    with pytest.raises(InputError, match="2 outputs"):
        performance_simplex(lambda x: x[:, :2], *corners(), classes=(0, 1, 2))


def test_a_side_of_the_triangle_is_the_exact_geodesic_between_its_classes() -> None:
    generator = torch.Generator().manual_seed(0)
    x, y = torch.randn(60, 2, generator=generator) + 3, torch.arange(60) % 3
    model = nn.Linear(2, 3)
    audit = performance_simplex(model, x, y, classes=(0, 1, 2), points=5, seed=4)
    pair = performance_geodesic(model, x, y, pairs=[(0, 1)], points=5, seed=4).pairs[0]
    along = [audit.weights.index((1 - t, t, 0.0)) for t in pair.t]
    assert [audit.kl[k] for k in along] == pytest.approx(pair.kl, abs=1e-5)
    assert [audit.decided[k][1] for k in along] == pytest.approx(pair.as_target, abs=1e-5)


class Split:
    """Held-out images of three classes."""

    y = torch.arange(30) % 3

    def get(self, indices: Tensor, /) -> Tensor:
        return torch.rand(30, 1, 4, 4, generator=torch.Generator().manual_seed(0))[indices]


def flat(x: Tensor) -> Tensor:
    return x.reshape(len(x), -1)[:, :3]


def test_a_file_holds_the_surface_and_is_kept_only_for_the_same_task(tmp_path: Path) -> None:
    task: dict[str, Any] = {"out": tmp_path, "classes": (0, 2, 1), "points": 3, "about": {"data": "mine"}}
    made = simplex_to_files(flat, Split(), **task)
    file = tmp_path / "0-2-1-s0-p3.json"
    assert json.loads(file.read_text())["data"] == "mine"
    assert file.with_suffix(".svg").read_text().count("</svg>") == 1
    assert simplex_to_files(flat, Split(), resume=True, **task) == made
    with pytest.raises(InputError, match="exists"):
        simplex_to_files(flat, Split(), **task)
    embed = PCA(2).fit(Split().get(torch.arange(30)))
    with pytest.raises(InputError, match="embed"):
        simplex_to_files(flat, Split(), resume=True, embed=embed, **task)
    assert simplex_to_files(flat, Split(), overwrite=True, embed=embed, **task).parameters["embed"] == "pca"
    other = PCA(2).fit(Split().get(torch.arange(20)))
    with pytest.raises(InputError, match="embedding"):
        simplex_to_files(flat, Split(), resume=True, embed=other, **task)
