"""The plan for many GPUs has the numbers that the benchmarks measured."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_the_tables_of_the_page_are_made_from_the_results(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(ROOT / "docs"), *sys.path])
    from plan import plan_page

    page = (ROOT / "docs" / "scale.md").read_text(encoding="utf-8")
    assert plan_page(page, ROOT / "results") == page, "make docs writes it anew"
    assert "| `lenet` | 431,080 | 3.4 MB |" in page
