"""The architecture page shows the layers that the import test enforces."""

from __future__ import annotations

from pathlib import Path

from layers import LAYERS

PAGE = Path(__file__).parents[2] / "docs" / "architecture.md"


def test_the_page_lists_every_layer_with_its_imports() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for part, (purpose, below) in LAYERS.items():
        names = ", ".join(f"`{name}`" for name in LAYERS if name in below) or "–"
        assert f"| `{part}` | {purpose} | {names} |" in text, "make docs writes it anew"


def test_the_files_that_the_page_names_exist() -> None:
    source = PAGE.parents[1] / "src" / "wassermix"
    words = {word.strip("`.,;()") for word in PAGE.read_text(encoding="utf-8").split() if "/" in word}
    named = [word for word in words if word.endswith(".py") and not word.startswith(("tests/", "docs/"))]
    assert [name for name in named if not (source / name).exists()] == []
