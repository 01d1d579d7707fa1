"""Gradients against finite differences, where they must flow through both branches of a term."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.autograd import gradcheck

from wassermix.methods import Batch, Consistency, Method, SmoothMix, Stability
from wassermix.methods.augmix import jensen_shannon
from wassermix.methods.consistency import consistency_terms
from wassermix.methods.macer import radius_hinge
from wassermix.methods.smoothmix import mix_divergence
from wassermix.methods.trades import divergence


def logits(*shape: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64).requires_grad_(True)


# With steps of length 0 SmoothMix's search stands still: what moves with the parameters is the loss alone.
METHODS = [
    Stability(sigma=0.5),
    Consistency(sigma=0.5, noises=3),
    SmoothMix(sigma=0.5, noises=2, steps=1, step_size=0.0),
]


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_the_gradient_of_a_method_is_the_slope_of_its_loss(method: Method) -> None:
    x = torch.rand(4, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)

    def loss(weight: Tensor) -> Tensor:
        batch = Batch(x, torch.tensor([0, 1, 2, 0]), generator=torch.Generator().manual_seed(2))
        terms = method.loss(lambda point: torch.tanh(point @ weight[:, :3]) @ weight[:, 3:], batch)
        return torch.stack(list(terms.values())).sum()

    assert gradcheck(loss, logits(3, 6, seed=3))


TERMS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "consistency": lambda a, b: torch.stack(consistency_terms(torch.stack([a, b]))),
    "smoothmix": lambda a, b: mix_divergence(a[None], b[None], torch.tensor([0.1, 0.3, 0.5])),
    "trades": divergence,
    "augmix": lambda a, b: jensen_shannon(torch.stack([a, b])),
    "macer": lambda a, b: radius_hinge(torch.stack([a, b]), torch.tensor([0, 1, 2]), sigma=1.0, gamma=4.0),
}


@pytest.mark.parametrize("name", sorted(TERMS))
def test_a_term_has_gradients_with_respect_to_both_predictions(name: str) -> None:
    assert gradcheck(TERMS[name], (logits(3, 4), logits(3, 4, seed=1)))
