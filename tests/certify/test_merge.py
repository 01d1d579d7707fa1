"""Shards of a certification, made apart and merged, are the result of one process."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from shutil import copy, copytree

import pytest

from certify import certified_job as job
from wassermix.certify import CertifySettings, find_shards, merge_shards, verify_file
from wassermix.core.errors import InputError
from wassermix.core.shard import Shard

COUNT = 3


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("whole")
    job.run(out)
    return out


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all three shards, the last made first: none needs another."""
    out = tmp_path_factory.mktemp("sharded")
    for number in range(COUNT, 0, -1):
        job.run(out, shard=Shard(number, COUNT))
    return out


@pytest.fixture
def sharded(made: Path, tmp_path: Path) -> Path:
    return Path(copytree(made, tmp_path / "sharded"))


def told(folder: Path) -> tuple[list[list[str]], dict[str, object]]:
    """All that the two files say but the times."""
    cells = [line.split("\t") for line in (folder / "job.tsv").read_text().splitlines()]
    summary = json.loads((folder / "job.json").read_text())
    return [[*row[:5], *row[6:]] for row in cells], {**summary, "seconds": 0}


def test_merged_shards_are_what_one_process_writes(sharded: Path, whole: Path) -> None:
    merged = merge_shards(sharded, find_shards(sharded))
    assert told(sharded) == told(whole)
    assert merged.index.tolist() == job.INDICES
    assert verify_file(sharded / "job.tsv").holds


def test_a_shard_is_a_certification_of_its_own_images(sharded: Path) -> None:
    for number in range(1, COUNT + 1):
        checked = verify_file(sharded / "job.shards" / f"{number}-of-{COUNT}.tsv")
        assert checked.holds
        assert checked.certificates == len(job.INDICES[number - 1 :: COUNT])


def change_row(folder: Path) -> None:
    table = folder / "2-of-3.tsv"
    table.write_text("\n".join(table.read_text().splitlines()[:-1]) + "\n")


def other_seed(folder: Path) -> None:
    for suffix in (".tsv", ".json"):
        (folder / f"2-of-3{suffix}").unlink()
    job.run(folder.parent, shard=Shard(2, COUNT), settings=replace(job.SETTINGS, seed=1))


def other_division(folder: Path) -> None:
    job.run(folder.parent, shard=Shard(1, 2))


def twice(folder: Path) -> None:
    for suffix in (".tsv", ".json"):
        copy(folder / f"2-of-3{suffix}", folder / f"copied{suffix}")


REFUSED: dict[str, tuple[Callable[[Path], object], str]] = {
    "missing": (lambda f: [(f / f"2-of-3{s}").unlink() for s in (".tsv", ".json")], "shard 2/3 is missing"),
    "unfinished": (lambda f: (f / "3-of-3.running").write_text("{}"), "3-of-3.tsv' is not finished"),
    "damaged": (change_row, "was damaged or changed"),
    "other settings": (other_seed, "was made with seed 1, .* with 0"),
    "other division": (other_division, "different divisions"),
    "twice": (twice, "shard 2/3 is there twice"),
    "none": (lambda f: [path.unlink() for path in f.iterdir()], "every shard is missing"),
    "not a shard": (lambda f: (f / "notes.json").write_text("{}"), "is no shard"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_shards_that_do_not_make_a_whole_are_refused(case: str, sharded: Path) -> None:
    spoil, sentence = REFUSED[case]
    spoil(sharded / "job.shards")
    with pytest.raises(InputError, match=sentence):
        merge_shards(sharded, "job")
    assert not (sharded / "job.json").exists()


def test_a_result_that_exists_is_replaced_only_when_asked(sharded: Path) -> None:
    merge_shards(sharded, "job")
    with pytest.raises(InputError, match="--overwrite replaces it"):
        merge_shards(sharded, "job")
    merge_shards(sharded, "job", overwrite=True)


def test_the_name_is_needed_only_where_there_are_several(sharded: Path, tmp_path: Path) -> None:
    assert find_shards(sharded) == "job"
    copytree(sharded / "job.shards", sharded / "other.shards")
    assert find_shards(sharded, "other") == "other"
    with pytest.raises(InputError, match="holds shards of job, other"):
        find_shards(sharded)
    with pytest.raises(InputError, match="no shards of 'third'"):
        find_shards(sharded, "third")
    with pytest.raises(InputError, match="holds no shards"):
        find_shards(tmp_path)


@pytest.mark.parametrize("text", ["0/4", "5/4", "1", "1/0", "a/b", "-1/4", "1/4/2"])
def test_a_shard_that_cannot_be_is_a_sentence(text: str) -> None:
    with pytest.raises(InputError, match="--shard is"):
        Shard.parse(text)


def test_more_shards_than_images_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="use 20 parts or fewer"):
        job.run(tmp_path, shard=Shard(1, 21))


def test_a_shard_is_not_resumed_with_other_settings(sharded: Path) -> None:
    settings = CertifySettings(sigma=0.5, mode="grid", n=2000, batch_size=256)
    with pytest.raises(InputError, match="was made with n 3000"):
        job.run(sharded, shard=Shard(1, COUNT), resume=True, settings=settings)


@pytest.mark.slow
def test_a_killed_shard_resumes_and_the_merged_result_is_the_same(sharded: Path, whole: Path) -> None:
    table = sharded / "job.shards" / "2-of-3.tsv"
    for suffix in (".tsv", ".json"):
        table.with_suffix(suffix).unlink()
    process = subprocess.Popen([sys.executable, job.__file__, str(sharded), "2/3"])
    deadline = time.monotonic() + 120
    while not table.exists() or table.read_bytes().count(b"\n") < 3:
        assert process.poll() is None, "it ended before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    with pytest.raises(InputError, match="is not finished"):
        merge_shards(sharded, "job")
    job.run(sharded, shard=Shard(2, COUNT), resume=True)
    merge_shards(sharded, "job")
    assert told(sharded) == told(whole)
