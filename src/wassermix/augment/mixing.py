"""What the mixups draw: shares from a Beta law, pairings, and labels mixed by them."""

from __future__ import annotations

import torch
from scipy.special import betaincinv
from torch import Tensor

from wassermix.core import labels
from wassermix.core.draws import permutation, uniform
from wassermix.core.errors import InputError

__all__ = ["beta_share", "mix_labels", "pairing", "require_beta", "soft_labels", "themselves"]


def beta_share(beta: float, generator: torch.Generator | None) -> float:
    """One draw of Beta(beta, beta), as the quantile of a uniform number: repeatable by the generator."""
    return float(betaincinv(beta, beta, uniform((), generator, torch.device("cpu")).item()))


def pairing(count: int, generator: torch.Generator | None, device: torch.device) -> Tensor:
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
