"""Two whole synthetic runs, written once for the tests that only read them."""

from __future__ import annotations

from pathlib import Path

import pytest

from report.pages import Page
from report.synthetic_runs import write_run
from wassermix.report import write_report


@pytest.fixture(scope="session")
def two_runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    root = tmp_path_factory.mktemp("runs")
    return [write_run(root / "gaussian", seed=0, skill=0.7), write_run(root / "geodesic", seed=1, skill=0.9)]


@pytest.fixture(scope="session")
def page_file(two_runs: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("page") / "report.html"
    write_report(two_runs, out)
    return out


@pytest.fixture(scope="session")
def page(page_file: Path) -> Page:
    return Page(page_file.read_text(encoding="utf-8"))
