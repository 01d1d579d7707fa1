"""Crops and flips against a slow computation image by image."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from wassermix.engine.sections import Transform
from wassermix.engine.transform import transform_batch


def _generator() -> torch.Generator:
    return torch.Generator().manual_seed(0)


def test_a_crop_is_a_window_of_the_padded_image() -> None:
    x = torch.rand(20, 3, 6, 5, generator=_generator())
    cropped = transform_batch(x, Transform(crop=2), _generator())
    for image, result in zip(x, cropped):
        padded = F.pad(image, (2, 2, 2, 2))
        windows = [padded[:, i : i + 6, j : j + 5] for i in range(5) for j in range(5)]
        assert any(torch.equal(window, result) for window in windows)


def test_crops_differ_between_images_of_a_batch() -> None:
    x = torch.arange(36.0).reshape(1, 1, 6, 6).repeat(30, 1, 1, 1)
    assert len(transform_batch(x, Transform(crop=2), _generator()).flatten(1).unique(dim=0)) > 5


def test_about_half_of_the_images_are_flipped_and_the_rest_left() -> None:
    x = torch.rand(200, 1, 4, 4, generator=_generator())
    result = transform_batch(x, Transform(flip=True), _generator())
    flipped = [torch.equal(a, b.flip(2)) for a, b in zip(result, x)]
    kept = [torch.equal(a, b) for a, b in zip(result, x)]
    assert all(a or b for a, b in zip(flipped, kept))
    assert 70 < sum(flipped) < 130


def test_without_options_nothing_happens() -> None:
    x = torch.rand(3, 1, 4, 4, generator=_generator())
    assert transform_batch(x, Transform(), _generator()) is x
