"""What may be compared, and how surely."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from report.synthetic_runs import write_certified, write_run
from wassermix.certify import Certificates
from wassermix.core.intervals import holm
from wassermix.engine import RunDir
from wassermix.report import load_runs, summary_record, summary_table, write_report
from wassermix.report.compare import cautions, certified_groups, comparisons, crossings, group_name
from wassermix.report.records import CertifiedSet


def test_holm_matches_the_definition_on_a_worked_example() -> None:
    # sorted .01 .02 .03 .04 times 4 3 2 1 = .04 .06 .06 .04, then the running maximum
    assert holm([0.03, 0.01, 0.04, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert holm([]) == []


def test_holm_keeps_the_family_wise_error() -> None:
    rng = np.random.default_rng(0)
    wrong = sum(min(holm(list(rng.random(8)))) < 0.05 for _ in range(2000))
    assert wrong < 2000 * 0.05 + 4 * np.sqrt(2000 * 0.05)


def test_runs_on_other_images_are_never_paired(tmp_path: Path) -> None:
    runs = [write_run(tmp_path / name, seed=i, images=40) for i, name in enumerate("ab")]
    log = runs[1] / "certify" / "fixed-s0.25-n1000.tsv"
    shifted = [line.split("\t") for line in log.read_text().splitlines()]
    for row in shifted[1:]:
        row[1] = str((int(row[1]) + 1) % 10)
    log.write_text("\n".join("\t".join(row) for row in shifted) + "\n")
    assert not any(test.protocol for test in comparisons(load_runs(runs)))


def test_other_attack_parameters_are_never_paired(tmp_path: Path) -> None:
    runs = [write_run(tmp_path / name, seed=i, images=40) for i, name in enumerate("ab")]
    (path,) = (runs[1] / "attack").glob("*.json")
    path.write_text(json.dumps(json.loads(path.read_text()) | {"steps": 40}))
    assert all(test.protocol for test in comparisons(load_runs(runs)))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({}, "PGD ℓ∞ ε=8/255 20 steps 2 restarts"),
        ({"norm": "l2", "eps": 0.5, "restarts": 1}, "PGD ℓ2 ε=0.5 20 steps"),
        ({"attack": "fgsm", "steps": 1, "restarts": 1}, "FGSM ℓ∞ ε=8/255 1 steps"),
        (
            dict.fromkeys(("norm", "eps", "steps", "restarts")) | {"attack": "geodesic", "t_max": 0.5},
            "the geodesic attack t ≤ 0.5",
        ),
        ({"attack": "<own>", "eps": None, "norm": "l7"}, "<own>"),
    ],
)
def test_attacks_are_named_with_norm_radius_and_steps(
    change: dict[str, object], words: str, tmp_path: Path
) -> None:
    run = write_run(tmp_path / "a", images=40)
    (path,) = (run / "attack").glob("*.json")
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    assert load_runs([run])[0].attacked[0].title == words.replace("1 steps", "1 step")


def test_unequal_budgets_are_pointed_out(tmp_path: Path) -> None:
    runs = [write_run(tmp_path / "a", images=40), write_run(tmp_path / "b", images=40, updates=1280)]
    assert "number of updates (1280, 640)" in cautions(load_runs(runs))[0]


def test_runs_of_as_many_passes_may_differ_in_updates(tmp_path: Path) -> None:
    runs = [write_run(tmp_path / name, updates=updates) for name, updates in (("a", 640), ("b", 1280))]
    for passes, run in zip((1000, 1004), runs, strict=True):  # a budget ends with a whole update
        log = RunDir(run).metrics_file
        lines = [{**json.loads(line), "passes": passes} for line in log.read_text().splitlines()]
        log.write_text("".join(json.dumps(line) + "\n" for line in lines))
    (told,) = cautions(load_runs(runs))
    assert "as many passes and made different numbers of updates (1280, 640)" in told
    assert "with care" not in told


def test_many_runs_are_compared_with_the_first(tmp_path: Path) -> None:
    runs = [write_run(tmp_path / name, seed=i, images=40) for i, name in enumerate("abcd")]
    duels = {(test.first, test.second) for test in comparisons(load_runs(runs))}
    assert duels == {("a", "b"), ("a", "c"), ("a", "d")}


@pytest.fixture
def two_sigmas(tmp_path: Path) -> list[Path]:
    """Two runs, each certified at sigma 0.25 and at 0.5, with other images right."""
    runs = [write_run(tmp_path / name, seed=i, images=80) for i, name in enumerate("ab")]
    for number, run in enumerate(runs):
        at_half = {"seed": 10 + number, "skill": 0.3 + 0.5 * number, "images": 80, "sigma": 0.5}
        write_certified(run, **at_half, name="fixed-s0.5-n1000")
    return runs


def test_runs_certified_at_two_sigmas_are_grouped_by_sigma(two_sigmas: list[Path]) -> None:
    groups = certified_groups(load_runs(two_sigmas))
    names = [group_name(protocol, group) for protocol, group in groups.items()]
    assert [name.rsplit(", ", 1)[1] for name in names] == ["sigma 0.25", "sigma 0.5"]
    assert [[(run.name, item.name[:10]) for run, item in group] for group in groups.values()] == [
        [("a", "fixed-s0.2"), ("b", "fixed-s0.2")],
        [("a", "fixed-s0.5"), ("b", "fixed-s0.5")],
    ]


def test_runs_of_one_sigma_each_stay_in_one_group(tmp_path: Path) -> None:
    runs = [write_run(tmp_path / name, seed=i, images=40) for i, name in enumerate("ab")]
    (path,) = (runs[1] / "certify").glob("*.json")
    path.write_text(json.dumps(json.loads(path.read_text()) | {"sigma": 0.5}))
    ((protocol, group),) = certified_groups(load_runs(runs)).items()
    assert [run.name for run, _ in group] == ["a", "b"]
    assert "sigma" not in group_name(protocol, group)


def test_a_printed_difference_is_that_of_its_row(two_sigmas: list[Path]) -> None:
    certified = [row for row in summary_record(two_sigmas) if "certified at" in row["measure"]]
    assert len(certified) == 8  # four radii at two sigmas
    for row in certified:
        shares = {name: share["accuracy"] for name, share in row["runs"].items()}
        assert row["difference"] == pytest.approx(shares["b"] - shares["a"])


def test_of_several_results_of_a_run_the_first_is_shown_and_tested(tmp_path: Path) -> None:
    """The same attack with another seed: one group, two files of a run."""
    runs = [write_run(tmp_path / name, seed=i, images=80) for i, name in enumerate("ab")]
    (path,) = (runs[1] / "attack").glob("*.json")
    record = json.loads(path.read_text())
    record["per_image"]["robust_correct"] = [0] * 80
    (path.parent / "z-again.json").write_text(json.dumps(record | {"seed": 1}))
    (row,) = [row for row in summary_record(runs) if row["measure"].startswith("accuracy under")]
    shares = {name: share["accuracy"] for name, share in row["runs"].items()}
    assert shares["b"] > 0
    assert row["difference"] == pytest.approx(shares["b"] - shares["a"])


def in_mode(item: CertifiedSet, rows: Certificates, mode: str) -> CertifiedSet:
    """The certification with these rows, as if they had been made in another mode."""
    assert rows.settings is not None
    return replace(item, result=replace(rows, settings=replace(rows.settings, mode=mode)))


def crossed(
    runs: list[Path], factor: float, modes: tuple[str, str] = ("fixed", "fixed")
) -> tuple[str, list[str]]:
    """The first run's name and what is said of two: it keeps a quarter of its images, with longer radii."""
    (group,) = list(certified_groups(load_runs(runs)).values())[:1]
    (weak, a), (strong, b) = group
    assert a.result.correct is not None
    few = a.result.correct & (torch.arange(len(a.result)) % 4 == 0)
    fewer = replace(a.result, correct=few, radius=factor * a.result.radius)
    both = [in_mode(item, rows, mode) for item, rows, mode in zip((a, b), (fewer, b.result), modes)]
    return weak.name, crossings([(weak, both[0]), (strong, both[1])])


