"""Files of the version before the exact sampler and randomised bound: read, verified and replayed."""

from __future__ import annotations

from pathlib import Path

import pytest

from certify import certified_job as job
from wassermix.certify import Certificates, replay_images, verify_file

FORMER = Path(__file__).with_name("former")


@pytest.mark.parametrize("mode", ["fixed", "grid", "tolerance"])
def test_a_former_file_holds_and_its_noise_can_be_drawn_again(mode: str) -> None:
    path = FORMER / f"{mode}.tsv"
    found = Certificates.read(path)
    assert found.settings is not None
    assert (found.settings.bound, found.settings.sampler, found.uniform) == ("plain", "torch", None)
    assert verify_file(path).failures == ()
    assert replay_images(job.model, job.Points(), found, images=5, seed=0).holds


def test_a_grid_without_its_parameters_has_no_average_radius(tmp_path: Path) -> None:
    for mode in ("fixed", "grid"):
        (tmp_path / f"{mode}.tsv").write_bytes((FORMER / f"{mode}.tsv").read_bytes())
        assert Certificates.read(tmp_path / f"{mode}.tsv").has_acr == (mode == "fixed")
