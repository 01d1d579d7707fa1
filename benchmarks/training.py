"""Images/s of our training and certification beside a bare loop of LeNet in PyTorch's layers and its layout.

Both sides see the same images, batches, noise level and optimiser; each round of each side is a process
of its own, in turn, and the ratio is that of the medians. One thread, then two.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from benchmarks.training_page import write_page
from benchmarks.update import plain_network
from wassermix.certify import certify
from wassermix.core.machine import has_bfloat16, processor_name
from wassermix.core.memory import keep_freed_memory
from wassermix.core.openmp import SPINS
from wassermix.data import load_data
from wassermix.engine import train
from wassermix.engine.settings import build_config
from wassermix.models import build_model

RESULT = Path("results/training.json")
SIGMA, BATCH, ROUNDS = 0.5, 256, 3
IMAGES, DRAWS, CERTIFIED = 24_000, 4_096, 12


def main() -> None:
    if len(sys.argv) == 3:  # a child: one side, so many threads
        print(SIDES[sys.argv[1]](int(sys.argv[2])))
        return
    rows = [measure(threads) for threads in (1, 2)]
    RESULT.parent.mkdir(exist_ok=True)
    record = {
        "torch": torch.__version__,
        "machine": platform.machine(),
        "processor": processor_name(),
        "bfloat16": has_bfloat16(),
        "batch": BATCH,
        "images": IMAGES,
        "rows": rows,
    }
    RESULT.write_text(json.dumps(record, indent=1) + "\n")
    for row in rows:
        print(row)
    write_page()


def measure(threads: int) -> dict[str, float]:
    """Median rates of all sides and their ratios, each round of each side in a process of its own."""
    rounds = [{side: child(side, threads) for side in SIDES} for _ in range(ROUNDS)]
    rates = {side: statistics.median(one[side] for one in rounds) for side in SIDES}
    return {
        "threads": threads,
        **rates,
        "training_ratio": rates["training_ours"] / rates["training_bare"],
        "half_ratio": rates["training_half"] / rates["training_bare"],
        "certify_ratio": rates["certify_ours"] / rates["certify_bare"],
    }


def child(side: str, threads: int) -> float:
    """One side's rate, measured in a fresh process."""
    words = [sys.executable, "-m", "benchmarks.training", side, str(threads)]
    environment = dict(os.environ)
    if side.endswith("bare"):
        environment.pop(SPINS, None)  # which our command line sets, and a script does not
    done = subprocess.run(words, check=True, capture_output=True, text=True, env=environment)
    return float(done.stdout.split()[-1])


def samples() -> tuple[Tensor, Tensor]:
    """Real digits, repeated to a longer epoch."""
    data = load_data("mnist5k")
    x = data.train.get(torch.arange(len(data.train)))
    return x.repeat(6, 1, 1, 1)[:IMAGES], data.train.y.repeat(6)[:IMAGES]


def training_ours(threads: int) -> float:
    """Images/s of one epoch as the command line runs it."""
    torch.set_num_threads(threads)
    keep_freed_memory()
    return our_training("float32")


def training_half(threads: int) -> float:
    """Images/s of the same epoch with ``precision=bfloat16``."""
    torch.set_num_threads(threads)
    keep_freed_memory()
    return our_training("bfloat16")


def training_bare(threads: int) -> float:
    """Images/s of one epoch of a bare loop."""
    torch.set_num_threads(threads)
    return bare_training(*samples())


def certify_ours(threads: int) -> float:
    """Draws/s as the command line makes them."""
    torch.set_num_threads(threads)
    keep_freed_memory()
    return our_certification(*samples())


def certify_bare(threads: int) -> float:
    """Draws/s of a bare loop."""
    torch.set_num_threads(threads)
    return bare_certification(samples()[0])


SIDES: dict[str, Callable[[int], float]] = {
    "training_ours": training_ours,
    "training_half": training_half,
    "training_bare": training_bare,
    "certify_ours": certify_ours,
    "certify_bare": certify_bare,
}


def our_training(precision: str) -> float:
    """Images/s of one epoch through the engine, with its metrics and its checkpoint."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.npz"
        save_npz(path, *samples())
        config = build_config(
            {
                "data": {"name": str(path)},
                "model": {"name": "lenet"},
                "method": {"name": "gaussian", "sigma": SIGMA},
                "epochs": 1,
                "batch_size": BATCH,
                "schedule": {"name": "constant"},
                "precision": precision,
            }
        )
        state = train(config, Path(folder) / "run", overwrite=True)
    return state.images / state.seconds


def bare_training(x: Tensor, y: Tensor) -> float:
    """Images/s of the loop that everybody writes first."""
    model = plain_network("lenet")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4)
    dataset = torch.utils.data.TensorDataset(x, y)
    loader = torch.utils.data.DataLoader(dataset, batch_size=BATCH, shuffle=True)
    started = time.perf_counter()
    for inputs, targets in loader:
        loss = F.cross_entropy(model(inputs + SIGMA * torch.randn_like(inputs)), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return len(x) / (time.perf_counter() - started)


def our_certification(x: Tensor, y: Tensor) -> float:
    """Noise draws/s of ``certify``, everything included."""
    model = build_model("lenet", shape=(1, 28, 28), num_classes=10)
    started = time.perf_counter()
    certify(model, x[:CERTIFIED], y[:CERTIFIED], sigma=SIGMA, n=DRAWS, n0=100)
    return CERTIFIED * (DRAWS + 100) / (time.perf_counter() - started)


@torch.no_grad()
def bare_certification(x: Tensor) -> float:
    """Noise draws/s as the field's scripts make them: one image at a time, batches of 1,000."""
    model = plain_network("lenet").eval()
    started, drawn = time.perf_counter(), 0
    for image in x[:CERTIFIED]:
        counts = torch.zeros(10, dtype=torch.long)
        for size in [100, *[1000] * (DRAWS // 1000)]:
            batch = image.repeat(size, 1, 1, 1)
            counts += model(batch + SIGMA * torch.randn_like(batch)).argmax(1).bincount(minlength=10)
            drawn += size
    return drawn / (time.perf_counter() - started)


def save_npz(path: Path, x: Tensor, y: Tensor) -> None:
    """The same images as a file that the engine reads."""
    import numpy as np

    pixels = (x * 255).round().to(torch.uint8).numpy()
    np.savez(path, x_train=pixels, y_train=y.numpy(), x_test=pixels[:100], y_test=y[:100].numpy())


if __name__ == "__main__":
    main()
