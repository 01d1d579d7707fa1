"""``wassermix evidence``: a bundle of model, results and judged samples that another person can check."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from wassermix.cli.console import say
from wassermix.cli.target import load_target
from wassermix.core.fingerprint import fingerprint
from wassermix.evidence import write_evidence
from wassermix.report import write_report

__all__ = ["run_evidence"]


def run_evidence(run: Path, out: Path, *, split: str = "test", trust: bool = False) -> dict[str, Any]:
    """Write the bundle and say how to check it."""
    target = load_target(run, split=split, trust=trust)
    about = {**target.about(), "model": fingerprint(target.model)}
    written = write_evidence(
        run, out, samples=target.split, about=about, page=lambda folder, file: write_report([folder], file)
    )
    say(f"evidence: {written}")
    if written.suffix != ".zip":
        say(f"`wassermix verify {written}` checks it, on any machine, without the training data")
    return {"evidence": written}
