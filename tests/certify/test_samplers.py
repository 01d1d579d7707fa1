"""Samplers: which is chosen, what the file says of it, and that votes under exact noise follow its law."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy import stats
from torch import Tensor

from wassermix.certify import CertifySettings, certify, certify_to_files, predict, verify_file
from wassermix.core.errors import InputError
from wassermix.core.job import Output
from wassermix.core.samples import TensorSamples


def dark(x: Tensor) -> Tensor:
    """Class 0 where the first value is below 0.3."""
    score = x.flatten(1)[:, 0] - 0.3
    return torch.stack([-score, score], dim=1)


PIXELS = torch.arange(0, 256, 17, dtype=torch.uint8).float().reshape(-1, 1).repeat(1, 4) / 255


def test_images_on_a_grid_get_exact_noise_and_others_floats() -> None:
    assert certify(dark, PIXELS, sigma=0.5, n=200).settings.sampler == "exact"
    assert certify(dark, PIXELS, sigma=0.5, n=200).settings.grid == 255
    assert certify(dark, PIXELS + 1e-3, sigma=0.5, n=200).settings.sampler == "gaussian"
    assert certify(dark, PIXELS, sigma=0.5, n=200, sampler="gaussian").settings.sampler == "gaussian"


def test_votes_follow_the_rounded_law_and_radii_the_true_margin() -> None:
    """The probability of class 1 is that of a rounded Gaussian above 0.3, known in closed form."""
    got, draws = certify(dark, PIXELS, sigma=0.5, n=20_000, bound="plain"), 20_000
    first = np.ceil(0.3 * 255) - 0.5  # the least step that is class 1 begins half a step below it
    for row, value in zip(got, PIXELS[:, 0].double()):
        p_one = stats.norm.sf((first / 255 - float(value)) / 0.5)
        p = p_one if row.hits > draws * 0.5 and p_one > 0.5 else 1 - p_one
        assert abs(row.hits - draws * p) <= 5 * np.sqrt(draws * p * (1 - p)) + 1
        assert row.radius <= abs(float(value) - first / 255) + 1e-9


def test_prediction_uses_the_same_noise_as_certification_would() -> None:
    assert predict(dark, PIXELS[[0, 15]], sigma=0.25).tolist() == [0, 1]


def test_the_file_says_which_classifier_its_certificates_speak_of(tmp_path: Path) -> None:
    split = TensorSamples(PIXELS, (PIXELS[:, 0] > 0.3).long())
    certify_to_files(
        dark, split, range(16), settings=CertifySettings(sigma=0.25, n=200), output=Output(tmp_path, "a")
    )
    record = json.loads((tmp_path / "a.json").read_text())
    assert (record["sampler"], record["grid"], record["bound"]) == ("exact", 255, "randomised")
    assert "rounds to this grid, clips to [-1.49804, 2.49804]" in record["statement"]


def test_an_image_off_the_grid_is_named(tmp_path: Path) -> None:
    x = PIXELS.repeat(5, 1)
    x[41] += 1e-3  # not among the few that decide whether there is a grid
    split = TensorSamples(x, torch.zeros(len(x), dtype=torch.int64))
    settings = CertifySettings(sigma=0.25, n=128, sampler="exact", grid=255)
    with pytest.raises(InputError, match="image 41"):
        certify_to_files(dark, split, range(80), settings=settings, output=Output(tmp_path, "a"))


def test_images_off_the_grid_that_was_asked_for_are_refused() -> None:
    """On another grid another point than the image would be certified."""
    with pytest.raises(InputError, match="not k/300"):
        certify(dark, torch.arange(16).float().reshape(4, 4) / 255, sigma=0.5, n=200, grid=300)


def test_images_of_twelve_bits_are_certified_on_their_own_grid() -> None:
    twelve = torch.arange(0, 4096, 315).float().reshape(-1, 1).repeat(1, 4) / 4095
    got = certify(dark, twelve, sigma=0.25, n=200, grid=4095)
    assert got.settings is not None
    assert (got.settings.sampler, got.settings.grid) == ("exact", 4095)
    assert "values k/4095" in got.summary()["statement"]


@pytest.mark.parametrize(("sampler", "grid"), [("exact", 0), ("auto", 255)])
def test_a_file_that_does_not_say_its_noise_is_refused(sampler: str, grid: int, tmp_path: Path) -> None:
    split = TensorSamples(PIXELS, (PIXELS[:, 0] > 0.3).long())
    settings = CertifySettings(sigma=0.25, n=200)
    certify_to_files(dark, split, range(16), settings=settings, output=Output(tmp_path, "a"))
    record = json.loads((tmp_path / "a.json").read_text())
    (tmp_path / "a.json").write_text(json.dumps({**record, "sampler": sampler, "grid": grid}))
    with pytest.raises(InputError, match="what noise"):
        verify_file(tmp_path / "a.tsv")
