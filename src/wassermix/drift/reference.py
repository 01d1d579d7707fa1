"""The labelled reference: prepared once, then set beside any new data."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax

from wassermix.core.errors import InputError
from wassermix.drift.views import Floats, Ints, View

__all__ = ["Reference", "fit_temperature"]


@dataclass(frozen=True, eq=False)
class Reference:
    """Labelled samples that the model did not train on, as estimators need them."""

    view: View
    labels: Ints
    """True classes ``(n,)``."""

    def __post_init__(self) -> None:
        n, k = self.view.logits.shape
        if n < 4 or len(self.labels) != n:
            raise InputError(
                f"the reference has {n} samples and {len(self.labels)} labels; expected 4 or more"
            )
        if self.labels.min() < 0 or self.labels.max() >= k:
            low, high = self.labels.min(), self.labels.max()
            raise InputError(f"reference labels run from {low} to {high}; the model knows 0 to {k - 1}")

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def num_classes(self) -> int:
        """How many classes the model knows."""
        return int(self.view.logits.shape[1])

    @cached_property
    def accuracy(self) -> float:
        """The share of the reference that the model gets right."""
        return float(np.mean(self.view.predicted == self.labels))

    @cached_property
    def temperature(self) -> float:
        """What the logits are divided by, fitted on the reference."""
        return fit_temperature(self.view.logits, self.labels)

    @cached_property
    def chances(self) -> Floats:
        """The model's probabilities ``(n, k)`` on the reference, at its temperature."""
        return self.probabilities(self.view)

    def probabilities(self, view: View) -> Floats:
        """The model's probabilities ``(m, k)``, at the reference's temperature."""
        scaled: Floats = softmax(view.logits / self.temperature, axis=1)
        return scaled

    @cached_property
    def halves(self) -> tuple[Ints, Ints]:
        """Two halves with equal shares of each class (as near as counts allow), in a fixed order."""
        first, second = self.folds(2)
        return first, second

    def folds(self, count: int) -> list[Ints]:
        """``count`` stratified parts: every ``count``-th sample in the order of the classes."""
        order = np.argsort(self.labels, kind="stable")
        return [np.sort(order[part::count]) for part in range(count)]

    def rows(self, index: Ints) -> Reference:
        """Some of the samples as a reference of their own."""
        return Reference(self.view.rows(index), self.labels[index])


def fit_temperature(logits: Floats, labels: Ints) -> float:
    """The ``T`` in [0.05, 20] with the least ``-mean log softmax(logits / T)[label]``."""

    def loss(log_t: float) -> float:
        return -float(np.mean(log_softmax(logits / np.exp(log_t), axis=1)[np.arange(len(labels)), labels]))

    return float(np.exp(minimize_scalar(loss, bounds=(np.log(0.05), np.log(20)), method="bounded").x))
