"""A small smooth copy of a model: where attacks on the copy beat the model's own gradients, these mislead."""

from __future__ import annotations

import torch
from torch import Tensor

from wassermix.core.classifier import Classifier, evaluating
from wassermix.core.labels import cross_entropy
from wassermix.core.streams import stream

__all__ = ["POOL", "distil"]

POOL = 500
"""How many images a copy learns from."""
COPIES, HIDDEN, STEPS, BATCH = 2, 64, 100, 64
NOISE = 0.3
"""Deviation of the noise on the images it learns from, in those of the inputs."""


def distil(model: Classifier, x: Tensor, *, seed: int = 0) -> Classifier:
    """A network with one hidden layer that imitates the model's probabilities around ``x (n, ...)``.

    ``min_h E KL(softmax f(x + noise) | softmax h(x + noise))`` by a hundred steps of Adam, from two noisy
    copies of each image: some 1,000 forward passes of the model. Its gradients are those of a smooth
    function that the model is close to, so they do not break where the model's own do.
    """
    generator = stream(seed, "surrogate")
    mean, spread = x.mean(), x.std().clamp_min(1e-6)
    points = x.repeat(COPIES, *[1] * (x.dim() - 1))
    noise = torch.randn(points.shape, generator=generator, device=generator.device, dtype=x.dtype)
    points = points + NOISE * spread * noise.to(x)
    with evaluating(model), torch.no_grad():
        target = torch.cat([model(rows).softmax(dim=1) for rows in points.split(128)])
    weights = _weights(points[0].numel(), target.shape[1], like=x, generator=generator)

    def copy(inputs: Tensor) -> Tensor:
        first, inner, last, outer = weights
        return ((inputs.flatten(1) - mean) / spread @ first + inner).relu() @ last + outer

    with torch.inference_mode(False), torch.enable_grad():
        optimizer = torch.optim.Adam(weights, lr=3e-3)
        for _ in range(STEPS):
            rows = torch.randint(len(points), (BATCH,), generator=generator).to(x.device)
            optimizer.zero_grad()
            cross_entropy(copy(points[rows]), target[rows]).mean().backward()
            optimizer.step()
    for weight in weights:
        weight.requires_grad_(False)
    return copy


def _weights(entries: int, classes: int, *, like: Tensor, generator: torch.Generator) -> list[Tensor]:
    """He's start for both layers, on the inputs' device."""
    shapes = ((entries, HIDDEN), (HIDDEN,), (HIDDEN, classes), (classes,))
    made = [
        torch.randn(shape, generator=generator) * (2 / shape[0]) ** 0.5
        if len(shape) == 2
        else torch.zeros(shape)
        for shape in shapes
    ]
    return [weight.to(like).requires_grad_(True) for weight in made]
