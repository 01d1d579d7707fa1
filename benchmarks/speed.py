"""Draws per second of certification against the *best* plain loop, on each core.

One thread, pinned to one core after the other; the range over the cores is printed. What a plain loop does
(copies of an image plus noise, a forward, a count) is measured in both memory layouts and four batches, and
the fastest is the peer. ``python -m benchmarks speed`` writes results/speed.json and the page again;
``python -m benchmarks.speed --compile`` times the compiled model too.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.certify_page import page
from wassermix.certify import certify
from wassermix.certify.settings import BLOCK
from wassermix.certify.votes import compiler_exists
from wassermix.core.machine import processor_name
from wassermix.models import build_model

RESULT, COSTS, PAGE = (
    Path("results/speed.json"),
    Path("results/certify.json"),
    Path("docs/certify-benchmark.md"),
)
SIGMA, DRAWS, ROUNDS = 0.5, 6_400, 3
BATCHES = (128, 256, 512, 1000)
LAYOUTS = {"default": torch.contiguous_format, "channels last": torch.channels_last}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--compile", action="store_true", help="time the compiled model too: minutes more")
    compiled = parser.parse_args().compile
    torch.set_num_threads(1)
    model = build_model("lenet", shape=(1, 28, 28), num_classes=10).eval()
    x = (torch.rand(1, 1, 28, 28, generator=torch.Generator().manual_seed(0)) * 255).round() / 255
    rates: dict[str, list[float]] = {}
    cores = sorted(os.sched_getaffinity(0))
    for core in cores:
        os.sched_setaffinity(0, {core})
        for name, act in ways(model, x, compiled=compiled).items():
            rates.setdefault(name, []).append(median_rate(act))
            print(f"core {core}, {name}: {rates[name][-1]:,.0f} draws/s", flush=True)
    os.sched_setaffinity(0, cores)
    RESULT.write_text(json.dumps(summary(rates), indent=1) + "\n")
    PAGE.write_text(page(json.loads(COSTS.read_text()), json.loads(RESULT.read_text())))


def ways(model: nn.Module, x: Tensor, *, compiled: bool) -> dict[str, Callable[[], object]]:
    """Everything that is timed, by name."""
    found: dict[str, Callable[[], object]] = {
        f"plain, {layout}, batches of {batch}": partial(plain, model, x, batch, memory)
        for layout, memory in LAYOUTS.items()
        for batch in BATCHES
    }
    for backend in ("eager", *(["compile"] if compiled and compiler_exists() else [])):
        for sampler in ("gaussian", "exact"):
            for batch in (256, 512):
                name = f"ours, {backend}, {sampler} noise, batches of {batch}"
                found[name] = partial(ours, model, x, batch, backend=backend, sampler=sampler)
    return found


def median_rate(act: Callable[[], object]) -> float:
    """Draws per second: the median of some rounds, after one that warms up."""
    act()
    taken = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        act()
        taken.append(time.perf_counter() - started)
    return DRAWS / statistics.median(taken)


def plain(model: nn.Module, x: Tensor, batch: int, memory: torch.memory_format) -> Tensor:
    """The loop that one would write."""
    net = model.to(memory_format=memory)
    counts = torch.zeros(10, dtype=torch.int64)
    with torch.no_grad():
        for start in range(0, DRAWS, batch):
            copies = x.repeat(min(batch, DRAWS - start), 1, 1, 1)
            noisy = (copies + torch.randn_like(copies) * SIGMA).contiguous(memory_format=memory)
            counts += torch.bincount(net(noisy).argmax(1), minlength=10)
    return counts


def ours(model: nn.Module, x: Tensor, batch: int, *, backend: Any, sampler: str) -> None:
    n = DRAWS - BLOCK
    certify(model, x, sigma=SIGMA, n0=BLOCK, n=n, batch_size=batch, backend=backend, sampler=sampler)


def summary(rates: dict[str, list[float]]) -> dict[str, Any]:
    """The rates by name and core, the best plain loop of each core, and the ratios to it."""
    cores = range(len(next(iter(rates.values()))))
    best = [max(rate[core] for name, rate in rates.items() if name.startswith("plain")) for core in cores]
    ratio = {
        name: [rate[core] / best[core] for core in cores]
        for name, rate in rates.items()
        if name.startswith("ours")
    }
    return {
        "processor": processor_name(),
        "torch": torch.__version__,
        "sigma": SIGMA,
        "rates": rates,
        "ratio": ratio,
    }


if __name__ == "__main__":
    main()
