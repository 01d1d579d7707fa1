"""Labels carried along a plan from the reference to the new data: how often the model agrees with them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np

from wassermix.core.errors import InputError
from wassermix.drift.cost import JointCost, Weights
from wassermix.drift.plans import carried, exact_plan, relaxed_plan
from wassermix.drift.reference import Reference
from wassermix.drift.views import Floats, Ints, View

__all__ = ["Block", "CarriedLabels", "scaled_chances"]


@dataclass(frozen=True, eq=False)
class Block:
    """One solved plan: a fold of the reference against a block of the new samples."""

    fold: Ints
    """Rows of the reference ``(n,)``."""
    rows: Ints
    """Rows of the new data ``(m,)``."""
    plan: Floats
    """``(n, m)``."""
    cost: float
    """``<P, C>``, in units of the mean cost between the reference's halves."""
    growth: Floats
    """``(k,)``: factor by which each class has grown; ones for a balanced plan."""


class CarriedLabels:
    """``sum_ij P_ij [y_i = f(x_j)]``, divided by how often the plan is right where the truth is known.

    The plan runs from the labelled reference to the new data under the joint cost (:class:`JointCost`).
    ``relax`` lets the classes' shares change (:func:`~wassermix.drift.plans.relaxed_plan`); None takes the
    exact balanced plan. ``move`` lets the relaxed plan also explain the new data by moving the reference as
    a whole, where that costs less than letting classes grow: a translation is no label shift. ``corrected``
    multiplies by ``accuracy / agreement`` of the same plan between the reference's own folds: the error that
    the plan makes without any drift is divided out.

    Plans are solved between folds of the reference and blocks of the new data with about ``block`` samples
    each, and averaged: time and memory grow linearly with the data. Each block of new samples sees at
    most ``folds`` folds of the reference.
    """

    def __init__(
        self,
        *,
        input: float = 1.0,
        feature: float = 0.0,
        output: float = 0.0,
        relax: float | None = None,
        move: bool = False,
        entropy: float = 0.02,
        corrected: bool = True,
        block: int = 500,
        folds: int = 2,
    ) -> None:
        if block < 2 or folds < 1 or not entropy > 0 or (relax is not None and not relax > 0):
            raise InputError(
                f"drift: block {block}, folds {folds}, entropy {entropy}, relax {relax}; expected a block of "
                "2 or more, a fold or more, entropy and relax above 0"
            )
        self.weights = Weights(input, feature, output)
        self.relax, self.move, self.entropy, self.corrected = relax, move, entropy, corrected
        self.block, self.most_folds = block, folds

    def fit(self, reference: Reference) -> Self:
        """Scale the cost on the reference and cut it into folds."""
        self.reference, self.cost = reference, JointCost(reference, self.weights)
        self.folds = reference.folds(max(2, round(len(reference) / self.block)))
        self._own: dict[int, float] = {}
        return self

    def chances(self, new: View) -> Floats:
        """The corrected share of agreeing labels that each new sample is given."""
        return self.chances_from(self.blocks(new), new)

    def chances_from(self, blocks: list[Block], new: View) -> Floats:
        """As :meth:`chances`, from plans that are solved already."""
        total, count = np.zeros(len(new)), np.zeros(len(new))
        for block in blocks:
            agreeing = carried(block.plan, self.reference.labels[block.fold], new.predicted[block.rows])
            total[block.rows] += agreeing
            count[block.rows] += 1
        return scaled_chances(total / count, self.correction(len(blocks[0].rows)))

    def blocks(self, new: View) -> list[Block]:
        """The plans between the folds of the reference and the blocks of the new samples."""
        return list(self._solved(new))

    def correction(self, size: int) -> float:
        """``accuracy / agreement`` on the reference itself, against blocks of ``size`` samples."""
        if not self.corrected:
            return 1.0
        size = min(size, len(self.folds[1]))
        if size not in self._own:
            self._own[size] = self._agreement(size)
        return self.reference.accuracy / self._own[size] if self._own[size] > 0 else 1.0

    def _agreement(self, size: int) -> float:
        """How often labels carried from one fold of the reference to another are the model's decision."""
        view, labels, found = self.reference.view, self.reference.labels, []
        for place in range(min(len(self.folds), self.most_folds)):
            fold, other = self.folds[place], self.folds[(place + 1) % len(self.folds)]
            spaced = other[np.arange(size) * len(other) // size] if size < len(other) else other
            plan = self._plan(fold, view.rows(spaced))[0]
            found.append(float(carried(plan, labels[fold], view.predicted[spaced]).mean()))
        return float(np.mean(found))

    def _solved(self, new: View) -> Iterator[Block]:
        parts = max(1, round(len(new) / self.block))
        mixed = np.random.default_rng(0).permutation(len(new))  # rows may come in an order of their own
        for number in range(parts):
            rows = np.sort(mixed[number::parts])
            for turn in range(min(len(self.folds), self.most_folds)):
                fold = self.folds[(number * self.most_folds + turn) % len(self.folds)]
                part = new.rows(rows)
                plan, growth = self._plan(fold, part)
                yield Block(fold, rows, plan, float((plan * self.cost.between(fold, part)).sum()), growth)

    def _plan(self, fold: Ints, new: View) -> tuple[Floats, Floats]:
        growth, still = np.ones(self.reference.num_classes), self.cost.between(fold, new)
        if self.relax is None:
            return exact_plan(still), growth
        costs = [self.cost.between(fold, new, moved=True), still] if self.move else [still]
        labels, scale = self.reference.labels[fold], float(costs[0].mean())
        solved = [
            relaxed_plan(cost, labels, entropy=self.entropy, relax=self.relax, scale=scale) for cost in costs
        ]
        best = min(solved, key=lambda one: one.objective)
        growth[: len(best.growth)] = best.growth
        return best.plan, growth


def scaled_chances(chances: Floats, factor: float) -> Floats:
    """Chances in [0, 1] whose mean is ``factor`` times that of ``chances``, at most 1.

    A factor below 1 shrinks every chance; one above 1 shrinks every ``1 - chance`` instead, so that none
    passes 1 and the mean is kept exactly.
    """
    mean = float(chances.mean())
    if factor <= 1 or mean >= 1:
        return chances * min(factor, 1.0)
    return 1 - (1 - chances) * max(0.0, 1 - factor * mean) / (1 - mean)
