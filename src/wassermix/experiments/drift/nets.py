"""The survey's small nets: plain, trained under noise, trained on one-step attacks; a minute at most each."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from wassermix.core.files import write_beside
from wassermix.core.streams import stream
from wassermix.experiments.drift.cases import SIZES, net_of
from wassermix.experiments.drift.samples import Parts
from wassermix.models import build_model

__all__ = ["trained_net"]

RADIUS = {"mnist": 0.15, "fashion-mnist": 0.06, "cifar10": 4 / 255, "digits": 0.1}
"""Radius of the attack in the largest norm; tables: 0.3 of each column's deviation."""
NOISE = {"mnist": 0.3, "fashion-mnist": 0.2, "cifar10": 0.08, "digits": 0.2}
"""Deviation of the training noise; tables: 0.5 of each column's."""
TABLE_RADIUS, TABLE_NOISE = 0.3, 0.5


def trained_net(name: str, parts: Parts, *, seed: int, folder: Path) -> nn.Module:
    """The net for one data set and seed, from its file where there is one."""
    net = net_of(name, seed)
    path = folder / f"{name}-{seed}-{net}.safetensors"
    model = _architecture(parts, seed=seed)
    if path.exists():
        model.load_state_dict(load_file(path))
        return model.eval()
    _train(model, *parts.train, disturb=_disturbance(name, net, model, parts), name=name, seed=seed)
    write_beside(path, lambda beside: save_file(model.state_dict(), str(beside)))
    return model.eval()


def _architecture(parts: Parts, *, seed: int) -> nn.Module:
    x = parts.train[0]
    shape = tuple(x.shape[1:])
    if len(shape) == 3 and shape[1] >= 16:
        return build_model("lenet", shape=shape, num_classes=parts.num_classes, seed=seed)
    mean, std = (x.mean(0).tolist(), x.std(0).tolist()) if x.dim() == 2 else (None, None)
    return build_model(
        "mlp", shape=shape, num_classes=parts.num_classes, mean=mean, std=std, seed=seed, hidden=(64, 64)
    )


def _train(
    model: nn.Module, x: Tensor, y: Tensor, *, disturb: Callable[..., Tensor], name: str, seed: int
) -> None:
    generator, epochs = stream(seed, "drift", "training", name), SIZES[name].epochs
    batch = 50 if len(x) > 100 else 20
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3, weight_decay=1e-4)
    steps = epochs * -(-len(x) // batch)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    model.train()
    for _ in range(epochs):
        for rows in torch.randperm(len(x), generator=generator).split(batch):
            disturbed = disturb(x[rows], y[rows], generator)
            optimizer.zero_grad()
            F.cross_entropy(model(disturbed), y[rows]).backward()
            optimizer.step()
            schedule.step()


def _disturbance(name: str, net: str, model: nn.Module, parts: Parts) -> Callable[..., Tensor]:
    """What a training batch goes through: nothing, noise, or a one-step attack from a random start."""
    table = parts.train[0].dim() == 2
    unit = parts.train[0].std(0) if table else torch.ones(())
    sigma, radius = NOISE.get(name, TABLE_NOISE) * unit, RADIUS.get(name, TABLE_RADIUS) * unit

    def noisy(x: Tensor, y: Tensor, generator: torch.Generator) -> Tensor:
        return x + sigma * torch.randn(x.shape, generator=generator)

    def attacked(x: Tensor, y: Tensor, generator: torch.Generator) -> Tensor:
        start = (2 * torch.rand(x.shape, generator=generator) - 1) * radius
        start.requires_grad_(True)
        (gradient,) = torch.autograd.grad(F.cross_entropy(model(x + start), y), start)
        step = (start.detach() + 1.25 * radius * gradient.sign()).clamp(-radius, radius)
        return x + step if table else (x + step).clamp(0, 1)

    choices = {"plain": lambda x, y, generator: x, "noise": noisy, "adversarial": attacked}
    return choices[net]