def test_a_larger_average_radius_with_fewer_images_is_said_once(two_runs: list[Path]) -> None:
    name, (said,) = crossed(two_runs, 100.0)
    assert said.startswith(f"{name} has the larger average radius")
    assert "shown to have p_A of at least 0.5 " in said
    assert crossed(two_runs, 0.01)[1] == []


def test_on_a_grid_the_mean_of_radii_is_called_by_its_name(two_runs: list[Path]) -> None:
    name, (said,) = crossed(two_runs, 100.0, ("grid", "grid"))
    assert said.startswith(f"{name} has the larger mean radius on the grid (rounded down)")


def test_a_radius_on_a_grid_is_not_compared_with_one_that_is_not(two_runs: list[Path]) -> None:
    assert crossed(two_runs, 100.0, ("grid", "fixed"))[1] == []


def test_the_page_and_the_terminal_say_where_two_runs_cross(tmp_path: Path) -> None:
    runs = [write_run(tmp_path / name, seed=i, images=200) for i, name in enumerate(("long", "many"))]
    log = runs[0] / "certify" / "fixed-s0.25-n1000.tsv"
    head, *rows = [line.split("\t") for line in log.read_text().splitlines()]
    radius, right = head.index("radius"), head.index("correct")
    for place, row in enumerate(rows):
        row[radius] = str(100 * float(row[radius]))
        row[right] = row[right] if place % 4 == 0 else "0"
    log.write_text("\n".join("\t".join(row) for row in [head, *rows]) + "\n")
    write_report(runs, tmp_path / "page.html")
    for told in (str(summary_table(runs).caption), (tmp_path / "page.html").read_text(encoding="utf-8")):
        assert "long has the larger average radius" in told
