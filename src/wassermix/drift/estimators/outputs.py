"""COT: transport between the reference's labels and the model's outputs on the new data."""

from __future__ import annotations

from typing import Self

import numpy as np
import torch

from wassermix.drift.reference import Reference
from wassermix.drift.views import Floats, View
from wassermix.transport import solve_exact_cost

__all__ = ["OutputTransport"]


class OutputTransport:
    """COT (Lu et al., 2023): ``1 - OT cost`` between one-hot labels and outputs, cost ``1 - p_c``.

    The new data are assumed to have the reference's shares of classes, which are shared out among the
    samples as kindly as possible.
    """

    def fit(self, reference: Reference) -> Self:
        """Keep the shares of the classes."""
        self.reference = reference
        counts = np.bincount(reference.labels, minlength=reference.num_classes)
        self.classes = counts.nonzero()[0]
        self.shares = counts[self.classes] / counts.sum()
        return self

    def chances(self, new: View) -> Floats:
        """The probability of the labels that each sample is given by the plan."""
        p = self.reference.probabilities(new)[:, self.classes].T  # (classes, m)
        coupling = solve_exact_cost(torch.from_numpy(1 - p), weights0=torch.from_numpy(self.shares))
        given: Floats = np.clip((coupling.plan.numpy() * p).sum(axis=0) * len(new), 0, 1)
        return given
