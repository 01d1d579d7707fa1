"""The page: its numbers agree with the rows, it loads nothing, and no name can break it."""

from __future__ import annotations

import csv
import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy import stats

from report.pages import Page
from report.synthetic_runs import RADII, write_attack, write_audit, write_certified, write_run
from wassermix.audit import AuditSettings, run_audit
from wassermix.core.job import Output
from wassermix.data import TensorSplit
from wassermix.report import write_report


def log_of(run: Path) -> list[dict[str, str]]:
    (path,) = (run / "certify").glob("*.tsv")
    with path.open() as file:
        return list(csv.DictReader(file, delimiter="\t"))


def certified(run: Path, radius: float) -> np.ndarray:
    return np.array([row["correct"] == "1" and float(row["radius"]) >= radius for row in log_of(run)])


def robust(run: Path) -> np.ndarray:
    (path,) = (run / "attack").glob("*.json")
    return np.array(json.loads(path.read_text())["per_image"]["robust_correct"], dtype=bool)


def test_certified_accuracies_are_those_of_the_rows(page: Page, two_runs: list[Path]) -> None:
    head, *rows = page.table("Certified accuracy in per cent", "fixed mode")
    for row, run in zip(rows, two_runs):
        shown = dict(zip(head, row))
        for radius in RADII:
            flags = certified(run, radius)
            ci = stats.binomtest(int(flags.sum()), len(flags)).proportion_ci(method="wilson")
            assert (
                shown[f"r = {radius:g}"]
                == f"{100 * flags.mean():.1f}% {100 * ci.low:.1f}–{100 * ci.high:.1f}"
            )
        acr = np.mean([float(r["radius"]) * (r["correct"] == "1") for r in log_of(run)])
        assert shown["ACR"] == f"{acr:.3f}"


def test_attacked_accuracies_are_those_of_the_flags(page: Page, two_runs: list[Path]) -> None:
    head, *rows = page.table("before and after the attack", "eps", "steps 20", "norm linf", "restarts 2")
    for row, run in zip(rows, two_runs):
        assert dict(zip(head, row))["attacked accuracy"].startswith(f"{100 * robust(run).mean():.1f}%")


def test_paired_tests_count_discordant_images(page: Page, two_runs: list[Path]) -> None:
    head, *rows = page.table("same images seen by two runs")
    shown = {row[0]: dict(zip(head, row)) for row in rows}
    pairs = {"accuracy under PGD ℓ∞ ε=8/255 20 steps 2 restarts": [robust(run) for run in two_runs]}
    for radius in RADII:
        name = f"certified at radius {radius:g} fixed mode, n0 100, n 100,000, alpha 0.001"
        pairs[name] = [certified(run, radius) for run in two_runs]
    for name, (first, second) in pairs.items():
        only_first, only_second = int((first & ~second).sum()), int((second & ~first).sum())
        p = stats.binom.cdf(min(only_first, only_second), only_first + only_second, 0.5) * 2
        assert shown[name]["only first right"] == str(only_first)
        assert shown[name]["only second right"] == str(only_second)
        assert shown[name][
            "second − first (points)"
        ] == f"{100 * (second.mean() - first.mean()):+.1f}".replace("-", "−")
        stated = shown[name]["exact p"]
        assert p < 1e-4 if stated == "< 0.0001" else abs(float(stated) - min(p, 1)) < 0.006


def test_overview_names_how_each_run_was_trained(page: Page) -> None:
    head, first, second = page.table("How each run was trained")
    assert dict(zip(head, first))["augment"] == "none"
    assert dict(zip(head, second))["regularizer"] == "geodesic, weight 0.1"
    assert dict(zip(head, second))["method"] == "gaussian, sigma 0.25"
    assert dict(zip(head, first))["updates"] == "640"
    assert dict(zip(head, first))["passes"] == f"{640 * 8 * 16:,}"
    assert "same number of updates" in page.text
    assert "training digits of MNIST, not comparable" in page.text


def test_set_statement_bounds_false_certificates(page: Page) -> None:
    assert "200 images at alpha 0.001: at most 0.2 false certificates are expected" in page.text
    assert stats.binom.cdf(1, 200, 0.001) >= 0.95 > stats.binom.cdf(0, 200, 0.001)
    assert "with 95% confidence no more than 1." in page.text


