"""The rows of a certification log: the columns that the field's tools read, then what ours add."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from wassermix.core.errors import InputError

__all__ = ["COLUMNS", "HEADER", "Certificate", "certificate_of", "read_columns", "row_of", "rows_text"]

NEEDED = ("idx", "label", "predict", "radius", "correct")
COLUMNS = (*NEEDED, "time", "draws", "hits", "mode", "u")
HEADER = "\t".join(COLUMNS)


@dataclass(frozen=True)
class Certificate:
    """What is proved about one image: the smoothed classifier says ``predicted`` within ``radius`` (l2).

    ``predicted`` is -1 where nothing is proved (abstained, or in evaluation mode not the label). The
    certificate follows from ``draws``, ``hits``, ``mode`` and ``uniform`` alone; the last is the image's
    own number for the randomised bound, 1 for the plain one.
    """

    index: int
    label: int | None
    predicted: int
    radius: float
    draws: int
    hits: int
    mode: str
    seconds: float = 0.0
    uniform: float = 1.0

    @property
    def correct(self) -> bool:
        """Whether the proved class is the label."""
        return self.label is not None and self.predicted == self.label


def row_of(certificate: Certificate) -> str:
    """A certificate as a line, the radius in full precision, the time as ``h:mm:ss.ffffff``."""
    c = certificate
    label = -1 if c.label is None else c.label
    time = timedelta(seconds=round(c.seconds, 6))
    cells = (c.index, label, c.predicted, repr(c.radius), int(c.correct), time, c.draws, c.hits, c.mode)
    return "\t".join(map(str, (*cells, repr(c.uniform))))


def rows_text(rows: Iterable[Certificate]) -> str:
    """The whole file: the header and one line per certificate."""
    lines: Sequence[str] = [HEADER, *map(row_of, rows)]
    return "".join(line + "\n" for line in lines)


def certificate_of(line: str, where: str) -> Certificate:
    """A line of ours back into a certificate; ``where`` names the line in an error."""
    cells = line.split("\t")
    try:
        if len(cells) != len(COLUMNS):
            raise ValueError(f"it has {len(cells)} cells")
        label = int(cells[1])
        return Certificate(
            index=int(cells[0]), label=None if label < 0 else label, predicted=int(cells[2]),
            radius=float(cells[3]), draws=int(cells[6]), hits=int(cells[7]), mode=cells[8],
            seconds=seconds_of(cells[5]), uniform=float(cells[9]),
        )  # fmt: skip
    except ValueError as error:
        names = ", ".join(COLUMNS)
        raise InputError(f"{where} is not a certificate ({error}); expected the columns {names}") from error


def seconds_of(text: str) -> float:
    """The seconds of ``h:mm:ss.ffffff``, with days in front where there are any (``1 day, 2:00:00``)."""
    days, _, clock = text.rpartition(", ")
    hours, minutes, seconds = clock.split(":")
    whole_days = int(days.split()[0]) if days else 0
    return 86400 * whole_days + 3600 * int(hours) + 60 * int(minutes) + float(seconds)


def read_columns(path: Path) -> dict[str, list[str]]:
    """A log, ours or another's, as columns of text; a last line cut off in its middle is passed over."""
    header, rows = _cells(path)
    missing = [name for name in NEEDED if name not in header]
    if missing:
        names = ", ".join(NEEDED)
        raise InputError(f"'{path}' lacks the column {missing[0]}; expected a first line with {names}")
    return {name: [row[position] for row in rows] for position, name in enumerate(header)}


def _cells(path: Path) -> tuple[list[str], list[list[str]]]:
    try:
        lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"'{path}' is not a readable certification log ({error})") from error
    if not lines:
        raise InputError(f"'{path}' is empty; expected a certification log")
    header, rows = lines[0].split("\t"), [line.split("\t") for line in lines[1:]]
    if rows and len(rows[-1]) < len(header):
        rows = rows[:-1]
    uneven = [number for number, row in enumerate(rows, 2) if len(row) < len(header)]
    if uneven or not rows:
        where = f"line {uneven[0]} has too few cells" if uneven else "it has no rows"
        raise InputError(f"'{path}': {where}; expected {len(header)} cells in each line, separated by tabs")
    return header, rows
