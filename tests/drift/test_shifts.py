"""Shifts keep shape and range, are repeatable, grow with strength, and do what their names say."""

from __future__ import annotations

import math

import pytest
import torch

from wassermix.drift.shifts import IMAGE_SHIFTS, SELECTIONS, TABLE_SHIFTS
from wassermix.drift.shifts.digital import _cosines, jpeg
from wassermix.drift.shifts.warp import affine, shifted_pixels


def images(side: int = 16, channels: int = 1) -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    coarse = torch.rand(6, channels, 4, 4, generator=generator)
    return torch.nn.functional.interpolate(coarse, (side, side), mode="bilinear")


def seeded() -> torch.Generator:
    return torch.Generator().manual_seed(1)


@pytest.mark.parametrize("name", IMAGE_SHIFTS)
@pytest.mark.parametrize(("side", "channels"), [(8, 1), (32, 3)])
def test_images_stay_images_and_shifts_are_repeatable(name: str, side: int, channels: int) -> None:
    x = images(side, channels)
    shifted = [IMAGE_SHIFTS[name](x, strength, seeded()) for strength in (1, 2, 3)]
    for one in shifted:
        assert one.shape == x.shape
        assert float(one.min()) >= -1e-5
        assert float(one.max()) <= 1 + 1e-5
    assert shifted[2].equal(IMAGE_SHIFTS[name](x, 3, seeded()))
    assert float((shifted[2] - x).abs().mean()) > float((shifted[0] - x).abs().mean()) > 0


@pytest.mark.parametrize("name", TABLE_SHIFTS)
def test_drifts_of_tables_grow_with_strength(name: str) -> None:
    x = torch.randn(200, 6, generator=seeded())
    moved = [float((TABLE_SHIFTS[name](x, s, seeded()) - x).abs().mean()) for s in (1, 2, 3)]
    assert 0 < moved[0] < moved[1] < moved[2]


def test_label_shift_takes_the_share_that_it_says() -> None:
    y = torch.arange(10_000) % 10
    rows = SELECTIONS["few-classes"](y[:, None].float(), y, 2, seeded())
    rare = int((y[rows] < 5).sum())
    assert rare / 5000 == pytest.approx(0.2, abs=4 * math.sqrt(0.2 * 0.8 / 5000))
    assert int((y[rows] >= 5).sum()) == 5000


def test_selection_by_input_moves_the_mean() -> None:
    x = torch.randn(4000, 3, generator=seeded())
    rows = SELECTIONS["subsample"](x, torch.zeros(4000, dtype=torch.int64), 3, seeded())
    assert float(x[rows].mean(0).norm()) > 0.3
    assert len(rows.unique()) == len(rows)


def test_whole_pixels_are_moved_without_loss() -> None:
    x = images()
    moved = affine(x, shift=torch.tensor([[2.0, 1.0]]).expand(6, 2))
    assert torch.allclose(moved[:, :, 1:, 2:], x[:, :, :-1, :-2], atol=1e-5)
    field = torch.zeros(6, 2, 16, 16)
    field[:, 0] = 3
    assert torch.allclose(shifted_pixels(x, field)[..., :-3], x[..., 3:], atol=1e-5)


def test_a_quarter_turn_is_a_quarter_turn() -> None:
    x = images()
    turned = affine(x, angle=torch.full((6,), math.pi / 2))
    either = [torch.rot90(x, k, (2, 3)) for k in (1, 3)]
    assert any(torch.allclose(turned, one, atol=1e-4) for one in either)


def test_the_cosine_basis_is_orthonormal_and_flat_blocks_survive_jpeg() -> None:
    assert torch.allclose(_cosines() @ _cosines().T, torch.eye(8), atol=1e-6)
    flat = torch.full((1, 1, 16, 16), 0.5)
    assert torch.allclose(jpeg(flat, 3, seeded()), flat, atol=1e-6)
