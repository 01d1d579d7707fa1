"""Draws per second of certification against the *best* plain loop, on each core.

One thread, pinned to one core after the other; the range over the cores is printed. What a plain loop does
(copies of an image plus noise, a forward, a count) is measured in both memory layouts and four batches, and
the fastest is the peer; all ways are timed in turn, round after round. Two bounds stand beside them: the
forward alone, without noise and counting, and a product of matrices. ``python -m benchmarks speed``
writes results/speed.json and the page again; with ``--compile`` the compiled model is timed too.
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
from torch.utils.flop_counter import FlopCounterMode

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
SIGMA, DRAWS, ROUNDS = 0.5, 6_400, 5
BATCHES = (128, 256, 512, 1000)
SIDE = 1024
"""Of the square matrices whose product is the yardstick."""
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
        for name, rate in median_rates(ways(model, x, compiled=compiled)).items():
            rates.setdefault(name, []).append(rate)
            print(f"core {core}, {name}: {rate:,.0f} draws/s", flush=True)
    os.sched_setaffinity(0, cores)
    RESULT.write_text(json.dumps(summary(rates, flops(model, x)), indent=1) + "\n")
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
    for batch in (128, 256, 512):
        found[f"{FORWARD}, batches of {batch}"] = partial(forward_alone, model, x, batch)
    found[PRODUCT] = product
    return found


FORWARD, PRODUCT = "forward alone, channels last", "product of matrices"


def median_rates(acts: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Draws per second of each: the median over rounds in which all take turns, after one that warms up."""
    taken: dict[str, list[float]] = {name: [] for name in acts}
    for act in acts.values():
        act()
    for _ in range(ROUNDS):
        for name, act in acts.items():
            started = time.perf_counter()
            act()
            taken[name].append(time.perf_counter() - started)
    return {name: DRAWS / statistics.median(times) for name, times in taken.items()}


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


def forward_alone(model: nn.Module, x: Tensor, batch: int) -> None:
    """What no loop around the model can do without."""
    rows = x.repeat(batch, 1, 1, 1).contiguous(memory_format=torch.channels_last)
    net = model.to(memory_format=torch.channels_last)
    with torch.inference_mode():
        for start in range(0, DRAWS, batch):
            net(rows[: DRAWS - start])


def product() -> Tensor:
    left = torch.ones(SIDE, SIDE)
    return left @ left


def flops(model: nn.Module, x: Tensor) -> int:
    """Floating-point operations of one draw's forward."""
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        model(x)
    return int(counter.get_total_flops())


def summary(rates: dict[str, list[float]], operations: int) -> dict[str, Any]:
    """The rates by name and core, the best plain loop of each core, the ratios to it, and the two bounds."""
    cores = range(len(next(iter(rates.values()))))
    best, bound = (
        [max(rate[core] for name, rate in rates.items() if name.startswith(kind)) for core in cores]
        for kind in ("plain", FORWARD)
    )
    products = [rate / DRAWS for rate in rates.pop(PRODUCT)]
    ratio = {
        name: [rate[core] / best[core] for core in cores]
        for name, rate in rates.items()
        if not name.startswith("plain")
    }
    return {
        "processor": processor_name(),
        "torch": torch.__version__,
        "sigma": SIGMA,
        "rates": rates,
        "ratio": ratio,
        "forward_gflops": [operations * rate / 1e9 for rate in bound],
        "product_gflops": [2 * SIDE**3 * each / 1e9 for each in products],
    }


if __name__ == "__main__":
    main()
