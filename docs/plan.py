"""The tables of the plan for many GPUs in docs/scale.md, from what the benchmarks measured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from wassermix.models import build_model

BEGIN = "<!-- plan: made by docs/make.py from results/certify.json and the models -->"
END = "<!-- end of plan -->"
WORKERS, IMAGES = 1000, 10_000
MODELS = {
    "lenet": ((1, 28, 28), 10),
    "resnet20": ((3, 32, 32), 10),
    "resnet110": ((3, 32, 32), 10),
    "preact_resnet18": ((3, 64, 64), 200),
}
"""Model -> the samples and classes that its tables have."""


def plan_page(page: str, results: Path) -> str:
    """The page with its tables made anew."""
    record = json.loads((results / "certify.json").read_text(encoding="utf-8"))
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    tables = [*certification_table(record), "", *ranks_line(results / "ranks.json"), *network_table()]
    return f"{before}{BEGIN}\n" + "\n".join(tables) + f"\n{END}{after}"


def certification_table(record: dict[str, Any]) -> list[str]:
    """Draws per image as measured, and what a test set of 10,000 costs at the measured speed of a core."""
    rate = record["speed"]["draws_per_second"]["eager"]
    lines = [
        f"Measured (`results/certify.json`): LeNet on {record['data']}, N = {record['n']:,}, alpha "
        f"{record['alpha']:g}, one core of {record['machine']['processor']} at {rate:,.0f} draws/s (eager). "
        "Other measurements of ours on such cores gave down to 7,000: measure yours by `--dry-run`.",
        "",
        f"| sigma | rule | draws per image | {IMAGES:,} images on one core | on {WORKERS:,} such cores |",
        "|---|---|---|---|---|",
    ]
    for row in record["rows"]:
        for rule, draws in (("grid", row["draws_mean"]), ("fixed", record["n"] + 100)):
            hours = IMAGES * draws / rate / 3600
            lines.append(
                f"| {row['sigma']:g} | `{rule}` | {draws:,.0f} | {hours:.1f} h | "
                f"{3600 * hours / WORKERS:.0f} s |"
            )
    return lines


def ranks_line(file: Path) -> list[str]:
    """What a second process gained where it was measured."""
    if not file.exists():
        return []
    record = json.loads(file.read_text(encoding="utf-8"))
    training, certification = (record[kind]["ratio"] for kind in ("training", "certification"))
    return [
        f"Two processes of one thread against one (`python -m benchmarks ranks`, {record['processor']}): "
        f"{certification:.2f} times the draws/s in certification, {training:.2f} times the images/s in "
        f"training (LeNet, the same {record['training']['batch']} images for each update; one run of each, "
        "so a ratio above 2 is the noise of the clock).",
        "",
    ]


def network_table() -> list[str]:
    """What data-parallel training sends for each update."""
    lines = [
        f"Computed from the models: bytes that each of G = {WORKERS:,} processes sends for one update.",
        "",
        "| model | parameters P | gradients, `2 (G - 1) / G * 4 P` | buffers, once from rank 0 |",
        "|---|---|---|---|",
    ]
    for name, (shape, classes) in MODELS.items():
        model = build_model(name, shape=shape, num_classes=classes)
        parameters = sum(tensor.numel() for tensor in model.parameters())
        buffers = sum(tensor.numel() * tensor.element_size() for tensor in model.buffers())
        sent = 2 * (WORKERS - 1) / WORKERS * 4 * parameters
        lines.append(f"| `{name}` | {parameters:,} | {sent / 1e6:.1f} MB | {buffers:,} B |")
    return lines
