"""The page shows what is known about the geometry of the data, and nothing where nothing is known."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest
import torch

from report.synthetic_runs import write_run
from wassermix.core.errors import InputError
from wassermix.geodesic.geometry import measure_geometry, sentence
from wassermix.report import write_report


def written(folder: Path) -> str:
    write_report([folder], folder / "page.html")
    return (folder / "page.html").read_text(encoding="utf-8")


def test_a_run_with_a_geometry_file_has_its_table_and_sentence(tmp_path: Path) -> None:
    x = torch.randn(60, 2, generator=torch.Generator().manual_seed(0))
    y = torch.arange(60) % 3
    found = measure_geometry(x + 4 * y[:, None], y, embed="standard", pair_size=16)
    words = sentence([found])
    record = {"data": "three <clouds>", "rows": [asdict(found)], "sentences": [words]}
    run = tmp_path / "run"
    write_run(run)
    assert 'id="geometry"' not in written(run)
    (run / "geometry.json").write_text(json.dumps(record))
    page = written(run)
    assert 'id="geometry"' in page
    assert "three &lt;clouds&gt;" in page
    assert f"{found.spread.exact:.2f} ({found.spread.random:.2f})" in page
    assert words.split("(")[0].strip() in page


def test_another_file_of_that_name_is_refused(tmp_path: Path) -> None:
    run = tmp_path / "run"
    write_run(run)
    (run / "geometry.json").write_text("[]")
    with pytest.raises(InputError, match="no file of `wassermix geometry`"):
        written(run)
