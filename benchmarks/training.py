"""Images/s of our training and certification beside a bare loop of the same LeNet, default memory layout.

Both sides see the same images, batches, noise level and optimiser; each is timed in turn, several rounds,
and the ratio is that of the medians. One thread, then two.
"""

from __future__ import annotations

import json
import platform
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from wassermix.certify import certify
from wassermix.config import build_config
from wassermix.data import load_data
from wassermix.engine import train
from wassermix.models import build_model

RESULT = Path("results/training.json")
SIGMA, BATCH, ROUNDS = 0.5, 256, 5
IMAGES, DRAWS, CERTIFIED = 12_000, 4_096, 12


def main() -> None:
    data = load_data("mnist5k")
    x = data.train.get(torch.arange(len(data.train)))
    x, y = x.repeat(3, 1, 1, 1)[:IMAGES], data.train.y.repeat(3)[:IMAGES]
    rows = [measure(x, y, threads) for threads in (1, 2)]
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(
        json.dumps(
            {
                "machine": platform.processor() or platform.machine(),
                "torch": torch.__version__,
                "batch": BATCH,
                "rounds": ROUNDS,
                "rows": rows,
            },
            indent=1,
        )
        + "\n"
    )
    for row in rows:
        print(row)


def measure(x: Tensor, y: Tensor, threads: int) -> dict[str, float]:
    """Rates of both loops and their ratios on so many threads."""
    torch.set_num_threads(threads)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.npz"
        save_npz(path, x, y)
        ours, bare = alternate(lambda: our_training(path, Path(folder)), lambda: bare_training(x, y))
    our_votes, bare_votes = alternate(lambda: our_certification(x, y), lambda: bare_certification(x))
    return {
        "threads": threads,
        "training_ours": ours,
        "training_bare": bare,
        "training_ratio": ours / bare,
        "certify_ours": our_votes,
        "certify_bare": bare_votes,
        "certify_ratio": our_votes / bare_votes,
    }


def alternate(first: Callable[[], float], second: Callable[[], float]) -> tuple[float, float]:
    """Median rates of two functions measured in turn, after one round that warms both up."""
    rates = [(first(), second()) for _ in range(ROUNDS + 1)][1:]
    return statistics.median(a for a, _ in rates), statistics.median(b for _, b in rates)


def our_training(path: Path, folder: Path) -> float:
    """Images/s of one epoch through the engine, with its metrics and its checkpoint."""
    config = build_config(
        {
            "data": {"name": str(path)},
            "model": {"name": "lenet"},
            "method": {"name": "gaussian", "sigma": SIGMA},
            "epochs": 1,
            "batch_size": BATCH,
            "schedule": {"name": "constant"},
        }
    )
    state = train(config, folder / "run", overwrite=True)
    return state.images / state.seconds


def bare_training(x: Tensor, y: Tensor) -> float:
    """Images/s of the loop that everybody writes first."""
    model = build_model("lenet", shape=(1, 28, 28), num_classes=10).to(memory_format=torch.contiguous_format)
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
    model = build_model("lenet", shape=(1, 28, 28), num_classes=10).eval()
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
