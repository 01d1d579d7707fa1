"""Verification finds every claim that the counts do not carry; logs of others load; costs are estimated."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from shutil import copytree

import pytest
import torch

from certify import certified_job as job
from wassermix.certify import Certificates, CertifySettings, find_certifications, verify_file
from wassermix.certify.cost import estimate_cost
from wassermix.core.errors import InputError


@pytest.fixture(scope="module", params=["fixed", "grid", "tolerance"])
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certification by each rule, made once: the tests change copies of it."""
    out = tmp_path_factory.mktemp("made")
    job.run(out, settings=CertifySettings(sigma=0.5, mode=request.param, n=1500))
    return out


@pytest.fixture
def certified(made: Path, tmp_path: Path) -> Path:
    return Path(copytree(made, tmp_path / "certify")) / "job.tsv"


def change(table: Path, column: int, value: str, *, where: str) -> int:
    """Change one cell of the first row whose predict cell is ``where``-like; its index."""
    lines = table.read_text().splitlines()
    for number, line in enumerate(lines[1:], 1):
        cells = line.split("\t")
        if (cells[2] == "-1") == (where == "abstained"):
            cells[column] = value
            lines[number] = "\t".join(cells)
            table.write_text("\n".join(lines) + "\n")
            return int(cells[0])
    raise AssertionError(f"no row is {where}")


def test_what_was_certified_holds(certified: Path) -> None:
    result = verify_file(certified)
    assert result.holds
    assert result.certificates == 20
    assert (
        find_certifications(certified.parent.parent) == find_certifications(certified.parent) == [certified]
    )
    assert find_certifications(certified.with_suffix(".json")) == [certified]


@pytest.mark.parametrize(
    ("column", "value", "where", "words"),
    [
        (3, "1.4999", "certified", "claims radius"),
        (3, "nan", "certified", "claims radius"),
        (2, "1", "abstained", "prove nothing"),
        (2, "-1", "certified", "abstains"),
        (7, "999999", "certified", "cannot be"),
        (6, "77", "certified", "cannot be"),
        (8, "magic", "certified", "mode"),
        (4, "1", "abstained", "correct"),
    ],
)
def test_what_the_counts_do_not_carry_is_named(
    certified: Path, column: int, value: str, where: str, words: str
) -> None:
    index = change(certified, column, value, where=where)
    failures = verify_file(certified).failures
    assert any(found == index and words in text for found, text in failures)


def test_a_summary_that_differs_from_its_table_is_named(certified: Path) -> None:
    path = certified.with_suffix(".json")
    summary = json.loads(path.read_text())
    summary["certified"][1]["count"] += 1
    path.write_text(json.dumps(summary))
    assert {index for index, _ in verify_file(certified).failures} == {-1}


WRONG = {
    "acr": (9.0, float("nan")), "abstained": (99,), "saving": (77.0,), "images": (21,),
    "draws": ({"mean": 1.0, "median": 1.0, "total": 1},), "expected_false": (0.0,), "statement": ("true",),
}  # fmt: skip


def test_every_value_of_the_summary_follows_from_the_table(certified: Path) -> None:
    path = certified.with_suffix(".json")
    right = {**json.loads(path.read_text()), "note": "mine", "seconds": 0.1}  # neither follows from it
    for key, value in [(key, value) for key, values in WRONG.items() for value in values]:
        path.write_text(json.dumps({**right, key: value}))
        failures = verify_file(certified).failures
        assert all(index == -1 for index, _ in failures)
        assert all(f"summary's {key}" in text or "digest" in text for _, text in failures)
        assert any(f"summary's {key}" in text for _, text in failures)


def test_where_the_labels_votes_were_counted_no_other_class_is_proved(certified: Path) -> None:
    counted = json.loads(certified.with_suffix(".json").read_text())["mode"] != "fixed"
    index = change(certified, 2, "7", where="certified")
    said = [text for found, text in verify_file(certified).failures if found == index]
    assert any("counted for its label" in text for text in said) == counted


def test_what_cannot_be_verified_is_a_sentence(certified: Path, tmp_path: Path) -> None:
    certified.with_suffix(".json").unlink()
    with pytest.raises(InputError, match="resume"):
        verify_file(certified)
    with pytest.raises(InputError, match="no certification"):
        find_certifications(tmp_path / "nothing")
    certified.with_suffix(".json").write_text("{}")
    with pytest.raises(InputError, match="alpha"):
        verify_file(certified)


def test_our_log_reads_back_into_the_same_table(certified: Path) -> None:
    log, summary = Certificates.read(certified), json.loads(certified.with_suffix(".json").read_text())
    assert [row.count for row in log.certified_accuracy()] == [cell["count"] for cell in summary["certified"]]
    if summary["acr"] is not None:
        assert log.acr == pytest.approx(summary["acr"])


def test_a_log_of_others_gives_tables_and_curves(tmp_path: Path) -> None:
    path = tmp_path / "noise_0.50"
    path.write_text(
        "idx\tlabel\tpredict\tradius\tcorrect\ttime\n0\t7\t7\t1.2\t1\t0:00:09.1\n20\t2\t-1\t0.0\t0\t0:00:09.0\n"
        "40\t1\t3\t0.4\t0\t0:00:09.0\n60\t5\t5\t0.25\t1\t0:00:08.9\n80\t5\t5\t0."
    )
    log = Certificates.read(path)
    assert len(log) == 4  # the line cut off in its middle is passed over
    assert [row.accuracy for row in log.certified_accuracy([0, 0.25, 0.5])] == [0.5, 0.5, 0.25]
    assert log.acr == pytest.approx(1.45 / 4)
    assert log.settings is None
    assert "unknown" in repr(log)


@pytest.mark.parametrize(
    "text", ["", "a\tb\n1\t2\n", "idx\tlabel\tpredict\tradius\tcorrect\n1\t2\t3\tx\t1\n"]
)
def test_a_log_that_is_none_is_a_sentence(tmp_path: Path, text: str) -> None:
    path = tmp_path / "log.tsv"
    path.write_text(text)
    with pytest.raises(InputError, match=r"log\.tsv"):
        Certificates.read(path)


def test_the_cost_is_estimated_without_certifying() -> None:
    points, indices = job.Points(), list(range(60))
    fixed = CertifySettings(sigma=0.5, n=20_000)
    estimate = estimate_cost(job.model, points, indices, settings=fixed, seconds=0.05)
    assert estimate.passes == estimate.passes_at_most == 60 * 20_100
    assert estimate.minutes == pytest.approx(estimate.passes / estimate.passes_per_second / 60)
    grid = estimate_cost(job.model, points, indices, settings=replace(fixed, mode="grid"), pilots=60)
    assert grid.passes < estimate.passes / 2
    assert torch.is_grad_enabled()
