"""What may be compared, and how surely."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from report.synthetic_runs import write_run
from wassermix.core.intervals import holm
from wassermix.report import load_runs
from wassermix.report.compare import cautions, certified_groups, comparisons, crossings
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


def test_many_runs_are_compared_with_the_first(tmp_path: Path) -> None:
    runs = [write_run(tmp_path / name, seed=i, images=40) for i, name in enumerate("abcd")]
    duels = {(test.first, test.second) for test in comparisons(load_runs(runs))}
    assert duels == {("a", "b"), ("a", "c"), ("a", "d")}


def test_a_larger_average_radius_with_fewer_images_is_said_once(two_runs: list[Path]) -> None:
    (group,) = list(certified_groups(load_runs(two_runs)).values())[:1]
    (weak, a), (strong, b) = group
    assert a.result.correct is not None
    fewer = a.result.correct & (torch.arange(len(a.result)) % 4 == 0)

    def with_radii(factor: float, mode: str = "fixed") -> CertifiedSet:
        settings = replace(a.result.settings, mode=mode)
        radius = factor * a.result.radius
        return replace(a, result=replace(a.result, correct=fewer, radius=radius, settings=settings))

    (said,) = crossings([(weak, with_radii(100.0)), (strong, b)])
    assert said.startswith(f"{weak.name} has the larger average radius")
    assert crossings([(weak, with_radii(0.01)), (strong, b)]) == []
    assert crossings([(weak, with_radii(100.0, mode="grid")), (strong, b)]) == []
