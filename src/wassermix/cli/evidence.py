"""``wassermix evidence``: a bundle of model, results and judged samples that another person can check."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from wassermix.cli.console import say
from wassermix.cli.target import load_target
from wassermix.core.fingerprint import fingerprint
from wassermix.engine.build import inputs_of
from wassermix.evidence import write_evidence
from wassermix.report import write_report

__all__ = ["run_evidence"]


def run_evidence(
    run: Path, out: Path, *, split: str = "test", trust: bool = False, samples: bool = True
) -> dict[str, Any]:
    """Write the bundle, with or without the judged samples, and say how to check it."""
    target = load_target(run, split=split, trust=trust)
    inputs = asdict(inputs_of(target.data))
    written = write_evidence(
        run,
        out,
        samples=target.split,
        about={**target.about(), "model": fingerprint(target.model), "inputs": inputs},
        page=lambda folder, file: write_report([folder], file),
        keep_samples=samples,
    )
    say(f"evidence: {written}")
    replayed = " --replay 20" if samples else ""
    without = "without the training data" if samples else "and with the data set, --data, also --replay"
    say(f"`wassermix verify {written}{replayed}` checks it, on any machine, {without}")
    return {"evidence": written}
