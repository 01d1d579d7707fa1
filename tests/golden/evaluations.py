"""The evaluations of one trained run: certificates, attacks, audits, an augmented set, a table, the page."""

from __future__ import annotations

import csv
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from golden.trainings import COMMON, JUDGED, train
from golden.workspace import Workspace

__all__ = ["ATTACKS", "AUDITS", "AUGMENTED", "CERTIFIED", "attack", "audit", "augment", "certify"]
__all__ += ["components", "options", "page", "table"]

CERTIFIED: dict[str, tuple[str, ...]] = {
    "fixed": ("--mode", "fixed"),
    "grid": ("--mode", "grid"),
    "tolerance": ("--mode", "tolerance", "--tolerance", "0.15"),
    "deployment": ("--mode", "grid", "--deployment", "--radii", "0,0.5,1.0", "--seed", "1"),
}
ATTACKS: dict[str, tuple[str, ...]] = {
    "fgsm": ("--attack", "fgsm", "--eps", "0.2"),
    "pgd-linf": ("--attack", "pgd", "--eps", "40/255", "--steps", "5"),
    "pgd-l2": ("--norm", "l2", "--eps", "1.5", "--steps", "4", "--restarts", "2", "--loss", "margin"),
    "smoothed": ("--attack", "smoothed", "--norm", "l2", "--eps", "1.5", "--steps", "2"),
    "geodesic": ("--attack", "geodesic"),
}
AUDITS: dict[str, tuple[str, ...]] = {
    "pairs": ("--pairs", "0-1,2-3", "--points", "5", "--sigma", "0"),
    "smoothed-pair": ("--pairs", "0-3", "--points", "3", "--sigma", "0.25", "--draws", "4"),
    "classes": ("--classes", "0-1-2", "--points", "4", "--sigma", "0"),
}
AUGMENTED: dict[str, tuple[str, ...]] = {
    "random": ("augment.pairing=transport", "embed=pca", "embed.size=8", "augment.ratio=0.5"),
    "worst": ("augment.pairing=transport", "embed=pca", "embed.size=8", "augment.ratio=0.25"),
}
TABLE = {
    "title": "Two rows",
    "recipe": "demo",
    "seeds": [0, 1],
    "certify": {"n": 200, "images": 15},
    "attacks": [{"attack": "pgd", "norm": "l2", "eps": 0.5, "steps": 3, "images": 15}],
    "audit": {"points": 3, "per_class": 8, "sigma": 0.0},
    "control": "plain",
    "rows": {"plain": {}, "mixed up": {"augment": "mixup", "optimizer.lr": 0.01}},
}
COUNTED = ("p_a", "certified", "acr", "draws", "saving", "abstained")
"""What a certification's summary counts from its rows; all else in it are settings."""
COMMANDS = ("demo", "train", "certify", "attack", "verify", "audit", "augment", "report", "reproduce")
PASSING = {"version", "seconds", "minutes", "model", "fingerprint", "digest", "time", "message"}
"""Keys that differ between machines, versions or moments."""


def _judged(work: Workspace) -> Path:
    return train(work, "judged", JUDGED)


def certify(work: Workspace, name: str) -> dict[str, Any]:
    """Every column of the log but the time, and the summary."""
    run = _judged(work)
    work.run("certify", run, *CERTIFIED[name], "--n", 1000, "--images", 15, "--name", name)
    with (run / "certify" / f"{name}.tsv").open() as log:
        rows = [_without(row) for row in csv.DictReader(log, delimiter="\t")]
    summary = _without(json.loads((run / "certify" / f"{name}.json").read_text()))
    results = {key: summary.pop(key) for key in COUNTED if key in summary}
    return {"exact": summary, "numbers": results, "rows": [_numbers(row) for row in rows]}


def attack(work: Workspace, name: str) -> dict[str, Any]:
    """The flags of each image, and every parameter."""
    run = _judged(work)
    work.run("attack", run, *ATTACKS[name], "--images", "all", "--name", name)
    found = _without(json.loads((run / "attack" / f"{name}.json").read_text()))
    checks, flags = found.pop("checks"), found.pop("per_image")
    flags |= {"flip_t": found.pop("flip_t")} if "flip_t" in found else {}
    results = {key: found.pop(key) for key in ("clean", "robust", "curve") if key in found}
    return {
        "exact": {**found, "checks": [check["name"] for check in checks]},
        "numbers": results,
        "rows": [dict(zip(flags, values)) for values in zip(*flags.values())],
    }


def audit(work: Workspace, name: str) -> dict[str, Any]:
    """Losses and shares along each path, and every parameter."""
    run = _judged(work)
    work.run("audit", run, *AUDITS[name], "--name", name)
    folder = run / "audit" / "simplex" if name == "classes" else run / "audit"
    found = _without(json.loads((folder / f"{name}.json").read_text()))
    results = {key: value for key, value in found.items() if key not in ("parameters", "data", "split")}
    return {"exact": {key: found[key] for key in ("parameters", "data", "split")}, "numbers": results}


