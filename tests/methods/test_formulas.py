"""Each method's loss against its formula, written out sample by sample in numpy."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
from scipy.stats import norm
from torch import Tensor, nn

from wassermix.methods import (
    ERM,
    MACER,
    TRADES,
    AugMix,
    Batch,
    Consistency,
    Gaussian,
    PGDTraining,
    SmoothAdv,
    SmoothMix,
    Stability,
)

N, D, K, SIGMA = 4, 3, 3, 0.4


class Case:
    """A linear model on a few vectors with mixed labels, and the noises that a method will draw."""

    def __init__(self, count: int = 1) -> None:
        generator = torch.Generator().manual_seed(3)
        self.weight = torch.randn(K, D, generator=generator, dtype=torch.float64)
        self.x = torch.randn(N, D, generator=generator, dtype=torch.float64)
        raw = torch.rand(N, K, generator=generator, dtype=torch.float64)
        raw[::2] += (self.x[::2] @ self.weight.T).softmax(dim=1)  # labels that the model has right
        self.y = raw / raw.sum(dim=1, keepdim=True)
        drawn = torch.Generator().manual_seed(7)
        self.noise = SIGMA * torch.randn(count, N, D, generator=drawn, dtype=torch.float64).numpy()
        self.later = drawn  # what the method draws next comes from here

    @property
    def batch(self) -> Batch:
        return Batch(self.x, self.y, generator=torch.Generator().manual_seed(7))

    def model(self, x: Tensor) -> Tensor:
        return x @ self.weight.T

    def p(self, x: np.ndarray) -> np.ndarray:
        logits = self.weight.numpy() @ x
        powers = np.exp(logits - logits.max())
        return powers / powers.sum()

    def mean(self, value: Callable[[np.ndarray, np.ndarray, int], float]) -> float:
        return float(np.mean([value(self.x[i].numpy(), self.y[i].numpy(), i) for i in range(N)]))


def ce(y: np.ndarray, p: np.ndarray) -> float:
    return float(-(y * np.log(p)).sum())


def kl(p: np.ndarray, q: np.ndarray) -> float:
    return float((p * np.log(p / q)).sum())


def values(terms: dict[str, Tensor]) -> dict[str, float]:
    return {name: term.item() for name, term in terms.items()}


def test_erm_is_the_mean_cross_entropy() -> None:
    case = Case()
    expected = {"ce": case.mean(lambda x, y, i: ce(y, case.p(x)))}
    assert values(ERM().loss(case.model, case.batch)) == pytest.approx(expected)


def test_erm_with_bce_is_the_mean_over_samples_and_classes() -> None:
    case = Case()
    expected = case.mean(
        lambda x, y, i: float(-np.mean(y * np.log(case.p(x)) + (1 - y) * np.log(1 - case.p(x))))
    )
    assert values(ERM(criterion="bce").loss(case.model, case.batch)) == pytest.approx({"bce": expected})


def test_gaussian_is_the_cross_entropy_under_one_noise() -> None:
    case = Case()
    expected = {"ce": case.mean(lambda x, y, i: ce(y, case.p(x + case.noise[0, i])))}
    assert values(Gaussian(sigma=SIGMA).loss(case.model, case.batch)) == pytest.approx(expected)


def test_stability_compares_the_noisy_with_the_clean_prediction() -> None:
    case = Case()
    expected = {
        "ce": case.mean(lambda x, y, i: ce(y, case.p(x))),
        "stability": 2 * case.mean(lambda x, y, i: ce(case.p(x), case.p(x + case.noise[0, i]))),
    }
    got = Stability(sigma=SIGMA, weight=2.0).loss(case.model, case.batch)
    assert values(got) == pytest.approx(expected)


def test_consistency_adds_the_spread_and_the_entropy_of_the_mean_prediction() -> None:
    case = Case(count=3)

    def mean_p(x: np.ndarray, i: int) -> np.ndarray:
        return np.mean([case.p(x + noise[i]) for noise in case.noise], axis=0)

    expected = {
        "ce": case.mean(lambda x, y, i: np.mean([ce(y, case.p(x + e[i])) for e in case.noise])),
        "consistency": 7
        * case.mean(lambda x, y, i: np.mean([kl(mean_p(x, i), case.p(x + e[i])) for e in case.noise])),
        "entropy": 0.5 * case.mean(lambda x, y, i: ce(mean_p(x, i), mean_p(x, i))),
    }
    method = Consistency(sigma=SIGMA, noises=3, weight=7.0, entropy_weight=0.5)
    assert values(method.loss(case.model, case.batch)) == pytest.approx(expected)


def test_macer_adds_a_hinge_on_the_radius_where_the_prediction_is_right() -> None:
    case = Case(count=4)
    temperature, gamma = 2.0, 1.5

    def hinge(x: np.ndarray, y: np.ndarray, i: int) -> float:
        powers = [case.p(x + e[i]) ** temperature for e in case.noise]
        z = np.mean([power / power.sum() for power in powers], axis=0)
        second, first = np.sort(z)[-2:]
        xi = norm.ppf(first) - norm.ppf(second)
        return SIGMA / 2 * (gamma - xi) if z.argmax() == y.argmax() and xi <= gamma else 0.0

    def smoothed(x: np.ndarray, y: np.ndarray, i: int) -> float:
        return ce(y, np.mean([case.p(x + e[i]) for e in case.noise], axis=0))

    method = MACER(sigma=SIGMA, noises=4, weight=3.0, temperature=temperature, gamma=gamma)
    got = values(method.loss(case.model, case.batch))
    assert got == pytest.approx({"ce": case.mean(smoothed), "radius": 3 * case.mean(hinge)})
    assert got["radius"] > 0


def test_pgd_trains_on_the_point_that_the_steps_reach() -> None:
    case, eps = Case(), 0.8

    def climbed(x: np.ndarray, y: np.ndarray, i: int) -> float:
        at = x
        for _ in range(3):
            gradient = case.weight.numpy().T @ (case.p(at) - y)
            at = at + 2 * eps / 3 * gradient / np.linalg.norm(gradient)
            away = at - x
            at = x + away * min(1.0, eps / np.linalg.norm(away))
        return ce(y, case.p(at))

    got = PGDTraining(norm="l2", eps=eps, steps=3).loss(case.model, case.batch)
    assert values(got) == pytest.approx({"ce": case.mean(climbed)})


def test_trades_adds_the_divergence_of_the_worst_prediction() -> None:
    case, eps = Case(), 0.3
    start = 1e-3 / SIGMA * case.noise[0]

    def worst(x: np.ndarray, i: int) -> np.ndarray:
        at = x + start[i]
        for _ in range(2):
            slope = case.weight.numpy().T @ (case.p(at) - case.p(x))
            at = x + np.clip(at + 0.2 * np.sign(slope) - x, -eps, eps)
        return at

    expected = {
        "ce": case.mean(lambda x, y, i: ce(y, case.p(x))),
        "kl": 6 * case.mean(lambda x, y, i: kl(case.p(x), case.p(worst(x, i)))),
    }
    method = TRADES(norm="linf", eps=eps, steps=2, step_size=0.2, weight=6.0)
    assert values(method.loss(case.model, case.batch)) == pytest.approx(expected)


def smoothed_gradient(case: Case, at: np.ndarray, y: np.ndarray, i: int) -> np.ndarray:
    """Of ``-sum_c y_c log p_bar_c`` at one sample, by hand."""
    each = [case.p(at + e[i]) for e in case.noise]
    mean = np.mean(each, axis=0)
    slopes = [(np.diag(p) - np.outer(p, p)) @ case.weight.numpy() for p in each]
    return -(y / mean) @ np.mean(slopes, axis=0)


def climb(
    case: Case, x: np.ndarray, y: np.ndarray, i: int, *, steps: int, size: float, eps: float
) -> np.ndarray:
    at = x
    for _ in range(steps):
        gradient = smoothed_gradient(case, at, y, i)
        at = at + size * gradient / np.linalg.norm(gradient)
        away = at - x
        at = x + away * min(1.0, eps / np.linalg.norm(away))
    return at


def test_smoothadv_trains_around_the_worst_point_of_the_smoothed_classifier() -> None:
    case, eps = Case(count=2), 0.5

    def value(x: np.ndarray, y: np.ndarray, i: int) -> float:
        at = climb(case, x, y, i, steps=3, size=2 * eps / 3, eps=eps)
        return float(np.mean([ce(y, case.p(at + e[i])) for e in case.noise]))

    got = SmoothAdv(sigma=SIGMA, noises=2, eps=eps, steps=3, warm_up=0.1).loss(case.model, case.batch)
    assert values(got) == pytest.approx({"ce": case.mean(value)})


@pytest.mark.parametrize("mix_step", [0, 1])
def test_smoothmix_wants_less_certainty_on_the_way_to_the_adversary(mix_step: int) -> None:
    case, size = Case(count=2), 0.3
    share = (torch.rand(N, generator=case.later, dtype=torch.float64) / 2).numpy()

    def near(x: np.ndarray, y: np.ndarray, i: int) -> np.ndarray:
        return climb(case, x, y, i, steps=mix_step, size=size, eps=math.inf)

    def mean_p(x: np.ndarray, i: int) -> np.ndarray:
        return np.mean([case.p(x + e[i]) for e in case.noise], axis=0)

    def mix(x: np.ndarray, y: np.ndarray, i: int) -> float:
        clean, far = near(x, y, i), climb(case, x, y, i, steps=3, size=size, eps=math.inf)
        at = (1 - share[i]) * clean + share[i] * far
        target = (1 - share[i]) * mean_p(clean, i) + share[i] / K
        right = mean_p(clean, i).argmax() == y.argmax()
        return float(right * np.mean([kl(target, case.p(at + e[i])) for e in case.noise]))

    expected = {
        "ce": case.mean(lambda x, y, i: np.mean([ce(y, case.p(near(x, y, i) + e[i])) for e in case.noise])),
        "mix": 5 * case.mean(mix),
    }
    method = SmoothMix(sigma=SIGMA, noises=2, steps=3, step_size=size, weight=5.0, mix_step=mix_step)
    got = values(method.loss(case.model, case.batch))
    assert got == pytest.approx(expected)
    assert got["mix"] > 0


def test_augmix_is_the_clean_cross_entropy_and_the_spread_of_three_views() -> None:
    images = torch.rand(N, 1, 6, 6, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    net = nn.Sequential(nn.Flatten(), nn.Linear(36, K)).double()
    y = torch.tensor([0, 1, 2, 0])
    method = AugMix(weight=12.0)
    got = method.loss(net, Batch(images, y, generator=torch.Generator().manual_seed(5)))
    again = Batch(images, y, generator=torch.Generator().manual_seed(5))
    views = method.views(again)
    assert torch.equal(views[0], images)
    p = np.stack([net(view).softmax(dim=1).detach().numpy() for view in views])
    spread = [np.mean([kl(p[v, i], p[:, i].mean(axis=0)) for v in range(3)]) for i in range(N)]
    expected = {"ce": -np.log(p[0, range(N), y]).mean(), "jsd": 12 * np.mean(spread)}
    assert values(got) == pytest.approx(expected)


def test_smoothadv_with_weights_is_consistency_where_the_ball_is_a_point() -> None:
    case = Case(count=3)
    weights = {"sigma": SIGMA, "noises": 3, "weight": 4.0, "entropy_weight": 0.3}
    adversarial = SmoothAdv(eps=0.0, steps=1, **weights).loss(case.model, case.batch)
    expected = values(Consistency(**weights).loss(case.model, case.batch))
    assert values(adversarial) == pytest.approx(expected)
