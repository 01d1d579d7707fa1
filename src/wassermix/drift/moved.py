"""What moved: columns of a table ranked by displacement, or the samples that travelled furthest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from wassermix.drift.pairs import Partners

__all__ = ["Column", "Moved", "moved_columns", "what_moved"]

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
MOST_COLUMNS = 50
SHOWN = 8


@dataclass(frozen=True)
class Column:
    """One column of a table before and after."""

    name: str
    shift: float
    """Mean displacement along the plan, in the reference's standard deviations."""
    distance: float
    """W2 between the column's old and new values, in the same unit."""
    old: tuple[float, ...]
    """Quantiles 5, 25, 50, 75, 95% of the reference."""
    new: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class Moved:
    """What the plan says about the drift itself."""

    distance: float
    """Root mean squared displacement of a sample, in units of the reference's own spread."""
    columns: tuple[Column, ...]
    """The most displaced first; empty for images."""
    furthest: tuple[dict[str, Any], ...]
    """The new samples with the longest way: ``row``, ``partner`` (row of the reference), ``distance``."""


def what_moved(
    reference: Tensor,
    new: Tensor,
    partners: Partners,
    *,
    names: tuple[str, ...] = (),
    rows: Tensor | None = None,
) -> Moved:
    """Displacements from each new sample's partner in ``reference (n, ...)`` to ``new (m, ...)``.

    ``rows (m,)`` are the numbers of the new samples in the user's file, where they are not ``0 .. m-1``.
    """
    start = reference[torch.from_numpy(partners.reference)]
    way = (new - start).flatten(1)
    spread = reference.flatten(1).std(0, correction=0)
    unit = torch.where(spread > 0, spread, torch.ones_like(spread)) if new.dim() == 2 else torch.ones(())
    length = (way / unit).square().sum(1).sqrt()
    whole = float((reference.flatten(1).var(0, correction=0) / unit.square()).sum().sqrt()) or 1.0
    order = length.argsort(descending=True)[:SHOWN]
    numbers = torch.arange(len(new)) if rows is None else rows
    furthest = [
        {"row": int(numbers[j]), "partner": int(partners.reference[j]), "distance": float(length[j]) / whole}
        for j in order.tolist()
    ]
    columns = moved_columns(reference, new, way / unit, names=names) if new.dim() == 2 else ()
    return Moved(float(length.square().mean().sqrt()) / whole, columns, tuple(furthest))


def moved_columns(
    reference: Tensor, new: Tensor, way: Tensor, *, names: tuple[str, ...] = ()
) -> tuple[Column, ...]:
    """Columns of tables ``(n, d)`` and ``(m, d)``, the furthest first by W2; ``way (m, d)`` is scaled."""
    old, young = reference.double().numpy(), new.double().numpy()
    spread = old.std(0)
    spread = np.where(spread > 0, spread, 1.0)
    levels = (np.arange(100) + 0.5) / 100
    gaps = (np.quantile(young, levels, axis=0) - np.quantile(old, levels, axis=0)) / spread
    distance = np.sqrt(np.square(gaps).mean(0))
    names = names or tuple(f"column {number}" for number in range(old.shape[1]))
    order = np.argsort(-distance, kind="stable")[:MOST_COLUMNS]
    shift = way.double().numpy().mean(0)
    before, after = np.quantile(old, QUANTILES, axis=0), np.quantile(young, QUANTILES, axis=0)
    return tuple(
        Column(names[c], float(shift[c]), float(distance[c]), _listed(before[:, c]), _listed(after[:, c]))
        for c in order
    )


def _listed(values: np.ndarray) -> tuple[float, ...]:
    return tuple(float(value) for value in values)
