"""``wassermix demo``: the main job on the default data, from training to the report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from wassermix.cli.attack import attack_target
from wassermix.cli.audit import audit_target
from wassermix.cli.certify import run_certify
from wassermix.cli.console import say
from wassermix.cli.report import run_report
from wassermix.cli.target import load_target
from wassermix.cli.train import train_with_progress
from wassermix.engine.settings import build_config
from wassermix.recipes import load_recipe

__all__ = ["DEMO_RUNS", "run_demo"]

UPDATES = 1500
DEMO_RUNS: dict[str, dict[str, Any]] = {
    "gaussian": {"updates": UPDATES},
    "gaussian+geodesic": {"updates": UPDATES, "augment": "geodesic"},
}
"""Both train on the same data with the same number of updates; only the augmentation differs."""

DRAWS, IMAGES = 2000, "500"
ATTACK = {"attack": "pgd", "norm": "l2", "eps": 1.0, "steps": 20, "images": IMAGES}


def run_demo(out: Path, *, overwrite: bool) -> None:
    """Train both, attack, certify and audit them, and write the page; what is done already is kept."""
    say("5,000 MNIST digits: a noise baseline and the geodesic method, with equal updates")
    folders = [out / name for name in DEMO_RUNS]
    for folder, overrides in zip(folders, DEMO_RUNS.values()):
        config = build_config(load_recipe("demo"), overrides)
        train_with_progress(config, folder, resume=not overwrite, overwrite=overwrite)
    for folder in folders:
        target = load_target(folder)
        attack_target(target, ATTACK, resume=not overwrite, overwrite=overwrite)
        run_certify(target, {"n": DRAWS}, images=IMAGES, resume=not overwrite, overwrite=overwrite)
        audit_target(target, {}, resume=not overwrite, overwrite=overwrite)
    say(load_target(folders[0]).data.note)
    run_report(folders, out / "report.html")
