"""The page in a real browser: it fits every width in both themes, keys and mouse work, nothing fails."""

from __future__ import annotations

import csv
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from report.chromium import CHROMIUM, Tab, chromium
from report.pages import Page
from report.synthetic_runs import write_attack, write_audit, write_certified, write_drift, write_run
from wassermix.report import write_report

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine"),
]
NAMES = ("=cmd|a-name-that-somebody-made-from-all-of-the-settings-of-a-run_sigma0.25_seed3", 'a, "b"')
LEAD = "The second run proves <more> than the first."
LOOKS = [(width, dark) for width in (390, 1280, 1600) for dark in (False, True)]
STATE = """(() => { const find = (name) => document.getElementById("explorer-" + name); return {
  x: Number(find("marker").getAttribute("cx")), y: Number(find("marker").getAttribute("cy")),
  value: Number(find("time").value), max: Number(find("time").max), runs: find("run").length,
  pairs: find("pair").length, measure: find("measure").value, play: find("play").textContent,
  reading: find("reading").textContent, spoken: find("time").getAttribute("aria-valuetext"),
  picture: find("stage").toDataURL(), curve: find("chart").querySelector(".chosen").getAttribute("d"),
}; })()"""
WIDE = """(async () => {
  document.querySelectorAll("details").forEach((one) => { one.open = true; });
  await new Promise((done) => setTimeout(done, 50));
  const name = (node) => node.tagName + "." + node.className + " " + (node.getAttribute("aria-label") || "");
  const shown = (node) => node.getClientRects().length && !node.closest(".stacked thead, svg > *");
  const all = [...document.querySelectorAll("main *, footer")].filter(shown);
  const scrolls = (node) => node.scrollWidth > node.clientWidth + 1;
  const colour = (key) => getComputedStyle(document.body)[key].match(/\\d+/g).map(Number);
  return {
    page: document.scrollingElement.scrollWidth, window: innerWidth,
    outside: all.filter((node) => node.getBoundingClientRect().right > innerWidth + 0.5).map(name),
    scrolled: [...document.querySelectorAll(".scroll")].filter(scrolls).map(name),
    stacked: document.querySelectorAll(".stacked").length, tables: document.querySelectorAll("table").length,
    paper: colour("backgroundColor"), ink: colour("color"),
  };
})()"""
WORDS = """[...document.querySelectorAll("svg, img, canvas")]
  .filter((one) => !one.closest("[aria-hidden=true]"))
  .map((one) => [one.tagName, one.getAttribute("role"), one.getAttribute("aria-label") || one.alt || ""])"""
