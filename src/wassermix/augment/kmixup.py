"""k-mixup: mixup between blocks of samples that are matched by optimal transport."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from wassermix.augment.mixing import BatchMixing, beta_share, mix_labels, pairing
from wassermix.core.classifier import Classifier
from wassermix.core.errors import InputError

__all__ = ["KMixup", "match_blocks"]


@dataclass(frozen=True, kw_only=True)
class KMixup(BatchMixing):
    """Mixup whose pairs are matched: in blocks of k samples, by the least sum of squared distances.

    A random order cuts the batch into blocks; each block is assigned to the next one (exact OT between
    k points), and matched samples mix with ``l ~ Beta(beta, beta)``. Classes play no part, and
    ``block=1`` is mixup.

    Args:
        beta: the parameter of the Beta law.
        block: k, at most half a batch: a block matched with itself would not mix at all.
    """

    beta: float = 10.0
    block: int = 16

    reference: ClassVar[str] = "Greenewald et al. 2021"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.block < 1:
            raise InputError(f"KMixup: block is {self.block!r}; expected 1 or more")

    def mixed(
        self, x: Tensor, y: Tensor, model: Classifier | None, generator: torch.Generator | None
    ) -> tuple[Tensor, Tensor]:
        """The mixed batch; the model is not asked."""
        share = beta_share(self.beta, generator)
        order = pairing(len(x), generator, x.device)
        block = max(min(self.block, len(x) // 2), 1)
        pairs = match_blocks(x, order, order.roll(-block), block=block)
        return share * x + (1 - share) * x[pairs], mix_labels(y, pairs, share)


def match_blocks(x: Tensor, sources: Tensor, targets: Tensor, *, block: int) -> Tensor:
    """``pairs (n,)``: sample i is matched with ``pairs[i]``, a permutation that is optimal in each block."""
    flat = x.detach().flatten(1)
    pairs = torch.empty_like(sources)
    for one, other in zip(sources.split(block), targets.split(block)):
        cost = torch.cdist(flat[one].double(), flat[other].double()).square()
        rows, columns = linear_sum_assignment(cost.cpu().numpy())
        pairs[one[torch.as_tensor(rows)]] = other[torch.as_tensor(columns)]
    return pairs
