"""Steps, projections and random starts against brute force and laws."""

from __future__ import annotations

import math

import pytest
import torch

from wassermix.attacks.norms import direction, length, project, random_in_ball
from wassermix.core.errors import InputError
from wassermix.core.streams import stream

NORMS = ["l2", "linf"]


@pytest.mark.parametrize("norm", NORMS)
def test_no_unit_step_climbs_faster_than_the_direction(norm):
    g = torch.randn(5, 3, 4, generator=stream(0, "g"), dtype=torch.float64)
    best = (g * direction(g, norm)).sum((1, 2))
    others = torch.randn(2000, 5, 3, 4, generator=stream(1, "g"), dtype=torch.float64)
    others = others / length(others.reshape(-1, 12), norm).reshape(2000, 5, 1, 1)
    assert torch.all((others * g).sum((2, 3)) <= best + 1e-12)
    torch.testing.assert_close(length(direction(g, norm), norm), torch.ones(5, dtype=torch.float64))


@pytest.mark.parametrize("norm", NORMS)
def test_no_point_of_the_ball_is_nearer_than_the_projection(norm):
    delta = torch.randn(6, 4, generator=stream(0, "d"), dtype=torch.float64) * 2
    projected = project(delta, 0.7, norm)
    assert torch.all(length(projected, norm) <= 0.7 + 1e-12)
    ball = random_in_ball(delta.expand(3000, 6, 4).reshape(-1, 4), 0.7, norm, generator=stream(1, "d"))
    distance = (ball.reshape(3000, 6, 4) - delta).norm(dim=2)
    assert torch.all(distance >= (projected - delta).norm(dim=1) - 1e-12)


@pytest.mark.parametrize("norm", NORMS)
def test_a_point_inside_the_ball_stays(norm):
    delta = torch.tensor([[0.1, -0.2], [0.0, 0.0]])
    torch.testing.assert_close(project(delta, 0.5, norm), delta)


def test_gradients_too_small_to_square_keep_their_direction():
    g = torch.tensor([[3e-30, 4e-30]])
    torch.testing.assert_close(direction(g, "l2"), torch.tensor([[0.6, 0.8]]))


@pytest.mark.parametrize("norm", NORMS)
def test_a_zero_gradient_moves_only_with_a_generator_and_leaves_its_neighbours_alone(norm):
    g = torch.tensor([[0.0, 0.0], [3.0, 4.0]])
    still, moved = direction(g, norm), direction(g, norm, stream(0, "zero"))
    assert still[0].abs().sum() == 0
    assert length(moved, norm)[0] == pytest.approx(1.0)
    torch.testing.assert_close(still[1], moved[1])


@pytest.mark.parametrize(("norm", "dimension"), [("l2", 2), ("l2", 5), ("linf", 3)])
def test_random_starts_are_uniform_in_the_ball(norm, dimension):
    points = random_in_ball(torch.empty(20000, dimension), 2.0, norm, generator=stream(0, "ball"))
    size = length(points, norm)
    assert size.max() <= 2.0 + 1e-5
    # In a uniform ball the share within half the radius is 2^-dimension, whatever the norm.
    share, expected = float((size < 1.0).float().mean()), 0.5**dimension
    assert abs(share - expected) < 4 * math.sqrt(expected / 20000)
    assert points.mean(0).abs().max() < 0.06


def test_an_unknown_norm_is_named():
    from wassermix.attacks import PGD

    with pytest.raises(InputError, match=r"'l1'.*l2, linf"):
        PGD(norm="l1")
