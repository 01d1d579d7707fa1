"""Writes ``golden.json``: what the command line did when it was recorded, entry by entry.

From the folder ``tests``, with the code to be recorded on the path::

    python -m golden.record                          # everything that is not recorded yet
    python -m golden.record --only certify table     # these anew: an entry, or all that begin so
    python -m golden.record --check                  # compares and writes nothing
    python -m golden.record --list

An entry is renewed only where a change of behaviour is meant, and the commit says which and why: the
difference of ``golden.json`` is the change that a user will see. What hangs together: certificates are in
``certify``, ``table`` and ``page``; defaults in ``options``, ``components`` and
``train/defaults``.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from golden import evaluations
from golden.compare import compare
from golden.trainings import TRAININGS, training
from golden.workspace import Workspace

__all__ = ["ENTRIES", "FILE", "load"]

FILE = Path(__file__).with_name("golden.json")
DIGITS = 8
"""Numbers keep so many significant digits."""

Entry = Callable[[Workspace], dict[str, Any]]

ENTRIES: dict[str, Entry] = {
    "options": evaluations.options,
    "components": evaluations.components,
    **{f"train/{name}": partial(training, name=name) for name in TRAININGS},
    **{f"certify/{name}": partial(evaluations.certify, name=name) for name in evaluations.CERTIFIED},
    **{f"attack/{name}": partial(evaluations.attack, name=name) for name in evaluations.ATTACKS},
    **{f"audit/{name}": partial(evaluations.audit, name=name) for name in evaluations.AUDITS},
    **{f"augment/{name}": partial(evaluations.augment, name=name) for name in evaluations.AUGMENTED},
    "table": evaluations.table,
    "page": evaluations.page,
}
"""Name -> what is recorded, made in a workspace."""


def load() -> dict[str, Any]:
    """All that is recorded, by entry."""
    return json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}


def save(recorded: dict[str, Any]) -> None:
    """One line per entry part, so that a renewed entry is seen in the difference."""
    blocks = []
    for name in (name for name in ENTRIES if name in recorded):
        parts = (f"  {json.dumps(part)}: {_line(value)}" for part, value in recorded[name].items())
        blocks.append(f" {json.dumps(name)}: {{\n" + ",\n".join(parts) + "\n }")
    FILE.write_text("{\n" + ",\n".join(blocks) + "\n}\n", encoding="utf-8")


def _line(value: Any) -> str:
    return json.dumps(_rounded(value), ensure_ascii=False, separators=(",", ":"))


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_rounded(one) for one in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def main() -> int:
    """Record, or compare."""
    parser = argparse.ArgumentParser(
        prog="python -m golden.record", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--only", nargs="+", metavar="NAME", help="entries, or the beginnings of their names")
    parser.add_argument("--check", action="store_true", help="compare and write nothing")
    parser.add_argument("--list", action="store_true", help="the entries' names")
    asked = parser.parse_args()
    recorded = load()
    chosen = _chosen(asked.only, recorded, check=asked.check)
    if not chosen or asked.list:
        sys.stdout.write("\n".join(ENTRIES if asked.list else ["nothing to do"]) + "\n")
        return 0 if asked.list or not asked.only else 2
    with tempfile.TemporaryDirectory() as folder:
        work = Workspace(Path(folder))
        found = {name: ENTRIES[name](work) for name in chosen}
    if asked.check:
        return _told(recorded, found)
    save({**recorded, **found})
    sys.stdout.write("recorded: " + " ".join(found) + "\n")
    return 0


def _chosen(only: list[str] | None, recorded: dict[str, Any], *, check: bool) -> list[str]:
    if only is None:
        return [name for name in ENTRIES if check or name not in recorded]
    return [name for name in ENTRIES if any(name == one or name.startswith(one) for one in only)]


def _told(recorded: dict[str, Any], found: dict[str, Any]) -> int:
    differences = {name: compare(recorded.get(name, {"exact": "recorded"}), found[name]) for name in found}
    for name, lines in differences.items():
        sys.stdout.write(
            f"{name}: {'holds' if not lines else ''}\n" + "".join(f"  {one}\n" for one in lines[:20])
        )
    return int(any(differences.values()))


if __name__ == "__main__":
    sys.exit(main())
