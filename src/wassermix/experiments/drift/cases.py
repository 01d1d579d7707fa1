"""What the drift survey asks: which data, nets and shifts, and which kinds of shift settle the settings."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from wassermix.core.streams import stream
from wassermix.drift.shifts import IMAGE_SHIFTS, SELECTIONS, TABLE_SHIFTS

__all__ = ["SEEDS", "SIZES", "Case", "Sizes", "cases_of", "make_case", "net_of"]

NETS = ("plain", "noise", "adversarial")
SEEDS = (0, 1, 2)
STRENGTHS = (1, 2, 3)
LABEL_SHIFTS = ("few-classes", "one-class")

SETTLING = frozenset(
    [
        "gaussian-noise",
        "impulse-noise",
        "glass-blur",
        "zoom-blur",
        "frost",
        "brightness",
        "elastic",
        "jpeg",
        "scale",
        "gain",
        "dropout",
        "few-classes",
    ]
)
"""The kinds on which settings are chosen: every second one. All others are only judged."""


@dataclass(frozen=True)
class Sizes:
    """How many samples a data set gives for training, as reference, and as new data of one case."""

    train: int
    reference: int
    new: int
    epochs: int


SIZES = {
    "mnist": Sizes(3000, 800, 400, 5),
    "fashion-mnist": Sizes(3000, 800, 400, 5),
    "cifar10": Sizes(4000, 800, 400, 5),
    "digits": Sizes(700, 600, 300, 40),
    "cancer": Sizes(200, 200, 100, 40),
    "wine": Sizes(60, 60, 30, 60),
    "gaussians": Sizes(600, 600, 300, 30),
}
"""Every data set of the survey; the reference is twice the new data, so that each half is as large."""


@dataclass(frozen=True)
class Case:
    """One shift at one strength; ``none`` is a fresh draw without any."""

    kind: str
    strength: int

    @property
    def settles(self) -> bool:
        """Whether settings were chosen on it."""
        return self.kind in SETTLING

    @property
    def label_shift(self) -> bool:
        """Whether the classes' shares change."""
        return self.kind in LABEL_SHIFTS


def net_of(data: str, seed: int) -> str:
    """Which net a data set has at one seed: each of the three once, begun elsewhere on every data set."""
    return NETS[(list(SIZES).index(data) + seed) % len(NETS)]


def cases_of(data: str, shape: tuple[int, ...]) -> list[Case]:
    """All cases of a data set."""
    changes = IMAGE_SHIFTS if len(shape) == 3 else TABLE_SHIFTS
    kinds = ("none", *changes, *SELECTIONS)
    natural = [Case("other-digits", 1)] if data == "mnist" else []
    return [Case(kind, strength) for kind in kinds for strength in STRENGTHS] + natural


def make_case(case: Case, x: Tensor, y: Tensor, *, count: int, seed: int) -> tuple[Tensor, Tensor]:
    """``count`` new samples from the pool ``x, y`` under the shift (fewer where the pool is small)."""
    generator = stream(seed, "drift", case.kind, case.strength)
    order = torch.randperm(len(x), generator=generator)
    if case.kind in SELECTIONS:
        order = order[: 10 * count]
        order = order[SELECTIONS[case.kind](x[order], y[order], case.strength, generator)][:count]
        return x[order], y[order]
    order = order[:count]
    if case.kind == "none":
        return x[order], y[order]
    change = IMAGE_SHIFTS.get(case.kind) or TABLE_SHIFTS[case.kind]
    return change(x[order], case.strength, generator), y[order]
