"""The augmented set: new samples kept compactly, with their classes, times and labels."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from wassermix.core.errors import InputError
from wassermix.core.files import write_beside
from wassermix.embed.protocol import is_image
from wassermix.geodesic.path import LABELS, Labels

__all__ = ["AugmentedSet", "SetWriter", "soft_labels"]


@dataclass(frozen=True, eq=False)
class AugmentedSet:
    """Samples between classes: sample ``i`` left ``class0[i]`` and is ``t[i]`` of the way to ``class1[i]``.

    Images are kept as uint8, one byte per coordinate; other samples as float32.
    """

    x: Tensor
    """``(n, *shape)`` uint8 or float32."""
    class0: Tensor
    """``(n,)`` int16."""
    class1: Tensor
    """``(n,)`` int16."""
    t: Tensor
    """``(n,)`` float32."""
    num_classes: int
    label_mode: Labels = "mix"

    def __len__(self) -> int:
        return len(self.x)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one sample."""
        return tuple(self.x.shape[1:])

    @property
    def y(self) -> Tensor:
        """The nearer class of each sample, ``(n,)`` int64: its hard label.

        Half-way it is the class that a sample left, with ``side`` labels the one that it goes to.
        """
        there = self.t >= 0.5 if self.label_mode == "side" else self.t > 0.5
        if self.label_mode == "hard":
            there = torch.zeros_like(there)
        return torch.where(there, self.class1, self.class0).long()

    def get(self, indices: Tensor) -> Tensor:
        """The samples at ``indices`` as float32 on their data scale."""
        x = self.x.index_select(0, indices)
        return x.float().div_(255) if x.dtype == torch.uint8 else x

    def labels(self, indices: Tensor) -> Tensor:
        """Soft labels ``(len(indices), num_classes)``."""
        return soft_labels(
            self.class0[indices],
            self.class1[indices],
            self.t[indices],
            num_classes=self.num_classes,
            labels=self.label_mode,
        )

    def nbytes(self) -> int:
        """Bytes held."""
        return sum(part.nbytes for part in (self.x, self.class0, self.class1, self.t))

    def save(self, path: Path) -> None:
        """Write ``x, class0, class1, t, y`` (soft) and the label mode as ``.npz``, atomically."""
        arrays = {name: getattr(self, name).numpy() for name in ("x", "class0", "class1", "t")}
        y = self.labels(torch.arange(len(self))).numpy()

        def write(beside: Path) -> None:
            with beside.open("wb") as file:
                np.savez(file, **arrays, y=y, label_mode=np.array(self.label_mode))

        write_beside(path, write)

    @classmethod
    def load(cls, path: Path) -> AugmentedSet:
        """Read what :meth:`save` wrote."""
        try:
            with path.open("rb") as handle, np.load(handle) as file:
                parts = {name: torch.from_numpy(file[name]) for name in ("x", "class0", "class1", "t")}
                num_classes, mode = int(file["y"].shape[1]), str(file["label_mode"])
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
            raise InputError(
                f"'{path}' is not a stored augmented set ({error}); delete it and run again"
            ) from error
        if mode not in LABELS:
            raise InputError(f"'{path}': label_mode '{mode}' is none of {', '.join(LABELS)}")
        return cls(
            parts["x"], parts["class0"], parts["class1"], parts["t"], num_classes=num_classes, label_mode=mode
        )


class SetWriter:
    """Fills an :class:`AugmentedSet` of ``wanted`` samples: images as bytes, other samples as they are."""

    def __init__(self, wanted: int, shape: tuple[int, ...]) -> None:
        self.wanted, self.done = wanted, 0
        self.image = is_image(shape)
        self.x = torch.empty(wanted, *shape, dtype=torch.uint8 if self.image else torch.float32)
        self.classes = torch.empty(2, wanted, dtype=torch.int16)
        self.t = torch.empty(wanted)

    def write(self, x: Tensor, t: Tensor, class0: Tensor, class1: Tensor) -> None:
        """Keep what is still wanted."""
        count = min(len(t), self.wanted - self.done)
        keep = slice(self.done, self.done + count)
        self.x[keep] = (x.clamp(0, 1).mul_(255).round_().to(torch.uint8) if self.image else x)[:count].cpu()
        self.classes[0, keep], self.classes[1, keep] = class0[:count], class1[:count]
        self.t[keep] = t[:count].cpu()
        self.done += count

    def finish(self, num_classes: int, labels: Labels) -> AugmentedSet:
        """The set."""
        return AugmentedSet(
            self.x, self.classes[0], self.classes[1], self.t, num_classes=num_classes, label_mode=labels
        )


def soft_labels(class0: Tensor, class1: Tensor, t: Tensor, *, num_classes: int, labels: Labels) -> Tensor:
    """The labels at times ``t (n,)`` between two classes, ``(n, num_classes)`` (see :class:`Geodesic`)."""
    share = {"mix": t, "side": (t >= 0.5).to(t), "hard": torch.zeros_like(t)}[labels].float()
    y = torch.zeros(len(t), num_classes, device=t.device)
    y.scatter_(1, class0.long()[:, None], (1 - share)[:, None])
    return y.scatter_add_(1, class1.long()[:, None], share[:, None])
