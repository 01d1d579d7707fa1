"""Ensembles that ask some members only where others disagree: certified like any other model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from certify import certified_job as job
from wassermix.certify import CertifySettings, certify_to_files, choice
from wassermix.certify.choice import choose_backend
from wassermix.certify.votes import NoiseBlock, voting
from wassermix.core.errors import InputError
from wassermix.core.job import Output
from wassermix.models import build_model

IMAGES = CertifySettings(sigma=0.5, sampler="gaussian", batch_size=256)


def ensemble(
    member: dict[str, Any], shape: tuple[int, ...], classes: int, *, consensus: int = 2
) -> nn.Module:
    members = [member] * 3
    made = build_model(
        "ensemble", seed=0, shape=shape, num_classes=classes, members=members, consensus=consensus
    )
    return made.eval()


def digits_of_noise() -> tuple[nn.Module, list[NoiseBlock]]:
    """A consensus that many inputs fail, and two blocks of noise around different images."""
    x = torch.rand(2, 1, 28, 28, generator=torch.Generator().manual_seed(0))
    blocks = [NoiseBlock(image, index, "count", 7) for index, image in enumerate(x)]
    return ensemble({"name": "lenet"}, (1, 28, 28), 10), blocks


def test_the_logits_of_a_block_are_the_same_to_the_last_bit_alone_and_beside_another() -> None:
    model, blocks = digits_of_noise()
    with voting(model, (1, 28, 28), IMAGES) as vote:
        together = vote.logits(blocks).clone()
        alone = torch.cat([vote.logits([block]).clone() for block in blocks])
    assert together.equal(alone)


def test_a_certification_that_was_stopped_ends_as_an_undisturbed_one(tmp_path: Path) -> None:
    model = ensemble({"name": "mlp", "hidden": [16]}, (2,), 2)

    def certify(folder: str, *, resume: bool = False) -> list[list[str]]:
        """The rows without the time that they took."""
        output = Output(tmp_path / folder, "job", resume=resume)
        certify_to_files(model, job.Points(), job.INDICES, output=output, settings=job.SETTINGS)
        lines = (tmp_path / folder / "job.tsv").read_text().splitlines()
        return [[*cells[:5], *cells[6:]] for cells in (line.split("\t") for line in lines)]

    whole = certify("whole")
    (tmp_path / "half").mkdir()
    lines = (tmp_path / "whole" / "job.tsv").read_text().splitlines(keepends=True)
    (tmp_path / "half" / "job.tsv").write_text("".join(lines[:8]) + lines[8][:9])
    (tmp_path / "half" / "job.running").write_text((tmp_path / "whole" / "job.json").read_text())
    assert certify("half", resume=True) == whole


def test_a_consensus_is_not_compiled_and_the_sentence_says_what_to_use(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("wassermix.certify.votes.compiler_exists", lambda: True)
    model, _ = digits_of_noise()
    for one in (model, nn.Sequential(model)):
        with (
            pytest.raises(InputError, match="with a consensus; use backend 'eager'"),
            voting(one, (1, 28, 28), IMAGES.with_backend("compile")),
        ):
            pass


@pytest.mark.parametrize(("consensus", "chosen"), [(0, "compile"), (2, "eager")])
def test_a_speed_of_compiling_that_is_remembered_is_not_taken_for_a_consensus(
    consensus: int, chosen: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choice, "compiler_exists", lambda: True)
    much = CertifySettings(sigma=0.5, n=100_000, sampler="gaussian")
    model, x = ensemble({"name": "mlp", "hidden": [4]}, (2,), 2, consensus=consensus), torch.zeros(2)
    choose_backend(model, x, much, images=20, folder=tmp_path, seconds=0.0)
    (file,) = tmp_path.iterdir()
    speeds = {"layout": "contiguous", "batch_size": 256, "eager": 1e3, "usual": 1e3, "compiled": 1e6}
    file.write_text(json.dumps(speeds))
    found = choose_backend(model, x, much, images=20, folder=tmp_path)
    assert found.settings.backend == chosen
    assert f"backend auto: {chosen}" in found.sentence