def test_a_radius_that_the_draws_cannot_prove_is_a_dash_and_no_zero(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", images=40)
    (path,) = (run / "certify").glob("*.json")
    path.write_text(json.dumps(json.loads(path.read_text()) | {"n": 1000}))
    write_report([run], tmp_path / "page.html")
    page = Page((tmp_path / "page.html").read_text())
    reach = 0.25 * stats.norm.ppf(stats.beta.ppf(0.001, 1000, 1))  # Clopper-Pearson for 1000 hits of 1000
    assert 0.5 < reach < 0.75
    assert f"no radius above {reach:.2f} can be proved" in page.text
    head, row = page.table("Certified accuracy in per cent", "fixed mode")
    assert row[head.index("r = 0.75")] == "–"
    assert row[head.index("r = 0.5")] != "–"


def test_every_parameter_is_on_the_page(page: Page, two_runs: list[Path]) -> None:
    listed = {
        tuple(row)
        for table in page.tables
        if table["rows"][0][:2] == ["parameter", "value"]
        for row in table["rows"]
    }
    assert {
        ("augment.ratio", "1"),
        ("steps", "20"),
        ("n0", "100"),
        ("entropy", "0.02"),
        ("every", "20"),
    } <= listed


def test_page_loads_nothing_and_is_small(page: Page, page_file: Path) -> None:
    assert all(target.startswith(("data:", "#")) for target in page.loads)
    text = page_file.read_text()
    assert not re.search(r"url\((?!#|\"#|data:)|@import|fetch\(|XMLHttpRequest", text)
    assert "default-src 'none'" in text
    assert page_file.stat().st_size < 1_000_000


def test_no_id_is_used_twice(page: Page) -> None:
    assert len(page.ids) == len(set(page.ids))


def test_pages_of_the_same_runs_are_equal_but_for_the_hour(
    two_runs: list[Path], page_file: Path, tmp_path: Path
) -> None:
    write_report(two_runs, tmp_path / "again.html")
    pages = [
        re.sub(r"<time .*?</time>", "", path.read_text()) for path in (page_file, tmp_path / "again.html")
    ]
    assert pages[0] == pages[1]


def test_explorer_holds_every_pair_with_its_pictures(page: Page) -> None:
    first, second = page.data["explorer-data"]["series"]
    assert len(first["pairs"]) == len(second["pairs"]) == 12
    assert [pair["pictures"] for pair in first["pairs"]] == [pair["pictures"] for pair in second["pairs"]]
    assert len(page.data["explorer-data"]["sheets"]) == 12  # both runs share the same pictures, stored once


def test_runs_on_the_same_paths_share_their_pictures(tmp_path: Path) -> None:
    runs = [write_run(tmp_path / name, seed=i, images=40) for i, name in enumerate("ab")]
    write_audit(runs[0], half=True)
    write_report(runs, tmp_path / "out.html")
    first, second = Page((tmp_path / "out.html").read_text()).data["explorer-data"]["series"]
    assert [pair["pictures"]["sheet"] for pair in first["pairs"]] == [
        pair["pictures"]["sheet"] for pair in second["pairs"]
    ]
    other = json.loads((runs[1] / "audit" / "pairs.json").read_text())
    other["parameters"]["embed"] = "vae"
    (runs[1] / "audit" / "pairs.json").write_text(json.dumps(other))
    write_report(runs, tmp_path / "out.html")
    first, _ = Page((tmp_path / "out.html").read_text()).data["explorer-data"]["series"]
    assert [("pictures" in pair) for pair in first["pairs"]] == [True, False] * 6


def test_training_curves_say_what_they_show(page: Page) -> None:
    assert "loss.ce over the epochs." in page.text
    assert "loss.total" not in page.text  # the total of one term is that term
    assert "accuracy over the epochs, watched on some test samples under one draw" in page.text


def test_names_are_escaped_everywhere(tmp_path: Path) -> None:
    name = "_a<script>alert(1)<&'\"b$\\alpha$ 数字"
    run = write_run(tmp_path / "x", images=40)
    config = (run / "config.yaml").read_text().replace("training digits", "</script><script>alert(2)")
    (run / "config.yaml").write_text(config)
    audit = json.loads((run / "audit" / "pairs.json").read_text())
    audit["parameters"]["class_names"] = ["</script><b>", "&amp;", "$x", "'"]
    (run / "audit" / "pairs.json").write_text(json.dumps(audit))
    shutil.move(run, tmp_path / name)
    write_report([tmp_path / name], tmp_path / "out.html")
    text = (tmp_path / "out.html").read_text()
    assert "<script>alert" not in text
    assert "</script><b>" not in text
    page = Page(text)
    assert page.tags.count("script") == 2
    assert f"1 run: {name}" in page.text


def test_missing_parts_are_named_with_their_commands(tmp_path: Path) -> None:
    run = write_run(tmp_path / "bare", images=40)
    for part in ("certify", "attack", "audit"):
        shutil.rmtree(run / part)
    (run / "metrics.jsonl").unlink()
    summary = write_report([run], tmp_path / "out.html")
    text = Page((tmp_path / "out.html").read_text()).text
    for command in ("certify", "attack", "audit"):
        assert f"`wassermix {command} {run}`" in text
    assert len(summary.missing) == 3
    assert "no training curve" in text


def test_failed_checks_stand_beside_the_number(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", images=40)
    write_attack(run, images=40, passed=False)
    write_report([run], tmp_path / "out.html")
    row = Page((tmp_path / "out.html").read_text()).table("before and after the attack")[1]
    assert row[-1] == "Take this as an upper bound only. more steps: 100 steps find no more than 20"


def test_modes_never_share_a_table(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", images=40)
    write_certified(run, images=40, mode="grid", name="grid-s0.25-n1000")
    write_report([run], tmp_path / "out.html")
    page = Page((tmp_path / "out.html").read_text())
    assert "ACR" in page.table("Certified accuracy in per cent", "fixed mode")[0]
    assert "ACR" not in page.table("Certified accuracy in per cent", "grid mode")[0]


def test_a_log_of_another_repository_stands_as_a_run(tmp_path: Path) -> None:
    rows = ["0 7 7 0.9 1 0:00:01", "20 2 -1 0.0 0 0:00:01", "40 1 1 0.3 1 0:00:01", "60 0 0 0.26 1 0:00:02"]
    lines = ["idx label predict radius correct time", *rows, ""]
    (tmp_path / "theirs.tsv").write_text("\n".join(lines).replace(" ", "\t"))
    summary = write_report([tmp_path / "theirs.tsv"], tmp_path / "out.html")
    head, row = Page((tmp_path / "out.html").read_text()).table("Certified accuracy in per cent")
    shown = dict(zip(head, row))
    assert summary.runs == ("theirs",)
    assert shown["r = 0"].startswith("75.0%")
    assert shown["r = 0.5"].startswith("25.0%")
    assert shown["ACR"] == "0.365"


def test_vectors_without_pictures_still_get_curves(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", images=40)
    (run / "audit" / "pairs.npz").unlink()
    write_report([run], tmp_path / "out.html")
    page = Page((tmp_path / "out.html").read_text())
    assert page.data["explorer-data"]["sheets"] == []
    assert "img" not in page.tags


@pytest.mark.slow
@pytest.mark.parametrize(("classes", "side"), [(12, 64), (40, 4)])
def test_a_large_audit_stays_mailable(classes: int, side: int, tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", images=40)
    write_audit(run, classes=classes, times=21, side=side)
    assert write_report([run], tmp_path / "out.html").bytes < 12 * 2**20


def test_runs_of_one_name_are_told_apart(tmp_path: Path) -> None:
    paths = [write_run(tmp_path / folder / "run", images=40) for folder in ("a", "b")]
    assert write_report(paths, tmp_path / "out.html").runs == ("a/run", "b/run")


def test_a_triangle_is_shown_with_its_worst_place(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    split = TensorSplit(torch.eye(3).repeat(4, 1), torch.arange(12) % 3)
    run_audit(
        lambda x: torch.tensor([5.0, 5.0, -5.0]).expand(len(x), 3),
        split,
        AuditSettings(classes=(0, 1, 2), points=3),
        output=Output(run / "audit"),
        class_names=["cat", "dog", "<owl>"],
    )
    write_report([run], tmp_path / "report.html")
    page = Page((tmp_path / "report.html").read_text())
    words = "KL between cat, dog, <owl>, highest (10.693) at 0.00 of cat, 0.00 of dog, 1.00 of <owl>."
    assert any(words in text for text in page.words)
