"""The rows of a certification file: the columns that the field's tools read, then what ours add."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta
from pathlib import Path

from wassermix.certify.certificates import Certificate
from wassermix.core.errors import InputError

__all__ = ["COLUMNS", "HEADER", "read_rows", "row_of", "rows_text"]

COLUMNS = ("idx", "label", "predict", "radius", "correct", "time", "draws", "hits", "mode")
HEADER = "\t".join(COLUMNS)


def row_of(certificate: Certificate) -> str:
    """A certificate as a line, the radius in full precision, the time as ``h:mm:ss.ffffff``."""
    c = certificate
    label = -1 if c.label is None else c.label
    time = timedelta(seconds=round(c.seconds, 6))
    cells = (c.index, label, c.predicted, repr(c.radius), int(c.correct), time, c.draws, c.hits, c.mode)
    return "\t".join(map(str, cells))


def certificate_of(line: str) -> Certificate | None:
    """A line back into a certificate; None for one that is not a row of ours (half written, a header)."""
    cells = line.split("\t")
    if len(cells) != len(COLUMNS) or line == HEADER:
        return None
    try:
        label = int(cells[1])
        return Certificate(
            index=int(cells[0]), label=None if label < 0 else label, predicted=int(cells[2]),
            radius=float(cells[3]), draws=int(cells[6]), hits=int(cells[7]), mode=cells[8],
            seconds=seconds_of(cells[5]),
        )  # fmt: skip
    except ValueError:
        return None


def seconds_of(text: str) -> float:
    """The seconds of ``h:mm:ss.ffffff``, with days in front where there are any (``1 day, 2:00:00``)."""
    days, _, clock = text.rpartition(", ")
    hours, minutes, seconds = clock.split(":")
    whole_days = int(days.split()[0]) if days else 0
    return 86400 * whole_days + 3600 * int(hours) + 60 * int(minutes) + float(seconds)


def read_rows(path: Path) -> dict[int, Certificate]:
    """The whole rows of a file by index; an unfinished last line is passed over, no file has no rows."""
    try:
        lines = path.read_text(encoding="utf-8").split("\n")[:-1]
    except FileNotFoundError:
        return {}
    found = {}
    for number, line in enumerate(lines, 1):
        if line != HEADER:
            row = certificate_of(line)
            if row is None:
                names = ", ".join(COLUMNS)
                raise InputError(f"'{path}' line {number} is not a certificate; expected the columns {names}")
            found[row.index] = row
    return found


def rows_text(rows: Iterable[Certificate]) -> str:
    """The whole file: the header and a line a certificate."""
    lines: Sequence[str] = [HEADER, *map(row_of, rows)]
    return "".join(line + "\n" for line in lines)
