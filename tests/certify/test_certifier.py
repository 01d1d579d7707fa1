"""The certifier against an independent implementation, closed forms, and its own promises on noise."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch
from scipy import stats
from torch import Tensor, nn

from certify.exact_rate import false_rate
from wassermix.certify import CertifySettings, certify, predict
from wassermix.certify.fixed import FixedRule
from wassermix.certify.noise import NoiseKey, gaussian
from wassermix.certify.rule import rule_for
from wassermix.core.errors import InputError

DIRECTION, OFFSET = torch.tensor([3.0, 4.0]), 1.0


def linear(x: Tensor) -> Tensor:
    """Two classes split by the line 3a + 4b = 1: the smoothed classifier's radius is the distance to it."""
    score = x @ DIRECTION - OFFSET
    return torch.stack([-score, score], dim=1)


@pytest.fixture(scope="module")
def network() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(36, 5)
    )


@pytest.fixture(scope="module")
def images() -> Tensor:
    return torch.rand(6, 1, 8, 8, generator=torch.Generator().manual_seed(1))


def cohen(model: nn.Module, x: Tensor, index: int, sigma: float, n0: int, n: int, alpha: float, seed: int):  # type: ignore[no-untyped-def]
    """The published procedure in plain words, one image at a time, on the same noise."""

    def votes(purpose: str, count: int) -> Tensor:
        predictions = []
        for block in range(-(-count // 128)):
            noise = gaussian(NoiseKey(seed, purpose, index, block), torch.empty(128, *x.shape))
            with torch.no_grad():
                predictions.append(model(x + sigma * noise).argmax(dim=1))
        return torch.cat(predictions)[:count]

    model.eval()
    picked = int(torch.bincount(votes("pick", n0)).argmax())
    hits = int((votes("count", n) == picked).sum())
    bound = stats.beta.ppf(alpha, hits, n - hits + 1) if hits else 0.0
    if bound < 0.5:
        return -1, 0.0, hits
    return picked, sigma * stats.norm.ppf(bound), hits


def test_fixed_equals_a_plain_implementation_count_for_count(network: nn.Module, images: Tensor) -> None:
    got = certify(network, images, sigma=0.5, n=1000, seed=3, bound="plain")
    for position, x in enumerate(images):
        predicted, radius, hits = cohen(network, x, position, 0.5, 100, 1000, 0.001, 3)
        assert (got.predicted[position], got.hits[position], got.draws[position]) == (predicted, hits, 1000)
        assert float(got.radius[position]) == pytest.approx(radius, abs=1e-12)


def at_most(trials: int, rate: float) -> int:
    """What a count of independent events, each of at most this rate, exceeds with probability below 1e-7."""
    return int(stats.binom.isf(1e-7, trials, rate))


def short_rate(settings: CertifySettings, distance: float, radius: float) -> float:
    """The exact probability that a point at this distance from the line is not certified to ``radius``."""
    p, threshold = stats.norm.cdf(distance / settings.sigma), stats.norm.cdf(radius / settings.sigma)
    level = settings.alpha if settings.mode == "fixed" else settings.alpha / 2
    wrong_pick = stats.binom.cdf(settings.n0 // 2, settings.n0, p)
    return wrong_pick + 1 - false_rate(rule_for(settings), p, final_level=level, threshold=threshold)


def points_at(distances: Tensor) -> Tensor:
    """Points ``(n, 2)`` at signed distances ``(n,)`` from the line, anywhere along it."""
    normal = DIRECTION / DIRECTION.norm()
    along = torch.randn(len(distances), 1, generator=torch.Generator().manual_seed(0))
    foot = OFFSET / DIRECTION.norm() * normal + along * normal.flip(0) * torch.tensor([1.0, -1.0])
    return foot + distances[:, None] * normal


@pytest.mark.parametrize("mode", ["fixed", "grid", "tolerance"])
def test_certificates_of_a_linear_classifier_are_its_margins_as_often_as_they_should_be(mode: str) -> None:
    """Over 8 seeds no more are false than alpha allows, and no more fall short than the exact law says.

    Each of the six counts exceeds its limit by chance with probability below 1e-7.
    """
    radii, seeds, slack = tuple(round(0.05 * i, 2) for i in range(21)), 8, 0.15
    settings = CertifySettings(sigma=0.5, mode=mode, n=1000, alpha=0.1, radii=radii, sampler="gaussian")
    distance = torch.tensor([0.25, -0.25, 0.5, -0.5, 0.8, -0.8]).repeat(4)
    goal = torch.tensor([min(radii, key=lambda r: abs(r - d)) for d in (distance.abs() - slack).tolist()])
    rate = max(short_rate(settings, d, round(d - slack, 2)) for d in (0.25, 0.5, 0.8))
    false = short = 0
    for seed in range(seeds):
        got = certify(linear, points_at(distance), settings=replace(settings, seed=seed))
        wrong = (got.predicted >= 0) & (got.predicted != (distance > 0))
        false += int((wrong | (got.radius > distance.abs() + 1e-6)).sum())
        short += int(((got.predicted < 0) | (got.radius < goal - 1e-6)).sum())
    assert rate < 0.01, "the test would say little of rules that prove little"
    assert false <= at_most(seeds * len(distance), settings.alpha)
    assert short <= at_most(seeds * len(distance), rate)


def test_two_gaussian_classes_agree_with_the_closed_form() -> None:
    """Smoothed accuracy is Phi(mu.w / (sqrt(s^2 + sigma^2) |w|)), certified accuracy at r
    is that of inputs with margin >= r."""
    generator = torch.Generator().manual_seed(2)
    mean, spread, sigma, images = torch.tensor([0.6, 0.8]), 0.7, 0.5, 1000
    labels = torch.randint(0, 2, (images,), generator=generator)
    x = (2 * labels[:, None] - 1) * mean + spread * torch.randn(images, 2, generator=generator)

    def model(z: Tensor) -> Tensor:
        return torch.stack([-(z @ mean), z @ mean], dim=1)

    got = certify(model, x, labels, sigma=sigma, mode="grid", n=5000, radii=(0.25, 0.5, 1.0))
    for row in got.certified_accuracy():
        expected = stats.norm.cdf((1.0 - row.radius) / spread)
        assert row.accuracy == pytest.approx(expected, abs=4 * np.sqrt(0.25 / images) + 0.02)
    noisy = model(x + sigma * torch.randn(images, 2, generator=generator)).argmax(dim=1)
    single = stats.norm.cdf(1.0 / np.hypot(spread, sigma))
    assert float((noisy == labels).double().mean()) == pytest.approx(single, abs=4 * np.sqrt(0.25 / images))


@pytest.mark.parametrize("mode", ["fixed", "grid", "tolerance"])
def test_a_subset_or_another_company_gives_the_same_certificates(
    network: nn.Module, images: Tensor, mode: str
) -> None:
    whole = certify(network, images, sigma=0.25, mode=mode, n=2000)
    for batch_size in (128, 512):
        part = certify(
            network, images[[4, 1]], sigma=0.25, mode=mode, n=2000, indices=[4, 1], batch_size=batch_size
        )
        assert torch.equal(part.hits, whole.hits[[4, 1]])
        assert torch.equal(part.radius, whole.radius[[4, 1]])


def test_another_seed_draws_other_noise(network: nn.Module, images: Tensor) -> None:
    first, second = (certify(network, images, sigma=0.5, n=1000, seed=seed).hits for seed in (0, 1))
    assert not torch.equal(first, second)


def test_class_picking_draws_are_not_counted(images: Tensor) -> None:
    """The first counting block must not be the picking block."""
    seen: list[Tensor] = []

    def model(x: Tensor) -> Tensor:
        seen.append(x.clone())
        return x.flatten(1)[:, :2]

    certify(model, images[:1], sigma=0.5, n=128, batch_size=128)
    assert len(seen) == 2
    assert not torch.allclose(seen[0], seen[1])


def test_all_forwards_have_one_shape(images: Tensor) -> None:
    shapes = set()

    def model(x: Tensor) -> Tensor:
        shapes.add(tuple(x.shape))
        return x.flatten(1)[:, :3]

    certify(model, images, sigma=0.5, mode="grid", n=1500, batch_size=384)
    assert shapes == {(384, 1, 8, 8)}


def test_the_model_is_in_eval_mode_and_gets_its_mode_back(network: nn.Module, images: Tensor) -> None:
    network.train()
    network[1].eval()
    running = network[1].running_mean.clone()
    certify(network, images[:2], sigma=0.5, n=200)
    assert network.training
    assert not network[1].training
    assert torch.equal(network[1].running_mean, running)
    assert torch.is_grad_enabled()


def test_grid_counts_the_label_in_evaluation_and_a_picked_class_without_it(
    network: nn.Module, images: Tensor
) -> None:
    deployed = certify(network, images, sigma=0.1, mode="grid", n=5000)
    assert (deployed.predicted >= 0).any()
    wrong = (deployed.predicted.clamp(min=0) + 1) % 5
    evaluated = certify(network, images, wrong, sigma=0.1, mode="grid", n=5000)
    assert (evaluated.predicted == -1).all()
    assert evaluated.draws.max() <= 256
    right = certify(network, images, deployed.predicted.clamp(min=0), sigma=0.1, mode="grid", n=5000)
    again = certify(
        network, images, deployed.predicted.clamp(min=0), sigma=0.1, mode="grid", n=5000, evaluation=False
    )
    assert torch.equal(right.radius, deployed.radius)  # the counting noise is the same
    assert torch.equal(again.radius, deployed.radius)


def test_ties_go_to_the_first_class(images: Tensor) -> None:
    got = certify(lambda x: torch.zeros(len(x), 4), images[:2], sigma=0.5, n=500)
    assert got.predicted.tolist() == [0, 0]
    assert got.hits.tolist() == [500, 500]


def test_a_model_that_cannot_decide_gets_no_certificate(images: Tensor) -> None:
    def coin(x: Tensor) -> Tensor:
        return x.flatten(1)[:, :2] * 0 + torch.stack(
            [x.flatten(1).sum(1) * 1e4 % 2 - 1, torch.zeros(len(x))], 1
        )

    got = certify(coin, images, sigma=1.0, n=2000)
    assert (got.predicted == -1).all()
    assert (got.radius == 0).all()
    assert (predict(coin, images, sigma=1.0, n=1000) == -1).all()


def test_predict_agrees_with_the_sign_of_the_margin() -> None:
    x = torch.tensor([[1.0, 1.0], [-1.0, -1.0], [0.2, 0.1]])  # the third lies on the line
    assert predict(linear, x, sigma=0.5).tolist() == [1, 0, -1]
    assert predict(linear, x[:0], sigma=0.5).dtype == torch.int64


def test_results_carry_their_numbers_and_all_parameters(network: nn.Module, images: Tensor) -> None:
    labels = torch.arange(6) % 5
    got = certify(network, images, labels, sigma=0.5, n=1000)
    assert len(got) == 6
    assert got[2].index == 2
    assert got[2].radius == float(got.radius[2])
    for word in (
        "sigma=0.5",
        "n=1000",
        "alpha=0.001",
        "mode='fixed'",
        "seed=0",
        "backend='eager'",
        "float32",
    ):
        assert word in repr(got)
    right = (got.predicted == labels) & (got.radius >= 0.25)
    row = got.certified_accuracy([0.25])[0]
    assert row.count == int(right.sum())
    assert row.low <= row.accuracy <= row.high
    assert got.acr == pytest.approx(float((got.radius * (got.predicted == labels)).mean()))
    radii, shares = got.curve()
    assert radii[0] == 0
    assert (np.diff(shares) <= 0).all()


def test_without_labels_a_summary_says_all_but_accuracy(network: nn.Module, images: Tensor) -> None:
    got = certify(network, images, sigma=0.5, n=200)
    summary = got.summary()
    assert (summary["certified"], summary["acr"], summary["draws"]["mean"]) == ([], None, 200)
    assert summary["expected_false"] == pytest.approx(0.001 * len(images))


def test_a_grid_refuses_what_it_does_not_know(network: nn.Module, images: Tensor) -> None:
    got = certify(network, images, torch.zeros(6, dtype=torch.int64), sigma=0.5, mode="grid", n=500)
    with pytest.raises(InputError, match="average"):
        _ = got.acr
    with pytest.raises(InputError, match="not on the grid"):
        got.certified_accuracy([0.3])
    with pytest.raises(InputError, match="labels"):
        certify(network, images, sigma=0.5, mode="grid", n=500).certified_accuracy()


def test_bfloat16_is_named_and_float64_is_possible(network: nn.Module, images: Tensor) -> None:
    got = certify(network, images[:1], sigma=0.5, n=200, precision="bfloat16")
    assert "bfloat16" in repr(got)
    double = certify(
        lambda x: x[:, :2] * torch.ones(1, dtype=torch.float64),
        torch.rand(2, 3),
        sigma=1,
        n=200,
        precision="float64",
    )
    assert "float64" in repr(double)


def test_weights_of_another_precision_than_asked_are_said(images: Tensor) -> None:
    wide = nn.Sequential(nn.Flatten(), nn.Linear(images[0].numel(), 3)).double()
    with pytest.raises(InputError, match=r"weights are float64.*precision 'float64'"):
        certify(wide, images[:1], sigma=0.5, n=200)
    assert len(certify(wide, images[:1], sigma=0.5, n=200, precision="float64")) == 1
    assert predict(wide, images[:1], sigma=0.5, n=200, precision="float64").shape == (1,)


@dataclass(frozen=True)
class HalfBlocks(FixedRule):
    """A rule that looks within a block of noise."""

    @property
    def looks(self) -> tuple[int, ...]:
        return (100, self.n)


@dataclass(frozen=True)
class Shrinking(FixedRule):
    """A rule whose looks go back."""

    @property
    def looks(self) -> tuple[int, ...]:
        return (256, 128, self.n)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"sigma": 0.0}, "sigma"),
        ({"alpha": 1.5}, "alpha"),
        ({"mode": "magic"}, "mode"),
        ({"n": 0}, "n is 0"),
        ({"n": 10**9 + 1}, "n is 1000000001"),
        ({"grid": -1}, "grid"),
        ({"grid": 2**24}, "grid"),
        ({"mode": "grid", "prior": ((1.0, 0.5, float("inf")),)}, "prior"),
        ({"mode": f"{__name__}:HalfBlocks"}, "multiples of 128"),
        ({"mode": f"{__name__}:Shrinking"}, "growing"),
        ({"batch_size": 100}, "multiple"),
        ({"radii": (-1.0,)}, "radii"),
        ({"x": torch.zeros(2, 3, dtype=torch.uint8)}, "uint8"),
        ({"x": torch.full((2, 3), float("nan"))}, "NaN"),
        ({"y": torch.zeros(3, dtype=torch.int64)}, "labels"),
        ({"y": torch.tensor([0, -1])}, "label -1"),
        ({"indices": [1, 1]}, "different"),
        ({"model": lambda x: x[:, 0]}, "logits"),
        ({"model": lambda x: x * float("nan")}, "NaN"),
        ({"model": lambda x: x / 0.0}, "infinite"),
        ({"model": lambda x: x[:, :1]}, "two classes or more"),
        ({"model": lambda x: (x, x)}, "tuple"),
        ({"model": lambda x: x[:, :, None]}, "logits"),
        ({"model": lambda x: x.argmax(dim=1, keepdim=True)}, "int64"),
        ({"y": torch.tensor([0, 3])}, "3 classes"),
        ({"sampler": "exact"}, "on a grid"),
        ({"sampler": "magic"}, "sampler"),
        ({"tolerence": 0.1}, "did you mean 'tolerance'"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_a_sentence(change: dict, words: str) -> None:  # type: ignore[type-arg]
    model, x = change.pop("model", lambda x: x), change.pop("x", torch.rand(2, 3))
    y = change.pop("y", None)
    with pytest.raises(InputError, match=words):
        certify(model, x, y, **{"sigma": 0.5, "n": 200, **change})
