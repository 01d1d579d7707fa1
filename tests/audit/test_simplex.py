"""A model between three classes."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from wassermix.audit import performance_geodesic, performance_simplex
from wassermix.core.errors import InputError


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


def test_three_classes_may_be_named_and_random_partners_are_drawn_once() -> None:
    x, y = torch.rand(60, 3, generator=torch.Generator().manual_seed(0)), torch.arange(60) % 3
    asked = {"classes": "a-b-c", "class_names": ["a", "b", "c"], "points": 3, "pairing": "random"}
    first, again = (performance_simplex(lambda x: 5 * x, x, y, **asked) for _ in range(2))
    assert first.classes == (0, 1, 2)
    assert first.kl == again.kl
    assert "a, b, c: 6 points" in str(first)
