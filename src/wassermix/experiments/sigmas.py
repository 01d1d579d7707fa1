"""One row of a table's file for several noise levels: ``sigmas: [0.25, 0.5, 1.0]``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

__all__ = ["at_each_sigma", "at_sigma", "sigma_of"]

PLACE = "{sigma}"
"""What stands in a recipe's name for the noise."""


def at_sigma(row: str, sigma: object) -> str:
    """The name of a row at one noise: ``gaussian at 0.25``."""
    return f"{row} at {sigma}"


def sigma_of(row: str) -> str:
    """The noise in a row's name, as :func:`at_sigma` wrote it."""
    return row.rpartition(" at ")[2]


def at_each_sigma(raw: dict[str, Any]) -> dict[str, Any]:
    """A table's raw keys with every row, comparison, test and published row repeated for each of ``sigmas``.

    ``{sigma}`` in a recipe's name is filled in; published numbers and a test's ``at`` are mappings by sigma.
    A table without ``sigmas`` is returned as it is.
    """
    sigmas = raw.get("sigmas") or ()
    if not sigmas:
        return raw
    recipe = str(raw["recipe"])
    against, seeds, published = (raw.get(key) or {} for key in ("against", "more_seeds", "published"))
    return {
        **raw,
        "recipe": recipe.replace(PLACE, str(sigmas[0])),
        "rows": dict(_rows(raw["rows"], recipe, sigmas)),
        "against": {at_sigma(row, s): at_sigma(other, s) for row, other in against.items() for s in sigmas},
        "more_seeds": {at_sigma(row, s): own for row, own in seeds.items() for s in sigmas},
        "published": {
            at_sigma(row, s): own for row, by_sigma in published.items() for s, own in by_sigma.items()
        },
        "tests": [_test(test, s) for test in raw.get("tests") or () for s in sigmas],
    }


def _rows(
    rows: Mapping[str, Mapping[str, Any]], recipe: str, sigmas: Sequence[float]
) -> Iterator[tuple[str, dict[str, Any]]]:
    for sigma in sigmas:
        for row, own in rows.items():
            if "ensemble" in own:
                yield at_sigma(row, sigma), {**own, "ensemble": at_sigma(own["ensemble"], sigma)}
                continue
            name = str(own.get("recipe", recipe)).replace(PLACE, str(sigma))
            yield at_sigma(row, sigma), {**own, "recipe": name}


def _test(test: Mapping[str, Any], sigma: float) -> dict[str, Any]:
    at = test.get("at")
    own = {"at": at[sigma]} if isinstance(at, Mapping) else {}
    return {**test, **own, "row": at_sigma(test["row"], sigma), "control": at_sigma(test["control"], sigma)}
