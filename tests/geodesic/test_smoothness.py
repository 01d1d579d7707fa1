"""The regulariser against brute-force integration, closed forms and its own laws."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Literal

import pytest
import torch
from torch import Tensor, nn

from wassermix.core.errors import InputError
from wassermix.embed import PCA
from wassermix.geodesic.path import Geodesic
from wassermix.geodesic.smoothness import GeodesicSmoothness, _loss, _Risk, geodesic_smoothness


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def small_net(inputs: int = 4, classes: int = 3, seed: int = 0) -> nn.Module:
    """A wavy network, whose loss goes up and down along a path."""
    net = nn.Sequential(nn.Linear(inputs, 16), nn.Tanh(), nn.Linear(16, classes)).double()
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.copy_(2.5 * torch.randn(parameter.shape, generator=seeded(seed), dtype=torch.float64))
    return net


def small_path(n: int = 8, m: int = 6, d: int = 4) -> Geodesic:
    generator = seeded(1)
    x0 = torch.randn(n, d, generator=generator, dtype=torch.float64)
    x1 = torch.randn(m, d, generator=generator, dtype=torch.float64) + 1
    return Geodesic.fit(x0, x1, y0=0, y1=1)


def brute_force(net: nn.Module, path: Geodesic, score: str, noise: Tensor | None = None) -> float:
    """The total variation of R on a grid so fine that it is the integral."""
    times = torch.linspace(0, 1, 4001, dtype=torch.float64)
    risk = _Risk(net, path, _loss(score), noise)
    parts = [risk.at(t).detach() for t in times.split(500)]
    return float(torch.cat(parts).diff().abs().sum())


@pytest.mark.parametrize("score", ["kl", "ce"])
def test_the_derivative_is_unbiased_for_the_integral_of_this_batch(score: str) -> None:
    net, path = small_net(), small_path()
    found = geodesic_smoothness(
        net, path, score=score, points=4000, estimator="derivative", generator=seeded(0)
    )
    assert float(found.detach()) == pytest.approx(brute_force(net, path, score), rel=0.05)


@pytest.mark.parametrize("score", ["kl", "ce"])
def test_differences_never_exceed_the_integral_and_reach_it_under_refinement(score: str) -> None:
    net, path = small_net(), small_path()
    whole = brute_force(net, path, score)
    for seed in range(20):
        few = geodesic_smoothness(net, path, score=score, points=4, generator=seeded(seed))
        assert float(few.detach()) <= whole + 1e-9
    many = geodesic_smoothness(net, path, score=score, points=800, generator=seeded(0))
    assert float(many.detach()) == pytest.approx(whole, rel=0.02)


def test_differences_do_not_fall_when_points_are_added() -> None:
    net, path = small_net(), small_path()
    times = torch.rand(40, generator=seeded(2), dtype=torch.float64)
    values = []
    for count in (0, 1, 5, 20, 40):
        some = torch.cat([torch.tensor([0.0, 1.0], dtype=torch.float64), times[:count]]).sort().values
        values.append(float(_Risk(net, path, _loss("kl"), None).at(some).diff().abs().sum().detach()))
    assert all(more >= fewer - 1e-9 for fewer, more in itertools.pairwise(values))


def test_two_points_suffice_where_the_risk_is_monotone() -> None:
    path = small_path()
    slope = torch.randn(4, 1, generator=seeded(5), dtype=torch.float64)
    found = geodesic_smoothness(lambda x: x @ slope, path, points=2, score=lambda f, y: f[:, 0])
    assert float(found) == pytest.approx(float((path.weights @ ((path.end - path.start) @ slope)).abs()))


@pytest.mark.parametrize("estimator", ["differences", "derivative"])
def test_the_gaussian_model_with_a_linear_loss_costs_twice_the_margin(estimator: str) -> None:
    """P = N(y mu, I), l = -y f: R(t) = -y_t theta' x_t; with y fixed to the source Reg = 2 |theta' mu|."""
    mu, theta = torch.tensor([1.0, -2.0, 0.5]).double(), torch.tensor([0.3, 1.0, 2.0]).double()
    base = torch.randn(500, 3, generator=seeded(0), dtype=torch.float64)
    base = base - base.mean(dim=0)
    path = Geodesic.fit(base - mu, base + mu, transport=0.05, labels="hard")
    found = geodesic_smoothness(
        lambda x: (x @ theta)[:, None],
        path,
        estimator=estimator,
        score=lambda f, y: f[:, 0],  # type: ignore[arg-type]
    )
    assert float(found) == pytest.approx(2 * float((theta @ mu).abs()), rel=1e-3)


def test_by_cross_entropy_a_constant_classifier_is_free_and_by_kl_it_pays() -> None:
    """Why kl is the default: by `ce` a constant costs 0 and a calibrated net 2 log 2; by `kl` the reverse."""
    x = torch.zeros(1, 1, dtype=torch.float64)
    path = Geodesic.fit(x, x + 1, y0=0, y1=1)

    def constant(x: Tensor) -> Tensor:
        return torch.zeros(len(x), 2, dtype=x.dtype)

    def calibrated(x: Tensor) -> Tensor:
        return torch.cat([1 - x, x], dim=1).clamp_min(1e-12).log()

    def cost(net: object, score: str) -> float:
        return float(geodesic_smoothness(net, path, score=score, points=500, generator=seeded(0)))  # type: ignore

    assert cost(constant, "ce") == pytest.approx(0, abs=1e-9)
    assert cost(calibrated, "ce") == pytest.approx(2 * math.log(2), rel=1e-3)
    assert cost(constant, "kl") == pytest.approx(2 * math.log(2), rel=1e-3)
    assert cost(calibrated, "kl") == pytest.approx(0, abs=1e-6)


def test_without_the_label_term_only_the_samples_move() -> None:
    net, path = small_net(), small_path()
    times = torch.linspace(0, 1, 2001, dtype=torch.float64)
    whole = 0.0
    for low, high in itertools.pairwise(times):
        y = nn.functional.pad(path.at(float(low + high) / 2).y, (0, 1))
        step = [-(y * net(path.at(float(t)).x).log_softmax(1)).sum(1).mean() for t in (low, high)]
        whole += float((step[1] - step[0]).detach().abs())
    for estimator in ("differences", "derivative"):
        found = geodesic_smoothness(
            net,
            path,
            score="ce",
            label_term=False,
            points=2000,
            estimator=estimator,
            generator=seeded(0),  # type: ignore
        )
        assert float(found.detach()) == pytest.approx(whole, rel=0.05)


@pytest.mark.parametrize("estimator", ["differences", "derivative"])
@pytest.mark.parametrize("label_term", [True, False])
def test_gradients_agree_with_finite_differences(estimator: str, label_term: bool) -> None:
    net, path = small_net(), small_path()

    def value() -> Tensor:
        return geodesic_smoothness(
            net,
            path,
            estimator=estimator,
            label_term=label_term,
            generator=seeded(3),
            sigma=0.1,
            points=5,  # type: ignore
        )

    value().backward()
    weight = net[0].weight  # type: ignore[index]
    assert isinstance(weight, nn.Parameter)
    assert weight.grad is not None
    with torch.no_grad():
        weight[2, 1] += 1e-6
        above = value().detach()
        weight[2, 1] -= 2e-6
        below = value().detach()
        weight[2, 1] += 1e-6
    assert float(weight.grad[2, 1]) == pytest.approx(float((above - below) / 2e-6), rel=1e-4, abs=1e-7)


def test_noise_is_the_same_at_all_times_and_power_is_applied_last() -> None:
    path = small_path()
    level = geodesic_smoothness(lambda x: x[:, :2], path, score=lambda f, y: (0 * f).sum(1), sigma=5.0)
    assert float(level) == 0
    net = small_net()
    once, squared = (
        geodesic_smoothness(net, path, power=p, sigma=0.3, generator=seeded(0)).detach() for p in (1, 2)
    )
    assert torch.isclose(once**2, squared)


def test_latent_paths_are_differentiated_through_the_decoder_and_layers_with_statistics() -> None:
    x0, x1 = (torch.rand(n, 1, 8, 8, generator=seeded(n)) for n in (10, 7))
    path = Geodesic.fit(x0, x1, y0=3, y1=8, embed=PCA(5).fit(torch.cat([x0, x1])))
    net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten())
    net.append(nn.Linear(36, 10))
    for estimator in ("differences", "derivative"):
        net.zero_grad()
        geodesic_smoothness(net, path, estimator=estimator, generator=seeded(0)).backward()  # type: ignore
        assert all(p.grad is not None and bool(p.grad.isfinite().all()) for p in net.parameters())


def test_the_component_is_repeatable_leaves_mixed_samples_out_and_needs_two_classes() -> None:
    net, term = small_net(classes=4), GeodesicSmoothness()
    x, y = torch.randn(40, 4, generator=seeded(0)).double(), torch.arange(40) % 4
    first, second = (term.loss(net, x, y, generator=seeded(1), sigma=0.2).detach() for _ in range(2))
    assert torch.equal(first, second)
    soft = nn.functional.one_hot(y, 4).double()
    assert torch.equal(term.loss(net, x, soft, generator=seeded(1), sigma=0.2).detach(), first)
    between = torch.cat([soft, torch.full((10, 4), 0.25).double()])
    more = torch.cat([x, torch.full((10, 4), torch.nan).double()])
    assert torch.equal(term.loss(net, more, between, generator=seeded(1), sigma=0.2).detach(), first)
    assert float(term.loss(net, x, torch.zeros(40).long())) == 0


@pytest.mark.parametrize("soft", [False, True])
def test_the_component_draws_from_the_source_where_the_batch_is_small_or_may_hold_new_samples(
    soft: bool,
) -> None:
    class Source:
        y = torch.arange(200) % 2

        def get(self, indices: Tensor, /) -> Tensor:
            asked.append(indices)
            return torch.randn(len(indices), 4, generator=seeded(len(asked))).double()

    asked: list[Tensor] = []
    count = 60 if soft else 6
    term, x = GeodesicSmoothness(pair_size=16), torch.randn(count, 4, generator=seeded(0)).double()
    y = torch.arange(count) % 2
    term.loss(small_net(), x, nn.functional.one_hot(y, 2).double() if soft else y, source=Source())
    assert [len(rows) for rows in asked] == [16, 16]
    assert {len(Source.y[rows].unique()) for rows in asked} == {1}


def test_the_weight_rises_over_the_ramp() -> None:
    net, x, y = small_net(), torch.randn(20, 4, generator=seeded(0)).double(), torch.arange(20) % 2
    term = GeodesicSmoothness(weight=0.4, ramp=0.5)
    values = [
        float(term.loss(net, x, y, generator=seeded(0), progress=p).detach()) for p in (0.0, 0.25, 0.5, 1.0)
    ]
    assert values[0] == 0
    assert values[1] == pytest.approx(values[2] / 2)
    assert values[2] == values[3]


@pytest.mark.parametrize(
    ("pairing", "kept"), [("exact", lambda t: 1.0), ("random", lambda t: 1 - 2 * t * (1 - t))]
)
def test_exact_partners_keep_the_spread_on_the_way_and_random_ones_lose_it(
    pairing: Literal["exact", "random"], kept: Callable[[float], float]
) -> None:
    x = torch.randn(1000, 1, generator=seeded(0)) + torch.tensor([[0.0], [10.0]]).repeat(500, 1)
    seen: list[torch.Tensor] = []

    def net(inputs: torch.Tensor) -> torch.Tensor:
        seen.append(inputs)
        return torch.cat([inputs, -inputs], dim=1)

    term = GeodesicSmoothness(pairing=pairing, points=3, pair_size=500)
    term.loss(net, x, torch.arange(1000) % 2, generator=seeded(1))
    start, middle, end = seen[0].reshape(3, 500)
    t = float((middle.mean() - start.mean()) / (end.mean() - start.mean()))
    assert 0.05 < t < 0.95
    assert float(middle.var()) == pytest.approx(kept(t), rel=0.15)


@pytest.mark.parametrize(
    "options", [{"points": 1}, {"power": 0}, {"score": "l2"}, {"estimator": "difference"}], ids=str
)
def test_settings_that_cannot_mean_anything_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(InputError, match="regularizer"):
        geodesic_smoothness(small_net(), small_path(), **options)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="regularizer"):
        GeodesicSmoothness(**options)  # type: ignore[arg-type]


def test_a_misspelt_kind_of_labels_or_pairs_is_refused_before_any_work() -> None:
    with pytest.raises(InputError, match="pairing is 'optimal'; expected one of exact, entropic, random"):
        GeodesicSmoothness(pairing="optimal")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="labels is 'soft'; expected one of mix, side, hard"):
        GeodesicSmoothness(labels="soft")  # type: ignore[arg-type]


def test_the_term_leaves_running_statistics_alone_and_its_gradient_as_it_was() -> None:
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 2))
    x, y = torch.randn(20, 3, generator=torch.Generator().manual_seed(0)), torch.arange(20) % 2
    before = {name: tensor.clone() for name, tensor in net.state_dict().items()}
    GeodesicSmoothness().loss(net, x, y, generator=torch.Generator().manual_seed(1)).backward()
    assert all(torch.equal(tensor, before[name]) for name, tensor in net.state_dict().items())
    assert net[0].weight.grad is not None
    assert net[1].track_running_stats
    net(x)  # and afterwards they move again
    assert not torch.equal(net[1].running_mean, before["1.running_mean"])
