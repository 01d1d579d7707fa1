"""``wassermix demo``: the main job on the default data, from training to the report."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from rich.console import Console
from rich.table import Table

from wassermix.attacks.result import AttackResult
from wassermix.audit.result import PerformanceGeodesic
from wassermix.certify.result import Certificates
from wassermix.cli.attack import attack_target
from wassermix.cli.audit import audit_target
from wassermix.cli.certify import run_certify
from wassermix.cli.console import console, part_of, say
from wassermix.cli.drift import run_drift
from wassermix.cli.target import load_target
from wassermix.cli.train import train_with_progress
from wassermix.core.files import write_beside, write_text
from wassermix.core.intervals import compare_paired
from wassermix.core.streams import stream
from wassermix.core.whole import Whole
from wassermix.drift.result import read_result
from wassermix.drift.shifts import IMAGE_SHIFTS
from wassermix.engine.settings import build_config
from wassermix.recipes import load_recipe
from wassermix.report import write_report

__all__ = ["DEMO_RUNS", "run_demo"]

PASSES, SIGMA = 200_000, 0.5
DEMO_RUNS: dict[str, tuple[str, dict[str, Any]]] = {
    "plain": ("demo", {"method": "erm"}),
    "noise": ("demo", {"method": "gaussian", "sigma": SIGMA}),
    "recommended": ("best", {"sigma": SIGMA}),
}
"""Recipe and changes of each run: all train on the same digits for the same number of passes."""

IMAGES = "200"
RADII = (0.0, 0.5, 1.0, 1.25)
ATTACK = {"attack": "pgd", "norm": "l2", "eps": 1.0, "steps": 20, "images": 250}
CERTIFY = {"sigma": SIGMA, "mode": "grid", "n": 100_000, "radii": RADII}
AUDIT = {"points": 11, "per_class": 60, "sigma": 0.0}  # the networks themselves: one has no noise
SHIFT, STRENGTH = "fog", 2
DRIFT: dict[str, Any] = {}
NAME = "demo"
"""The name of every evaluation's output, but for that of the changed data: it is named after the change."""
JUDGED = ("attack", "certify", "audit", "drift")


def run_demo(out: Path, *, overwrite: bool) -> None:
    """Train, attack, certify, audit and put before changed data; what is done already is kept."""
    say("5,000 MNIST digits: a plain network, plain noise, and the recommended recipe, at equal passes")
    folders = [out / name for name in DEMO_RUNS]
    whole = Whole(["train"] * len(folders) + [*JUDGED] * len(folders))
    kept: dict[str, Any] = {"resume": not overwrite, "overwrite": overwrite}
    for folder, (recipe, changes) in zip(folders, DEMO_RUNS.values()):
        budget = {"data": "mnist5k", "budget": f"passes:{PASSES}", **changes}
        with part_of(whole):
            train_with_progress(build_config(load_recipe(recipe), budget), folder, **kept)
    changed = _changed_digits(out / f"{SHIFT}.npz", folders[0])
    for folder in folders:
        target = load_target(folder)
        with part_of(whole):
            attack_target(target, ATTACK, name=NAME, **kept)
        with part_of(whole):
            run_certify(target, CERTIFY, images=IMAGES, name=NAME, **kept)
        with part_of(whole):
            audit_target(target, AUDIT, name=NAME, **kept)
        with part_of(whole):
            new, files = {"data": str(changed), "score": True}, {"name": SHIFT, **kept}
            run_drift(folder, new, DRIFT, stream={}, files=files)
    found, sentence = _table(folders), _sentence(folders)
    write_report(folders, out / "report.html", lead=sentence)
    console.print(found)
    say(load_target(folders[0]).data.note)
    say(sentence)
    _write_summary(out / "summary.txt", found, sentence)
    say(f"the page: {(out / 'report.html').resolve()}")