TAKE = """(async () => {
  const taken = {};
  const writeText = async (text) => { taken.markdown = text; };
  Object.defineProperty(navigator, "clipboard", { value: { writeText } });
  URL.createObjectURL = (blob) => { taken.blob = blob; return "#"; };
  HTMLAnchorElement.prototype.click = function () { taken.name = this.download; };
  const [markdown, csv] = document.querySelectorAll(".tools button");
  markdown.click();
  csv.click();
  await new Promise((done) => setTimeout(done, 0));
  const spoken = ["aria-label", "aria-live"].map((key) => markdown.getAttribute(key));
  return { said: [markdown.textContent, ...spoken],
    markdown: taken.markdown, csv: await taken.blob.text(), name: taken.name,
    tables: document.querySelectorAll("table").length, tools: document.querySelectorAll(".tools").length };
})()"""


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    """One browser for all tests of this file."""
    with chromium(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page with all that is hard to show: long names, formulas for names, two protocols, failed checks."""
    folder = tmp_path_factory.mktemp("crowded")
    first, second = (write_run(folder / name, images=40) for name in NAMES)
    write_certified(second, mode="grid", name="grid", images=40)
    write_attack(first, images=40, passed=False)
    for run in (first, second):
        write_audit(run, half=True)
    write_drift(first)
    write_report([first, second], folder / "report.html", lead=LEAD)
    return folder / "report.html"


@pytest.mark.parametrize(("width", "dark"), LOOKS, ids=lambda value: str(value))
def test_nothing_is_wider_than_the_window(tab: Tab, crowded: Path, width: int, dark: bool) -> None:
    tab.look(width, dark=dark)
    tab.open(crowded)
    seen = tab.run(WIDE)
    assert seen["window"] == width
    assert (seen["outside"], seen["scrolled"]) == ([], [])
    assert seen["page"] <= width, "the page scrolls sideways"
    assert (seen["stacked"] > 3) is (width < 600) or seen["stacked"] < seen["tables"] / 3
    assert (sum(seen["paper"][:3]) < sum(seen["ink"][:3])) is dark
    assert tab.said == []


def test_the_page_begins_with_its_sentence_and_a_picture(tab: Tab, crowded: Path) -> None:
    tab.look(1280)
    tab.open(crowded)
    assert tab.run("document.querySelector('main p').textContent") == LEAD
    assert 100 < tab.run("document.querySelector('main svg').getBoundingClientRect().top") < 500
    ids = Page(crowded.read_text(encoding="utf-8")).ids
    assert len(ids) == len(set(ids))


def opened(tab: Tab, page: Path, *, width: int = 1280) -> dict[str, Any]:
    """Open the page; how its explorer stands."""
    tab.look(width)
    tab.open(page)
    return explorer(tab)


def explorer(tab: Tab) -> dict[str, Any]:
    state: dict[str, Any] = tab.run(STATE)
    return state


def test_the_explorer_is_driven_by_keys(tab: Tab, page_file: Path) -> None:
    start = opened(tab, page_file)
    assert (start["runs"], start["pairs"]) == (2, 12)
    tab.run("document.getElementById('explorer-time').focus()")
    tab.press("ArrowRight")
    assert explorer(tab)["value"] == start["value"] + 1
    tab.press("Home")
    left = explorer(tab)
    tab.press("End")
    right = explorer(tab)
    assert left["x"] < start["x"] < right["x"]
    assert start["y"] < left["y"]  # the synthetic loss peaks in the middle; up is smaller y
    assert "t = 0.00: 0.020" in left["reading"]
    assert left["picture"] != right["picture"]
    assert "says another 0%" in right["spoken"]
    tab.press("Tab")  # on to the button
    assert tab.run("document.activeElement.id") == "explorer-play"
    tab.press("Enter")
    assert explorer(tab)["play"] == "Pause"
    tab.press("Enter")
    assert explorer(tab)["play"] == "Play"
    tab.run("document.getElementById('explorer-measure').focus()")
    tab.press("ArrowDown")
    assert explorer(tab)["measure"] != start["measure"]
    assert tab.said == []


@pytest.mark.parametrize("width", [390, 1280])
def test_the_explorer_is_driven_by_the_mouse(tab: Tab, page_file: Path, width: int) -> None:
    opened(tab, page_file, width=width)
    tab.click("#explorer-time", across=0.25)
    left = explorer(tab)
    tab.click("#explorer-time", across=0.9)
    right = explorer(tab)
    assert left["value"] < 0.5 * left["max"] < right["value"]
    assert left["x"] < right["x"]
    tab.click("#explorer-play")
    assert explorer(tab)["play"] == "Pause"
    tab.click("#explorer-play")
    assert tab.said == []


def chosen(tab: Tab, name: str, value: object) -> dict[str, Any]:
    """Choose from one of the lists."""
    found = f"document.getElementById('explorer-{name}')"
    tab.run(f"{found}.value = '{value}'; {found}.dispatchEvent(new Event('change'))")
    return explorer(tab)


def test_choosing_pair_run_and_measure_redraws_on_a_phone(tab: Tab, page_file: Path) -> None:
    start = opened(tab, page_file, width=390)
    pair = chosen(tab, "pair", 5)
    run = chosen(tab, "run", 1)
    assert start["curve"] != pair["curve"] != run["curve"]
    assert "geodesic" in run["reading"]
    tab.run("document.getElementById('explorer-time').focus()")
    tab.press("End")
    assert "Accuracy of geodesic at t = 1.00: 100.0%" in chosen(tab, "measure", "accuracy")["reading"]


def test_a_pair_without_pictures_shows_none_of_another_pair(tab: Tab, crowded: Path) -> None:
    opened(tab, crowded)
    option = "#explorer-pair optgroup[label=\\'curves only\\'] option"
    chosen(tab, "pair", tab.run(f"document.querySelector('{option}').value"))
    assert tab.run("getComputedStyle(document.getElementById('explorer-stage')).display") == "none"


WAY = """(() => { const way = document.querySelector("figure.way"); return {
  reading: way.querySelector(".reading").textContent, picture: way.querySelector("canvas").toDataURL(),
  value: Number(way.querySelector("input").value), max: Number(way.querySelector("input").max) }; })()"""


def test_the_way_to_new_data_is_walked_by_keys(tab: Tab, crowded: Path) -> None:
    tab.look(1280)
    tab.open(crowded)
    new = tab.run(WAY)
    assert new["value"] == new["max"] == 8
    assert "At t = 1.00: carried labels agree on" in new["reading"]
    tab.run("document.querySelector('figure.way input').focus()")
    tab.press("Home")
    old = tab.run(WAY)
    assert "At t = 0.00" in old["reading"]
    assert old["picture"] != new["picture"]
    tab.press("ArrowRight")
    assert tab.run(WAY)["value"] == 1
    assert tab.said == []


def test_every_table_can_be_taken_as_markdown_and_csv(tab: Tab, crowded: Path) -> None:
    opened(tab, crowded, width=390)
    taken = tab.run(TAKE)
    head, *rows = csv.reader(taken["csv"].splitlines())
    assert taken["tools"] == taken["tables"] > 5
    shown = Page(crowded.read_text(encoding="utf-8")).tables[0]["rows"]
    assert head == shown[0]
    assert [row[0] for row in rows] == ["'" + NAMES[0], NAMES[1]]  # not a formula for a spreadsheet
    assert [row[1:] for row in rows] == [row[1:] for row in shown[1:]]
    assert taken["name"].endswith(".csv")
    lines = taken["markdown"].splitlines()
    assert lines[2].startswith("| =cmd\\|a-name")
    assert set(lines[1]) == set("|- ")
    text, label, live = taken["said"]
    assert (text, live) == ("Copied", "polite")
    assert label.startswith("Copied: How each run was trained")
    assert tab.said == []


def test_every_picture_has_words_for_a_screen_reader(tab: Tab, crowded: Path) -> None:
    tab.look(1280)
    tab.open(crowded)
    words = tab.run(WORDS)
    assert {tag.lower() for tag, _, _ in words} == {"svg", "img", "canvas"}
    assert [one for one in words if len(one[2]) < 20 or (one[0] == "svg" and one[1] != "img")] == []


def test_paper_holds_the_whole_page_as_text(tab: Tab, crowded: Path) -> None:
    tab.look(1280)
    tab.open(crowded)
    document = tab.paper()
    assert len(re.findall(rb"/Type\s*/Page\b", document)) > 1
    streams = re.findall(rb"stream\r?\n(.*?)\r?\nendstream", document, flags=re.DOTALL)
    drawn = [_inflated(one) for one in streams]
    assert sum(one.count(b" Tj") + one.count(b" TJ") for one in drawn) > 200  # lines of text, not a picture
    tab.look(718)  # what the margins leave of A4
    tab.call("Emulation.setEmulatedMedia", media="print", features=[])
    tab.run("dispatchEvent(new Event('beforeprint'))")
    seen = tab.run(WIDE)
    assert (seen["outside"], seen["stacked"]) == ([], 0)
    hidden = tab.run(
        "[...document.querySelectorAll('nav, .explorer, .tools')].map((e) => e.getClientRects().length)"
    )
    tab.call("Emulation.setEmulatedMedia", media="", features=[])
    assert set(hidden) == {0}, "what cannot be used on paper is left out"


def _inflated(stream: bytes) -> bytes:
    try:
        return zlib.decompress(stream)
    except zlib.error:
        return stream
