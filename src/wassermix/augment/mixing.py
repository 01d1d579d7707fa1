"""What the mixups draw: shares from a Beta law, pairings, and labels mixed by them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import torch
from scipy.special import betaincinv
from torch import Generator, Tensor

from wassermix.core import labels
from wassermix.core.classifier import Classifier
from wassermix.core.draws import permutation, uniform
from wassermix.core.errors import InputError

__all__ = ["BatchMixing", "beta_share", "mix_labels", "pairing", "require_beta", "soft_labels", "themselves"]


@dataclass(frozen=True, kw_only=True)
class BatchMixing(ABC):
    """An augmenter that mixes a batch with itself: as many samples come back as went in.

    Subclasses say how in :meth:`mixed`. ``beta`` is the parameter of the Beta law of the share;
    ``num_classes`` is needed where labels come as classes.
    """

    beta: float = 1.0
    num_classes: int | None = None

    adds: ClassVar[bool] = False
    passes: ClassVar[float] = 0.0

    def __post_init__(self) -> None:
        require_beta(self, self.beta)

    def __call__(
        self, x: Tensor, y: Tensor, *, model: Classifier | None = None, generator: Generator | None = None
    ) -> tuple[Tensor, Tensor]:
        """Mixed samples and soft labels, as many as came."""
        return self.mixed(x, soft_labels(y, self.num_classes, x.dtype), model, generator)

    @abstractmethod
    def mixed(
        self, x: Tensor, y: Tensor, model: Classifier | None, generator: Generator | None
    ) -> tuple[Tensor, Tensor]:
        """The batch ``x (n, ...)`` with soft labels ``y (n, k)``, mixed."""


def beta_share(beta: float, generator: Generator | None) -> float:
    """One draw of Beta(beta, beta), as the quantile of a uniform number: repeatable by the generator."""
    return float(betaincinv(beta, beta, uniform((), generator, torch.device("cpu")).item()))


def pairing(count: int, generator: Generator | None, device: torch.device) -> Tensor:
    """A random permutation: sample i is mixed with sample ``pairing[i]``."""
    return permutation(count, generator).to(device)


def soft_labels(y: Tensor, num_classes: int | None, dtype: torch.dtype) -> Tensor:
    """Labels as probabilities ``(n, k)``; classes need ``num_classes``."""
    y = labels.checked(y, num_classes)
    if y.dim() == 2:
        return y.to(dtype)
    if num_classes is None:
        raise InputError("mixing labels needs num_classes, or soft labels (n, k); got classes without either")
    return labels.soft(y, num_classes, dtype)


def themselves(x: Tensor, y: Tensor, wanted: int, *, num_classes: int) -> tuple[Tensor, Tensor]:
    """``wanted`` of the samples, counted round, with soft labels: what a path of no length leads to."""
    rows = torch.arange(wanted if len(x) else 0, device=x.device) % max(len(x), 1)
    return x[rows], labels.soft(y, num_classes, x.dtype)[rows]


def mix_labels(y: Tensor, pairs: Tensor, share: Tensor | float) -> Tensor:
    """``share * y + (1 - share) * y[pairs]`` for soft labels; a share for all or one for each ``(n,)``."""
    if isinstance(share, Tensor):
        share = share.reshape(-1, 1).to(y.dtype)
    return share * y + (1 - share) * y[pairs]


def require_beta(owner: object, beta: float) -> None:
    """Refuse a parameter of the Beta law that is not positive."""
    if not beta > 0:
        raise InputError(f"{type(owner).__name__}: beta is {beta!r}; expected a positive number")
