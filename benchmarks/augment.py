"""What geodesic augmentation costs: a refresh part by part, training beside its control, memory.

Full MNIST where ``$WASSERMIX_DATA`` has it, else the 5,000 images of the default data repeated to 60,000
(the cost is the same). Each part is written to results/augment.json as it ends; what is there is not measured
again: delete the file, or a part of it, for a new run.
"""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from wassermix.augment import GeodesicAugmenter
from wassermix.augment.pool import Latents, Pool, uniform_weights
from wassermix.core.errors import InputError
from wassermix.core.machine import processor_name
from wassermix.core.streams import stream
from wassermix.data import TensorSplit, load_data
from wassermix.embed import PCA, Embedding
from wassermix.engine import train
from wassermix.engine.settings import build_config
from wassermix.geodesic.worst import Scorer, worst_times
from wassermix.models import build_model

RESULT = Path("results/augment.json")
SIGMA, IMAGES, ROUNDS = 0.5, 60_000, 3
PARTS = ("machine", "refresh", "training", "agreement", "memory")


def main() -> None:
    torch.set_num_threads(1)
    result: dict[str, Any] = json.loads(RESULT.read_text()) if RESULT.exists() else {}
    split = digits()
    for part in PARTS:
        if part not in result:
            print(f"-- {part}", flush=True)
            result[part] = MEASURES[part](split)
            RESULT.parent.mkdir(exist_ok=True)
            RESULT.write_text(json.dumps(result, indent=1) + "\n")
        print(json.dumps({part: result[part]}, indent=1), flush=True)


def digits() -> TensorSplit:
    """60,000 digits as bytes."""
    try:
        train_split = load_data("mnist").train
    except InputError:
        train_split = load_data("mnist5k").train
    rows = torch.arange(IMAGES) % len(train_split)
    parts = [train_split.get(some).mul(255).round().to(torch.uint8) for some in rows.split(5000)]
    return TensorSplit(torch.cat(parts), train_split.y[rows])


def machine(split: TensorSplit) -> dict[str, Any]:
    return {"processor": processor_name(), "torch": torch.__version__, "threads": 1,
            "images": len(split), "sigma": SIGMA}  # fmt: skip


def refresh(split: TensorSplit) -> dict[str, float]:
    """Seconds of one refresh, and of its parts by leaving out one after the other."""
    embed, net = fitted(split), trained(split)

    def seconds(**options: Any) -> float:
        augment = GeodesicAugmenter(10, embed, **options)
        augment._prepared(split)
        return median_seconds(
            lambda: augment.make_set(split, model=net, generator=stream(0, "benchmark"), sigma=SIGMA)
        )

    whole, drawn = seconds(), seconds(choice="random")
    unsolved = seconds(choice="random", pairing="random")
    encode = median_seconds(lambda: Latents(split, embed))
    forward = median_seconds(lambda: forward_all(net, split))
    return {
        "whole": whole,
        "search": whole - drawn,
        "transport": drawn - unsolved,
        "decode_and_store": unsolved,
        "encode_once_a_training": encode,
        "one_forward_of_all_images": forward,
    }


def training(split: TensorSplit) -> dict[str, float]:
    """Seconds of one epoch of 2 N samples: control, with augmentation, with augmentation and smoothness."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "digits.npz"
        x, y = split.x.numpy(), split.y.numpy()
        np.savez(path, x_train=x, y_train=y, x_test=x[:1000], y_test=y[:1000])
        updates = -(-2 * len(split) // 256)  # one more would begin a second epoch, with a refresh of its own
        augment, smooth = {"name": "geodesic"}, {"name": "geodesic"}
        variants: dict[str, dict[str, Any]] = {
            "control": {},
            "augment": {"augment": augment},
            "augment_and_smooth": {"augment": augment, "regularizer": smooth},
        }
        times: dict[str, list[float]] = {name: [] for name in variants}
        for _ in range(ROUNDS):
            for name, extra in variants.items():
                times[name].append(train_seconds(path, Path(folder) / name, updates, extra))
    seconds = {name: statistics.median(values) for name, values in times.items()}
    ratios = {  # of neighbours in time, for the machine's own pace drifts
        f"{name}_ratio": statistics.median(a / b for a, b in zip(times[name], times["control"]))
        for name in list(variants)[1:]
    }
    return {**seconds, **ratios, "updates": updates}


def train_seconds(path: Path, out: Path, updates: int, extra: dict[str, Any]) -> float:
    recipe = {
        "data": {"name": str(path)}, "model": {"name": "lenet"},
        "method": {"name": "gaussian", "sigma": SIGMA},
        "updates": updates, "batch_size": 256, "schedule": {"name": "constant"}, **extra,
    }  # fmt: skip
    config = build_config(recipe)
    started = time.perf_counter()
    train(config, out, overwrite=True)
    return time.perf_counter() - started


def agreement(split: TensorSplit) -> dict[str, float]:
    """How often the time found on a quarter of each problem is that of the full search, and what it loses."""
    embed, net = fitted(split), trained(split)
    augment = GeodesicAugmenter(10, embed)
    pool = Pool(Latents(split, embed), split.y, 10, stream(0, "agreement"))
    weights = uniform_weights(pool)
    same, gap, lost = [], [], []
    scorer = Scorer(net, sigma=SIGMA)
    with torch.no_grad():
        for bundle, _ in augment._make(pool, weights, 16_384, embed=embed, scorer=None):
            group = augment._groups(bundle)
            found = {
                share: worst_times(
                    bundle.path, group, scorer, search="grid", share=share, generator=stream(0, "noise")
                )
                for share in (0.25, 1.0)
            }
            quarter, full = found[0.25][0], found[1.0][0]
            same.append((quarter == full).float().mean())
            gap.append((quarter - full).abs().mean())
            lost.append((found[1.0][1] - found[0.25][1]).mean().abs() / found[1.0][1].mean())
    return {
        "same_time": float(torch.stack(same).mean()),
        "mean_difference_of_t": float(torch.stack(gap).mean()),
        "relative_difference_of_score": float(torch.stack(lost).mean()),
    }


def memory(split: TensorSplit) -> dict[str, float]:
    made = GeodesicAugmenter(10, fitted(split), choice="random").make_set(
        split, generator=stream(0, "memory")
    )
    return {"bytes_a_pixel": made.nbytes() / made.x.numel(), "samples": len(made)}


def fitted(split: TensorSplit) -> Embedding:
    return PCA(64).fit(split.get(torch.arange(0, len(split), 6)))


def trained(split: TensorSplit) -> nn.Module:
    """A LeNet after one pass over half of the images: neither blind nor finished."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        net = build_model("lenet", shape=(1, 28, 28), num_classes=10)
    net.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    generator = stream(0, "trained")
    for rows in torch.randperm(len(split), generator=generator)[: len(split) // 2].split(128):
        x = split.get(rows)
        loss = nn.functional.cross_entropy(
            net(x + SIGMA * torch.randn(x.shape, generator=generator)), split.y[rows]
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return net


@torch.no_grad()
def forward_all(net: nn.Module, split: TensorSplit) -> None:
    for rows in torch.arange(len(split)).split(512):
        net(split.get(rows))


def median_seconds(work: Callable[[], object]) -> float:
    times = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return statistics.median(times)


MEASURES: dict[str, Callable[[TensorSplit], dict[str, Any]]] = {
    "machine": machine,
    "refresh": refresh,
    "training": training,
    "agreement": agreement,
    "memory": memory,
}

if __name__ == "__main__":
    main()
