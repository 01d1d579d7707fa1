"""The page that says what an update of training costs, from results/training.json and results/update.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

PAGE = Path("docs/training-benchmark.md")
RESULTS = Path("results")
AIM = 1.9
"""How many times the bare loop's images/s on one thread were aimed at."""


def write_page() -> None:
    """Write the page, where both benchmarks have run."""
    files = [RESULTS / f"{name}.json" for name in ("training", "update")]
    if all(file.exists() for file in files):
        PAGE.write_text(page(*(json.loads(file.read_text()) for file in files)))


def page(training: dict[str, Any], update: dict[str, Any]) -> str:
    """Markdown: our loop beside a bare one, what was tried in an update, and where the limit is."""
    groups = update["milliseconds"]
    parts = [
        "# What an update costs",
        f"torch {update['torch']}, {update['processor']} ({update['machine']}). Written by "
        "`python -m benchmarks training update` from `results/training.json` and `results/update.json`.",
        beside_bare(training),
        "## What was tried",
        f"Milliseconds of processor time on one thread, batches of {update['batch']}.",
        tried_table(groups),
        f"Two threads against one for one such update, by the clock: {threads(update['two_threads'])}.",
        "## Where the limit is",
        limit(groups),
    ]
    return "\n\n".join(parts) + "\n"


def beside_bare(training: dict[str, Any]) -> str:
    """Our loop beside a bare one, on one thread and on two."""
    rows = {row["threads"]: row for row in training["rows"]}
    native = {True: "has", False: "does not have", None: "may have"}[training["bfloat16"]]
    return (
        f"LeNet with Gaussian noise trains {rows[1]['training_ratio']:.2f} times as fast as a bare loop in "
        f"PyTorch's default memory layout on one thread, and {rows[2]['training_ratio']:.2f} times on two, "
        f"metrics and checkpoints included ([images/s](results.md)). The aim was {AIM} on one thread. With "
        f"`precision=bfloat16` it is {rows[1]['half_ratio']:.2f} and {rows[2]['half_ratio']:.2f} times on "
        f"this processor, which {native} products in bfloat16 of its own (`wassermix doctor` tells of "
        "yours; one without them is many times slower in it)."
    )


def tried_table(groups: dict[str, dict[str, float]]) -> str:
    head = "| what | how | ms |\n|---|---|---|"
    lines = [
        f"| {group} | {name} | {value:.2f} |"
        for group, found in groups.items()
        for name, value in found.items()
    ]
    return "\n".join([head, *lines])


def threads(gains: dict[str, float]) -> str:
    return ", ".join(f"{name} {gain:.2f}x" for name, gain in gains.items())


def limit(groups: dict[str, dict[str, float]]) -> str:
    """What is left: mostly the two convolutions' forward products, which are PyTorch's."""
    stages = [groups[f"{which} stage, lenet"] for which in ("first", "second")]
    whole = groups["update, lenet"]["ours"]
    forward = sum(stage["its convolution alone, forward"] for stage in stages)
    own, plain = (_gradients(stages, name) for name in ("ours", "PyTorch's layers"))
    return (
        "LeNet's stages are one operation each: a convolution, pooling and ReLU. Pooling passes one place of "
        "four on and ReLU cuts some of these, so that most of the convolution's gradient is zero, and ours "
        f"skips it. The three gradients of stages that an update needs take {own:.1f} ms by ours and "
        f"{plain:.1f} by PyTorch's layers, with fresh weights. Of the {whole:.1f} ms of an update the two "
        f"convolutions' forward products, which are PyTorch's, take {forward:.1f}."
    )


def _gradients(stages: list[dict[str, float]], name: str) -> float:
    """The weights' gradient of both stages and the second one's towards its inputs."""
    return stages[1][f"gradient of the image, {name}"] + sum(
        stage[f"gradient of the weights, {name}"] for stage in stages
    )
