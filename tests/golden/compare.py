"""How far a repetition may be from the record, and what it says where it is further.

Two CPUs add in different orders. With and without the wide instructions of one CPU, weights differed by at
most 2e-6 of their root mean square after these trainings (4e-5 for TRADES, whose attack starts where its
gradient vanishes; it takes three updates only), losses by at most 4e-5. Where a decision hangs on a
comparison (a vote under noise, the worst of several times, an attack that just succeeds) single images come
out otherwise. So an entry may hold these parts, each with its own tolerance:

``exact``    settings, defaults, counts: equal; what a record does not know (a new key) is allowed.
``kept``     texts in their order: all still there to the word; new ones may stand between them.
``told``     the same with their numbers, which are compared as ``numbers`` where the texts match.
``close``    losses: 1e-3 of the value. An update on the wrong samples is further away than that.
``weights``  mean, norm and entries of each tensor: 1e-4 of the tensor's root mean square.
``shares``   accuracies: 0.05, two images of those that are looked at.
``rows``     one per image: flags equal, counts within 3, other numbers to 1e-3; one row in eight may differ.
``numbers``  what is computed from rows: to 1e-3 or 0.002; one in eight may differ, for an image that fell on
             the other side moves a mean, its interval and a comparison.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["compare"]

LOSS, WEIGHT, SHARE = 1e-3, 1e-4, 0.05
RELATIVE = 1e-3
NUMBERS = {"relative": RELATIVE, "absolute": 2e-3}
COUNTS = {"hits": 3, "draws": 0, "radius": 0.06}
"""Columns of a certification log: how far each may be. A hit more or less moves a radius by up to so much."""
ODD = 8
"""One row or number in so many may differ."""


def compare(recorded: Mapping[str, Any], found: Mapping[str, Any]) -> list[str]:
    """All that differs beyond its tolerance, as sentences; an empty list says that the entry holds."""
    parts = {
        "exact": _exact,
        "kept": _kept,
        "told": _told,
        "close": lambda old, new: _off(old, new, relative=LOSS, absolute=1e-5),
        "weights": _weights,
        "shares": lambda old, new: _off(old, new, relative=0.0, absolute=SHARE),
        "rows": _rows,
        "numbers": lambda old, new: _few(_off(old, new, **NUMBERS), _count(old)),
    }
    return [f"{part}: {what}" for part in recorded for what in parts[part](recorded[part], found.get(part))]


def _exact(old: Any, new: Any) -> list[str]:
    return _off(old, new, relative=1e-6, absolute=0.0)


def _off(old: Any, new: Any, *, relative: float, absolute: float) -> list[str]:
    """Every leaf of the record that the repetition lacks or has otherwise."""
    return [
        f"{where} was {was!r}, is {now!r}"
        for where, was, now in _leaves(old, new)
        if not _near(was, now, relative=relative, absolute=absolute)
    ]


def _leaves(old: Any, new: Any, where: str = "") -> Iterator[tuple[str, Any, Any]]:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key, value in old.items():
            yield from _leaves(value, new.get(key, "missing"), f"{where}.{key}" if where else str(key))
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for place, (was, now) in enumerate(zip(old, new)):
            yield from _leaves(was, now, f"{where}[{place}]")
    else:
        yield where, old, new


def _near(was: Any, now: Any, *, relative: float, absolute: float) -> bool:
    numbers = all(isinstance(one, (int, float)) and not isinstance(one, bool) for one in (was, now))
    return math.isclose(was, now, rel_tol=relative, abs_tol=absolute) if numbers else bool(was == now)


def _kept(old: list[str], new: list[str] | None) -> list[str]:
    """Nothing where all the old texts are there in their order; else how the two lists differ."""
    rest = iter(new or [])
    if all(text in rest for text in old):
        return []
    return ["\n" + "\n".join(difflib.unified_diff(old, new or [], "recorded", "now", lineterm="", n=1))]


def _told(old: list[list[Any]], new: list[list[Any]] | None) -> list[str]:
    """Texts as in :func:`_kept`, and the numbers of those that stand beside each other in both."""
    before, now = ([text for text, _ in told] for told in (old, new or []))
    same = difflib.SequenceMatcher(None, before, now, autojunk=False).get_matching_blocks()
    pairs = [(old[a + k], (new or [])[b + k]) for a, b, size in same for k in range(size)]
    off = [what for was, is_ in pairs for what in _off({was[0]: was[1]}, {was[0]: is_[1]}, **NUMBERS)]
    return _kept(before, now) + _few(off, _count([numbers for _, numbers in old]))


def _weights(old: Mapping[str, Any], new: Mapping[str, Any] | None) -> list[str]:
    found = [f"tensors were {sorted(old)}, are {sorted(new or {})}"] if set(old) != set(new or {}) else []
    for name in set(old) & set(new or {}):
        scale = old[name]["norm"] / math.sqrt(old[name]["size"])
        here = _off(old[name], new[name], relative=WEIGHT, absolute=WEIGHT * scale)
        found += [f"{name}.{what}" for what in here]
    return found


def _rows(old: list[dict[str, Any]], new: list[dict[str, Any]] | None) -> list[str]:
    if new is None or len(old) != len(new):
        return [f"{len(old)} rows were recorded, now there are {len(new or [])}"]
    odd = [f"row {place}: {' and '.join(what)}" for place, what in enumerate(map(_row, old, new)) if what]
    return _few(odd, len(old))


def _row(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    return [
        what
        for key, value in old.items()
        for what in _off({key: value}, new, relative=0.0 if key in COUNTS else RELATIVE, absolute=_room(key))
    ]


def _room(key: str) -> float:
    return float(COUNTS.get(key, RELATIVE))


def _few(differences: list[str], among: int) -> list[str]:
    """Nothing where only a few differ; else all of them."""
    return differences if len(differences) > max(1, among // ODD) else []


def _count(found: Any) -> int:
    return sum(1 for _ in _leaves(found, found))
