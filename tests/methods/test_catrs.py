"""CAT-RS against its formula, written out sample by sample."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from wassermix.core.errors import InputError
from wassermix.methods import CATRS, Batch
from wassermix.methods.catrs import like_noise, low_losses

N, D, K, M = 5, 4, 3, 3
SIGMA, EPS = 0.5, 0.7


def _linear(seed: int) -> Tensor:
    return torch.randn(K, D, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def _p(weight: np.ndarray, x: np.ndarray) -> np.ndarray:
    powers = np.exp(weight @ x - (weight @ x).max())
    return powers / powers.sum()


def _kl(p: np.ndarray, q: np.ndarray) -> float:
    return float(sum(a * np.log(a / b) for a, b in zip(p, q) if a > 0))


def _climb(
    weight: np.ndarray, target: np.ndarray, start: np.ndarray, *, eps: float, steps: int
) -> np.ndarray:
    """Unit steps up KL(target | softmax(W z)), whose gradient is W^T (p - target), inside the ball."""
    z = start.copy()
    for _ in range(steps):
        slope = weight.T @ (_p(weight, z) - target)
        z = z + 2 * eps / steps * slope / np.linalg.norm(slope)
        gap = z - start
        z = start + gap * min(1.0, eps / np.linalg.norm(gap))
    return z


def _samples(teacher: Tensor) -> tuple[Tensor, Tensor]:
    """Samples and labels; a linear teacher is right about the first three."""
    x = torch.randn(N, D, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    y = (x @ teacher.T).argmax(dim=1)
    y[3:] = (y[3:] + 1) % K
    return x, y


def _expected(
    weight: np.ndarray, x: np.ndarray, y: np.ndarray, *, taught: list[tuple[np.ndarray, float]], draws: list
) -> tuple[float, float, list[int]]:
    """Low, high and the numbers K, from each sample's target and share of right votes."""
    noise, uniform = draws
    low, high, accepted = [], [], []
    for i, (target, right) in enumerate(taught):
        count = max(1, int((uniform[:, i] < right).sum()))
        starts = [x[i] + e[i] for e in noise]
        losses = sorted(-np.log(_p(weight, z)[y[i]]) for z in starts)
        low.append(sum(losses[:count]) / M)
        worst = []
        for z, e in zip(starts, noise[:, i]):
            moved = _climb(weight, target, z, eps=EPS, steps=2) - x[i]
            moved = (moved - moved.mean()) / moved.std() * e.std() + e.mean()
            worst.append(_kl(target, _p(weight, x[i] + moved)))
        high.append(2.0 * max(worst) * (count == M))
        accepted.append(count)
    return float(np.mean(low)), float(np.mean(high)), accepted


def _method(teacher: str) -> CATRS:
    return CATRS(sigma=SIGMA, noises=M, steps=2, eps=EPS, weight=2.0, teacher=teacher, draws=8)


def _normal(drawn: torch.Generator, count: int) -> np.ndarray:
    return SIGMA * torch.randn(count, N, D, generator=drawn, dtype=torch.float64).numpy()


def test_easy_samples_train_on_their_worst_noise_and_hard_ones_on_their_best() -> None:
    own, other = _linear(1), _linear(2)
    x, y = _samples(other)
    batch = Batch(x, y, generator=torch.Generator().manual_seed(7), teacher=lambda z: z @ other.T)
    got = _method("average").loss(lambda z: z @ own.T, batch)

    drawn = torch.Generator().manual_seed(7)
    noise, fresh = (_normal(drawn, count) for count in (M, 8))
    said = [np.array([_p(other.numpy(), x[i].numpy() + e[i]) for e in fresh]) for i in range(N)]
    taught = [
        (one.mean(axis=0), float((one.argmax(axis=1) == int(y[i])).mean())) for i, one in enumerate(said)
    ]
    draws = [noise, torch.rand(M, N, generator=drawn).numpy()]
    low, high, accepted = _expected(own.numpy(), x.numpy(), y.numpy(), taught=taught, draws=draws)
    assert len(set(accepted)) > 1
    assert got["low"].item() == pytest.approx(low)
    assert got["high"].item() == pytest.approx(high)


def test_votes_counted_beforehand_are_target_and_confidence_and_a_label_stands_in_for_missing_ones() -> None:
    own = _linear(1)
    x, y = _samples(_linear(2))
    votes = torch.tensor([[8.0, 0, 0], [1, 6, 1], [0, 3, 5], [2, 2, 4], [torch.nan] * 3]) / 8
    got = _method("a-run").loss(
        lambda z: z @ own.T, Batch(x, y, generator=torch.Generator().manual_seed(7), votes=votes)
    )

    drawn = torch.Generator().manual_seed(7)
    draws = [_normal(drawn, M), torch.rand(M, N, generator=drawn).numpy()]  # and none of a teacher
    rows = [*votes[:4].double().numpy(), np.eye(K)[int(y[4])]]
    taught = [(row, float(row[int(y[i])])) for i, row in enumerate(rows)]
    low, high, accepted = _expected(own.numpy(), x.numpy(), y.numpy(), taught=taught, draws=draws)
    assert accepted[4] == M  # nobody doubts a label
    assert len(set(accepted)) > 1
    assert got["low"].item() == pytest.approx(low)
    assert got["high"].item() == pytest.approx(high)


@pytest.mark.parametrize(
    ("teacher", "draws", "step", "beforehand"),
    [
        ("own", None, 24 + 4 / 3, None),
        ("average", None, 24 + 16 / 3, None),
        ("average", 8, 24 + 8 / 3, None),
        ("a-run", None, 24, 256 / 3),
        ("a-run", 30, 24, 10),
    ],
)
def test_a_teacher_costs_a_third_of_a_pass_for_each_draw_at_each_step_or_once(
    teacher: str, draws: int | None, step: float, beforehand: float | None
) -> None:
    method = CATRS(teacher=teacher, draws=draws)
    counting = method.counting
    assert method.passes == pytest.approx(step)
    assert (None if counting is None else counting.passes) == pytest.approx(beforehand)


def test_only_the_smallest_losses_are_summed() -> None:
    logits = torch.tensor([[[0.0, 0.0]], [[9.0, 0.0]], [[0.0, 9.0]]], dtype=torch.float64)
    first, both = (low_losses(logits, torch.tensor([0]), torch.tensor([k])).item() for k in (1, 2))
    assert first == pytest.approx(np.log1p(np.exp(-9)) / 3, rel=1e-4)
    assert both == pytest.approx((np.log1p(np.exp(-9)) + np.log(2)) / 3, rel=1e-4)


def test_a_moved_noise_keeps_its_mean_and_variance() -> None:
    generator = torch.Generator().manual_seed(0)
    noise, moved = (torch.randn(2, 3, 1, 6, 6, generator=generator) * size for size in (1.0, 4.0))
    kept = like_noise(moved, noise).flatten(2)
    torch.testing.assert_close(kept.mean(2), noise.flatten(2).mean(2), atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(kept.std(2), noise.flatten(2).std(2), atol=1e-5, rtol=1e-4)


def test_a_teacher_that_is_not_there_is_told() -> None:
    with pytest.raises(InputError, match="brings no teacher"):
        CATRS(teacher="average").loss(lambda x: x, Batch(torch.rand(2, 3), torch.tensor([0, 1])))


def test_votes_that_are_not_there_are_told() -> None:
    with pytest.raises(InputError, match=r"brings no votes of it; .*count_votes"):
        CATRS(teacher="a-run").loss(lambda x: x, Batch(torch.rand(2, 3), torch.tensor([0, 1])))
