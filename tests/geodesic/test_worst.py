"""The search for the worst time, on scores whose top is known."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from wassermix.core import labels as labelling
from wassermix.core.classifier import Classifier
from wassermix.core.errors import InputError
from wassermix.embed import Pixel
from wassermix.geodesic.path import Geodesic, Labels
from wassermix.geodesic.worst import Scorer, Search, place, search_passes, worst_times


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def unit_paths(groups: int, each: int = 6) -> tuple[Geodesic, Tensor]:
    """Particles on the line whose position is the time; the second coordinate is the group."""
    group = torch.arange(groups).repeat_interleave(each)
    start = torch.stack([torch.zeros(len(group)), group.float()], dim=1)
    end = torch.stack([torch.ones(len(group)), group.float()], dim=1)
    ones = torch.full((len(group), 1), 1.0)
    path = Geodesic(start, end, ones, ones, ones[:, 0] / len(group), Pixel().fit(start))
    return path, group


def hill(x: Tensor) -> Tensor:
    """Logits of two classes; the loss for class 0 is highest at time 0.1 + 0.1 group."""
    height = 1 - (x[:, 0] - 0.1 - 0.1 * x[:, 1]).square()
    return torch.stack([-height, torch.zeros_like(height)], dim=1)


@pytest.mark.parametrize(
    ("search", "candidates", "error"),
    [("grid", 51, 0.011), ("golden", 5, 0.01), ("gradient", 12, 0.02), ("random", 200, 0.03)],
)
def test_every_search_finds_the_top_of_each_groups_hill(search: str, candidates: int, error: float) -> None:
    path, group = unit_paths(4)
    path = Geodesic(path.start, path.end, _first(path), _first(path), path.weights, path.embed)
    times, scores = worst_times(
        path,
        group,
        Scorer(hill),
        search=search,
        candidates=candidates,
        generator=seeded(),  # type: ignore[arg-type]
    )
    assert torch.allclose(times, torch.tensor([0.1, 0.2, 0.3, 0.4]), atol=error)
    assert scores.shape == (4,)


@pytest.mark.parametrize(("search", "candidates"), [("random", 2), ("random", 1), ("grid", 1), ("golden", 1)])
def test_the_end_point_is_always_tried(search: Search, candidates: int) -> None:
    path, group = unit_paths(3)
    path = Geodesic(path.start, path.end, _first(path), _first(path), path.weights, path.embed)

    def rising(x: Tensor) -> Tensor:
        return torch.stack([-x[:, 0], torch.zeros(len(x))], dim=1)

    times, _ = worst_times(
        path, group, Scorer(rising), search=search, candidates=candidates, t_max=0.4, generator=seeded()
    )
    assert torch.allclose(times, torch.full((3,), 0.4))


@pytest.mark.parametrize("search", ["random", "grid", "golden", "gradient"])
def test_the_passes_announced_are_those_that_the_model_makes(search: Search) -> None:
    forward, backward = [0], [0]

    def counting(x: Tensor) -> Tensor:
        forward[0] += len(x)
        logits = hill(x)
        if logits.requires_grad:
            logits.register_hook(lambda gradient: backward.append(len(gradient)))
        return logits

    path, group = unit_paths(2, each=10)
    path = Geodesic(path.start, path.end, _first(path), _first(path), path.weights, path.embed)
    worst_times(path, group, Scorer(counting), search=search, candidates=4, share=1.0, generator=seeded())
    made = forward[0] / 3 + 2 * sum(backward) / 3  # a backward costs two forwards
    assert made / 20 == pytest.approx(search_passes(search, 4))


def test_a_share_of_each_group_is_scored_and_at_least_one() -> None:
    path, group = unit_paths(3, each=8)
    path = Geodesic(path.start, path.end, _first(path), _first(path), path.weights, path.embed)
    seen: list[int] = []

    def counting(x: Tensor) -> Tensor:
        seen.append(len(x))
        return hill(x)

    worst_times(path, group, Scorer(counting), candidates=2, share=0.25, generator=seeded())
    worst_times(path, group, Scorer(counting), candidates=1, share=0.01, generator=seeded())
    assert seen == [6, 6, 3]


def test_noise_is_common_to_all_candidates_and_an_attack_is_applied() -> None:
    path, group = unit_paths(2)
    path = Geodesic(path.start, path.end, _first(path), _first(path), path.weights, path.embed)
    noises: list[Tensor] = []

    def model(x: Tensor) -> Tensor:
        noises.append(x[:, 1] - x[:, 1].round())
        return hill(x)

    worst_times(path, group, Scorer(model, sigma=0.1), search="grid", candidates=3, generator=seeded())
    assert torch.allclose(noises[0], noises[2], atol=1e-6)
    assert float(noises[0].abs().max()) > 0
    scorer = Scorer(hill, attack=lambda model, x, y: x + torch.tensor([0.2, 0.0]))
    times, _ = worst_times(path, group, scorer, search="grid", candidates=51)
    assert torch.allclose(times, torch.tensor([0.0, 0.0]), atol=0.011)


def test_the_kl_score_is_below_cross_entropy_by_the_labels_entropy() -> None:
    x, y = torch.randn(5, 3, generator=seeded()), torch.full((5, 3), 1 / 3)
    gap = Scorer(lambda x: x, "ce")(x, y) - Scorer(lambda x: x, "kl")(x, y)
    assert torch.allclose(gap, torch.tensor(3.0).log().expand(5))


def test_samples_beyond_the_distance_are_drawn_back_with_time_and_label() -> None:
    x0, x1 = torch.zeros(4, 2), torch.tensor([[1.0, 0.0], [2.0, 0.0], [4.0, 0.0], [8.0, 0.0]])
    y = torch.eye(2)
    path = Geodesic(x0, x1, y[:1].expand(4, 2), y[1:].expand(4, 2), torch.full((4,), 0.25), Pixel().fit(x0))
    x, label, t = place(path, torch.full((4,), 0.5), 1.0)
    assert torch.allclose(x[:, 0], torch.tensor([0.5, 1.0, 1.0, 1.0]))
    assert torch.allclose(t, torch.tensor([0.5, 0.5, 0.25, 0.125]))
    assert torch.allclose(label[:, 1], t)


def test_a_search_that_does_not_exist_is_refused() -> None:
    path, group = unit_paths(2)
    with pytest.raises(InputError, match="search"):
        worst_times(path, group, Scorer(hill), search="best")  # type: ignore[arg-type]


def _first(path: Geodesic) -> Tensor:
    return torch.tensor([[1.0, 0.0]]).expand(len(path), 2)


def _linear_path(labels: Labels) -> tuple[Geodesic, Tensor]:
    """Between two clouds in three dimensions, and a linear classifier's weights."""
    generator = seeded(3)
    start, end = torch.randn(8, 3, generator=generator), torch.randn(8, 3, generator=generator) + 2
    y0, y1 = (labelling.soft(torch.full((8,), c), 2) for c in (0, 1))
    path = Geodesic(start, end, y0, y1, torch.full((8,), 1 / 8), Pixel().fit(start), labels)
    return path, torch.randn(3, 2, generator=generator)