def _write_summary(path: Path, found: Table, sentence: str) -> None:
    """The table and the sentence as the terminal shows them, for whoever asks later."""
    text = StringIO()
    Console(file=text, width=80, color_system=None).print(found, sentence, sep="\n")
    lines = (line.rstrip() for line in text.getvalue().splitlines())
    write_text(path, "\n".join(lines) + "\n")


def _changed_digits(path: Path, run: Path) -> Path:
    """The test digits under fog, with their labels, as a file that a user might have."""
    split = load_target(run).split
    rows = torch.arange(len(split))
    x = IMAGE_SHIFTS[SHIFT](split.get(rows), STRENGTH, stream(0, "demo", SHIFT)).clamp(0, 1)
    pixels = x.mul(255).round().to(torch.uint8).numpy()

    def write(beside: Path) -> None:
        with beside.open("wb") as file:
            np.savez_compressed(file, x=pixels, y=split.y.numpy())

    write_beside(path, write)
    return path


def _table(folders: list[Path]) -> Table:
    """What came out, one column per run, narrow enough for 80 characters."""
    table = Table(
        "",
        *(folder.name for folder in folders),
        title="Per cent of digits (but for unevenness)",
        title_justify="left",
    )
    rows: dict[str, list[str]] = {}
    for folder in folders:
        for name, cell in _cells(folder).items():
            rows.setdefault(name, []).append(cell)
    for name, cells in rows.items():
        table.add_row(name, *cells)
    return table


def _cells(folder: Path) -> dict[str, str]:
    attacked = AttackResult.read(folder / "attack" / f"{NAME}.json")
    certified = Certificates.read(folder / "certify" / f"{NAME}.tsv")
    audited = PerformanceGeodesic.read(folder / "audit" / f"{NAME}.json")
    drifted = read_result(folder / "drift" / f"{SHIFT}.json")
    cells = {
        "right": f"{attacked.clean.accuracy:.1%}",
        f"right under {attacked.title}": f"{attacked.robust.accuracy:.1%}",
    }
    for row in certified.certified_accuracy():
        cells[f"proved right within l2 {row.radius:g}"] = f"{row.accuracy:.1%}"
    cells["unevenness between classes"] = f"{np.mean([p.total_variation for p in audited.pairs]):.2f}"
    cells[f"under {SHIFT}: estimated without labels"] = f"{drifted.estimate.estimate:.1%}"
    cells[f"under {SHIFT}: truth"] = "-" if drifted.truth is None else f"{drifted.truth:.1%}"
    return cells


def _proved(certificates: Certificates, radius: float) -> npt.NDArray[np.bool_]:
    assert certificates.correct is not None
    found: npt.NDArray[np.bool_] = (certificates.correct & (certificates.radius >= radius)).numpy()
    return found


def _sentence(folders: list[Path]) -> str:
    """What the recommended recipe proves, against both other runs, with intervals."""
    plain, noise, best = (Certificates.read(folder / "certify" / f"{NAME}.tsv") for folder in folders)
    radius = RADII[-2]
    proved = _proved(best, radius)
    others = {"the plain network": plain, "plain noise": noise}
    words = [f"{_against(proved, _proved(other, radius))} {name}" for name, other in others.items()]
    return (
        f"At equal passes the recommended recipe proves {proved.mean():.0%} of the digits right within an "
        f"l2 distance of {radius:g}: {' and '.join(words)} (95% intervals, the same {len(best)} digits)."
    )


def _against(ours: npt.NDArray[np.bool_], theirs: npt.NDArray[np.bool_]) -> str:
    test = compare_paired(ours, theirs)
    if test.difference >= 0:
        return _points(test.difference, test.low, test.high, "more than")
    return _points(-test.difference, -test.high, -test.low, "fewer than")


def _points(difference: float, low: float, high: float, word: str) -> str:
    return f"{100 * difference:.1f} points ({100 * low:+.1f} to {100 * high:+.1f}) {word}"
