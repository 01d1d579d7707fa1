"""The page's first sentences: what is proved, attacked and uneven, counted again from the files."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from scipy import stats

import wassermix as wm
from report.pages import Page
from report.synthetic_runs import write_audit, write_certified, write_run
from wassermix.report import load_run, pair_matrix, summary_rows, summary_table, write_report
from wassermix.report.verdict import audit_groups, verdict


def told(flags: np.ndarray) -> str:
    ci = stats.binomtest(int(flags.sum()), len(flags)).proportion_ci(method="wilson")
    return f"{100 * flags.mean():.1f}% ({100 * ci.low:.1f}–{100 * ci.high:.1f})"


def page_of(runs: list[Path], folder: Path) -> Page:
    write_report(runs, folder / "page.html")
    return Page((folder / "page.html").read_text(encoding="utf-8"))


def edit(path: Path, **changes: object) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_one_run_is_judged_in_words_with_the_numbers_of_its_files(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", skill=0.9)
    (log,) = (run / "certify").glob("*.tsv")
    rows = [line.split("\t") for line in log.read_text().splitlines()[1:]]
    radius, right = (np.array([float(row[i]) for row in rows]) for i in (3, 4))
    label = np.array([int(row[1]) for row in rows])
    (attack,) = (run / "attack").glob("*.json")
    flags = {key: np.array(v, bool) for key, v in json.loads(attack.read_text())["per_image"].items()}
    text = page_of([run], tmp_path).text
    small = (right > 0) & (radius >= 0.25)
    assert f"right on {told(flags['clean_correct'])} of 200 samples" in text
    assert f"up to 0.25 changes the smoothed classifier's right answer on {told(small)}" in text
    assert f"and up to 0.75 {told((right > 0) & (radius >= 0.75))}" in text
    assert f"leaves {told(flags['robust_correct'])}, an upper bound." in text
    shares = [small[label == c].mean() for c in range(10)]
    assert f"from {100 * min(shares):.1f}% (class {int(np.argmin(shares))}, 20 samples)" in text
    pairs = json.loads((run / "audit" / "pairs.json").read_text())["pairs"]
    assert f"up and down by {np.mean([pair['total_variation'] for pair in pairs]):.2f} on the way" in text


def attacks_of(run: Path) -> list[str]:
    return [sentence for sentence in verdict(load_run(run)) if sentence.startswith("Attacked")]


def with_check(run: Path, name: str, *, right: int | None = None) -> Path:
    """A run whose only check of its attack failed, with so many samples right under it."""
    (path,) = (run / "attack").glob("*.json")
    told = json.loads(path.read_text())
    told["checks"] = [{"name": name, "passed": False, "message": "-"}]
    if right is not None:
        told["per_image"]["robust_correct"] = [i < right for i in range(200)]
    path.write_text(json.dumps(told))
    return path


@pytest.mark.parametrize(
    ("check", "right", "doubted"),
    [("gradients", None, True), ("strength", None, False), ("gradients", 0, False)],
    ids=["a failed check casts doubt", "strength is advice", "nothing is below zero"],
)
def test_an_attack_is_doubted_only_where_its_number_may_be_too_high(
    tmp_path: Path, check: str, right: int | None, doubted: bool
) -> None:
    run = write_run(tmp_path / "run")
    with_check(run, check, right=right)
    (sentence,) = attacks_of(run)
    assert ("may be too high" in sentence) == doubted


def test_attacks_within_different_balls_are_told_apart(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    first = with_check(run, "strength", right=50)
    for name, right, eps in (("weaker", 60, 8 / 255), ("wider", 10, 16 / 255)):
        told = json.loads(first.read_text())
        told["per_image"]["robust_correct"] = [i < right for i in range(200)]
        (run / "attack" / f"{name}.json").write_text(json.dumps(told | {"eps": eps, "seed": 1}))
    near, far = sorted(attacks_of(run), key=lambda sentence: "leaves 5.0%" in sentence)
    assert "the strongest of 2 there, leaves 25.0%" in near
    assert "leaves 5.0%" in far


def test_classes_that_are_all_alike_are_not_ranked(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    for log in (run / "certify").iterdir():
        log.unlink()
    with_check(run, "strength", right=0)
    (sentence,) = [one for one in verdict(load_run(run)) if one.startswith("Class by class")]
    assert sentence.endswith("0.0% in each of 10 classes.")


def test_the_audit_of_several_runs_is_in_the_headline_and_on_the_terminal(
    page: Page, two_runs: list[Path]
) -> None:
    audits = [json.loads((run / "audit" / "pairs.json").read_text())["pairs"] for run in two_runs]
    first, second = (f"{np.mean([pair['total_variation'] for pair in pairs]):.2f}" for pairs in audits)
    assert f"geodesic {second}, gaussian {first} (total variation, mean over 12 pairs" in page.text
    assert "geodesic is the smoother one on 12 of them" in page.text
    rows = {row[0]: row[1:] for row in summary_rows(two_runs)}
    assert rows["total variation between classes"][:2] == [first, second]


def test_a_model_of_ones_own_is_named_and_its_training_is_not_known(tmp_path: Path) -> None:
    run = write_run(tmp_path / "mine")
    (run / "config.yaml").unlink()
    (run / "metrics.jsonl").unlink()
    (summary,) = (run / "certify").glob("*.json")
    edit(summary, model_file="net.pt2")
    page = page_of([run], tmp_path)
    head, row = page.table("How each run was trained")
    shown = dict(zip(head, row))
    assert shown["method"] == shown["augment"] == shown["updates"] == "not known"
    assert "mine (model net.pt2)" in page.text
    assert "Proved: " in page.text


def test_results_of_different_weights_are_pointed_out(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    write_certified(run, name="later", seed=3)
    edit(run / "certify" / "fixed-s0.25-n1000.json", model="aaaa")
    edit(run / "certify" / "later.json", model="aaaa")
    assert "different weights" not in page_of([run], tmp_path).text
    edit(run / "certify" / "later.json", model="bbbb")
    assert "The results of run were made with different weights" in page_of([run], tmp_path).text


def smoothed(run: Path) -> np.ndarray:
    """Make the run's attack one on the smoothed classifier; which images that gets right without it."""
    (path,) = (run / "attack").glob("*.json")
    edit(path, attack="smoothed", norm="l2", eps=0.5, restarts=1, random_start=False, sigma=0.25, votes=100)
    return np.array(json.loads(path.read_text())["per_image"]["clean_correct"], bool)