def augment(work: Workspace, name: str) -> dict[str, Any]:
    """Each new sample: its classes, time and labels, and its image in short."""
    out, words = work.folder / f"{name}.npz", AUGMENTED[name]
    under = ("--run", _judged(work)) if name == "worst" else ()
    work.run("augment", work.data, *words, "seed=2", "--out", out, *under)
    with np.load(out) as made:
        short = {key: made[key] for key in ("class0", "class1", "t", "y")}
        x = made["x"].reshape(len(made["x"]), -1).astype(np.float64)
        about = {key: [list(made[key].shape[1:]), str(made[key].dtype)] for key in sorted(made.files)}
    short |= {"mean": x.mean(1), "norm": np.linalg.norm(x, axis=1), "entry": x[:, 100]}
    rows = [dict(zip(short, (value.tolist() for value in values))) for values in zip(*short.values())]
    return {"exact": about, "rows": rows}


def table(work: Workspace) -> dict[str, Any]:
    """The record of a table: its plan to the letter, its results."""
    found = _without(json.loads(_reproduced(work).read_text()))
    results = {key: found.pop(key) for key in ("results", "against_control", "against_rows")}
    smooth = {name: row["total_variation"] for name, row in results["results"].items()}
    return {
        "exact": json.loads(work.anonymous(json.dumps(found))),
        "close": smooth,  # no image that changes sides moves it
        "numbers": results,
    }


def _reproduced(work: Workspace) -> Path:
    plan, runs, results = (work.folder / name for name in ("tiny.yaml", "tables", "results"))
    common = {key: yaml.safe_load(value) for key, _, value in (word.partition("=") for word in COMMON)}
    del common["seed"]
    plan.write_text(yaml.safe_dump({**TABLE, "common": {**common, "data": str(work.data), "epochs": 4}}))
    work.run("reproduce", plan, "--out", runs, "--results", results)
    return results / "tiny.json"


def page(work: Workspace) -> dict[str, Any]:
    """The words of a report on three runs with the numbers between them, and the keys that it lists.

    The last section lists every parameter, the seconds among them: there only the words are recorded.
    """
    _reproduced(work)
    for name in CERTIFIED:
        certify(work, name)
    for name in ATTACKS:
        attack(work, name)
    for name in AUDITS:
        audit(work, name)
    runs = [work.folder / "tables" / "tiny" / row / "seed0" for row in ("plain", "mixed-up")]
    out = work.folder / "report.html"
    work.run("report", _judged(work), *runs, "--out", out)
    reader = _Visible()
    reader.feed(out.read_text(encoding="utf-8"))
    texts = [FINGERPRINT.sub("fingerprint", work.anonymous(text)) for text in reader.texts]
    listing = len(texts) - texts[::-1].index("Every parameter")
    told = texts[:listing]
    return {
        "told": [_split(text) for text in told],
        "kept": [NUMBER.sub("#", text) for text in texts[listing:]],
    }


FINGERPRINT = re.compile(r"(?<!\w)[0-9a-f]{12,}(?!\w)")
NUMBER = re.compile(r"(?<![\w.])\d+(?:,\d{3})*(?:\.\d+)?(?:e[-+]?\d+)?")


def _split(text: str) -> list[Any]:
    """A text with ``#`` for its numbers, and the numbers."""
    return [NUMBER.sub("#", text), [float(found.replace(",", "")) for found in NUMBER.findall(text)]]


class _Visible(HTMLParser):
    """What a page says: neither scripts nor styles, and of pictures only the words."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self._inside = {"script": 0, "style": 0, "svg": 0, "time": 0}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in self._inside:
            self._inside[tag] += 1

    def handle_endtag(self, tag: str) -> None:
        if tag in self._inside:
            self._inside[tag] -= 1

    def handle_data(self, data: str) -> None:
        text = " ".join(data.split())
        hidden = self._inside["script"] or self._inside["style"] or self._inside["time"]
        tick = self._inside["svg"] and not re.search("[a-zA-Z]", text)  # matplotlib's choice
        if text and not hidden and not tick:
            self.texts.append(text)


def options(work: Workspace) -> dict[str, Any]:
    """Every command's options with the defaults that its help shows."""
    return {"exact": {name: _listed(work.run(name, "--help")) for name in COMMANDS}}


def components(work: Workspace) -> dict[str, Any]:
    """The options of every method, augmenter, regulariser and embedding, with their defaults."""
    listed = re.split(r"^(?=\w+=[\w-]+(?: |$))", work.run("methods"), flags=re.MULTILINE)
    return {"exact": {entry.split()[0]: _defaults(entry) for entry in listed if "options:" in entry}}


def _defaults(entry: str) -> dict[str, str]:
    words = " ".join(entry.partition("options:")[2].partition("reference:")[0].split())
    return dict(re.findall(r"(\w+)=(.*?)(?= \w+=|$)", words))


def _listed(shown: str) -> dict[str, str | None]:
    found = {}
    for line in shown.splitlines():
        words = re.match(r"\W*(--[a-z][a-z0-9-]*)", line)
        default = re.search(r"\[default: ([^\]]*)\]", line)
        if words and words[1] != "--help":
            found[words[1]] = default[1] if default else None
    return found


def _without(found: Any) -> Any:
    """The same without what passes, at any depth."""
    if isinstance(found, dict):
        return {key: _without(value) for key, value in found.items() if key not in PASSING}
    return [_without(value) for value in found] if isinstance(found, list) else found


def _numbers(row: dict[str, str]) -> dict[str, Any]:
    return {key: value if key == "mode" else float(value) for key, value in row.items()}
