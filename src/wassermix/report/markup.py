"""HTML elements as escaped text: what is not marked safe is escaped, so no name can break the page."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

__all__ = ["Safe", "data_block", "details", "element", "escape", "join", "table"]


MANY = 4
"""From so many columns on a table may not fit its window."""


class Safe(str):
    """Text that is HTML already."""

    __slots__ = ()


def escape(value: object) -> Safe:
    """``value`` as HTML text; what is :class:`Safe` passes untouched."""
    return value if isinstance(value, Safe) else Safe(html.escape(str(value)))


def join(parts: Iterable[object], between: str = "") -> Safe:
    """The parts one after the other, each escaped where it must be."""
    return Safe(between.join(escape(part) for part in parts))


def element(name: str, *children: object, attributes: dict[str, object] | None = None) -> Safe:
    """``<name ...>children</name>``; an attribute that is None is left out."""
    given = "".join(
        f' {key}="{html.escape(str(value))}"'
        for key, value in (attributes or {}).items()
        if value is not None
    )
    return Safe(f"<{name}{given}>{join(children)}</{name}>")


def table(
    caption: str, head: Sequence[object], rows: Sequence[Sequence[object]], *, words: Collection[int] = (0,)
) -> Safe:
    """A table; all columns but ``words`` hold numbers.

    Where one with more than a few columns does not fit its window, it becomes a card for each row, whose
    cells name their column: for that each cell carries the name.
    """
    header = element("tr", *(_cell("th", cell, i not in words, "col") for i, cell in enumerate(head)))
    many = len(head) >= MANY
    names = [_text(cell) if many else None for cell in head]
    body = [element("tr", *_cells(row, words, names)) for row in rows]
    shown: dict[str, object] = {"aria-label": caption, "class": "wide" if many else None}
    inner = element("table", element("thead", header), element("tbody", *body), attributes=shown)
    shape: dict[str, object] = {"class": "scroll", "tabindex": "0", "role": "region", "aria-label": caption}
    # outside the scrolling part, or a wide table would carry half of its caption off a phone's screen
    return join(
        [element("p", caption, attributes={"class": "caption"}), element("div", inner, attributes=shape)]
    )


def details(summary: object, *children: object) -> Safe:
    """A part that opens on request."""
    return element("details", element("summary", summary), *children)


def data_block(name: str, value: Any) -> Safe:
    """``value`` as JSON that a script can read; ``<`` and its kin cannot end the block."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Safe(f'<script type="application/json" id="{html.escape(name)}">{text}</script>')


def _cells(row: Sequence[object], words: Collection[int], names: Sequence[str | None]) -> Iterator[Safe]:
    yield _cell("th", row[0], 0 not in words, "row")
    for column, content in enumerate(row[1:], 1):
        yield _cell("td", content, column not in words, column=names[column])


def _cell(
    name: str, content: object, numeric: bool, scope: str | None = None, *, column: str | None = None
) -> Safe:
    long = " long" if scope == "col" and len(str(content)) > 40 else ""
    shape = f"number{long}" if numeric else None
    return element(name, content, attributes={"scope": scope, "class": shape, "data-column": column})


def _text(content: object) -> str:
    """What a cell says, without its markup."""
    return html.unescape(re.sub(r"<[^>]*>", " ", escape(content))).strip()
