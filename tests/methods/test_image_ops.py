"""AugMix's operations against Pillow and scipy, and its views."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from PIL import Image, ImageOps
from scipy import ndimage
from torch import Tensor

from wassermix.core.errors import InputError
from wassermix.methods import AugMix, Batch
from wassermix.methods.augmix import augmented_view, jensen_shannon
from wassermix.methods.image_ops import OPERATIONS

SIZE = 20


def picture(seed: int = 0) -> np.ndarray:
    """8-bit, smooth, three channels that do not use the whole range."""
    rng = np.random.default_rng(seed)
    rough = ndimage.gaussian_filter(rng.random((SIZE, SIZE, 3)), (2, 2, 0))
    return (30 + 180 * (rough - rough.min()) / np.ptp(rough)).astype(np.uint8)


def tensor(pixels: np.ndarray) -> Tensor:
    return torch.from_numpy(pixels).double().div(255).permute(2, 0, 1)[None]


def grey(x: Tensor) -> np.ndarray:
    return (x[0].permute(1, 2, 0) * 255).round().numpy().astype(np.uint8)


def apply(name: str, x: Tensor, level: float, sign: float = 1.0) -> Tensor:
    return OPERATIONS[name](x, torch.tensor([level]).to(x), torch.tensor([sign]).to(x))


@pytest.mark.parametrize("seed", range(3))
def test_equalize_is_that_of_pillow(seed: int) -> None:
    expected = np.asarray(ImageOps.equalize(Image.fromarray(picture(seed))))
    assert np.array_equal(grey(apply("equalize", tensor(picture(seed)), 1.0)), expected)


def test_autocontrast_is_that_of_pillow_up_to_rounding() -> None:
    expected = np.asarray(ImageOps.autocontrast(Image.fromarray(picture()))).astype(int)
    assert np.abs(grey(apply("autocontrast", tensor(picture()), 1.0)) - expected).max() <= 1


@pytest.mark.parametrize(("level", "bits"), [(0.5, 4), (2.6, 3), (7.6, 1)])
def test_posterize_is_that_of_pillow(level: float, bits: int) -> None:
    expected = np.asarray(ImageOps.posterize(Image.fromarray(picture()), bits))
    assert np.array_equal(grey(apply("posterize", tensor(picture()), level)), expected)


@pytest.mark.parametrize(("level", "threshold"), [(1.0, 231), (3.0, 180), (8.0, 52)])
def test_solarize_is_that_of_pillow(level: float, threshold: int) -> None:
    expected = np.asarray(ImageOps.solarize(Image.fromarray(picture()), threshold))
    assert np.array_equal(grey(apply("solarize", tensor(picture()), level)), expected)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_translations_move_whole_pixels_and_fill_with_black(sign: float) -> None:
    x, moved = tensor(picture()), int(3.0 * SIZE / 30)
    expected = np.zeros((SIZE, SIZE, 3), dtype=np.uint8)
    if sign > 0:
        expected[:, :-moved] = picture()[:, moved:]
    else:
        expected[:, moved:] = picture()[:, :-moved]
    assert np.array_equal(grey(apply("translate_x", x, 3.0, sign)), expected)
    turned = apply("translate_y", x.transpose(2, 3), 3.0, sign).transpose(2, 3)
    assert np.array_equal(grey(turned), expected)


@pytest.mark.parametrize(
    ("name", "matrix"),
    [
        (
            "rotate",
            [
                [math.cos(math.pi / 20), -math.sin(math.pi / 20)],
                [math.sin(math.pi / 20), math.cos(math.pi / 20)],
            ],
        ),
        ("shear_x", [[1.0, 0.09], [0.0, 1.0]]),
        ("shear_y", [[1.0, 0.0], [0.09, 1.0]]),
    ],
)
def test_affine_operations_are_those_of_scipy(name: str, matrix: list[list[float]]) -> None:
    x, centre = tensor(picture()), (SIZE - 1) / 2
    in_rows = np.array(matrix)[::-1, ::-1]  # scipy counts rows first
    offset = np.array([centre, centre]) - in_rows @ [centre, centre]
    expected = ndimage.affine_transform(
        x[0, 0].numpy(), in_rows, offset=offset, order=1, mode="grid-constant", cval=0.0
    )
    assert apply(name, x, 3.0)[0, 0].numpy() == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_images_of_any_size_stay_in_range_and_do_not_touch_each_other(name: str) -> None:
    generator = torch.Generator().manual_seed(0)
    x = torch.rand(4, 2, 9, 14, generator=generator)
    level, sign = torch.tensor([0.1, 1.0, 2.0, 3.0]), torch.tensor([1.0, -1.0, 1.0, -1.0])
    together = OPERATIONS[name](x, level, sign)
    alone = torch.cat([OPERATIONS[name](x[i : i + 1], level[i : i + 1], sign[i : i + 1]) for i in range(4)])
    assert torch.allclose(together, alone, atol=1e-6)
    assert together.shape == x.shape
    assert together.min() >= 0
    assert together.max() <= 1 + 1e-6


@pytest.mark.parametrize("name", ["autocontrast", "equalize", "rotate"])
def test_a_constant_image_makes_no_nan(name: str) -> None:
    assert torch.isfinite(apply(name, torch.full((1, 1, 6, 6), 0.4), 2.0)).all()


def test_views_stay_in_range_differ_and_repeat() -> None:
    x = torch.rand(9, 3, 12, 12, generator=torch.Generator().manual_seed(0))
    views = [_view(x, seed) for seed in (1, 2, 1)]
    assert torch.equal(views[0], views[2])
    assert not torch.equal(views[0], views[1])
    assert views[0].min() >= 0
    assert views[0].max() <= 1 + 1e-6
    assert ((views[0] - x).flatten(1).abs().amax(dim=1) > 0).sum() >= 8


def _view(x: Tensor, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return augmented_view(x, severity=3.0, width=3, depth=3, generator=generator)


def test_the_divergence_of_identical_views_is_zero() -> None:
    logits = torch.randn(5, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    assert jensen_shannon(torch.stack([logits] * 3)).abs().max() < 1e-12


def test_the_divergence_of_certain_opposites_is_that_of_their_labels() -> None:
    logits = 200 * torch.eye(3, dtype=torch.float64)[:, None]
    assert jensen_shannon(logits).item() == pytest.approx(math.log(3), abs=1e-5)


def test_vectors_get_a_sentence() -> None:
    with pytest.raises(InputError, match="images"):
        AugMix().loss(lambda x: x, Batch(torch.rand(3, 4), torch.tensor([0, 1, 2])))
