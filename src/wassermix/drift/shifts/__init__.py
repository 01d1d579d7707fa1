"""Shifts with known labels: what the survey disturbs data with, and what a user may rehearse with."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from wassermix.drift.shifts import blur, digital, geometry, noise, selection, tables, weather

__all__ = ["IMAGE_SHIFTS", "SELECTIONS", "TABLE_SHIFTS", "Change", "Selection"]

Change = Callable[[Tensor, int, torch.Generator], Tensor]
"""``(x, strength 1..3, generator) -> x'``: every sample changed, its label kept."""
Selection = Callable[[Tensor, Tensor, int, torch.Generator], Tensor]
"""``(x, y, strength 1..3, generator) -> rows``: other samples, unchanged."""

IMAGE_SHIFTS: dict[str, Change] = {
    "gaussian-noise": noise.gaussian_noise,
    "shot-noise": noise.shot_noise,
    "impulse-noise": noise.impulse_noise,
    "defocus-blur": blur.defocus_blur,
    "glass-blur": blur.glass_blur,
    "motion-blur": blur.motion_blur,
    "zoom-blur": blur.zoom_blur,
    "snow": weather.snow,
    "frost": weather.frost,
    "fog": weather.fog,
    "brightness": weather.brightness,
    "contrast": digital.contrast,
    "elastic": digital.elastic,
    "pixelate": digital.pixelate,
    "jpeg": digital.jpeg,
    "rotation": geometry.rotation,
    "scale": geometry.scale,
    "translation": geometry.translation,
}
"""The fifteen common corruptions, written for tensors of any side, and three geometric shifts."""

TABLE_SHIFTS: dict[str, Change] = {
    "gain": tables.gain,
    "offset": tables.offset,
    "dropout": tables.dropout,
    "column-noise": tables.column_noise,
}
"""Drifts of tables."""

SELECTIONS: dict[str, Selection] = {
    "subsample": selection.subsample,
    "few-classes": selection.few_classes,
    "one-class": selection.one_class,
}
"""Covariate drift by selection, and two forms of label shift."""
