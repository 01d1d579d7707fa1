"""Two processes of one thread against one: draws per second in certification, images per second in training.

Certification: the same images with few and with many draws; the difference in time is free of the start.
Training: images per second as the run's own log has them, without the first epoch. Both on LeNet and digits.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from wassermix.core.machine import processor_name

RESULT = Path("results/ranks.json")
IMAGES, FEW, MANY = 48, 256, 10_240
EPOCHS, BATCH = 8, 256
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        trained = {count: images_per_second(Path(folder) / f"train{count}", count) for count in (1, 2)}
        certified = {count: draws_per_second(Path(folder) / "train1", count) for count in (1, 2)}
    record = {
        "processor": processor_name(),
        "training": {"images_per_second": trained, "ratio": trained[2] / trained[1], "batch": BATCH},
        "certification": {"draws_per_second": certified, "ratio": certified[2] / certified[1]},
    }
    for kind in ("training", "certification"):
        print(f"{kind}: two processes of one thread are {record[kind]['ratio']:.2f} x one", flush=True)
    RESULT.write_text(json.dumps(record, indent=1) + "\n")


def seconds(count: int, *words: str) -> float:
    """How long ``wassermix --processes COUNT WORDS`` takes."""
    command = [sys.executable, "-m", "wassermix", "--processes", str(count), *words]
    started = time.perf_counter()
    subprocess.run(command, env=ENVIRONMENT, check=True, capture_output=True)
    return time.perf_counter() - started


def images_per_second(out: Path, count: int) -> float:
    """The median over the epochs after the first."""
    words = ("method=gaussian", "sigma=0.5", f"epochs={EPOCHS}", f"batch_size={BATCH // count}")
    seconds(count, "train", "demo", *words, "--out", str(out))
    rows = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    return statistics.median(row["images_per_second"] for row in rows[1:])


def draws_per_second(run: Path, count: int) -> float:
    """From few to many draws for each image."""
    taken = []
    for draws in (FEW, MANY):
        words = ("--images", str(IMAGES), "--n", str(draws), "--n0", "128", "--backend", "eager")
        name = f"processes{count}-{draws}"
        taken.append(seconds(count, "certify", str(run), *words, "--name", name))
    return IMAGES * (MANY - FEW) / (taken[1] - taken[0])


if __name__ == "__main__":
    main()
