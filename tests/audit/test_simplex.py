"""A model between three classes."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from wassermix.audit import performance_simplex
from wassermix.errors import InputError


def corners(n: int = 10) -> tuple[Tensor, Tensor]:
    y = torch.arange(3 * n) % 3
    return torch.eye(3)[y], y


def test_the_corners_belong_to_their_classes_and_a_calibrated_model_has_no_kl() -> None:
    audit = performance_simplex(lambda x: x.clamp_min(1e-9).log(), *corners(), classes=(0, 1, 2), steps=4)
    assert len(audit.weights) == 15
    assert max(audit.kl) == pytest.approx(0, abs=1e-3)
    first = audit.weights.index((1.0, 0.0, 0.0))
    assert audit.decided[first] == (1.0, 0.0, 0.0)
    assert audit.plot().axes


def test_the_worst_weights_are_where_the_model_is_wrong() -> None:
    audit = performance_simplex(
        lambda x: torch.tensor([5.0, 5.0, -5.0]).expand(len(x), 3), *corners(), classes=(0, 1, 2), steps=4
    )
    assert audit.worst == (0.0, 0.0, 1.0)


def test_three_different_classes_are_needed() -> None:
    with pytest.raises(InputError, match="three different"):
        performance_simplex(lambda x: x, *corners(), classes=(0, 1, 1))
    with pytest.raises(InputError, match="steps"):
        performance_simplex(lambda x: x, *corners(), classes=(0, 1, 2), steps=0)
    with pytest.raises(InputError, match="2 outputs"):
        performance_simplex(lambda x: x[:, :2], *corners(), classes=(0, 1, 2))
