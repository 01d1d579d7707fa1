"""Small run directories with known contents, written exactly in the formats of a run directory."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import torch
import yaml

from wassermix.core.job import Output
from wassermix.core.samples import TensorSamples
from wassermix.data.splits import TensorSplit
from wassermix.data.unlabelled import NewSamples
from wassermix.drift.run import check_to_files
from wassermix.drift.settings import DriftSettings

RADII = [0.0, 0.25, 0.5, 0.75]


def interval(count: int, images: int) -> dict[str, float]:
    """Wilson's interval: another formula than the report's own, so that copied numbers show."""
    z, p = 1.959964, count / images
    middle = (p + z * z / (2 * images)) / (1 + z * z / images)
    half = z / (1 + z * z / images) * np.sqrt(p * (1 - p) / images + z * z / (4 * images**2))
    low, high = max(0.0, float(middle - half)), min(1.0, float(middle + half))
    return {"accuracy": p, "low": min(low, p), "high": max(high, p), "count": count}


def write_run(
    path: Path, *, seed: int = 0, skill: float = 0.8, images: int = 200, updates: int = 640
) -> Path:
    """A whole run: configuration, training, one certification, one attack, one audit with pictures."""
    path.mkdir(parents=True)
    write_config(path, seed=seed)
    write_metrics(path, updates=updates, skill=skill)
    write_certified(path, seed=seed, skill=skill, images=images)
    write_attack(path, seed=seed, skill=skill, images=images)
    write_audit(path, skill=skill)
    return path


def write_config(path: Path, *, seed: int = 0) -> None:
    config = {
        "data": {"name": "mnist5k", "holdout": 0.0, "note": "training digits of MNIST, not comparable"},
        "model": {"name": "lenet"},
        "method": {"name": "gaussian", "sigma": 0.25},
        "augment": {"name": "geodesic", "ratio": 1.0} if seed else None,
        "regularizer": {"name": "geodesic", "weight": 0.1} if seed else None,
        "epochs": 8,
        "seed": seed,
    }
    (path / "config.yaml").write_text(yaml.safe_dump(config, sort_keys=False))


def loss(epoch: int, skill: float) -> float:
    return 2.3 * 0.6**epoch + 0.3 * (1 - skill)


def write_metrics(path: Path, *, updates: int = 640, skill: float = 0.8) -> None:
    lines = [
        {
            "epoch": epoch,
            "loss": {"total": loss(epoch, skill), "ce": loss(epoch, skill)},
            "accuracy_on": "test",
            "passes": updates * epoch * 16,
            "accuracy": 1 - 0.9 * 0.5**epoch * (1.2 - skill),
            "updates": updates * epoch // 8,
            "seconds": 1.5,
            "images_per_second": 9000.0,
        }
        for epoch in range(1, 9)
    ]
    (path / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def write_certified(
    path: Path,
    *,
    seed: int = 0,
    skill: float = 0.8,
    images: int = 200,
    mode: str = "fixed",
    sigma: float = 0.25,
    name: str = "fixed-s0.25-n1000",
) -> None:
    rng = np.random.default_rng(seed + 7)
    correct = rng.random(images) < 0.5 + skill / 2
    radius = np.where(correct, rng.beta(4 * skill, 2.2, images), rng.random(images) * 0.3)
    label = np.arange(images) % 10
    predict = np.where(correct, label, (label + 1) % 10)
    header = "idx\tlabel\tpredict\tradius\tcorrect\ttime\tdraws\thits\tmode"
    counts = "100000\t90000"
    rows = [
        f"{20 * i}\t{label[i]}\t{predict[i]}\t{float(radius[i])!r}\t{int(correct[i])}\t0\t{counts}\t{mode}"
        for i in range(images)
    ]
    folder = path / "certify"
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.tsv").write_text("\n".join([header, *rows]) + "\n")
    counts = {r: int((correct & (radius >= r)).sum()) for r in RADII}
    summary = {
        "version": 1,
        "mode": mode,
        "sigma": sigma,
        "n0": 100,
        "n": 100_000,
        "alpha": 0.001,
        "images": images,
        "every": 20,
        "seed": 0,
        "radii": RADII,
        "certified": [{"radius": r, **interval(c, images)} for r, c in counts.items()],
        "acr": float(np.where(correct, radius, 0).mean()),
        "draws": {"mean": 1100.0, "median": 1100, "total": 1100 * images},
        "saving": 1.0,
        "expected_false": 0.001 * images,
        "seconds": 3.2,
        "backend": "eager",
    }
    (folder / f"{name}.json").write_text(json.dumps(summary))


def write_attack(
    path: Path, *, seed: int = 0, skill: float = 0.8, images: int = 200, passed: bool = True
) -> None:
    rng = np.random.default_rng(seed + 3)
    clean = rng.random(images) < 0.97
    robust = clean & (rng.random(images) < skill)
    summary = {
        "version": 1,
        "attack": "pgd",
        "norm": "linf",
        "eps": 8 / 255,
        "steps": 20,
        "step_size": None,
        "restarts": 2,
        "random_start": True,
        "loss": "ce",
        "seed": 0,
        "images": images,
        "clean": {**interval(int(clean.sum()), images), "images": images},
        "robust": {**interval(int(robust.sum()), images), "images": images},
        "per_image": {
            "index": list(range(images)),
            "label": [i % 10 for i in range(images)],
            "clean_correct": [int(v) for v in clean],
            "robust_correct": [bool(v) for v in robust],
        },
        "checks": [{"name": "more steps", "passed": passed, "message": "100 steps find no more than 20"}],
        "seconds": 2.0,
    }
    (path / "attack").mkdir(exist_ok=True)
    (path / "attack" / "pgd-linf-8_255-20.json").write_text(json.dumps(summary))


def write_audit(
    path: Path, *, skill: float = 0.8, classes: int = 4, times: int = 11, side: int = 12, half: bool = False
) -> None:
    t = np.linspace(0, 1, 21)
    pairs, frames = [], []
    for source in range(classes):
        for target in range(classes):
            if source != target:
                pairs.append(_pair(source, target, t, skill))
                frames.append(_pictures(source, target, times, side))
    (path / "audit").mkdir(exist_ok=True)
    summary = {
        "version": 1,
        "pairs": pairs,
        "parameters": {"entropy": 0.02, "embed": "pca", "pair_size": 64, "seed": 0},
    }
    (path / "audit" / "pairs.json").write_text(json.dumps(summary))
    shown = list(range(0, len(pairs), 2)) if half else list(range(len(pairs)))
    ends = np.array([(pairs[i]["source"], pairs[i]["target"]) for i in shown])
    np.savez_compressed(
        path / "audit" / "pairs.npz",
        frames=np.stack([frames[i] for i in shown]),
        pairs=ends,
        t=np.linspace(0, 1, times),
    )


def write_drift(path: Path) -> None:
    """A real check of three kinds of 8x8 pictures that have become darker."""
    generator = torch.Generator().manual_seed(0)
    y = torch.arange(120) % 3
    stripes = torch.nn.functional.one_hot(torch.arange(8) % 3, 3).float().T[y]  # (120, 8)
    x = (0.2 + 0.6 * stripes[:, None, None, :].expand(-1, 1, 8, -1)).clone()
    x += 0.05 * torch.rand(x.shape, generator=generator)
    weight = torch.nn.functional.one_hot(torch.arange(8) % 3, 3).float()
    settings = DriftSettings(estimator="joint", permutations=39, resamples=10, points=5)
    check_to_files(
        lambda pictures: pictures.mean(dim=(1, 2)) @ weight,
        TensorSamples(x[:60], y[:60]),
        NewSamples("darker", TensorSplit(0.6 * x[60:], y[60:]), None),
        output=Output(path / "drift", "darker"),
        settings=settings,
    )


def _pair(source: int, target: int, t: np.ndarray, skill: float) -> dict[str, object]:
    height = (1.3 - skill) * (1 + 0.3 * np.sin(3 * source + 5 * target))
    kl = height * np.sin(np.pi * t) ** 2 + 0.02
    entropy = -(t * np.log(np.clip(t, 1e-12, 1)) + (1 - t) * np.log(np.clip(1 - t, 1e-12, 1)))
    other = 0.2 * np.sin(np.pi * t)
    toward = (1 - other) / (1 + np.exp(-12 * (t - 0.5)))
    return {
        "source": source,
        "target": target,
        "t": t.tolist(),
        "kl": kl.tolist(),
        "loss": (kl + entropy).tolist(),
        "accuracy": (1 - 0.5 * np.sin(np.pi * t)).tolist(),
        "as_other": other.tolist(),
        "as_target": toward.tolist(),
        "as_source": (1 - other - toward).tolist(),
        "total_variation": float(np.abs(np.diff(kl)).sum()),
        "worst_t": 0.5,
        "flip_t": 0.5 if source else None,
        "images": 64,
    }


def _pictures(source: int, target: int, times: int, side: int) -> np.ndarray:
    """A disc that wanders from one place to another; (samples, times, 1, side, side)."""
    y, x = np.mgrid[:side, :side] / side
    frames = np.zeros((4, times, 1, side, side), np.uint8)
    for sample in range(4):
        for k, t in enumerate(np.linspace(0, 1, times)):
            cx, cy = 0.2 + 0.2 * (source * (1 - t) + target * t), 0.3 + 0.12 * sample
            frames[sample, k, 0] = 255 * ((x - cx) ** 2 + (y - cy) ** 2 < 0.03)
    return frames
