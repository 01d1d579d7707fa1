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


def _linear(seed: int) -> Tensor:
    return torch.randn(K, D, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def _p(weight: np.ndarray, x: np.ndarray) -> np.ndarray:
    powers = np.exp(weight @ x - (weight @ x).max())
    return powers / powers.sum()


def _kl(p: np.ndarray, q: np.ndarray) -> float:
    return float((p * np.log(p / q)).sum())


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


def test_easy_samples_train_on_their_worst_noise_and_hard_ones_on_their_best() -> None:
    own, other, sigma, eps = _linear(1), _linear(2), 0.5, 0.7
    x = torch.randn(N, D, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    y = (x @ other.T).argmax(dim=1)  # the teacher is right ...
    y[3:] = (y[3:] + 1) % K  # ... about the first three samples
    method = CATRS(sigma=sigma, noises=M, steps=2, eps=eps, weight=2.0, teacher="elsewhere", draws=8)
    batch = Batch(x, y, generator=torch.Generator().manual_seed(7), teacher=lambda z: z @ other.T)
    got = method.loss(lambda z: z @ own.T, batch)

    drawn = torch.Generator().manual_seed(7)
    noise, fresh = (
        sigma * torch.randn(count, N, D, generator=drawn, dtype=torch.float64).numpy() for count in (M, 8)
    )
    uniform = torch.rand(M, N, generator=drawn).numpy()
    low, high, accepted = [], [], []
    for i in range(N):
        taught = np.array([_p(other.numpy(), x[i].numpy() + e[i]) for e in fresh])
        right = float((taught.argmax(axis=1) == int(y[i])).mean())
        count = max(1, int((uniform[:, i] < right).sum()))
        starts = [x[i].numpy() + e[i] for e in noise]
        losses = sorted(-np.log(_p(own.numpy(), z)[y[i]]) for z in starts)
        low.append(sum(losses[:count]) / M)
        target, worst = taught.mean(axis=0), []
        for z, e in zip(starts, noise[:, i]):
            moved = _climb(own.numpy(), target, z, eps=eps, steps=2) - x[i].numpy()
            moved = (moved - moved.mean()) / moved.std() * e.std() + e.mean()
            worst.append(_kl(target, _p(own.numpy(), x[i].numpy() + moved)))
        high.append(2.0 * max(worst) * (count == M))
        accepted.append(count)
    assert len(set(accepted)) > 1
    assert got["low"].item() == pytest.approx(np.mean(low))
    assert got["high"].item() == pytest.approx(np.mean(high))


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
