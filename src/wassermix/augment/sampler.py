"""Augmentation once: for numpy users as a resampler, and to a file for any other trainer."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt
import torch

from wassermix.augment.ends import Pairing
from wassermix.augment.geodesic import GeodesicAugmenter
from wassermix.augment.protocol import KeepsSet, StoredSet
from wassermix.augment.stored import AugmentedSet
from wassermix.core.classifier import Classifier
from wassermix.core.errors import InputError
from wassermix.core.registry import call_with
from wassermix.core.samples import LabelledSamples, TensorSamples
from wassermix.core.streams import stream
from wassermix.embed import EMBEDDINGS
from wassermix.geodesic.path import Labels

__all__ = ["GeodesicSampler", "augment_to_file"]


class GeodesicSampler:
    """New rows between the classes of a table: ``X2, y2 = GeodesicSampler().fit_resample(X, y)``.

    Numpy in, numpy out, the call of imbalanced-learn's samplers: the given rows followed by
    ``round(ratio * len(X))`` new ones, each at a random time in [0, ``t_max``] on a geodesic from its class
    to another. With ``balance`` the classes are filled up to the largest one instead. ``labels="hard"`` keeps
    the class that a row left; ``mix`` gives soft labels ``(n, k)``, columns in the order of ``classes_``.
    ``pairing`` is that of :class:`GeodesicAugmenter`: ``exact`` partners, ``random`` ones (mixup between
    classes: the control that any gain must be held against), ``nearest``, or ``entropic`` with ``entropy``.
    Problems are smaller than ``pair_size`` where that lets every pair of classes take part.
    """

    def __init__(
        self,
        *,
        ratio: float = 1.0,
        balance: bool = False,
        embed: str = "standard",
        pair_size: int = 64,
        pairing: Pairing = "exact",
        entropy: float = 0.02,
        t_max: float = 0.5,
        labels: Labels = "hard",
        pairs: Literal["uniform", "near", "nearest"] = "uniform",
        seed: int = 0,
    ) -> None:
        if embed not in EMBEDDINGS.names():
            raise InputError(f"embed='{embed}' is none of {', '.join(EMBEDDINGS.names())}")
        self.ratio, self.balance, self.embed, self.pair_size = ratio, balance, embed, pair_size
        self.pairing, self.entropy, self.t_max = pairing, entropy, t_max
        self.labels, self.pairs, self.seed = labels, pairs, seed
        self.classes_: npt.NDArray[np.generic] = np.empty(0)

    def fit_resample(
        self,
        X: npt.ArrayLike,
        y: npt.ArrayLike,
    ) -> tuple[npt.NDArray[np.generic], npt.NDArray[np.generic]]:
        """Rows ``X (n, ...)`` with classes ``y (n,)`` of any kind, and the new rows and labels after them."""
        table, classes = np.asarray(X), np.asarray(y)
        if len(table) != len(classes) or classes.ndim != 1:
            raise InputError(
                f"X has {len(table)} rows and y the shape {classes.shape}; expected one class per row"
            )
        if len(table) == 0:
            raise InputError("X has no rows; expected samples of at least two classes")
        self.classes_, codes = np.unique(classes, return_inverse=True)
        flat, middle = _centred(table)
        rows = torch.from_numpy(flat.astype(np.float32))
        source = TensorSamples(rows, torch.from_numpy(codes.astype(np.int64)))
        made = self._made(source)
        new = (made.x.numpy() + middle).reshape(-1, *table.shape[1:])
        x = np.concatenate([table, new.astype(_float_of(table))])
        if self.labels == "mix":
            real = torch.nn.functional.one_hot(source.y, len(self.classes_)).float()
            return x, torch.cat([real, made.labels(torch.arange(len(made)))]).numpy()
        return x, np.concatenate([classes, self.classes_[made.y.numpy()]])

    def _made(self, source: TensorSamples) -> AugmentedSet:
        embed, count = EMBEDDINGS.make(self.embed, {}).fit(source.x), len(self.classes_)
        share = math.ceil(self.ratio * len(source) / max(1, count * (count - 1)))
        augment = GeodesicAugmenter(
            max(2, count),
            embed,
            ratio=self.ratio,
            pair_size=min(self.pair_size, max(8, share)),
            pairing=self.pairing,
            entropy=self.entropy,
            t_max=self.t_max,
            labels=self.labels,
            pairs=self.pairs,
            choice="random",
            scope="sample",
            both=not self.balance,
        )
        generator = stream(self.seed, "sampler")
        if not self.balance:
            return augment.make_set(source, generator=generator)
        counts = torch.bincount(source.y, minlength=len(self.classes_))
        return augment.fill_classes(source, counts.max() - counts, generator=generator)


def _centred(table: npt.NDArray[np.generic]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Rows less the mean of each column, and that mean: a large offset costs no digits of float32 then."""
    try:
        flat = table.reshape(len(table), -1).astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"X holds values that are no numbers ({error}); encode them first") from error
    middle = flat.mean(axis=0)
    return flat - middle, middle


def _float_of(table: npt.NDArray[np.generic]) -> npt.DTypeLike:
    """Floats keep their type; integers become float64, for the new rows lie between them."""
    return table.dtype if np.issubdtype(table.dtype, np.floating) else np.float64


def augment_to_file(
    augment: KeepsSet,
    source: LabelledSamples,
    out: Path,
    *,
    model: Classifier | None = None,
    sigma: float = 0.0,
    seed: int = 0,
    overwrite: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> StoredSet:
    """The augmented set of a training split, as ``.npz`` with ``x, y`` (soft), ``class0, class1, t``."""
    if out.exists() and not overwrite:
        raise InputError(f"'{out}' exists; use --overwrite to replace it, or another --out")
    context = {"model": model, "generator": stream(seed, "augment"), "sigma": sigma, "progress": progress}
    made: StoredSet = call_with(partial(augment.make_set, source), {}, context, what="augment")
    made.save(out)
    return made
