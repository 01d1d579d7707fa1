"""Every Python block of the README and the docs runs as it is written, page by page from top to bottom.

A block that cannot run here stands behind a line ``<!-- fragment: WHY -->`` on its page.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from wassermix.experiments import load_table

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"(?:<!-- fragment:(?P<why>[^>]*)-->\n+)?```(?:python|py)\n(?P<code>.*?)^```", re.S | re.M)
ELSEWHERE = {"extend.md": "tests/docs/test_extend_page.py", "gallery": "tests/docs/test_gallery.py"}
"""Pages whose code is that of files which another test runs."""


def blocks(page: Path) -> list[str]:
    """The code of a page that runs, block by block."""
    found = BLOCK.finditer(page.read_text(encoding="utf-8"))
    return [one["code"] for one in found if one["why"] is None]


def checked_elsewhere(page: Path) -> bool:
    return page.name in ELSEWHERE or page.parent.name in ELSEWHERE


def readers_data() -> dict[str, Any]:
    """What a reader of docs/drift.md brings: a model, labelled samples, new ones, and answers."""
    rng, centres = np.random.default_rng(0), 4 * np.eye(3)
    y_ref = np.arange(240) % 3
    drawn = {"X_ref": 240, "X_new": 150, "X_batch": 120}
    samples = {
        name: (centres[np.arange(count) % 3] + rng.normal(size=(count, 3))).astype("float32")
        for name, count in drawn.items()
    }
    labels = np.arange(100) % 3  # what the reader finds on looking at the rows asked for
    return {"model": Nearest(centres), "y_ref": y_ref, "y": labels, **samples}


class Nearest:
    """A classifier as scikit-learn has them."""

    def __init__(self, centres: np.ndarray) -> None:
        self.centres = centres

    def predict_proba(self, x: np.ndarray) -> np.ndarray:
        scores = np.exp(-0.5 * ((np.asarray(x)[:, None] - self.centres) ** 2).sum(2))
        shares: np.ndarray = scores / scores.sum(1, keepdims=True)
        return shares


BROUGHT: dict[str, Callable[[], dict[str, Any]]] = {"drift.md": readers_data}
"""Names that a page takes from its reader."""
WITH_CODE = [page for page in PAGES if blocks(page) and not checked_elsewhere(page)]


@pytest.mark.parametrize("page", WITH_CODE, ids=lambda page: page.name)
def test_the_blocks_of_a_page_run_one_after_the_other(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names = BROUGHT.get(page.name, dict)()
    for number, code in enumerate(blocks(page), start=1):
        # the README's loop takes every 8th of 4,000 digits; here fewer, by the same lines
        exec(
            compile(code.replace("0, 4000, 8", "0, 4000, 20"), f"{page.name}, block {number}", "exec"), names
        )


def test_pages_with_code_are_found() -> None:
    assert {"README.md", "drift.md"} <= {page.name for page in WITH_CODE}
    assert sum(checked_elsewhere(page) and bool(blocks(page)) for page in PAGES) >= 12


def test_a_fragment_says_why_it_does_not_run() -> None:
    whys = [
        one["why"] for page in PAGES for one in BLOCK.finditer(page.read_text()) if one["why"] is not None
    ]
    assert [why for why in whys if len(why.strip()) < 10] == []


def test_the_table_of_the_page_on_comparisons_can_be_run(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "compare.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```yaml\n(.*?)```", page, flags=re.DOTALL)
    (tmp_path / "mine.yaml").write_text(block)
    table = load_table(str(tmp_path / "mine.yaml"))
    assert list(table.rows) == list(yaml.safe_load(block)["rows"])
    assert table.config("geodesic", 2).augment is not None
