"""Nothing leaks: what is made for training depends on training samples alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from wassermix.core.streams import stream
from wassermix.engine import Parts, build_parts
from wassermix.engine.settings import build_config


def parts_of(path: Path, *, test_seed: int, choice: str = "random") -> Parts:
    """What an engine builds from a file whose training part is always the same."""
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 256, (90, 8, 8), dtype=np.uint8), np.arange(90) % 3
    other = np.random.default_rng(test_seed).integers(0, 256, (30, 8, 8), dtype=np.uint8)
    np.savez(path, x_train=x, y_train=y, x_test=other, y_test=np.arange(30) % 3)
    recipe = {
        "data": {"name": str(path), "holdout": 0.3},
        "model": {"name": "mlp"},
        "method": {"name": "gaussian", "sigma": 0.1},
        "augment": {"name": "geodesic", "choice": choice},
        "embed": {"name": "pca", "size": 5} if choice == "random" else {"name": "pixel"},
    }
    return build_parts(build_config(recipe))


def test_other_test_images_change_neither_embedding_nor_augmented_samples(tmp_path: Path) -> None:
    sets = []
    for seed in (1, 2):
        parts = parts_of(tmp_path / f"{seed}.npz", test_seed=seed)
        made = parts.augment.component.make_set(parts.data.train, model=parts.model, generator=stream(0, "a"))
        sets.append((parts.embed.components, made.x))
    assert torch.equal(sets[0][0], sets[1][0])
    assert torch.equal(sets[0][1], sets[1][1])


def test_held_out_samples_never_appear(tmp_path: Path) -> None:
    """At time 0 in pixel space every new sample is a copy: of a training sample, never of a held-out one."""
    parts = parts_of(tmp_path / "a.npz", test_seed=1, choice="fixed")
    made = parts.augment.component.make_set(parts.data.train, generator=stream(0, "a"))
    copies = {image.numpy().tobytes() for image in made.x}

    def images(split: object) -> set[bytes]:
        x = split.get(torch.arange(len(split)))  # type: ignore[attr-defined,arg-type]
        return {image.numpy().tobytes() for image in x.mul(255).round().to(torch.uint8)}

    assert copies <= images(parts.data.train)
    assert parts.data.holdout is not None
    assert not copies & images(parts.data.holdout)
