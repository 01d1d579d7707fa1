"""Figures: they draw what they are given and leave matplotlib as they found it."""

from __future__ import annotations

import io
from pathlib import Path

import matplotlib
import numpy as np
import pytest
import torch

from wassermix.audit import performance_simplex
from wassermix.report import (
    Curve,
    certified_curves,
    curve_of_rows,
    load_run,
    mean_geodesics,
    pair_matrix,
    predicted_shares,
    training_curves,
)
from wassermix.report.figures import triangle_map
from wassermix.report.records import Triangle
from wassermix.report.vector import inline_svg


def test_certified_curve_is_the_share_of_radii_beyond(two_runs: list[Path]) -> None:
    rows = load_run(two_runs[0]).certified[0]
    curve = curve_of_rows("run", rows)
    expected = [np.mean((rows.radius >= r) & rows.result.correct.numpy()) for r in curve.x]
    np.testing.assert_allclose(curve.y, expected)
    assert (np.diff(curve.y) <= 0).all()
    assert ((curve.low <= curve.y) & (curve.y <= curve.high)).all()


def test_mean_geodesic_draws_the_mean_over_pairs(two_runs: list[Path]) -> None:
    audit = load_run(two_runs[0]).audited[0]
    (line,) = mean_geodesics({"run": audit}).axes[0].get_lines()
    np.testing.assert_allclose(line.get_ydata(), np.mean([pair.kl for pair in audit.pairs], axis=0))


def test_pair_matrix_writes_each_number_in_its_cell(two_runs: list[Path]) -> None:
    audit = load_run(two_runs[0]).audited[0]
    texts = {
        (t.get_position()[1] - 0.5, t.get_position()[0] - 0.5): t.get_text()
        for t in pair_matrix(audit).axes[0].texts
    }
    pair = audit.pairs[5]
    assert texts[int(pair.source), int(pair.target)] == f"{pair.total_variation:.2f}"
    assert len(texts) == len(audit.pairs)


def test_figures_leave_no_global_state(two_runs: list[Path]) -> None:
    run, before = load_run(two_runs[0]), dict(matplotlib.rcParams)
    for figure in (
        predicted_shares(run.audited[0]),
        training_curves({"run": run.metrics}, "accuracy"),
        certified_curves([Curve("run", *np.tile(np.linspace(0, 1, 5), (4, 1)))]),
    ):
        inline_svg(figure, "words")
    assert dict(matplotlib.rcParams) == before


def test_svg_keeps_text_and_follows_the_theme() -> None:
    line = np.linspace(0, 1, 5)
    svg = inline_svg(certified_curves([Curve("a & b", line, line, line / 2, line)]), 'a "quoted" description')
    assert "a &amp; b</text>" in svg
    assert "var(--s0" in svg
    assert "&quot;quoted&quot;" in svg
    assert "http" not in svg


@pytest.mark.parametrize("name", ["$x", "$x$", r"$\frac$"])
def test_dollars_in_class_names_are_no_formula(name: str) -> None:
    x, y = torch.eye(3)[torch.arange(30) % 3], torch.arange(30) % 3
    names = [name, "b", "c"]
    audit = performance_simplex(lambda x: 5 * x, x, y, classes=(0, 1, 2), points=3, class_names=names)
    assert f">{name}</text>" in inline_svg(triangle_map(Triangle("abc", audit)), "words")
    audit.plot().savefig(io.BytesIO(), format="svg")  # a formula that cannot be read would raise


@pytest.mark.parametrize("measure", ["total_variation", "accuracy", "kl"])
def test_figures_can_be_saved_as_pictures(measure: str, two_runs: list[Path], tmp_path: Path) -> None:
    pair_matrix(load_run(two_runs[0]).audited[0], measure).savefig(tmp_path / "matrix.png")
    assert (tmp_path / "matrix.png").read_bytes()[:4] == b"\x89PNG"
