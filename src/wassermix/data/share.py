"""A share to test on, where the files name no test set."""

from __future__ import annotations

from wassermix.core.errors import InputError
from wassermix.data.protocol import Split
from wassermix.data.splits import SubsetSplit
from wassermix.data.stratify import part_away

__all__ = ["refuse_share", "set_apart"]

SHARE = 0.2


def set_apart(whole: Split, share: float | None, seed: int) -> tuple[SubsetSplit, SubsetSplit, str]:
    """The training split, a stratified ``share`` (0.2) to test on, and the sentence that says so."""
    share = SHARE if share is None else share
    kept, away = part_away(whole.y, share, seed=seed, what="data.test_share")
    note = (
        f"no test set was given: {len(away)} of {len(whole)} samples ({share:.0%}, stratified, the same for "
        "every run) are set apart to test on"
    )
    return SubsetSplit(whole, kept), SubsetSplit(whole, away), note


def refuse_share(share: float | None, where: str) -> None:
    """Refuse a share to set apart where there is a test set already."""
    if share is not None:
        raise InputError(
            f"data.test_share is {share}, but {where} is there to test on; leave one of them out"
        )
