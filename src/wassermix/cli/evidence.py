"""``wassermix evidence``: a bundle of model, results and judged samples that another person can check."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from wassermix.cli.console import say
from wassermix.cli.target import load_target
from wassermix.core.fingerprint import fingerprint
from wassermix.engine.build import inputs_of
from wassermix.engine.target import run_model
from wassermix.evidence import left_out, write_evidence
from wassermix.report import write_report

__all__ = ["run_evidence"]


def run_evidence(
    run: Path, out: Path, *, split: str = "test", trust: bool = False, samples: bool = True
) -> dict[str, Any]:
    """Write the bundle, with or without the judged samples, and say how to check it."""
    target = load_target(run, split=split, trust=trust)
    inputs, models = inputs_of(target.data), [fingerprint(target.model)]
    if (run / "last.safetensors").exists():
        models.append(fingerprint(run_model(run, inputs, last=True, trust=trust)))
    about = {**target.about(), "model": models[0], "inputs": asdict(inputs)}
    others = left_out(run, about, models=models)
    written = write_evidence(
        run,
        out,
        samples=target.split,
        about=about,
        page=lambda folder, file: write_report([folder], file),
        keep_samples=samples,
        models=models,
    )
    for name, why in others.items():
        say(f"left out: {name}, {why}")
    say(f"evidence: {written}")
    replayed = " --replay 20" if samples else ""
    without = "without the training data" if samples else "and with the data set, --data, also --replay"
    say(f"`wassermix verify {written}{replayed}` checks it, on any machine, {without}")
    return {"evidence": written, "left_out": others}
