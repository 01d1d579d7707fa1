"""``python -m benchmarks.records_whole RUN ...``: `records` on all 10,000 digits instead of 500 of them.

Certifying all digits with 100,000 draws takes half a day per network. Instead all of them are certified with
few draws, and these cheap certificates serve as controls for the dear ones of 500 digits: the
prediction-powered interval of the drift checks, with "was it proved" in the place of "was it right". Whatever
the cheap ones are worth, the interval is valid; where they tell much, it is much narrower than that of the
500 digits alone. Both certifications of each run must be there::

    wassermix reproduce records --rows gaussian-0.5,consistency-0.5
    wassermix certify runs/records/gaussian-0.5/seed0 --mode fixed --n 500 --images 10000 --name all
    wassermix certify runs/records/consistency-0.5/seed0 --mode fixed --n 500 --images 10000 --name all
    python -m benchmarks.records_whole runs/records/gaussian-0.5/seed0 runs/records/consistency-0.5/seed0

Rows of runs that are not named stay in the file as they are.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special

from wassermix.certify import Certificates
from wassermix.certify.pa import label_probabilities
from wassermix.core.errors import InputError
from wassermix.drift.powered import labels_only, powered_interval
from wassermix.experiments import load_table
from wassermix.experiments.table import row_folder

RESULTS = Path(__file__).parents[1] / "results"
Floats = npt.NDArray[np.float64]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", nargs="+", type=Path, help="runs of the table 'records', with both files")
    parser.add_argument("--few", default="grid-*", help="the dear certification of a few images")
    parser.add_argument("--all", default="all", help="the cheap certification of all images")
    options = parser.parse_args()
    file = RESULTS / "records-whole.json"
    rows = json.loads(file.read_text())["results"] if file.exists() else {}
    names = {row_folder(name): name for name in load_table("records").rows}
    for run in options.runs:
        few, every = (_read(run, name) for name in (options.few, options.all))
        radii = whole_set(few, every)
        rows[names[run.parent.name]] = {"images": len(few), "of": len(every), "radii": radii}
    file.write_text(json.dumps({"results": rows}, indent=1) + "\n")
    print(table(rows))


def _read(run: Path, name: str) -> Certificates:
    """The one certification of the run whose name matches, such as ``grid-*``."""
    found = sorted((run / "certify").glob(f"{name}.tsv"))
    if len(found) != 1:
        raise InputError(f"'{run}' has {len(found)} certifications named '{name}'; expected one")
    return Certificates.read(found[0])


def whole_set(few: Certificates, every: Certificates, *, seed: int = 0) -> list[dict[str, Any]]:
    """For each radius of ``few``: the share of all images that its draws would prove, with a 95% interval."""
    place = {int(index): row for row, index in enumerate(every.index)}
    if missing := [int(one) for one in few.index if int(one) not in place]:
        raise InputError(f"image {missing[0]} is not among the {len(every)} of the cheap certification")
    index = np.array([place[int(one)] for one in few.index])
    assert few.settings is not None, "certificates of our own"
    assert few.correct is not None, "certificates with labels"
    chance, rows = label_probabilities(every)[0], []
    for radius in few.settings.radii:
        proved = (few.correct & (few.radius >= radius)).numpy().astype(np.float64)
        controls = _controls(chance, float(special.ndtr(radius / few.settings.sigma)))
        rng = np.random.default_rng(seed)
        known, alone = powered_interval(proved, index, controls, rng=rng), labels_only(proved)
        rows.append({
            "radius": float(radius), "few": alone.estimate, "few_low": alone.low, "few_high": alone.high,
            "all": known.estimate, "low": known.low, "high": known.high,
        })  # fmt: skip
    return rows


def _controls(chance: Floats, needed: float) -> Floats:
    """What few draws tell of "proved at this radius": was the share large enough, was it 1, and the share."""
    return np.column_stack([chance > needed, chance == 1, chance]).astype(np.float64)


def table(rows: dict[str, Any]) -> str:
    """Per cent proved at each radius: of the few, and of all."""
    lines = []
    for name, row in rows.items():
        lines.append(f"{name}: {row['images']} of {row['of']} images certified in full")
        lines += [f"  r = {cell['radius']:<4g} {_cells(cell)}" for cell in row["radii"]]
    return "\n".join(lines)


def _cells(cell: dict[str, float]) -> str:
    few = "few {few:.1%} ({few_low:.1%} to {few_high:.1%})".format(**cell)
    return few + "  all {all:.1%} ({low:.1%} to {high:.1%})".format(**cell)


if __name__ == "__main__":
    main()
