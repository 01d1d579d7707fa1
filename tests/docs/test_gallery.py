"""The gallery's examples run, and each has its page and picture."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from matplotlib.figure import Figure

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples" / "gallery").glob("*.py"))


@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_draws_a_figure(path: Path) -> None:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    figure = module.main()
    assert isinstance(figure, Figure)
    assert figure.axes


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_has_its_page_with_its_own_code_and_picture(path: Path) -> None:
    page = (ROOT / "docs" / "gallery" / f"{path.stem}.md").read_text(encoding="utf-8")
    code = path.read_text(encoding="utf-8").split('"""', 2)[2].strip()
    assert code in page, "make docs writes it anew"
    assert (ROOT / "docs" / "gallery" / f"{path.stem}.svg").is_file()
    assert f"{path.stem}.md" in (ROOT / "docs" / "gallery" / "index.md").read_text(encoding="utf-8")
