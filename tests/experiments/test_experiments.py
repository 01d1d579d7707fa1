"""Tables of experiments: every row valid, filled and gathered, comparisons against numpy and scipy."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy import stats

from experiments.small_table import SMALL
from wassermix.core.errors import InputError
from wassermix.core.lock import locked
from wassermix.engine.run import load_run
from wassermix.engine.settings import Config
from wassermix.experiments import (
    Table,
    at_paper_scale,
    gather,
    load_table,
    run_table,
    table_names,
    table_page,
)
from wassermix.experiments.gather import paired_difference
from wassermix.experiments.reuse import reuse_training
from wassermix.recipes import load_recipe

BOTH_WAYS = (("against_control", "mixed"), ("against_rows", "plain"))
ENSEMBLE = SMALL.replace("rows:\n", "rows:\n  both: {ensemble: mixed}\n")


@pytest.mark.parametrize("name", table_names())
def test_every_row_of_every_shipped_table_is_a_valid_training(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("WASSERMIX_DATA", raising=False)  # its shape can be checked without its data
    table = load_table(name)
    for row in table.rows:
        seed = table.seeds_of(row)[-1]
        assert table.config(row, seed).seed == seed
        assert table.control_of(row) in table.rows
    named = {*table.more_seeds, *table.against, *table.against.values()}
    assert named <= set(table.rows)


@pytest.mark.parametrize("name", [name for name in table_names() if name.startswith("controls")])
def test_the_controls_take_equal_updates(name: str) -> None:
    table = load_table(name)
    updates = {row: table.config(row, 0).updates for row in table.rows}
    assert len({count for row, count in updates.items() if row != "gaussian"}) == 1
    assert updates["gaussian"] is not None


PLAIN_ROWS = {
    "controls-60000": "gaussian",
    "equal-compute": "gaussian",
    "table-1": "erm",
    "colour": "gaussian",
}
SAMPLES = 60_000


def samples_seen(config: Config) -> float:
    """How many samples a plain row sees in its training; an epoch of MNIST has 60,000."""
    if config.budget is not None:
        return float(config.budget.removeprefix("passes:"))
    return config.updates * config.batch_size if config.updates else config.epochs * SAMPLES


@pytest.mark.parametrize("name", PLAIN_ROWS)
def test_at_paper_scale_the_plain_row_is_as_long_as_its_paper_says(name: str) -> None:
    reduced, table = load_table(name), at_paper_scale(load_table(name))
    assert table.rows.keys() == reduced.rows.keys()
    recipe = load_recipe(table.recipe)
    seen = samples_seen(table.config(PLAIN_ROWS[name], 0))
    assert seen == pytest.approx(recipe["epochs"] * SAMPLES, rel=0.005)  # the last batch is not always full
    assert table.config(PLAIN_ROWS[name], 0).batch_size == recipe["batch_size"]
    assert table.certify is None or (table.certify.n == 100_000 and table.certify.images >= 500)
    assert all(attack.images == "all" for attack in table.attacks)


@pytest.mark.parametrize("name", [name for name in table_names() if "/reduced/" in load_table(name).recipe])
def test_at_paper_scale_rows_keep_their_lengths_relative_to_one_another(name: str) -> None:
    reduced = load_table(name)
    full = at_paper_scale(reduced)
    said = ("recipe", "epochs", "updates", "budget", "batch_size")  # rows that say the same are as long
    rows = {tuple(own.get(key) for key in said): row for row, own in reduced.rows.items()}.values()
    growth = {
        round(samples_seen(full.config(row, 0)) / samples_seen(reduced.config(row, 0)), 1) for row in rows
    }
    assert len(growth) == 1
    assert growth.pop() > 1


def test_at_paper_scale_the_row_with_equal_updates_is_not_the_plain_one() -> None:
    for name, plain, equal in (
        ("controls-60000", "gaussian", "equal updates"),
        ("table-1", "erm", "erm with equal updates"),
    ):
        table = at_paper_scale(load_table(name))
        first, second = table.config(plain, 0), table.config(equal, 0)
        assert samples_seen(second) == pytest.approx(2 * samples_seen(first))
        same = {"updates": None, "epochs": None}
        assert first.model_copy(update=same) == second.model_copy(update=same)


def test_a_table_with_one_scale_says_so() -> None:
    with pytest.raises(InputError, match="one scale only"):
        at_paper_scale(load_table("smoothness-weight"))


def own_table(folder: Path, text: str) -> Table:
    (folder / "own.yaml").write_text(text)
    return load_table(str(folder / "own.yaml"))


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("seeds: [0, 1]", "seeds: [0, 0]", r"seeds \[0, 0\]; expected at least one, each once"),
        ("seeds: [0, 1]", "seeds: []", "expected at least one"),
        ("  mixed:", "  ..:", "'..' cannot be the name of a folder"),
        ("  mixed: {augment: mixup}", "  mixed: {}\n  a b: {}\n  a-b: {}", "would share a folder"),
    ],
)
def test_seeds_and_rows_that_cannot_be_run_are_refused(
    before: str, after: str, message: str, tmp_path: Path
) -> None:
    text = SMALL.replace("against: {plain: mixed}", "").replace(before, after)
    with pytest.raises(InputError, match=message):
        own_table(tmp_path, text)


@pytest.mark.parametrize("wrong", ["  plain: [1]\n", "  plain: 3\n"])
def test_a_row_that_is_no_mapping_is_refused_with_sigmas_too(wrong: str, tmp_path: Path) -> None:
    text = SMALL.replace("  plain: {}\n", wrong).replace("seeds:", "sigmas: [0.25, 0.5]\nseeds:")
    with pytest.raises(InputError, match=r"rows that are mappings \(plain: \{\}\)"):
        own_table(tmp_path, text)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("{augment.beta: 1.0, augment: mixup, augment.bta: 2}", "row 'mixed': .*augment.bta.*unknown"),
        ("{data: missing.npz}", "row 'mixed': data 'missing.npz' does not exist"),
        ("{augment: manifold, method: smoothadv}", "row 'mixed': .*mixes inside the network"),
        ("{recipe: missing.yaml}", "row 'mixed': recipe 'missing.yaml' cannot be read"),
    ],
)
def test_what_is_wrong_with_a_later_row_is_said_before_the_first_one_trains(
    row: str, message: str, tmp_path: Path
) -> None:
    text = SMALL.replace("data.classes: 3, data.dim: 3, ", "").replace("{augment: mixup}", row)
    table = own_table(tmp_path, text)
    with pytest.raises(InputError, match=message):
        run_table(table, tmp_path / "runs")
    assert not (tmp_path / "runs").exists()


def test_a_recipe_may_be_a_file_beside_the_table(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("data: gaussians\nmodel: mlp\nmethod: gaussian\nepochs: 7\n")
    table = own_table(
        tmp_path, SMALL.replace("recipe: vectors", "recipe: mine.yaml").replace("epochs: 1, ", "")
    )
    assert table.config("mixed", 1).epochs == 7


def test_a_second_command_on_the_same_row_is_refused(tmp_path: Path) -> None:
    table = own_table(tmp_path, SMALL)
    refused = pytest.raises(InputError, match=r"row 'mixed' in .* is being written by process")
    with locked(tmp_path / "runs" / "mixed" / "reproduce.lock", "it"), refused:
        run_table(table, tmp_path / "runs")
    assert not list(tmp_path.rglob("config.yaml"))


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


def test_an_ensemble_row_certifies_the_mean_of_a_rows_networks_and_costs_their_sum(filled: Path) -> None:
    table = own_table(filled, ENSEMBLE)
    run_table(table, filled / "runs", rows=["both"])
    record = gather(table, filled / "runs", name="ensemble")
    alone, both = record["results"]["mixed"], record["results"]["both"]
    assert both["passes"] == 2 * alone["passes"]
    x = torch.rand(5, 3, generator=torch.Generator().manual_seed(0))
    mean, first, second = (
        load_run(filled / "runs" / run).model(x) for run in ("both/seed0", "mixed/seed0", "mixed/seed1")
    )
    torch.testing.assert_close(mean, (first + second) / 2)


def test_an_ensemble_of_an_untrained_or_unknown_row_is_refused(filled: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="fill that row first"):
        run_table(own_table(filled, ENSEMBLE), tmp_path, rows=["both"])
    wrong = ("nothing", "both", "mixed, epochs: 2", "[plain, mixed]")
    for members in wrong:
        with pytest.raises(InputError, match="row 'both' is an ensemble"):
            own_table(tmp_path, ENSEMBLE.replace("ensemble: mixed", f"ensemble: {members}"))


def test_an_ensemble_that_stands_before_its_members_is_made_after_them(tmp_path: Path) -> None:
    said: list[str] = []
    table = own_table(tmp_path, ENSEMBLE)
    run_table(table, tmp_path / "runs", rows=["both", "mixed"], tell=lambda what, _: said.append(what))
    order = dict.fromkeys(line.partition(":")[0] for line in said)
    assert list(order) == ["1/3 mixed, seed 0", "2/3 mixed, seed 1", "3/3 both, seed 0"]


def test_with_several_sigmas_an_ensemble_has_its_members_at_each(tmp_path: Path) -> None:
    text = ENSEMBLE.replace("sigma: 0.5}", "}").replace("seeds:", "sigmas: [0.25, 0.5]\nseeds:")
    table = own_table(tmp_path, text)
    assert {row: table.members_of(row) for row in table.rows if row.startswith("both")} == {
        "both at 0.25": "mixed at 0.25",
        "both at 0.5": "mixed at 0.5",
    }


def test_a_page_says_how_far_a_row_is_from_its_publication() -> None:
    cells = [
        {"radius": r, "accuracy": a, "low": a - 0.02, "high": a + 0.02} for r, a in ((0, 0.9), (0.5, 0.6))
    ]
    row = {"seeds": [0], "updates": 1, "passes": 2, "minutes": 3, "certified": cells}
    record = {
        "table": "t", "title": "T", "recipe": "r", "seeds": [0], "more_seeds": {}, "certify": None,
        "split": "test", "results": {"own": row}, "against_control": {}, "control": "own", "against": {},
        "published": {"own": {"passes": 9, "acr": None, "certified": [91.0, 80.0, 57.0]}},
    }  # fmt: skip
    said = next(line for line in table_page(record).splitlines() if "its publication" in line)
    assert "+3.0 points, at r = 0.5 (± 2.0 by" in said


def test_radii_that_the_publication_lacks_or_no_draw_reaches_are_not_compared_with_it() -> None:
    cells = [{"radius": r, "accuracy": 0.9, "low": 0.9, "high": 0.9} for r in (0, 0.125, 0.25, 0.5)]
    row = {"seeds": [0], "updates": 1, "passes": 2, "minutes": 3, "certified": cells, "reach": 0.3}
    record = {
        "table": "t", "title": "T", "recipe": "r", "seeds": [0], "more_seeds": {}, "certify": None,
        "split": "test", "results": {"own": row}, "against_control": {}, "control": "own", "against": {},
        "published": {"own": {"passes": 9, "acr": None, "certified": [91.0, 88.0, 20.0]}},
    }  # fmt: skip
    said = next(line for line in table_page(record).splitlines() if "its publication" in line)
    assert "+2.0 points, at r = 0.25" in said
    assert "0.225 against 0.224" in said


def test_an_unfinished_row_is_left_out(filled: Path, tmp_path: Path) -> None:
    record = gather(load_table(str(filled / "small.yaml")), tmp_path, name="small")
    assert record["results"] == {}
    assert "No row is finished" in table_page(record)


def test_only_the_seeds_that_are_asked_for_are_trained(tmp_path: Path) -> None:
    table = own_table(tmp_path, SMALL)
    run_table(table, tmp_path / "runs", rows=["plain"], seeds=[1])
    assert [run.name for run in (tmp_path / "runs" / "plain").glob("seed*")] == ["seed1"]
    with pytest.raises(InputError, match="has one of the seeds 7"):
        run_table(table, tmp_path / "runs", seeds=[7])


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
    found = paired_difference(same, same)
    assert {found[key] for key in ("mean", "low", "high", "seed_sd", "error")} == {0.0}


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
    assert "| own | 25.0 (20.0 to 30.0) |" in lines


def test_a_network_that_another_table_has_trained_is_copied_and_not_trained_again(tmp_path: Path) -> None:
    table = own_table(tmp_path, SMALL.replace("seeds: [0, 1]", "seeds: [0]"))
    run_table(table, tmp_path / "first", rows=["plain"])
    first = tmp_path / "first/plain/seed0"
    rows = {"the same": {}, "mixed": {"augment": "mixup"}}
    renamed = table.model_copy(update={"rows": rows, "against": {}})
    trained: list[str] = []
    run_table(renamed, tmp_path / "second", tell=lambda line, _: trained.append(line))
    copied = tmp_path / "second/the-same/seed0"
    for name in ("model.safetensors", "metrics.jsonl", "config.yaml"):
        assert (copied / name).read_bytes() == (first / name).read_bytes()
    assert not any("the same, seed 0: training" in line for line in trained)
    assert any("mixed, seed 0: training" in line for line in trained)


def test_a_training_that_was_not_finished_is_not_copied(tmp_path: Path) -> None:
    table = own_table(tmp_path, SMALL.replace("seeds: [0, 1]", "seeds: [0]"))
    run_table(table, tmp_path / "first", rows=["plain"])
    (tmp_path / "first/plain/seed0/state.pt").unlink()
    assert not reuse_training(table.config("plain", 0), tmp_path / "second/plain/seed0", tables=tmp_path)
    assert not (tmp_path / "second").exists()
