"""Tables of experiments: every row valid, filled and gathered, comparisons against numpy and scipy."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from wassermix.core.errors import InputError
from wassermix.experiments import gather, load_table, run_table, table_names, table_page
from wassermix.experiments.gather import paired_difference

BOTH_WAYS = (("against_control", "mixed"), ("against_rows", "plain"))
SMALL = """
title: "Two rows on Gaussians"
recipe: vectors
common: {data: gaussians, data.classes: 3, data.dim: 3, model: mlp, "model.hidden": [], epochs: 1, sigma: 0.5}
seeds: [0, 1]
certify: {n: 200, images: 20}
attacks: [{attack: pgd, norm: l2, eps: 0.5, steps: 2, images: 20}]
audit: {points: 3, per_class: 10}
control: plain
against: {plain: mixed}
rows:
  plain: {}
  mixed: {augment: mixup}
"""


@pytest.mark.parametrize("name", table_names())
def test_every_row_of_every_shipped_table_is_a_valid_training(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = load_table(name)
    assert all(table.config(row, seed).seed == seed for row in table.rows for seed in table.seeds_of(row))
    named = {*table.more_seeds, *table.against, *table.against.values(), table.control}
    assert named <= set(table.rows)


@pytest.mark.parametrize("name", [name for name in table_names() if name.startswith("controls")])
def test_the_controls_take_equal_updates(name: str) -> None:
    table = load_table(name)
    updates = {row: table.config(row, 0).updates for row in table.rows}
    assert len({count for row, count in updates.items() if row != "gaussian"}) == 1
    assert updates["gaussian"] is not None


@pytest.mark.parametrize("name", ["controls-60000", "equal-compute", "table-1", "colour"])
def test_at_paper_scale_every_row_trains_as_its_paper_says(name: str) -> None:
    reduced, table = load_table(name), load_table(name).at_paper_scale()
    assert table.rows.keys() == reduced.rows.keys()
    for row in table.rows:
        config = table.config(row, 0)
        assert (config.budget, config.updates) == (None, None)
        assert config.epochs >= 90
    assert table.certify is None or table.certify.n == 100_000


def test_a_table_with_one_scale_says_so() -> None:
    with pytest.raises(InputError, match="one scale only"):
        load_table("smoothness-weight").at_paper_scale()


def test_the_table_in_the_docs_is_well_formed(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "compare.md").read_text()
    (block,) = re.findall(r"```yaml\n(.*?)```", page, flags=re.DOTALL)
    (tmp_path / "mine.yaml").write_text(block)
    table = load_table(str(tmp_path / "mine.yaml"))
    assert {table.config(row, 0).updates for row in table.rows} == {3000}


def test_settings_are_chosen_on_held_out_samples_only() -> None:
    assert all(load_table(name).split == "holdout" for name in ("smoothness-weight", "geodesic-forms"))


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("table")
    (folder / "small.yaml").write_text(SMALL)
    run_table(load_table(str(folder / "small.yaml")), folder / "runs")
    return folder


def test_a_table_is_filled_and_gathered_with_its_intervals(filled: Path) -> None:
    record = gather(load_table(str(filled / "small.yaml")), filled / "runs", name="small")
    assert record["results"].keys() == {"plain", "mixed"}
    row = record["results"]["mixed"]
    assert row["seeds"] == [0, 1]
    logs = sorted((filled / "runs" / "mixed").glob("*/certify/*.json"))
    radii = [json.loads(path.read_text())["acr"] for path in logs]
    assert row["acr"] == pytest.approx(np.mean(radii))
    assert record["against_control"].keys() == {"mixed"}
    for measure in ("acr_difference", "variation_difference"):
        there, back = (record[key][row][measure]["mean"] for key, row in BOTH_WAYS)
        assert there == pytest.approx(-back)
    audits = [json.loads(path.read_text()) for path in (filled / "runs" / "mixed").glob("*/audit/*.json")]
    variation = [pair["total_variation"] for audit in audits for pair in audit["pairs"]]
    assert row["total_variation"] == pytest.approx(np.mean(variation))
    json.dumps(record, allow_nan=False)


def test_a_page_shows_every_row_and_the_protocol(filled: Path) -> None:
    page = table_page(gather(load_table(str(filled / "small.yaml")), filled / "runs", name="small"))
    assert "| plain |" in page
    assert "| mixed | plain | 2 |" in page
    assert "| plain | mixed | 2 |" in page
    assert "n 200" in page


def test_filling_a_finished_table_again_changes_nothing(filled: Path) -> None:
    def written() -> dict[Path, int]:
        names = ("model.safetensors", "*.tsv", "attack/*.json")
        return {path: path.stat().st_mtime_ns for name in names for path in filled.rglob(name)}

    before = written()
    run_table(load_table(str(filled / "small.yaml")), filled / "runs")
    assert written() == before


def test_an_unfinished_row_is_left_out(filled: Path, tmp_path: Path) -> None:
    record = gather(load_table(str(filled / "small.yaml")), tmp_path, name="small")
    assert record["results"] == {}
    assert "No row is finished" in table_page(record)


def test_an_unknown_table_or_row_is_refused(filled: Path) -> None:
    with pytest.raises(InputError, match="table 'nothing' is unknown"):
        load_table("nothing")
    with pytest.raises(InputError, match="row 'other' is not in the table"):
        run_table(load_table(str(filled / "small.yaml")), filled / "runs", rows=["other"])


def test_with_one_seed_a_paired_difference_is_scipys_interval_over_images() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.normal(1, 1, (1, 400)), rng.normal(0.9, 1, (1, 400))
    gaps = (first - second)[0]
    low, high = stats.t.interval(0.95, 399, gaps.mean(), stats.sem(gaps))
    found = paired_difference(first, second)
    assert (found["low"], found["high"]) == pytest.approx((low, high))
    assert "seed_sd" not in found


@pytest.mark.parametrize("seed_sd", [0.0, 0.02, 0.2])
def test_with_three_seeds_the_interval_covers_the_truth_as_often_as_it_says(seed_sd: float) -> None:
    rng, covered = np.random.default_rng(1), 0
    for _ in range(400):
        images, seeds = rng.normal(0, 0.5, (1, 200)), rng.normal(0, seed_sd, (3, 1))
        found = paired_difference(0.1 + images + seeds + rng.normal(0, 0.3, (3, 200)), np.zeros((3, 200)))
        covered += found["low"] <= 0.1 <= found["high"]
    assert covered / 400 >= 0.92


def test_networks_that_agree_on_every_image_differ_by_nothing() -> None:
    same = np.ones((3, 20))
    assert paired_difference(same, same) == {"mean": 0.0, "low": 0.0, "high": 0.0, "seed_sd": 0.0}


def test_a_row_name_with_a_comma_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "comma.yaml"
    path.write_text(SMALL.replace("mixed:", "'mixed, twice':"))
    with pytest.raises(InputError, match="comma"):
        load_table(str(path))


def test_published_rows_stand_under_the_heads_of_the_table_and_p_a_beside_it() -> None:
    cells = [{"radius": r, "accuracy": 0.5, "low": 0.4, "high": 0.6} for r in (0.0, 0.5)]
    sure = [{"p": 0.9, "radius": 1.3, "share": 0.25, "low": 0.2, "high": 0.3}]
    row = {"seeds": [0], "updates": 1, "passes": 2, "minutes": 3, "acr": 0.7, "certified": cells, "p_a": sure}
    plan = {"mode": "fixed", "n0": 100, "n": 500, "alpha": 0.001, "images": 10}
    record = {
        "table": "t", "title": "T", "recipe": "r", "seeds": [0], "more_seeds": {}, "certify": plan,
        "split": "test", "results": {"own": row}, "against_control": {}, "control": "own", "against": {},
        "published": {"theirs": {"passes": 9, "acr": 1.5, "certified": [90.0]}},
    }  # fmt: skip
    lines = table_page(record).splitlines()
    heads = next(line for line in lines if line.startswith("| row")).count("|")
    assert "| theirs (published) |  |  | 9 |  | 1.500 | 90.0 |  |" in lines
    assert all(line.count("|") == heads for line in lines if line.startswith(("| own | 1", "| theirs")))
    assert "| own | 25.0 |" in lines
