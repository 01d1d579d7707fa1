"""The page in a real browser: the slider moves the marker, keys work, pictures change, nothing fails."""

from __future__ import annotations

import csv
import json
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from report.pages import Page
from report.synthetic_runs import write_audit, write_run
from wassermix.report import write_report
from wassermix.report.page import script_hash

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
LISTEN = """window.failures = [];
addEventListener("error", (event) => failures.push(event.message));
addEventListener("securitypolicyviolation", (event) => failures.push(event.violatedDirective));
"""
DRIVE = """const find = (name) => document.getElementById("explorer-" + name);
const state = () => ({
  x: Number(find("marker").getAttribute("cx")), y: Number(find("marker").getAttribute("cy")),
  reading: find("reading").textContent, spoken: find("time").getAttribute("aria-valuetext"),
  picture: find("stage").toDataURL(), curve: find("chart").querySelector(".chosen").getAttribute("d"),
});
const set = (name, value, kind) => {
  find(name).value = value;
  find(name).dispatchEvent(new Event(kind));
  return state();
};
const take = async () => {
  const taken = {};
  const writeText = async (text) => { taken.markdown = text; };
  Object.defineProperty(navigator, "clipboard", { value: { writeText } });
  URL.createObjectURL = (blob) => { taken.blob = blob; return "#"; };
  HTMLAnchorElement.prototype.click = function () { taken.name = this.download; };
  const [markdown, csv] = document.querySelectorAll(".tools button");
  markdown.click();
  csv.click();
  return { markdown: taken.markdown, csv: await taken.blob.text(), name: taken.name,
    tables: document.querySelectorAll("table").length, tools: document.querySelectorAll(".tools").length };
};
addEventListener("load", () => setTimeout(async () => {
  const seen = { start: state(), runs: find("run").length, pairs: find("pair").length };
  seen.left = set("time", 0, "input");
  seen.right = set("time", find("time").max, "input");
  seen.otherPair = set("pair", 5, "change");
  const without = find("pair").querySelector("optgroup[label='curves only'] option");
  if (without) {
    set("pair", without.value, "change");
    seen.curvesOnly = getComputedStyle(find("stage")).display;
  }
  seen.otherRun = set("run", 1, "change");
  seen.accuracy = set("measure", "accuracy", "change");
  seen.wide = document.documentElement.scrollWidth > innerWidth;
  seen.taken = await take();
  seen.failures = failures;
  const note = document.createElement("pre");
  note.id = "seen";
  note.textContent = JSON.stringify(seen);
  document.body.append(note);
}, 50));
"""


def visit(page: Path, folder: Path, *, width: int) -> dict[str, Any]:
    """Open the page with two scripts added, and return what they saw."""
    driven = folder / "driven.html"
    text = page.read_text(encoding="utf-8")
    ours = " ".join(f"'{script_hash(script)}'" for script in (LISTEN, DRIVE))
    text = text.replace("script-src ", f"script-src {ours} ", 1)
    text = text.replace("<title>", f"<script>\n{LISTEN}</script><title>", 1)
    driven.write_text(text.replace("</body>", f"<script>\n{DRIVE}</script></body>"), encoding="utf-8")
    options = [*FLAGS, f"--user-data-dir={folder / 'profile'}", f"--window-size={width},900"]
    command = [str(CHROMIUM), *options, "--virtual-time-budget=2000", "--dump-dom", driven.as_uri()]
    dom = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    found = re.search(r'<pre id="seen">(.*?)</pre>', dom, re.DOTALL)
    assert found, "the page's script did not finish"
    seen: dict[str, Any] = json.loads(unescape(found.group(1)))
    return seen


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")
def test_slider_moves_marker_pictures_and_words(page_file: Path, tmp_path: Path) -> None:
    seen = visit(page_file, tmp_path, width=1200)
    assert seen["failures"] == []
    assert (seen["runs"], seen["pairs"]) == (2, 12)
    assert seen["left"]["x"] < seen["start"]["x"] < seen["right"]["x"]
    assert seen["start"]["y"] < seen["left"]["y"]  # the synthetic loss peaks in the middle; up is smaller y
    assert "t = 0.00: 0.020" in seen["left"]["reading"]
    assert seen["left"]["picture"] != seen["right"]["picture"]
    assert "says another 0%" in seen["right"]["spoken"]


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")
def test_every_table_can_be_taken_as_markdown_and_csv(tmp_path: Path) -> None:
    runs = [write_run(tmp_path / name, images=40) for name in ("=cmd|x", 'a, "b"')]
    write_report(runs, tmp_path / "report.html")
    seen = visit(tmp_path / "report.html", tmp_path, width=390)
    taken, (head, *rows) = seen["taken"], csv.reader(seen["taken"]["csv"].splitlines())
    assert taken["tools"] == taken["tables"] > 5
    shown = Page((tmp_path / "report.html").read_text(encoding="utf-8")).tables[0]["rows"]
    assert head == shown[0]
    assert [row[0] for row in rows] == ["'=cmd|x", 'a, "b"']  # not a formula for a spreadsheet
    assert [row[1:] for row in rows] == [row[1:] for row in shown[1:]]
    assert taken["name"].endswith(".csv")
    lines = taken["markdown"].splitlines()
    assert lines[2].startswith("| =cmd\\|x | ")
    assert set(lines[1]) == set("|- ")
    assert seen["failures"] == []
    assert not seen["wide"], "the page scrolls sideways"


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")
def test_choosing_pair_run_and_measure_redraws_on_a_phone(page_file: Path, tmp_path: Path) -> None:
    seen = visit(page_file, tmp_path, width=500)
    assert seen["failures"] == []
    assert seen["otherPair"]["curve"] != seen["right"]["curve"]
    assert seen["otherRun"]["curve"] != seen["otherPair"]["curve"]
    assert "geodesic" in seen["otherRun"]["reading"]
    assert "Accuracy of geodesic at t = 1.00: 100.0%" in seen["accuracy"]["reading"]
    assert not seen["wide"], "the page scrolls sideways"


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")
def test_a_pair_without_pictures_shows_none_of_another_pair(tmp_path: Path) -> None:
    runs = [tmp_path / "one", tmp_path / "two"]
    for run in runs:
        write_run(run)
        write_audit(run, half=True)
    write_report(runs, tmp_path / "report.html")
    assert visit(tmp_path / "report.html", tmp_path, width=1200)["curvesOnly"] == "none"
