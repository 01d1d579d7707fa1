"""What our loop costs each method beyond its own passes: time of an update against passes x a bare pass.

The yardstick is a bare forward, loss and backward of the same LeNet on batches of the same size and layout,
without data, noise, optimiser or bookkeeping. A pass for the gradient of the *inputs* (attacks) is another
computation than one for the weights, so it is timed too: ``overhead`` prices every pass as a training pass,
as budgets count them, ``overhead_by_kind`` each by its own kind. One thread; in turn, medians.
"""

from __future__ import annotations

import json
import platform
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from benchmarks.training import samples, save_npz
from wassermix.core.memory import keep_freed_memory
from wassermix.engine import train
from wassermix.engine.settings import Config, build_config
from wassermix.models import build_model
from wassermix.recipes import load_recipe

RESULT = Path("results/overhead.json")
BATCH, UPDATES, ROUNDS = 64, 40, 5
RECIPES = {
    "erm": "erm", "gaussian": "gaussian-1.0", "stability": "stability-1.0", "consistency": "consistency-1.0",
    "macer": "macer-1.0", "augmix": "erm", "pgd": "pgd", "trades": "trades", "smoothadv": "smoothadv-1.0",
    "smoothmix": "smoothmix-1.0",
}  # fmt: skip
Pass = Callable[[], None]


def main() -> None:
    torch.set_num_threads(1)
    keep_freed_memory()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        save_npz(folder / "data.npz", *digits(BATCH * UPDATES))
        rows = [measured(method, folder) for method in RECIPES]
    record = {"torch": torch.__version__, "machine": platform.machine(), "batch": BATCH, "rows": rows}
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(json.dumps(record, indent=1) + "\n")


def measured(name: str, folder: Path) -> dict[str, Any]:
    """One method beside bare passes of both kinds."""
    config = build_config(
        load_recipe(f"mnist/reduced/{RECIPES[name]}"),
        {"data": str(folder / "data.npz"), "batch_size": BATCH, "updates": UPDATES, "schedule": "constant"}
        | ({"method": "augmix"} if name == "augmix" else {}),  # has no preset of its own on grey digits
    )
    attacks, passes = attack_passes(config), 0.0
    times: dict[str, list[float]] = {"ours": [], "weights": [], "inputs": []}
    for _ in range(ROUNDS):
        state = train(config, folder / name, overwrite=True)
        passes = state.passes / state.images
        times["ours"].append(state.seconds / state.images)
        times["weights"].append(pass_seconds(weights_pass()))
        times["inputs"].append(pass_seconds(inputs_pass()))
    ours, weights, inputs = (statistics.median(times[key]) for key in ("ours", "weights", "inputs"))
    row = {
        "method": name,
        "passes": passes,
        "attack_passes": attacks,
        "image_ms": 1000 * ours,
        "weights_pass_ms": 1000 * weights,
        "inputs_pass_ms": 1000 * inputs,
        "overhead": ours / (passes * weights),
        "overhead_by_kind": ours / ((passes - attacks) * weights + attacks * inputs),
    }
    print(f"{name}: {row['overhead']:.2f} as counted, {row['overhead_by_kind']:.2f} by kind", flush=True)
    return row


def attack_passes(config: Config) -> float:
    """How many of a method's passes an image go to the inputs."""
    options = config.method
    return float(options.get("steps", 0) * options.get("noises", 1))


def weights_pass() -> Pass:
    """A bare training pass on one batch."""
    model = build_model("lenet", shape=(1, 28, 28), num_classes=10).to(memory_format=torch.channels_last)
    x, y = images()

    def run() -> None:
        model.zero_grad(set_to_none=True)
        F.cross_entropy(model(x), y).backward()

    return run


def inputs_pass() -> Pass:
    """A bare gradient of one batch's inputs, the weights frozen."""
    model = build_model("lenet", shape=(1, 28, 28), num_classes=10).to(memory_format=torch.channels_last)
    model.requires_grad_(False)
    x, y = images()
    x.requires_grad_()

    def run() -> None:
        torch.autograd.grad(F.cross_entropy(model(x), y), x)

    return run


def images() -> tuple[Tensor, Tensor]:
    x, y = digits(BATCH)
    return x.contiguous(memory_format=torch.channels_last), y


def digits(count: int) -> tuple[Tensor, Tensor]:
    """Evenly spaced over all classes."""
    x, y = samples()
    rows = torch.arange(count) * len(x) // count
    return x[rows], y[rows]


def pass_seconds(run: Pass) -> float:
    """Seconds an image of a bare pass."""
    run()
    started = time.perf_counter()
    for _ in range(UPDATES):
        run()
    return (time.perf_counter() - started) / (UPDATES * BATCH)


if __name__ == "__main__":
    main()
