"""What is audited: which classes, and which samples of each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

import torch
from torch import Tensor

from wassermix.core.errors import InputError
from wassermix.core.streams import stream

__all__ = ["chosen_rows", "few_rows", "spelled", "wanted_classes", "wanted_pairs"]

Pair = tuple[int, int]


def wanted_pairs(
    pairs: str | Sequence[Pair], present: Iterable[int], names: Sequence[str] = ()
) -> list[Pair]:
    """The class pairs to audit: ``all`` of those present, or those named by numbers or class names."""
    present = sorted(present)
    if pairs == "all":
        if len(present) < 2:
            raise InputError(f"audit: samples of two classes are needed; got {len(present)}")
        return list(combinations(present, 2))
    if isinstance(pairs, str):
        known = _known(present, names)
        words = [word.strip() for word in pairs.split(",") if word.strip()]
        pairs = [(a, b) for a, b in (_classes_in(word, 2, known, "pairs") for word in words)]
    if not pairs:
        raise InputError("audit: no pairs; expected 'all' or class pairs such as [(3, 8)]")
    for source, target in pairs:
        if source == target or source not in present or target not in present:
            raise InputError(
                f"audit: pair {source}-{target} is not two different classes of {present[0]}..{present[-1]}"
            )
    return list(pairs)


def wanted_classes(
    classes: str | Sequence[int], present: Iterable[int], names: Sequence[str] = ()
) -> tuple[int, int, int]:
    """Three different classes that have samples, by numbers or class names."""
    present = sorted(present)
    if isinstance(classes, str):
        classes = _classes_in(classes, 3, _known(present, names), "classes")
    if len(classes) != 3 or len(set(classes)) != 3 or not set(classes) <= set(present):
        raise InputError(f"audit: three different classes that have samples are needed; got {tuple(classes)}")
    first, second, third = (int(number) for number in classes)
    return first, second, third


def spelled(pairs: Iterable[Pair]) -> str:
    """Pairs in one word: ``3-8,4-9``."""
    return ",".join(f"{source}-{target}" for source, target in pairs)


def _known(present: Sequence[int], names: Sequence[str]) -> dict[str, int]:
    return {**{str(number): number for number in present}, **{name: k for k, name in enumerate(names)}}


def _classes_in(text: str, count: int, known: Mapping[str, int], what: str) -> list[int]:
    """``Coat-Sandal`` as two classes; names may hold '-' themselves."""
    parts = text.split("-")
    for cuts in combinations(range(1, len(parts)), count - 1):
        ends = zip((0, *cuts), (*cuts, len(parts)))
        words = ["-".join(parts[start:end]) for start, end in ends]
        if all(word in known for word in words):
            return [known[word] for word in words]
    raise InputError(
        f"audit: {what} has '{text}'; expected {count} classes joined by '-', of {', '.join(known)}"
    )


def few_rows(y: Tensor, per_class: int, seed: int) -> Tensor:
    """At most ``per_class`` rows of each class, so that no more is read than is used."""
    parts = []
    for label in y.unique().tolist():
        rows = (y == label).nonzero()[:, 0]
        parts.append(rows[torch.randperm(len(rows), generator=stream(seed, "audit rows", label))[:per_class]])
    return torch.cat(parts).sort().values


def chosen_rows(y: Tensor, per_class: int, seed: int) -> dict[int, Tensor]:
    """Rows of each class, at most ``per_class``, drawn by ``seed`` alone."""
    chosen = {}
    for label in y.unique().tolist():
        rows = (y == label).nonzero()[:, 0]
        order = torch.randperm(len(rows), generator=stream(seed, "audit", label))
        chosen[int(label)] = rows[order[:per_class].sort().values.to(rows.device)]
    return chosen
