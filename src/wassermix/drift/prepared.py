"""The reference prepared for a model: views, components and fitted estimators, stored and read again."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import torch
from torch import Tensor

from wassermix.core.classifier import Classifier
from wassermix.core.errors import InputError
from wassermix.core.files import write_beside
from wassermix.core.samples import LabelledSamples, Samples, evenly_spaced
from wassermix.drift.estimators.plan import CarriedLabels
from wassermix.drift.estimators.protocol import Estimator
from wassermix.drift.estimators.registry import make_estimator
from wassermix.drift.reference import Reference
from wassermix.drift.settings import DriftSettings
from wassermix.drift.views import Looker, View

__all__ = ["Chosen", "Prepared", "prepare"]

CONTROLS = ("joint", "neighbour", "confidence")
"""The estimators whose word about each sample serves a few labels as control variates."""
WITNESSES = ("cot", "plan-input", "neighbour")
"""The estimators whose distance from the leading one widens the interval."""


class Chosen:
    """Some rows of a set of samples, in a fixed order; ``spaced`` marks an even selection."""

    def __init__(self, samples: Samples, rows: list[int], *, spaced: list[bool] | None = None) -> None:
        self.samples, self.rows = samples, torch.tensor(rows)
        self.spaced = np.array([True] * len(rows) if spaced is None else spaced)

    def __len__(self) -> int:
        return len(self.rows)

    def get(self, indices: Tensor, /) -> Tensor:
        """The samples at ``indices`` of the chosen ones."""
        return self.samples.get(self.rows[indices])

    def all(self) -> Tensor:
        """All chosen samples ``(n, ...)``."""
        return self.get(torch.arange(len(self)))


@dataclass(frozen=True, eq=False)
class Prepared:
    """A model's reference: everything about it that new data need."""

    looker: Looker
    reference: Reference
    samples: Chosen
    """The reference samples themselves, for what moved and the way."""
    settings: DriftSettings

    @cached_property
    def estimators(self) -> dict[str, Estimator]:
        """The leading estimator, those beside it, the control variates and the witnesses, fitted."""
        names = dict.fromkeys([self.settings.estimator, *self.settings.beside, *CONTROLS, *WITNESSES])
        return {name: make_estimator(name).fit(self.reference) for name in names}

    @property
    def plan(self) -> CarriedLabels:
        """The plan behind partners, doubts and the interval: the leading estimator's, or the joint one's."""
        lead = self.estimators[self.settings.estimator]
        found = lead if isinstance(lead, CarriedLabels) else self.estimators["joint"]
        assert isinstance(found, CarriedLabels)
        return found

    @cached_property
    def own_cost(self) -> float:
        """What the plan costs from one fold of the reference to another."""
        plan, view = self.plan, self.reference.view
        return float(np.mean([block.cost for block in plan.blocks(view.rows(plan.folds[-1]))[:1]]))

    def save(self, path: Path) -> None:
        """Store views and components, so that the next call need not run the model on the reference."""
        view = self.reference.view
        arrays: dict[str, Any] = {"inputs": view.inputs, "features": view.features, "logits": view.logits}
        arrays |= {"labels": self.reference.labels, **self.looker.arrays()}

        def write(beside: Path) -> None:
            with beside.open("wb") as file:
                np.savez(file, **arrays)

        write_beside(path, write)


def prepare(
    model: Classifier, samples: LabelledSamples, settings: DriftSettings, *, stored: Path | None = None
) -> Prepared:
    """Run the model on (at most ``reference_samples`` of) the reference, or read what is ``stored``."""
    rows = evenly_spaced(len(samples), settings.reference_samples)
    chosen = Chosen(samples, rows)
    looker = Looker(model, layer=settings.layer, components=settings.components)
    labels = samples.y[torch.tensor(rows)].numpy()
    if stored is not None and stored.exists():
        return Prepared(looker, Reference(_restored(stored, looker, len(rows)), labels), chosen, settings)
    if len(chosen) < 4:
        raise InputError(
            f"the reference has {len(chosen)} samples; expected at least 4, better some hundreds"
        )
    made = Prepared(looker, Reference(looker.fit(chosen), labels), chosen, settings)
    if stored is not None:
        made.save(stored)
    return made


def _restored(path: Path, looker: Looker, count: int) -> View:
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            arrays = {key: stored[key] for key in stored}
        looker.restore(arrays)
        view = View(arrays["inputs"], arrays["features"], arrays["logits"])
    except (OSError, ValueError, KeyError, EOFError, BadZipFile, zlib.error) as error:
        raise InputError(f"'{path}' is damaged ({error}); delete it, and it is made again") from error
    if len(view) != count:
        raise InputError(f"'{path}' holds {len(view)} samples, the reference has {count}; delete it")
    return view
