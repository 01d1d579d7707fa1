"""``wassermix reproduce theory``: every formula of the Gaussian model beside a simulation of it.

Each part returns curves, ``theory`` and ``simulated`` over the same abscissa, with ``error``, the
simulation's standard error. :mod:`wassermix.theory.figure` draws them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from wassermix.theory.curves import MU, SIGMA, THETA, curves_of, furthest
from wassermix.theory.study_errors import attacked, ball, certified, smoothed
from wassermix.theory.study_paths import along, distance, mapped, pairing
from wassermix.theory.study_training import augmented, linear, regularized, theorem

__all__ = ["PARTS", "run"]

Tell = Callable[[str, float], None]
SAMPLES = 100_000
PARTS: dict[str, Callable[[int], dict[str, Any]]] = {
    "attacked": attacked,
    "smoothed": smoothed,
    "certified": certified,
    "distance": distance,
    "mapped": mapped,
    "along": along,
    "pairing": pairing,
    "ball": ball,
    "augmented": augmented,
    "linear": linear,
    "regularized": regularized,
    "theorem": theorem,
}
"""Name -> function of the number of samples, in the order of docs/theory.md and of the picture."""
GROUPS = {
    "Errors and certificates": ("attacked", "smoothed", "certified", "ball"),
    "Distance, map and path": ("distance", "mapped", "along"),
    "Augmentation and regularisers": ("augmented", "linear", "regularized"),
}


def run(out: Path, tell: Tell) -> dict[str, Any]:
    """All parts of the study; nothing is kept in ``out``."""
    record: dict[str, Any] = {"mu": MU.tolist(), "theta": THETA.tolist(), "sigma": SIGMA, "samples": SAMPLES}
    for number, (name, part) in enumerate(PARTS.items()):
        tell(name, number / len(PARTS))
        record[name] = part(SAMPLES)
    return {**record, "summary": _summary(record)}


def _summary(record: dict[str, Any]) -> list[str]:
    """How near theory and simulation are, and what does not hold; the verdicts quote the first three."""
    gaps = [_agreement(words, [record[name] for name in names]) for words, names in GROUPS.items()]
    return [gaps[0], _broken_bound(record["theorem"]), _pairing_words(record["pairing"]), *gaps[1:]]


def _agreement(words: str, parts: list[Any]) -> str:
    curves = [curve for part in parts for curve in curves_of(part)]
    checked = sum(len(curve["theory"]) for curve in curves)
    return (
        f"{words}: {checked} values of theory, "
        f"the furthest {furthest(curves):.1f} standard errors from simulation."
    )


def _broken_bound(found: dict[str, Any]) -> str:
    broken = sum(
        holds and printed > share + 5 * error
        for holds, printed, share, error in zip(
            *(found[key] for key in ("conditions", "printed", "simulated", "error"))
        )
    )
    return (
        f"The theorem's printed probability is above the simulated one at {broken} of "
        f"{sum(found['conditions'])} sizes that meet its conditions: it is no lower bound."
    )


def _pairing_words(found: dict[str, Any]) -> str:
    return f"Pairing changes the sum that the theorem sees by {found['sum_changes_by']:.0e}."
