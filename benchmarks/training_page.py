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
        f"Two threads against one, by the clock: {threads(update['two_threads'])}.",
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
    """What no loop around LeNet can save: the three products of its second convolution."""
    second, whole = groups["second convolution, lenet"], groups["update, lenet"]["channels last (ours)"]
    product = "one product of matrices with as many operations"
    own = [value for name, value in second.items() if name != product]
    return (
        f"The second convolution's three products take {sum(own):.1f} ms of LeNet's {whole:.1f}, each "
        f"{min(own):.1f} to {max(own):.1f}; one product of matrices with as many operations takes "
        f"{second[product]:.1f}. A faster loop around the network cannot shorten them."
    )
