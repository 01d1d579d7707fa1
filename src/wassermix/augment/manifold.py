"""Manifold mixup: mixing in a hidden layer, drawn anew for each batch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from wassermix.augment.mixing import beta_share, mix_labels, pairing, require_beta, soft_labels
from wassermix.core.draws import uniform
from wassermix.core.errors import InputError

__all__ = ["ManifoldMixup", "find_layer", "require_one_call"]


@dataclass(frozen=True, kw_only=True)
class ManifoldMixup:
    """Mixup of the input or of a hidden layer's output, the layer drawn for each batch.

    ``with augment.on(model, x, y) as target: logits = model(x)``: inside, the drawn layer returns
    ``l h + (1 - l) h[pairs]`` with one ``l ~ Beta(beta, beta)`` and one pairing; ``target`` is mixed alike.

    Args:
        beta: the parameter of the Beta law.
        layers: names of submodules (``stage1``), and ``input`` for the network's own input.
        num_classes: needed where labels come as classes.
    """

    beta: float = 2.0
    layers: tuple[str, ...] = ("input", "stage1", "stage2")
    num_classes: int | None = None

    adds: ClassVar[bool] = False
    passes: ClassVar[float] = 0.0
    reference: ClassVar[str] = "Verma et al. 2019"

    def __post_init__(self) -> None:
        require_beta(self, self.beta)
        if not self.layers:
            raise InputError("ManifoldMixup: no layers; expected names such as input, stage1")

    @contextmanager
    def on(
        self, model: nn.Module, x: Tensor, y: Tensor, *, generator: torch.Generator | None = None
    ) -> Iterator[Tensor]:
        """Mix in one layer of ``model`` while inside; gives the mixed labels. One forward, of all samples."""
        target = soft_labels(y, self.num_classes, x.dtype)
        draw = uniform((), generator, torch.device("cpu")).item()
        layer = self.layers[int(draw * len(self.layers))]
        share, pairs = beta_share(self.beta, generator), pairing(len(x), generator, x.device)
        mixing = _Mixing(share, pairs)
        handle = self._attach(model, layer, mixing)
        try:
            yield mix_labels(target, pairs, share)
        finally:
            handle.remove()
        require_one_call("ManifoldMixup", layer, mixing.calls)

    def _attach(self, model: nn.Module, layer: str, mixing: _Mixing) -> Any:
        if layer == "input":
            return model.register_forward_pre_hook(lambda _, args: (mixing(args[0]), *args[1:]))
        found = find_layer(model, layer, "ManifoldMixup")
        return found.register_forward_hook(lambda module, args, output: mixing(output))


def find_layer(model: nn.Module, layer: str, owner: str) -> nn.Module:
    """The submodule of that name, or a sentence with the names that there are."""
    modules: dict[str, nn.Module] = dict(model.named_modules())
    if not layer or layer not in modules:
        listed = ", ".join(name for name in list(modules)[:20] if name)
        raise InputError(f"{owner}: the model has no layer '{layer}'; it has {listed}")
    return modules[layer]


def require_one_call(owner: str, layer: str, calls: int) -> None:
    """Labels were mixed once: refuse a layer that did not run, or ran again."""
    if calls != 1:
        raise InputError(f"{owner}: layer '{layer}' ran {calls} times inside `on`; expected once")


class _Mixing:
    """The mixing of one batch, which also counts how often it was used."""

    def __init__(self, share: float, pairs: Tensor) -> None:
        self.share, self.pairs, self.calls = share, pairs, 0

    def __call__(self, hidden: Tensor) -> Tensor:
        self.calls += 1
        if len(hidden) != len(self.pairs):
            raise InputError(
                f"ManifoldMixup: {len(hidden)} samples passed the layer, but {len(self.pairs)} were announced"
            )
        return self.share * hidden + (1 - self.share) * hidden[self.pairs]