@pytest.mark.parametrize("labels", ["mix", "hard"])
def test_the_slope_under_an_attack_is_that_of_finite_differences(labels: Labels) -> None:
    path, weights = _linear_path(labels)

    def attack(model: Classifier, x: Tensor, y: Tensor) -> Tensor:
        """The worst input in a small l2 ball of a linear classifier, up to the ball's curvature."""
        with torch.enable_grad():
            point = x.detach().requires_grad_()
            (slope,) = torch.autograd.grad(labelling.cross_entropy(model(point), y).sum(), point)
        return x + 0.3 * slope / slope.norm(dim=1, keepdim=True)

    scorer = Scorer(lambda x: x @ weights, "ce", attack=attack)

    def score(t: Tensor) -> Tensor:
        x, y, _ = place(path, t.expand(8))
        return scorer(x, y).sum()

    t = torch.tensor(0.2, requires_grad=True)
    (slope,) = torch.autograd.grad(score(t), t)
    step = 1e-2
    with torch.no_grad():
        expected = (score(t + step) - score(t - step)) / (2 * step)
    assert float(slope) == pytest.approx(float(expected), rel=2e-3)
    times, _ = worst_times(path, torch.zeros(8, dtype=torch.int64), scorer, search="gradient", candidates=4)
    assert times.shape == (1,)
