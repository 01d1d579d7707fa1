"""Several networks as one: the mean of their logits, with an early stop where the first ones agree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from wassermix.core.errors import InputError

__all__ = ["GROUP", "Ensemble"]

GROUP = 32
"""So many inputs at a time are shown to the members that only some inputs need.

The shape of a forward decides how sums are rounded: were it as many inputs as happen to need them, the logits
of one input would depend on the others beside it.
"""


class Ensemble(nn.Module):
    """The mean of the members' logits: ``f(x) = mean_i f_i(x)``.

    With ``consensus`` K, an input on which the first K members predict one and the same class gets the mean
    of those K, and the other members are not asked. That is a function of the input alone too, so what is
    certified for it holds; in training all members always answer. The others are asked in groups of one
    size, the last one filled up.

    Args:
        members: one model section for each member, such as ``{name: lenet}``.
        consensus: K; 0 asks all members always.
        num_classes, shape, mean, std: as for every model.
    """

    def __init__(
        self,
        *,
        members: Sequence[dict[str, Any]] = ({"name": "lenet"}, {"name": "lenet"}, {"name": "lenet"}),
        consensus: int = 0,
        num_classes: int = 10,
        shape: tuple[int, ...] = (1, 28, 28),
        mean: tuple[float, ...] | None = None,
        std: tuple[float, ...] | None = None,
    ) -> None:
        super().__init__()
        if not members or not (consensus == 0 or 2 <= consensus < len(members)):
            raise InputError(
                f"model 'ensemble' has {len(members)} members and consensus {consensus}; expected at least "
                "one member, and a consensus of 0 (none) or of 2 up to one fewer than members"
            )
        given = {"num_classes": num_classes, "shape": shape, "mean": mean, "std": std}
        self.members = nn.ModuleList(_member(number, one, given) for number, one in enumerate(members))
        self.consensus = consensus

    def forward(self, x: Tensor) -> Tensor:
        """Inputs ``(n, ...)`` to logits ``(n, k)``."""
        if self.training or not self.consensus:
            return torch.stack([member(x) for member in self.members]).mean(dim=0)
        first = torch.stack([member(x) for member in self.members[: self.consensus]])
        votes = first.argmax(dim=2)
        open_ = (votes != votes[0]).any(dim=0).nonzero()[:, 0]
        logits = first.mean(dim=0)
        if len(open_):
            every = torch.cat([first[:, open_], self._of_the_rest(x, open_)]).mean(dim=0)
            logits = logits.index_copy(0, open_, every)
        return logits

    @property
    def branches(self) -> bool:
        """Whether the inputs' values decide what is computed: such a forward is not one to compile."""
        return self.consensus > 0

    def _of_the_rest(self, x: Tensor, chosen: Tensor) -> Tensor:
        """The logits ``(members, m, k)`` of the members after the first K on ``m`` chosen inputs."""
        size = min(len(x), GROUP)
        missing = -len(chosen) % size
        groups = torch.cat([chosen, chosen[:1].expand(missing)]).split(size)
        rest = self.members[self.consensus :]
        asked = [torch.stack([member(x[group]) for member in rest]) for group in groups]
        return torch.cat(asked, dim=1)[:, : len(chosen)]


def _member(number: int, section: dict[str, Any], given: dict[str, Any]) -> nn.Module:
    from wassermix.models.build import build_model

    options = {key: value for key, value in section.items() if key != "name"}
    if section.get("name") in (None, "ensemble"):
        raise InputError(
            f"model 'ensemble': member {number} is {section}; expected a model's section, such as name: lenet"
        )
    drawn = int(torch.randint(2**62, ()))  # from the stream that build_model lends: it follows the seed
    return build_model(section["name"], seed=drawn, **given, **options)
