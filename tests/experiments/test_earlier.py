"""A table that is filled in parts, on several computers or at several times, is one table in the end."""

from __future__ import annotations

import copy
import shutil
from pathlib import Path
from typing import Any

import pytest

from experiments.small_table import SMALL
from wassermix.cli.reproduce import run_reproduce
from wassermix.core.errors import InputError
from wassermix.core.files import read_json, write_json
from wassermix.experiments import Table, gather, load_table, run_table
from wassermix.experiments.earlier import changed_rows
from wassermix.experiments.table import CertifyPlan

WITH_A_TEST = SMALL + "tests: [{claim: pairing, row: mixed, control: plain, margin: 0.01}]\n"
PARTS = ("results", "against_control", "against_rows", "tested", "runs")


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Table:
    file = tmp_path_factory.mktemp("table") / "small.yaml"
    file.write_text(WITH_A_TEST)
    return load_table(str(file))


@pytest.fixture(scope="module")
def computers(table: Table, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """Folders with the runs of one row, of the other, and of both."""
    first, second, whole = (tmp_path_factory.mktemp(name) for name in ("first", "second", "whole"))
    run_table(table, first / "t", rows=["plain"])
    run_table(table, second / "t", rows=["mixed"])
    for some in (first, second):
        shutil.copytree(some / "t", whole / "t", dirs_exist_ok=True)
    return first / "t", second / "t", whole / "t"


def without_clock(record: dict[str, Any]) -> dict[str, Any]:
    kept = copy.deepcopy({key: record[key] for key in PARTS})
    for row in kept["results"].values():
        del row["minutes"]
    for runs in kept["runs"].values():
        for run in runs:
            del run["minutes"]
    return kept


def without_runs(record: dict[str, Any]) -> dict[str, Any]:
    """As records were written before they kept their runs."""
    return {key: value for key, value in record.items() if key != "runs"}


def test_rows_filled_on_two_computers_give_the_record_of_one(
    table: Table, computers: tuple[Path, Path, Path]
) -> None:
    first, second, whole = computers
    earlier = gather(table, first, name="small")
    assert earlier["results"].keys() == {"plain"}
    joined = gather(table, second, name="small", earlier=earlier)
    assert without_clock(joined) == without_clock(gather(table, whole, name="small"))


def test_a_run_made_again_replaces_the_earlier_one(table: Table, computers: tuple[Path, Path, Path]) -> None:
    earlier = gather(table, computers[0], name="small")
    earlier["runs"]["plain"][0]["acr"] = 99.0
    assert gather(table, computers[0], name="small", earlier=earlier)["results"]["plain"]["acr"] < 2
    kept = gather(table, computers[1], name="small", earlier=earlier)
    assert kept["results"]["plain"]["acr"] > 40


def test_rows_of_an_early_record_stay_with_what_compared_them(
    table: Table, computers: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    earlier = without_runs(gather(table, computers[2], name="small"))
    joined = gather(table, tmp_path, name="small", earlier=earlier)
    for key in ("results", "against_control", "against_rows", "tested"):
        assert joined[key] == earlier[key] != {}, key
    assert joined["runs"] == {}


def test_an_early_row_is_not_compared_with_a_new_one(
    table: Table, computers: tuple[Path, Path, Path]
) -> None:
    earlier = without_runs(gather(table, computers[0], name="small"))
    joined = gather(table, computers[1], name="small", earlier=earlier)
    assert joined["results"].keys() == {"plain", "mixed"}
    assert not joined["against_control"]
    assert not joined["tested"]


@pytest.mark.parametrize(
    "change",
    [
        {"rows": {"plain": {"epochs": 2}, "mixed": {"augment": "mixup"}}},
        {"common": {"data": "gaussians", "epochs": 3}},
        {"certify": {"n": 100, "images": 20}},
    ],
)
def test_rows_trained_or_judged_otherwise_are_left_out_and_named(
    table: Table, computers: tuple[Path, Path, Path], tmp_path: Path, change: dict[str, Any]
) -> None:
    earlier = {**gather(table, computers[0], name="small"), **change}
    joined = gather(table, tmp_path, name="small", earlier=earlier)
    assert joined["results"] == {}
    assert changed_rows(joined, earlier) == ["plain"]


def test_what_makes_certificates_faster_does_not_make_them_others(
    table: Table, computers: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    earlier = gather(table, computers[0], name="small")
    earlier["certify"] = {**earlier["certify"], "backend": "eager"}
    assert gather(table, tmp_path, name="small", earlier=earlier)["results"].keys() == {"plain"}


def test_the_command_keeps_the_rows_that_its_file_holds(
    table: Table,
    computers: tuple[Path, Path, Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = tmp_path / "small.yaml"
    file.write_text(WITH_A_TEST)
    earlier = gather(table, computers[0], name="small")
    shutil.copytree(computers[1], tmp_path / "runs" / "small")
    earlier["results"]["gone"] = earlier["results"]["plain"]
    write_json(tmp_path / "small.json", earlier)
    record = run_reproduce(str(file), rows=["mixed"], out=tmp_path / "runs", results=tmp_path)
    assert record["results"].keys() == {"plain", "mixed"}
    assert "mixed" in record["against_control"]
    assert "left out" in (said := " ".join(capsys.readouterr().out.split()))
    assert "gone" in said
    assert "gone" in read_json(tmp_path / "small.earlier.json")["results"]  # nothing is lost


def test_a_run_trained_or_certified_by_other_settings_does_not_count(
    table: Table, computers: tuple[Path, Path, Path]
) -> None:
    longer = {**table.rows, "plain": {"epochs": 2}}
    assert gather(table.model_copy(update={"rows": longer}), computers[0], name="small")["results"] == {}
    fewer = table.model_copy(update={"certify": CertifyPlan(n=200, images=10)})
    assert gather(fewer, computers[0], name="small")["results"] == {}


def test_an_earlier_run_whose_recipe_has_changed_since_is_left_out(
    table: Table, computers: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    earlier = gather(table, computers[0], name="small")
    earlier["runs"]["plain"][0]["training"] = "another recipe of the same name"
    kept = gather(table, tmp_path, name="small", earlier=earlier)
    assert kept["results"]["plain"]["seeds"] == [1]


def test_what_compared_two_early_rows_outlives_a_new_run_of_one(
    table: Table, computers: tuple[Path, Path, Path]
) -> None:
    earlier = without_runs(gather(table, computers[2], name="small"))
    joined = gather(table, computers[0], name="small", earlier=earlier)
    assert joined["against_control"] == earlier["against_control"] != {}
    assert joined["tested"] == earlier["tested"] != []


def test_a_record_from_before_further_comparisons_is_read(
    table: Table, computers: tuple[Path, Path, Path]
) -> None:
    earlier = without_runs(gather(table, computers[0], name="small"))
    del earlier["against_rows"], earlier["against"]
    assert gather(table, computers[1], name="small", earlier=earlier)["results"].keys() == {"plain", "mixed"}


def test_a_file_with_the_name_of_a_shipped_table_is_refused(tmp_path: Path) -> None:
    (tmp_path / "scaling.yaml").write_text(SMALL)
    with pytest.raises(InputError, match="rename"):
        run_reproduce(str(tmp_path / "scaling.yaml"), rows=None, out=tmp_path / "runs", results=tmp_path)
