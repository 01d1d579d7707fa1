"""Certification to files: order, refusal, real kills, two processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import multiprocessing, nn

from certify import certified_job as job
from wassermix.certify import CertifySettings, certify, certify_to_files
from wassermix.certify.rows import certificate_of, row_of, seconds_of
from wassermix.core.errors import InputError
from wassermix.core.fingerprint import fingerprint
from wassermix.core.job import Output
from wassermix.core.samples import evenly_spaced


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("undisturbed")
    job.run(out)
    return out


def without_time(path: Path) -> list[list[str]]:
    return [
        [*cells[:5], *cells[6:]] for cells in (line.split("\t") for line in path.read_text().splitlines())
    ]


def assert_same(out: Path, undisturbed: Path) -> None:
    assert without_time(out / "job.tsv") == without_time(undisturbed / "job.tsv")
    ours, theirs = (json.loads((folder / "job.json").read_text()) for folder in (out, undisturbed))
    assert {**ours, "seconds": 0} == {**theirs, "seconds": 0}
    assert sorted(path.name for path in out.iterdir()) == ["job.json", "job.tsv"]


def test_rows_come_in_order_with_the_columns_of_the_field(undisturbed: Path) -> None:
    lines = (undisturbed / "job.tsv").read_text().splitlines()
    assert lines[0] == "idx\tlabel\tpredict\tradius\tcorrect\ttime\tdraws\thits\tmode\tu"
    assert [int(line.split("\t")[0]) for line in lines[1:]] == job.INDICES


def test_files_say_what_the_python_call_says(undisturbed: Path) -> None:
    points = job.Points()
    chosen = torch.tensor(job.INDICES)
    got = certify(
        job.model, points.get(chosen), points.y[chosen], sigma=0.5, mode="grid", n=3000, indices=job.INDICES
    )
    rows = [certificate_of(line, "a row") for line in (undisturbed / "job.tsv").read_text().splitlines()[1:]]
    assert [(row.predicted, row.radius, row.draws, row.hits) for row in rows] == [
        (row.predicted, row.radius, row.draws, row.hits) for row in got
    ]


def test_the_summary_holds_every_parameter_and_the_table(undisturbed: Path) -> None:
    summary = json.loads((undisturbed / "job.json").read_text())
    words = "mode sigma n0 n alpha images every seed radii certified acr draws saving expected_false seconds"
    for key in [*words.split(), "backend", "precision", "version", "statement"]:
        assert key in summary, key
    assert summary["images"] == 20
    assert summary["every"] == 3
    assert summary["expected_false"] == pytest.approx(0.02)
    assert summary["acr"] is None
    assert summary["saving"] > 1
    for cell in summary["certified"]:
        assert cell["low"] <= cell["accuracy"] <= cell["high"]


def test_existing_output_is_refused_and_loses_nothing(undisturbed: Path) -> None:
    before = (undisturbed / "job.tsv").read_bytes()
    with pytest.raises(InputError, match="exists"):
        job.run(undisturbed)
    assert (undisturbed / "job.tsv").read_bytes() == before


@pytest.mark.parametrize(
    "change", [{"n": 2000}, {"seed": 1}, {"alpha": 0.01}, {"sigma": 0.25}, {"mode": "fixed"}], ids=str
)
def test_resuming_with_other_settings_is_refused(undisturbed: Path, change: dict) -> None:  # type: ignore[type-arg]
    with pytest.raises(InputError, match=f"was made with {next(iter(change))}"):
        job.run(undisturbed, resume=True, settings=replace(job.SETTINGS, **change, radii=job.SETTINGS.radii))


def test_resuming_what_is_finished_changes_nothing(undisturbed: Path) -> None:
    before = (undisturbed / "job.tsv").read_bytes(), (undisturbed / "job.json").read_bytes()
    job.run(undisturbed, resume=True)
    assert before == ((undisturbed / "job.tsv").read_bytes(), (undisturbed / "job.json").read_bytes())


def test_overwriting_replaces_everything(undisturbed: Path, tmp_path: Path) -> None:
    certify_to_files(job.model, job.Points(), [5, 2], output=Output(tmp_path, "job"), settings=job.SETTINGS)
    certify_to_files(
        job.model,
        job.Points(),
        job.INDICES,
        output=Output(tmp_path, "job", overwrite=True),
        settings=job.SETTINGS,
    )
    assert_same(tmp_path, undisturbed)


def test_a_torn_last_line_is_made_again(undisturbed: Path, tmp_path: Path) -> None:
    whole = (undisturbed / "job.tsv").read_text().splitlines(keepends=True)
    settings = json.loads((undisturbed / "job.json").read_text())
    (tmp_path / "job.tsv").write_text("".join(whole[:8]) + whole[8][:9])
    (tmp_path / "job.running").write_text(json.dumps(settings))
    job.run(tmp_path, resume=True)
    assert_same(tmp_path, undisturbed)


def test_rows_of_other_data_are_not_taken_up(undisturbed: Path, tmp_path: Path) -> None:
    for name in ("job.tsv", "job.json"):
        (tmp_path / name).write_bytes((undisturbed / name).read_bytes())
    points = job.Points()
    points.y = 1 - points.y
    with pytest.raises(InputError, match="made with samples"):
        certify_to_files(
            job.model, points, job.INDICES, output=Output(tmp_path, "job", resume=True), settings=job.SETTINGS
        )


@pytest.mark.slow
def test_killed_at_several_moments_and_resumed_it_ends_the_same(undisturbed: Path, tmp_path: Path) -> None:
    table = tmp_path / "job.tsv"
    for rows in (0, 6, 13):
        process = subprocess.Popen([sys.executable, job.__file__, str(tmp_path)])
        deadline = time.monotonic() + 120
        while not table.exists() or table.read_bytes().count(b"\n") < 1 + rows:
            assert process.poll() is None, "it ended before it could be killed"
            assert time.monotonic() < deadline
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
        assert not (tmp_path / "job.json").exists()
    job.run(tmp_path, resume=True)
    # the killed processes ran a slower model of the same votes; functions have no fingerprint
    assert_same(tmp_path, undisturbed)


def _share(rank: int, out: Path, port: int) -> None:
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.distributed.init_process_group("gloo", rank=rank, world_size=2)
    job.run(out / "fresh")
    job.run(out / "half", resume=True)
    try:
        job.run(out / "fresh")
    except InputError as error:
        (out / f"refused{rank}").write_text(str(error))
    torch.distributed.destroy_process_group()


@pytest.mark.slow
def test_two_processes_give_the_certificates_of_one(undisturbed: Path, tmp_path: Path) -> None:
    """Fresh, resumed from what one process had left, and refused on both where output exists."""
    half = tmp_path / "half"
    half.mkdir()
    lines = (undisturbed / "job.tsv").read_text().splitlines(keepends=True)
    (half / "job.tsv").write_text("".join([lines[0], *lines[5:12]]))
    (half / "job.running").write_bytes((undisturbed / "job.json").read_bytes())
    multiprocessing.spawn(_share, (tmp_path, 29_000 + os.getpid() % 1000), nprocs=2)
    assert_same(tmp_path / "fresh", undisturbed)
    assert_same(half, undisturbed)
    assert "exists" in (tmp_path / "refused0").read_text()
    assert "exists" in (tmp_path / "refused1").read_text()


def test_images_are_evenly_spaced() -> None:
    assert evenly_spaced(10_000, 500) == list(range(0, 10_000, 20))
    assert evenly_spaced(10, None) == evenly_spaced(10, 99) == list(range(10))
    uneven = evenly_spaced(1000, 300)
    assert len(set(uneven)) == 300
    assert uneven[-1] < 1000
    with pytest.raises(InputError, match="at least 1"):
        evenly_spaced(10, 0)


def test_a_row_and_its_reading_are_the_same_certificate() -> None:
    certificate = certify(job.model, torch.tensor([[0.3, 0.1]]), torch.tensor([1]), sigma=0.5, n=500)[0]
    read = certificate_of(row_of(certificate), "a row")
    assert replace(read, seconds=0) == replace(certificate, seconds=0)
    assert read.seconds == pytest.approx(certificate.seconds, abs=1e-6)
    assert seconds_of("1 day, 2:03:04.5") == 86400 + 2 * 3600 + 3 * 60 + 4.5


def test_a_fingerprint_changes_with_the_weights_alone() -> None:
    torch.manual_seed(0)
    network = nn.Linear(3, 2)
    first = fingerprint(network)
    assert first == fingerprint(network.train(False))
    network.bias.data[0] += 1e-6
    assert fingerprint(network) != first
    assert fingerprint(job.model) is None


def test_wrong_indices_and_broken_images_are_sentences(tmp_path: Path) -> None:
    settings = CertifySettings(sigma=0.5, n=500)
    for indices in ([], [1, 1], [60], [-1]):
        with pytest.raises(InputError, match="indices"):
            certify_to_files(job.model, job.Points(), indices, output=Output(tmp_path), settings=settings)
    points = job.Points()
    points.x[2] = float("nan")
    with pytest.raises(InputError, match="sample 2"):
        certify_to_files(job.model, points, [0, 1, 2], output=Output(tmp_path), settings=settings)
