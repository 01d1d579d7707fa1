"""What estimators see of samples: inputs and hidden features in a few dimensions, and the model's outputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from wassermix.core.classifier import Classifier, evaluating
from wassermix.core.errors import InputError
from wassermix.core.samples import Samples, require_finite
from wassermix.embed import PCA, Embedding

__all__ = ["Floats", "Ints", "Looker", "View", "hidden_layer"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
BATCH = 500


@dataclass(frozen=True, eq=False)
class View:
    """``n`` samples as a drift estimator sees them."""

    inputs: Floats
    """``(n, d)``: leading components of the inputs."""
    features: Floats
    """``(n, e)``: leading components of the last hidden layer; of the logits where the model shows none."""
    logits: Floats
    """``(n, k)``."""

    def __len__(self) -> int:
        return len(self.logits)

    @property
    def predicted(self) -> Ints:
        """The model's decisions ``(n,)``."""
        return self.logits.argmax(axis=1)

    def rows(self, index: Ints) -> View:
        """Some of the samples."""
        return View(self.inputs[index], self.features[index], self.logits[index])


class Looker:
    """Makes :class:`View` of samples: fitted once on reference samples, then the same for all others.

    ``layer`` names a module whose output is taken as the features; by default they are what enters the
    last linear layer. A model that is a plain function has its logits for features.
    """

    def __init__(self, model: Classifier, *, layer: str | None = None, components: int = 32) -> None:
        self.model, self.components = model, components
        self.layer = hidden_layer(model, layer)
        self.input_embed: Embedding | None = None
        self.feature_embed: Embedding | None = None
        self.mean, self.spread = torch.zeros(()), torch.ones(())

    def fit(self, samples: Samples) -> View:
        """Fit the components on reference samples and return their view."""
        x, hidden, logits = self._read(samples)
        if x.dim() == 2:  # columns of a table may be measured in any unit
            self.mean = x.mean(0)
            spread = x.std(0, correction=0)
            self.spread = torch.where(spread > 1e-8 * (1 + self.mean.abs()), spread, torch.ones_like(spread))
        x = (x - self.mean) / self.spread
        self.input_embed = PCA(size=self.components).fit(x)
        self.feature_embed = PCA(size=self.components).fit(hidden)
        return View(_array(self.input_embed.encode(x)), _array(self.feature_embed.encode(hidden)), logits)

    def look(self, samples: Samples) -> View:
        """The view of other samples in the reference's components."""
        assert self.input_embed is not None
        assert self.feature_embed is not None
        x, hidden, logits = self._read(samples)
        x = (x - self.mean) / self.spread
        return View(_array(self.input_embed.encode(x)), _array(self.feature_embed.encode(hidden)), logits)

    def arrays(self) -> dict[str, NDArray[np.float32]]:
        """What a fit has found, as arrays to store."""
        assert self.input_embed is not None
        assert self.feature_embed is not None
        found = {"mean": self.mean, "spread": self.spread}
        for name, embed in (("input", self.input_embed), ("feature", self.feature_embed)):
            found |= {f"{name}_{key}": value for key, value in embed.state_dict().items()}
            found[f"{name}_shape"] = torch.tensor(embed.shape)
        return {key: value.numpy() for key, value in found.items()}

    def restore(self, arrays: Mapping[str, NDArray[np.float32]]) -> None:
        """Take over what :meth:`arrays` gave."""
        self.mean, self.spread = torch.from_numpy(arrays["mean"]), torch.from_numpy(arrays["spread"])
        self.input_embed, self.feature_embed = (_restored(name, arrays) for name in ("input", "feature"))

    def standardised(self, x: Tensor) -> Tensor:
        """Samples of a table in units of the reference's columns; images as they are."""
        return (x - self.mean) / self.spread

    @torch.no_grad()
    def _read(self, samples: Samples) -> tuple[Tensor, Tensor, Floats]:
        xs, hidden, logits = [], [], []
        with evaluating(self.model), self._watching() as seen:
            for rows in torch.arange(len(samples)).split(BATCH):
                x = samples.get(rows)
                require_finite(x, rows.tolist())
                outputs = self.model(x)
                xs.append(x)
                hidden.append((seen.pop() if self.layer else outputs).flatten(1).float())
                logits.append(outputs)
        return torch.cat(xs), torch.cat(hidden), _array(torch.cat(logits))

    @contextmanager
    def _watching(self) -> Iterator[list[Tensor]]:
        seen: list[Tensor] = []
        remove = self.layer(seen) if self.layer else lambda: None
        try:
            yield seen
        finally:
            remove()


Watch = Callable[[list[Tensor]], Callable[[], None]]
"""Begins to append a layer's values to a list; what it returns ends that."""


def hidden_layer(model: Classifier, layer: str | None) -> Watch | None:
    """How to watch the features of ``model``: the output of ``layer``, or what enters the last linear one."""
    if not isinstance(model, nn.Module):
        if layer is not None:
            raise InputError(f"--layer '{layer}' needs a torch module; the model is a plain function")
        return None
    modules = dict(model.named_modules())
    if layer is not None:
        if layer not in modules:
            raise InputError(
                f"--layer '{layer}' is not in the model; it has {', '.join(filter(None, modules))}"
            )
        return lambda seen: modules[layer].register_forward_hook(lambda m, a, out: _keep(seen, out)).remove
    linear = [module for module in modules.values() if isinstance(module, nn.Linear)]
    if not linear:
        return None
    return lambda seen: linear[-1].register_forward_pre_hook(lambda m, a: _keep(seen, a[0])).remove


def _restored(name: str, arrays: Mapping[str, NDArray[np.float32]]) -> Embedding:
    keys = ("mean", "components", "scale")
    tensors = {key: torch.from_numpy(arrays[f"{name}_{key}"]) for key in keys}
    return PCA(size=len(tensors["components"])).restore(tensors, tuple(arrays[f"{name}_shape"].tolist()))


def _keep(seen: list[Tensor], value: Tensor) -> None:
    seen[:] = [value]


def _array(values: Tensor) -> Floats:
    return values.detach().cpu().numpy().astype(np.float64)
