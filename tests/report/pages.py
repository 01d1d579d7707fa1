"""Reading a report back: its text, its tables, its embedded data, and whatever it would load."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from typing import Any

VOID = {"meta", "link", "img", "br", "input", "hr"}


class Page(HTMLParser):
    """A parsed page; raises on tags that do not close in order, ``<svg>`` leaves included."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tables: list[dict[str, Any]] = []
        self.loads: list[str] = []
        self.ids: list[str] = []
        self.tags: list[str] = []
        self.words: list[str] = []
        self.data: dict[str, Any] = {}
        self._cell: list[str] | None = None
        self._script: str | None = None
        self.feed(text)
        assert not self.open, f"left open: {self.open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags.append(tag)
        self.loads += [
            str(given[key]) for key in ("src", "href", "data", "poster", "action") if given.get(key)
        ]
        if given.get("id"):
            self.ids.append(str(given["id"]))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "table":
            self.tables.append({"caption": given.get("aria-label"), "rows": []})
        elif tag == "tr":
            self.tables[-1]["rows"].append([])
        elif tag in ("td", "th"):
            self._cell = []
        elif tag == "script":
            self._script = str(given.get("id", ""))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open[-1] == tag, f"</{tag}> closes {self.open[-1]}"
        self.open.pop()
        if tag in ("td", "th"):
            assert self._cell is not None
            self.tables[-1]["rows"][-1].append(" ".join(" ".join(self._cell).split()))
            self._cell = None
        elif tag == "script":
            self._script = None

    def handle_data(self, data: str) -> None:
        if self._script:
            self.data[self._script] = json.loads(data)
        elif self._script is None and "style" not in self.open:
            self.words.append(data)
        if self._cell is not None:
            self._cell.append(data)

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self.words))

    def table(self, *words: str) -> list[list[str]]:
        """The rows, header first, of the one table whose caption has all the words."""
        found = [
            table["rows"] for table in self.tables if all(word in str(table["caption"]) for word in words)
        ]
        assert len(found) == 1, f"{len(found)} tables about {words}"
        return found[0]
