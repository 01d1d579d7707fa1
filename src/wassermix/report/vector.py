"""Figures as SVG inside a page: text stays text, colours follow the page's theme, no id is used twice."""

from __future__ import annotations

import re
from io import StringIO
from warnings import catch_warnings, filterwarnings

from matplotlib import rc_context
from matplotlib.figure import Figure

from wassermix.report.figures import FAINT, INK, PAPER, SERIES
from wassermix.report.markup import Safe, escape

__all__ = ["inline_svg"]

THEME = {INK: "--ink", FAINT: "--line", PAPER: "--card", **{c: f"--s{i}" for i, c in enumerate(SERIES)}}


def inline_svg(figure: Figure, description: str) -> Safe:
    """``figure`` as an ``<svg>`` element whose accessible name is ``description``."""
    buffer = StringIO()
    nameless = {"Date": None, "Creator": None, "Format": None, "Type": None}
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": description}), catch_warnings():
        filterwarnings("ignore", "Glyph .* missing from")  # the reader's browser has its own fonts
        figure.savefig(buffer, format="svg", metadata=nameless)
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    text = _without_idle_ids(_themed(text))
    box = re.search(r'viewBox="[^"]*"', text)
    assert box is not None, "matplotlib writes a viewBox"
    start = text.index(">") + 1
    head = f'<svg {box.group()} role="img" aria-label="{escape(description)}" class="figure">'
    return Safe(head + re.sub(r"\s*\n\s*", "\n", text[start:]).strip())


def _themed(text: str) -> str:
    for colour, variable in THEME.items():
        text = text.replace(colour, f"var({variable}, {colour})")
    text = re.sub(r"font: (?:[a-z]+ )*([\d.]+px) [^;\"]*", r"font: \1 var(--font, sans-serif)", text)
    return re.sub(r' xmlns(:xlink)?="[^"]*"', "", text).replace("xlink:href", "href")


def _without_idle_ids(text: str) -> str:
    """Keep only ids that something refers to: matplotlib names every group alike in every figure."""
    used = set(re.findall(r'(?:url\(#|href="#)([^)"]+)', text))
    return re.sub(r' id="([^"]+)"', lambda found: found.group() if found.group(1) in used else "", text)
