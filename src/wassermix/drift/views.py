"""What estimators see of samples: inputs and hidden features in a few dimensions, and the model's outputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from wassermix.core.classifier import Classifier, evaluating, logits_of
from wassermix.core.errors import InputError
from wassermix.core.samples import Samples, require_finite
from wassermix.core.streams import stream
from wassermix.drift.components import Components

__all__ = ["Floats", "Ints", "Looker", "Spaces", "View", "hidden_layer"]

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
        decided: Ints = self.logits.argmax(axis=1)
        return decided

    def rows(self, index: Ints) -> View:
        """Some of the samples."""
        return View(self.inputs[index], self.features[index], self.logits[index])


@dataclass(frozen=True, eq=False)
class Spaces:
    """Inputs and features of samples, for tests: in components that were fitted on none of them."""

    inputs: Floats
    features: Floats


class Looker:
    """Makes :class:`View` of samples: fitted once on reference samples, then the same for all others.

    ``layer`` names a module whose output is taken as the features; by default they are what enters the
    last linear layer. A model that is a plain function has its logits for features.
    """

    def __init__(self, model: Classifier, *, layer: str | None = None, components: int = 32) -> None:
        self.model, self.layer = model, hidden_layer(model, layer)
        self.inputs, self.half_inputs = (Components(components, standardize=True) for _ in range(2))
        self.features, self.half_features = (Components(components, standardize=False) for _ in range(2))
        self.held: Spaces | None = None

    def fit(self, samples: Samples) -> View:
        """Fit the components on reference samples and return their view.

        A second set is fitted on a half of the samples, drawn at random because files may hold their classes
        in turn, and the rest is kept in it as :attr:`held`: components suit the samples that they were fitted
        on better than any others, which a test must not see.
        """
        x, hidden, logits = self._read(samples)
        shuffled = torch.randperm(len(x), generator=stream(0, "drift", "halves"))
        fitted, held = (shuffled[part::2].sort().values for part in (0, 1))
        self.half_inputs.fit(x[fitted])
        self.half_features.fit(hidden[fitted])
        self.held = self._spaces(x[held], hidden[held])
        inputs, features = self.inputs.fit(x).encode(x), self.features.fit(hidden).encode(hidden)
        return View(inputs, features, logits)

    def look(self, samples: Samples) -> View:
        """The view of other samples in the reference's components."""
        return self.look_twice(samples)[0]

    def look_twice(self, samples: Samples) -> tuple[View, Spaces]:
        """The view of other samples, and the same in the components that :attr:`held` is in."""
        x, hidden, logits = self._read(samples)
        view = View(self.inputs.encode(x), self.features.encode(hidden), logits)
        return view, self._spaces(x, hidden)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What a fit has found, as arrays to store."""
        assert self.held is not None
        found: dict[str, NDArray[Any]] = {
            "held_inputs": self.held.inputs,
            "held_features": self.held.features,
        }
        for name, one in self._components().items():
            found |= one.arrays(name)
        return found

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take over what :meth:`arrays` gave."""
        self.held = Spaces(arrays["held_inputs"], arrays["held_features"])
        for name, one in self._components().items():
            one.restore(name, arrays)

    def _components(self) -> dict[str, Components]:
        names = ("inputs", "features", "half_inputs", "half_features")
        return {f"fitted_{name}": getattr(self, name) for name in names}

    def _spaces(self, x: Tensor, hidden: Tensor) -> Spaces:
        return Spaces(self.half_inputs.encode(x), self.half_features.encode(hidden))

    @torch.no_grad()
    def _read(self, samples: Samples) -> tuple[Tensor, Tensor, Floats]:
        xs, hidden, logits = [], [], []
        with evaluating(self.model), self._watching() as seen:
            for rows in torch.arange(len(samples)).split(BATCH):
                x = samples.get(rows)
                require_finite(x, rows.tolist())
                outputs = logits_of(self.model, x)
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


def _keep(seen: list[Tensor], value: Tensor) -> None:
    seen[:] = [value]


def _array(values: Tensor) -> Floats:
    return values.detach().cpu().numpy().astype(np.float64)
