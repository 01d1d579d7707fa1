"""An attack's result: flags for each image, shares with intervals, and the file that holds them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from wassermix import __version__
from wassermix.attacks.registry import ATTACKS, attack_of
from wassermix.core.errors import InputError
from wassermix.core.files import read_json, write_text
from wassermix.core.intervals import Share, share_of

__all__ = ["AttackResult", "Check", "share_record"]

FLAGS = ("index", "label", "clean_correct", "robust_correct")
OWN = ("images", "clean", "robust", "summary", "checks", "seconds", "per_image", "title", "identity")
"""Keys of a file that are no parameters."""
OLD_SUMMARY = ("curve", "flip_t")
"""What a summary could hold before files told its keys."""


@dataclass(frozen=True)
class Check:
    """What was looked at, whether it is as it should be, and a sentence about it."""

    name: str
    passed: bool
    message: str


@dataclass(frozen=True, eq=False)
class AttackResult:
    """An attack's number with all that it depends on; flags run over the images ``index (n,)``."""

    parameters: dict[str, Any]
    title: str
    """The attack in a few words."""
    identity_keys: tuple[str, ...]
    """The parameters that two results must share to stand in one table."""
    index: Tensor
    label: Tensor
    """Classes ``(n,)``."""
    clean_correct: Tensor
    robust_correct: Tensor
    summary: dict[str, Any] = field(default_factory=dict)
    checks: tuple[Check, ...] = ()
    seconds: float = 0.0

    @property
    def clean(self) -> Share:
        """Accuracy without the attack, with its interval."""
        return _share(self.clean_correct)

    @property
    def robust(self) -> Share:
        """Accuracy under the attack: the share of images right both before and after it."""
        return _share(self.robust_correct)

    @property
    def identity(self) -> tuple[tuple[str, Any], ...]:
        """What must agree before two results may stand side by side, beside the data and the images."""
        return tuple((key, _hashable(self.parameters.get(key))) for key in self.identity_keys)

    @property
    def strong(self) -> bool:
        """Whether the number is more than an upper bound."""
        return any(check.passed for check in self.checks if check.name == "strength")

    @property
    def doubts(self) -> tuple[Check, ...]:
        """Failed checks by which the number may be wrong; ``strength`` only says how far it reaches."""
        return tuple(check for check in self.checks if not check.passed and check.name != "strength")

    def __repr__(self) -> str:
        low, high = self.robust.low, self.robust.high
        return (
            f"AttackResult({self.title}: {self.clean.accuracy:.1%} clean, {self.robust.accuracy:.1%} "
            f"({low:.1%} to {high:.1%}) attacked, {len(self.index)} images)"
        )

    def record(self) -> dict[str, Any]:
        """The result as its JSON file holds it."""
        flags = {name: getattr(self, name).int().tolist() for name in FLAGS}
        return {
            "version": __version__,
            **self.parameters,
            "title": self.title,
            "identity": list(self.identity_keys),
            "images": len(self.index),
            "clean": share_record(self.clean_correct),
            "robust": share_record(self.robust_correct),
            "summary": list(self.summary),
            **self.summary,
            "checks": [asdict(check) for check in self.checks],
            "seconds": round(self.seconds, 3),
            "per_image": flags,
        }

    def text(self) -> str:
        """The file's contents."""
        return json.dumps(self.record(), indent=1, allow_nan=False) + "\n"

    def write(self, path: Path) -> None:
        """Write the file atomically."""
        write_text(path, self.text())

    @classmethod
    def read(cls, path: Path) -> AttackResult:
        """The result that :meth:`write` wrote, also that of an earlier version."""
        record = read_json(path)
        try:
            return cls.from_record(record)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise InputError(
                f"'{path}' is not an attack's result ({type(error).__name__}: {error}); run the attack again"
            ) from error

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> AttackResult:
        """The result of what :meth:`record` gave, also by an earlier version."""
        flags = {name: torch.tensor(record["per_image"][name], dtype=torch.int64) for name in FLAGS}
        if len({tuple(values.shape) for values in flags.values()}) != 1 or flags["index"].dim() != 1:
            raise ValueError("the images' flags differ in length")
        keys = record.get("summary", [key for key in OLD_SUMMARY if key in record])
        parameters = {key: value for key, value in record.items() if key not in (*OWN, *keys)}
        title, identity = _told(record)
        return cls(
            parameters=parameters,
            title=title,
            identity_keys=identity,
            index=flags["index"],
            label=flags["label"],
            clean_correct=flags["clean_correct"].bool(),
            robust_correct=flags["robust_correct"].bool(),
            summary={key: record[key] for key in keys},
            checks=tuple(Check(**check) for check in record["checks"]),
            seconds=record["seconds"],
        )


def share_record(flags: Tensor) -> dict[str, float | int]:
    """The share of images whose flag is set, as a file holds it; ``flags (n,)``, n > 0."""
    share = _share(flags)
    return {**asdict(share), "count": share.count}


def _share(flags: Tensor) -> Share:
    return share_of(int(flags.sum()), len(flags))


def _told(record: Mapping[str, Any]) -> tuple[str, tuple[str, ...]]:
    """Title and identity as the file tells them; before it did, as the attack of that name has them."""
    if "identity" in record:
        return str(record["title"]), tuple(record["identity"])
    if record["attack"] not in ATTACKS.shipped:
        return str(record["attack"]), ("attack",)
    attack = attack_of(record)
    return attack.title, attack.identity_keys


def _hashable(value: Any) -> Any:
    return tuple(map(_hashable, value)) if isinstance(value, list) else value
