"""MACER's hinge at its edges."""

from __future__ import annotations

import pytest
import torch
from scipy.stats import norm

from wassermix.methods import MACER, Batch, SmoothMix
from wassermix.methods.macer import radius_hinge


def hinge(logits: list[float], label: int, *, gamma: float = 8.0) -> tuple[float, torch.Tensor]:
    z = torch.tensor(logits, dtype=torch.float64).reshape(1, 1, -1).requires_grad_(True)
    value = radius_hinge(z, torch.tensor([label]), sigma=0.5, gamma=gamma)
    value.sum().backward()
    return value.item(), z.grad.flatten()


def test_a_wrong_prediction_has_no_radius_to_grow() -> None:
    value, gradient = hinge([0.0, 1.0, 0.5], label=0)
    assert value == 0
    assert gradient.eq(0).all()


def test_a_certain_prediction_has_an_infinite_radius_and_no_hinge() -> None:
    value, gradient = hinge([500.0, 0.0, 0.0], label=0)
    assert value == 0
    assert gradient.eq(0).all()


def test_a_margin_beyond_reach_still_has_a_finite_hinge_and_gradient() -> None:
    value, gradient = hinge([500.0, 0.0, 0.0], label=0, gamma=100.0)
    assert value == pytest.approx(0.25 * (100 - 2 * norm.ppf(1 - 1e-6)))
    assert torch.isfinite(gradient).all()


def test_the_hinge_ends_where_the_margin_is_reached() -> None:
    p = torch.tensor([0.7, 0.2, 0.1])
    xi = norm.ppf(0.7) - norm.ppf(0.2)
    assert hinge(p.log().tolist(), 0, gamma=xi + 1e-3)[0] == pytest.approx(0.25e-3, rel=1e-2)
    assert hinge(p.log().tolist(), 0, gamma=xi - 1e-3)[0] == 0


def test_a_step_down_the_hinge_grows_the_radius() -> None:
    _, gradient = hinge([1.0, 0.0, 0.0], label=0)
    assert gradient[0] < 0


def test_two_equal_leaders_make_no_nan() -> None:
    value, gradient = hinge([1.0, 1.0, 0.0], label=0)
    assert torch.isfinite(torch.tensor(value))
    assert torch.isfinite(gradient).all()


@pytest.mark.parametrize(("progress", "on"), [(0.0, False), (0.32, False), (0.34, True), (1.0, True)])
def test_the_hinge_waits_for_its_share_of_training(progress: float, on: bool) -> None:
    x, y = torch.eye(3), torch.arange(3)
    method = MACER(sigma=0.1, noises=2, defer=0.33, temperature=1.0)
    batch = Batch(x, y, progress, torch.Generator().manual_seed(0))
    assert bool(method.loss(lambda point: 3 * point, batch)["radius"] > 0) == on


@pytest.mark.parametrize(("method", "term"), [(MACER, "radius"), (SmoothMix, "mix")])
def test_a_label_half_way_between_two_classes_makes_no_prediction_right(method: type, term: str) -> None:
    def value(*label: float) -> float:
        batch = Batch(torch.eye(3)[:1], torch.tensor([label]), 1.0, torch.Generator().manual_seed(0))
        return float(method(sigma=0.1, noises=2).loss(lambda point: 0.1 * point, batch)[term])

    assert value(0.5, 0.5, 0.0) == value(0.5, 0.0, 0.5) == 0
    assert value(0.6, 0.4, 0.0) > 0
    assert value(0.4, 0.6, 0.0) == 0
