"""The page on extending shows the plug-in package as it is."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_block_of_the_page_stands_in_the_package() -> None:
    page = (ROOT / "docs" / "extend.md").read_text(encoding="utf-8")
    sources = [
        path.read_text() for path in sorted((ROOT / "tests" / "plugin" / "wassermix_rings").glob("*.py"))
    ]
    blocks = re.findall(r"```python\n(.*?)\n```", page, flags=re.DOTALL)
    assert len(blocks) == 8
    assert [block[:60] for block in blocks if not any(block in source for source in sources)] == []
    (points,) = re.findall(r"```toml\n(.*?)\n```", page, flags=re.DOTALL)
    assert points in (ROOT / "tests" / "plugin" / "pyproject.toml").read_text()
