"""Make docs/gallery/: run each example of examples/gallery, keep its picture, and write its page."""

from __future__ import annotations

import ast
import importlib.util
from pathlib import Path
from typing import Any

import matplotlib

ROOT = Path(__file__).parent.parent
EXAMPLES, PAGES = ROOT / "examples" / "gallery", ROOT / "docs" / "gallery"


def make_gallery() -> None:
    """One picture and one page for each example, and an index with all of them."""
    PAGES.mkdir(exist_ok=True)
    entries = [make_page(path) for path in sorted(EXAMPLES.glob("*.py"))]
    lines = ["# Gallery", "", "Short programs with the pictures they make; each runs in seconds.", ""]
    for name, title in entries:
        lines += [f"## [{title}]({name}.md)", "", f"[![{title}]({name}.svg)]({name}.md)", ""]
    (PAGES / "index.md").write_text("\n".join(lines), encoding="utf-8")


def make_page(path: Path) -> tuple[str, str]:
    """Run one example; returns its name and title."""
    text = path.read_text(encoding="utf-8")
    words = ast.get_docstring(ast.parse(text)) or ""
    title, _, rest = words.partition("\n")
    with matplotlib.rc_context({"svg.hashsalt": path.stem}):  # the same picture gives the same file
        load(path).main().savefig(PAGES / f"{path.stem}.svg", metadata={"Date": None})
    code = text[text.index('"""', 3) + 3 :].strip()
    page = [f"# {title.rstrip('.')}", "", rest.strip(), "", f"![{title}]({path.stem}.svg)", ""]
    page += [f"`examples/gallery/{path.name}`:", "", "```python", code, "```", ""]
    (PAGES / f"{path.stem}.md").write_text("\n".join(page), encoding="utf-8")
    return path.stem, title.rstrip(".")


def load(path: Path) -> Any:
    """The example as a module."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    make_gallery()
