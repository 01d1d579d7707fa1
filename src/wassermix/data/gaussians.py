"""Synthetic Gaussian classes, for which accuracies and certificates have closed forms."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from wassermix.core.errors import InputError
from wassermix.core.streams import stream
from wassermix.data.dataset import Dataset
from wassermix.data.splits import TensorSplit

__all__ = ["gaussian_means", "load_gaussians"]


def gaussian_means(classes: int, dim: int, separation: float) -> Tensor:
    """The class means ``(classes, dim)``, every two of them ``separation`` apart.

    Two classes: ``-mu`` and ``+mu`` along the diagonal, with ``|mu| = separation / 2``. More classes: the
    corners of a regular simplex around the origin, which takes ``dim >= classes``.
    """
    if classes == 2:
        mu = torch.full((dim,), separation / 2 / math.sqrt(dim), dtype=torch.float64)
        return torch.stack([-mu, mu])
    corners = torch.eye(classes, dim, dtype=torch.float64) * separation / math.sqrt(2)
    return corners - corners.mean(dim=0)


def load_gaussians(
    *,
    classes: int = 2,
    dim: int = 2,
    separation: float = 4.0,
    sd: float = 1.0,
    train_size: int = 2000,
    test_size: int = 2000,
    seed: int = 0,
) -> Dataset:
    """Gaussian classes ``N(mean_c, sd^2 I)`` of equal size; for two classes ``N(-mu, .)`` and ``N(+mu, .)``.

    With two classes the best error is ``Q(separation / (2 sd))``; under noise ``sigma`` the best smoothed
    one is ``Q(separation / (2 sqrt(sd^2 + sigma^2)))``.
    """
    _check(classes, dim, separation, sd=sd, sizes=(train_size, test_size))
    means = gaussian_means(classes, dim, separation)
    train = _sample(means, sd, train_size, generator=stream(seed, "gaussians", "train"))
    test = _sample(means, sd, test_size, generator=stream(seed, "gaussians", "test"))
    note = f"synthetic: {classes} classes N(mean, {sd:g}^2 I) in {dim} dimensions, means {separation:g} apart"
    unit = ((0.0,) * dim, (1.0,) * dim)  # isotropic by nature: scaling features apart would only add noise
    names = tuple(str(number) for number in range(classes))
    return Dataset(
        "gaussians", train, test, classes, "vector", note=note, class_names=names, known_statistics=unit
    )


def _check(classes: int, dim: int, separation: float, *, sd: float, sizes: tuple[int, int]) -> None:
    if classes < 2 or dim < 1 or (classes > 2 and dim < classes):
        raise InputError(
            f"data 'gaussians': got classes={classes}, dim={dim}; "
            "expected at least 2 classes, and dim at least the number of classes when there are more than 2"
        )
    if not (math.isfinite(separation) and separation >= 0 and math.isfinite(sd) and sd > 0):
        raise InputError(
            f"data 'gaussians': got separation={separation}, sd={sd}; expected separation >= 0 and sd > 0"
        )
    if sizes[0] < classes or sizes[1] < 1:
        raise InputError(
            f"data 'gaussians': got train_size={sizes[0]}, test_size={sizes[1]}; "
            f"expected at least {classes} and 1"
        )


def _sample(means: Tensor, sd: float, size: int, *, generator: torch.Generator) -> TensorSplit:
    y = torch.arange(size) % len(means)
    noise = torch.randn(size, means.shape[1], dtype=torch.float64, generator=generator)
    return TensorSplit((means[y] + sd * noise).float(), y)