def test_accuracy_under_noise_is_never_called_undisturbed(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    share = told(smoothed(run))
    page = page_of([run], tmp_path)
    assert f"Under noise alone, the smoothed classifier is right on {share} of 200." in page.text
    assert "Undisturbed" not in page.text
    head, row = page.table("How each run was trained")
    assert dict(zip(head, row))["clean accuracy"] == "–"
    rows = {row[0]: row[1] for row in summary_rows([run])}
    assert "clean accuracy" not in rows
    assert rows["clean accuracy of the smoothed classifier"] == share


def test_clean_accuracies_of_plain_and_smoothed_classifiers_stand_in_rows_of_their_own(
    tmp_path: Path,
) -> None:
    plain, noisy = write_run(tmp_path / "plain"), write_run(tmp_path / "noisy", seed=1)
    smoothed(noisy)
    rows = {row[0]: row[1:3] for row in summary_rows([plain, noisy])}
    assert [cell == "–" for cell in rows["clean accuracy"]] == [False, True]
    assert [cell == "–" for cell in rows["clean accuracy of the smoothed classifier"]] == [True, False]


@pytest.mark.parametrize("other", [{"split": "holdout"}, {"embedding": "bbbb"}])
def test_audits_of_other_samples_or_embeddings_are_not_compared(
    tmp_path: Path, other: dict[str, str]
) -> None:
    runs = [write_run(tmp_path / name, seed=i) for i, name in enumerate("ab")]
    for run in runs:
        edit(run / "audit" / "pairs.json", split="test", embedding="aaaa")
    assert [len(group) for group in audit_groups([load_run(run) for run in runs])] == [2]
    write_audit(runs[1], half=True)
    edit(runs[1] / "audit" / "pairs.json", **{"split": "test", "embedding": "aaaa"} | other)
    assert [len(group) for group in audit_groups([load_run(run) for run in runs])] == [1, 1]
    _, second = page_of(runs, tmp_path).data["explorer-data"]["series"]
    assert sum("pictures" in pair for pair in second["pairs"]) == 6  # its own, none of the first run's


def test_a_run_without_evaluations_is_told_what_to_do(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    for folder in ("certify", "attack", "audit"):
        for file in (run / folder).iterdir():
            file.unlink()
    assert "certify, attack and audit it" in verdict(load_run(run))[0]


def test_the_page_says_when_and_by_which_version_it_was_written(page: Page) -> None:
    assert f"wassermix {wm.__version__} · written" in page.text
    assert "time" in page.tags


def test_results_stand_before_settings_and_the_average_radius_before_the_radii(page: Page) -> None:
    head = page.table("How each run was trained")[0]
    assert head[:2] == ["run", "clean accuracy"]
    assert head[-1] == "passes"
    assert page.table("Certified accuracy in per cent")[0][:2] == ["run", "ACR"]


def test_matrices_are_ordered_by_class_number(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    path = run / "audit" / "pairs.json"
    audit = json.loads(path.read_text())
    audit["parameters"]["class_names"] = ["trouser", "ankle boot", "shirt", "bag"]
    path.write_text(json.dumps(audit))
    axes = pair_matrix(load_run(run).audited[0]).axes[0]
    assert [one.get_text() for one in axes.get_yticklabels()] == ["trouser", "ankle boot", "shirt", "bag"]


def test_markup_in_names_is_shown_on_the_terminal_as_it_is(tmp_path: Path) -> None:
    runs = [write_run(tmp_path / "[red]", skill=0.7), write_run(tmp_path / "[bold]", seed=1)]
    console = Console(width=160, file=io.StringIO())
    console.print(summary_table(runs))
    assert "[red]" in console.file.getvalue()  # type: ignore[attr-defined]


@pytest.mark.parametrize("single", [True, False])
def test_the_page_is_written_from_python_about_runs_or_their_folders(single: bool, tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", images=40)
    runs = wm.Run(folder) if single else [str(folder)]
    summary = wm.report(runs, out=tmp_path / "page.html")
    assert summary.runs == ("run",)
    assert summary.path.stat().st_size == summary.bytes
