"""Every page of the docs is in the navigation of the site, and none is promised that is not there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]


def pages(nav: Any) -> set[str]:
    if isinstance(nav, str):
        return {nav}
    inner = nav.values() if isinstance(nav, dict) else nav
    return set().union(*(pages(one) for one in inner))


def test_the_navigation_holds_every_page() -> None:
    # the gallery's index leads to its own pages
    nav = pages(yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"])
    written = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    assert nav <= written
    assert {name for name in written - nav if not name.startswith("gallery/")} == set()
