"""Pages of docs/ that are written by hand but for some parts, which the records fill."""

from __future__ import annotations

from pathlib import Path


def fill(page: Path, mark: str, lines: list[str]) -> None:
    """Put ``lines`` between ``<!-- MARK -->`` and the next ``<!-- end -->`` of a page."""
    before, found, rest = page.read_text().partition(f"<!-- {mark} -->")
    assert found, f"{page} has no mark '{mark}'"
    after = rest.partition("<!-- end -->")[2]
    page.write_text("\n".join([f"{before}{found}", *lines, f"<!-- end -->{after}"]))


def table(heads: list[str], rows: list[list[str]]) -> list[str]:
    """A table of Markdown."""
    return [f"| {' | '.join(row)} |" for row in (heads, ["---"] * len(heads), *rows)]
