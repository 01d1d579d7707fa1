"""A run audited along exact and random pairs: the exact audit speaks, and the control says that it is one."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from report.pages import Page
from report.synthetic_runs import write_audit, write_run
from wassermix.audit import AuditSettings, run_audit
from wassermix.core.job import Output
from wassermix.core.samples import TensorSamples
from wassermix.report import load_run, summary_rows, write_report
from wassermix.report.verdict import audit_groups, smoothness, verdict

TITLE = "total variation between classes"


def keep_audit(run: Path, name: str, *, pairing: str, skill: float) -> str:
    """An audit under a name that says nothing; returns its mean total variation, from its own file."""
    write_audit(run, skill=skill)
    record = json.loads((run / "audit" / "pairs.json").read_text())
    record["parameters"]["transport"] = pairing
    (run / "audit" / f"{name}.json").write_text(json.dumps(record))
    (run / "audit" / "pairs.json").unlink()
    (run / "audit" / "pairs.npz").rename(run / "audit" / f"{name}.npz")
    return f"{np.mean([pair['total_variation'] for pair in record['pairs']]):.2f}"


def audited(folder: Path, *, skill: float = 0.8, **pairings: str) -> tuple[Path, dict[str, str]]:
    """A run with an audit for each ``name=pairing``, rougher from one to the next; variations by pairing."""
    run = write_run(folder, images=40)
    told = {
        pairing: keep_audit(run, name, pairing=pairing, skill=skill - 0.2 * place)
        for place, (name, pairing) in enumerate(pairings.items())
    }
    return run, told


def page_of(runs: list[Path], folder: Path) -> Page:
    write_report(runs, folder / "page.html")
    return Page((folder / "page.html").read_text(encoding="utf-8"))


def test_the_headline_is_the_exact_audits_whatever_the_files_are_called(tmp_path: Path) -> None:
    run, told = audited(tmp_path / "run", b="exact", a="random")
    (between,) = (line for line in verdict(load_run(run)) if line.startswith("Between the classes"))
    assert told["exact"] != told["random"]
    assert f"by {told['exact']} on the way from one to another (total" in between
    assert "random" not in between


def test_a_headline_from_random_pairs_says_so(tmp_path: Path) -> None:
    run, told = audited(tmp_path / "run", a="random")
    (between,) = (line for line in verdict(load_run(run)) if line.startswith("Between the classes"))
    assert f"by {told['random']} on the way from one to another along random pairs (total" in between


def test_rows_of_the_terminal_say_which_pairs_exact_first(tmp_path: Path) -> None:
    run, told = audited(tmp_path / "run", c="exact", b="entropic", a="random")
    rows = [row for row in summary_rows([run]) if row[0].startswith(TITLE)]
    assert rows == [
        [TITLE, told["exact"]],
        [f"{TITLE} along entropic pairs", told["entropic"]],
        [f"{TITLE} along random pairs", told["random"]],
    ]


def test_every_label_of_the_page_says_which_pairs_and_none_is_a_file_name(tmp_path: Path) -> None:
    run, _ = audited(tmp_path / "run", b="exact", a="random")
    page = page_of([run], tmp_path)
    labels = ["run", "run · random pairs"]
    assert [one["run"] for one in page.data["explorer-data"]["series"]] == labels
    weak = page.table("between which the loss climbs highest")[1:]
    assert list(dict.fromkeys(row[0] for row in weak)) == labels
    assert any(words.startswith("run · random pairs: mean accuracy") for words in page.words)


def test_the_strip_of_pictures_is_along_an_exact_path_though_another_run_comes_first(tmp_path: Path) -> None:
    control, _ = audited(tmp_path / "control", a="random")
    both, _ = audited(tmp_path / "both", b="exact", a="random")
    text = page_of([control, both], tmp_path).text
    assert "(t = 0 to 1), where both is weakest." in text
    assert "(t = 0 to 1), where control · random pairs is weakest." in page_of([control], tmp_path).text


def test_two_audits_along_the_same_pairs_are_told_apart_by_their_files(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", images=40)
    for name in ("noisy", "plain"):
        keep_audit(run, name, pairing="random", skill=0.8)
    series = page_of([run], tmp_path).data["explorer-data"]["series"]
    assert [one["run"] for one in series] == ["run · random pairs · noisy", "run · random pairs · plain"]


def test_runs_are_compared_pairing_by_pairing_exact_first(tmp_path: Path) -> None:
    first, _ = audited(tmp_path / "first", skill=0.9, a="random", b="exact")
    second, _ = audited(tmp_path / "second", a="random", b="exact")
    runs = [load_run(run) for run in (first, second)]
    assert [{one.other_pairs for one in group.values()} for group in audit_groups(runs)] == [
        {""},
        {"random pairs"},
    ]
    exact, random = smoothness(runs)
    assert exact.startswith("Between the classes the KL")
    assert random.startswith("Between the classes along random pairs the KL")


@pytest.mark.parametrize("pairing", ["exact", "random"])
def test_a_triangle_says_which_pairs_made_it(tmp_path: Path, pairing: str) -> None:
    run = write_run(tmp_path / "run", images=40)
    run_audit(
        lambda x: torch.tensor([5.0, 5.0, -5.0]).expand(len(x), 3),
        TensorSamples(torch.eye(3).repeat(4, 1), torch.arange(12) % 3),
        AuditSettings(classes=(0, 1, 2), points=3, pairing=pairing),  # type: ignore[arg-type]
        output=Output(run / "audit", "three"),
    )
    expected = "run: KL between" if pairing == "exact" else "run · random pairs: KL between"
    assert any(words.startswith(expected) for words in page_of([run], tmp_path).words)
