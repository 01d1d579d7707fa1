"""The section about the data: what ``wassermix geometry DATA --out RUN/geometry.json`` found there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from wassermix.core.errors import InputError
from wassermix.core.files import read_json
from wassermix.report.markup import Safe, element, table
from wassermix.report.records import RunRecord

__all__ = ["GEOMETRY", "geometry_parts"]

FILE = "geometry.json"
GEOMETRY = (
    "Is there anything that optimal pairs do better than random ones in these data? Nothing was trained for "
    "this: samples of two classes were paired exactly and at random, and the points half-way compared with "
    "real samples. Cost is that of exact pairs in units of random ones; spread is the variance half-way "
    "against that of the classes; numbers in brackets are of random pairs."
)
HEAD = ("embedding", "dimensions", "pair_size", "cost", "spread", "nearest real sample", "third class")


def geometry_parts(runs: Sequence[RunRecord]) -> list[Safe]:
    """A table and its sentences for each data set that some run's folder tells of; each once."""
    found: dict[str, Mapping[str, Any]] = {}
    for run in runs:
        if not run.is_log and (run.path / FILE).exists():
            record = _read(run)
            found.setdefault(str(record["data"]), record)
    return [part for record in found.values() for part in _parts(record)]


def _parts(record: Mapping[str, Any]) -> list[Safe]:
    rows = [_row(row) for row in record["rows"]]
    shown = table(f"{record['data']} as transport sees it", HEAD, rows)
    return [shown, *(element("p", sentence) for sentence in record["sentences"])]


def _row(row: Mapping[str, Any]) -> list[object]:
    third = "–" if row["intrusion"] is None else _both(row["intrusion"], ".1%")
    places = [row["embed"], row["dim"], row["pair_size"], f"{row['cost']['exact']:.2f}"]
    return [*places, _both(row["spread"], ".2f"), _both(row["nearest"], ".2f"), third]


def _both(measured: Mapping[str, float], form: str) -> str:
    return f"{measured['exact']:{form}} ({measured['random']:{form}})"


def _read(run: RunRecord) -> Mapping[str, Any]:
    path = run.path / FILE
    record = read_json(path)
    if not isinstance(record, dict) or not {"data", "rows", "sentences"} <= record.keys():
        raise InputError(f"'{path}' is no file of `wassermix geometry`; make it again with --out {path}")
    return record
