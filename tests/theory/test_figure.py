"""The picture: a panel for each part of the study, with its theory and its simulation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from wassermix.theory import study
from wassermix.theory.figure import PANELS, draw, study_figure


@pytest.fixture(scope="module")
def figure(record: dict[str, Any]) -> Figure:
    return study_figure(record)


def test_it_has_a_panel_for_each_part_in_the_order_of_the_study(figure: Figure) -> None:
    assert list(PANELS) == list(study.PARTS)
    titles = [axes.get_title() for axes in figure.axes]
    assert [title.split(".")[0] for title in titles] == [str(n) for n in range(1, 13)]


def test_every_panel_says_what_its_lines_are_and_shows_simulated_dots(figure: Figure) -> None:
    for axes in figure.axes:
        assert axes.get_legend().get_texts()
        assert axes.get_xlabel()
        assert any(line.get_marker() not in ("None", "") for line in axes.lines)


def test_lines_are_theory_and_dots_are_simulation(figure: Figure, record: dict[str, Any]) -> None:
    line, dots = figure.axes[3].lines[:2]
    np.testing.assert_allclose(line.get_ydata(), record["distance"]["optimal"]["theory"])
    np.testing.assert_allclose(
        np.array(dots.get_ydata(), dtype=float), record["distance"]["optimal"]["simulated"]
    )


def test_the_same_record_gives_the_same_file(record: dict[str, Any], tmp_path: Path) -> None:
    first, second = tmp_path / "first.svg", tmp_path / "second.svg"
    draw(record, first)
    draw(record, second)
    assert first.read_bytes() == second.read_bytes()
