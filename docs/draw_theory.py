"""docs/theory.svg, as ``wassermix reproduce theory`` draws it, and the table of numbers in docs/theory.md."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from page import fill, table

from wassermix.experiments import draw_study

Record = dict[str, Any]


def draw(record: Record, docs: Path) -> None:
    """The picture, and the numbers that the page's sentences rest on."""
    draw_study(record, docs / "theory.svg")
    parts = (agreement, paths, ball, augmented, spread, regularized, theorem)
    rows = [row for part in parts for row in part(record)]
    fill(docs / "theory.md", "numbers", table(["quantity", "value"], rows))


def agreement(record: Record) -> list[list[str]]:
    """Theory against simulation in all panels."""
    told = [line.split(": ", 1) for line in record["summary"] if "standard errors from simulation" in line]
    return [[f"theory against simulation: {what}", value] for what, value in told]


def paths(record: Record) -> list[list[str]]:
    """Distance, map and path between the classes."""
    distance, mapped, along = (record[key] for key in ("distance", "mapped", "along"))
    here, at = nearest(distance["length"], 1.0), nearest(mapped["x"], 0.0)
    half = nearest(along["t"], 0.5)
    return [
        ["W2 of the classes at mu = sigma = 1", beside(distance["optimal"], here)],
        ["distance of random partners there", beside(distance["random"], here)],
        ["optimal partner of x = 0 there", beside(mapped["optimal"], at)],
        ["variance half-way, optimal pairs", beside(along["variance_optimal"], half)],
        ["variance half-way, random pairs", beside(along["variance_random"], half)],
    ]


def ball(record: Record) -> list[list[str]]:
    """The worst Gaussian, and the paper's."""
    found = record["ball"]
    at = nearest(found["eps"], 0.5)
    where = f"eps = {found['eps'][at]:.2f}, \\|mu\\| = sigma = 1"
    return [
        [f"worst error in the ball, {where}", beside(found["worst"], at)],
        ["the same with the means moved alone, as printed", beside(found["mean_shift"], at)],
    ]


def augmented(record: Record) -> list[list[str]]:
    """What augmented samples are worth at two ratios."""
    found = record["augmented"]
    one, many = nearest(found["ratio"], 1), nearest(found["ratio"], 32)
    return [
        [
            f"effective share of real samples at r = {float(r):.2f}, m = 1; 32",
            f"{beside(curve, one)}; {beside(curve, many)}",
        ]
        for r, curve in found["shrinkage"].items()
    ]


def spread(record: Record) -> list[list[str]]:
    """The spread half-way in the largest dimension, and what pairing cannot change."""
    found = record["pairing"]
    rows = [
        [
            f"spread half-way in {found['dims'][-1]} dimensions, {points} points, exact pairing",
            f"{values[-1]:.3f} (random pairs {found['random']:.2f})",
        ]
        for points, values in found["exact"].items()
    ]
    return [*rows, ["change of the theorem's sum by the pairing", f"{found['sum_changes_by']:.0e}"]]


def regularized(record: Record) -> list[list[str]]:
    """Both regularisers."""
    linear, found = record["linear"], record["regularized"]
    true, last = nearest(found["scale"], 1.0), len(linear["weight"]) - 1
    ce, kl = found["ce"], found["kl"]
    best = nearest(kl["theory"], min(kl["theory"]))
    where = f"lambda1 = {linear['weight'][last]:g}, lambda2 = {linear['decay']:g}"
    return [
        [
            f"length of the linear minimiser, {where}",
            f"{beside(linear['length'], last)}; the paper {linear['length_printed'][last]:.3f}",
        ],
        ["its Reg", beside(linear["reg"], last)],
        [
            "its error; without the regulariser",
            f"{beside(linear['error'], last)}; {beside(linear['error'], 0)}",
        ],
        [
            "Reg of a constant, of the true posterior and of calibrated labels, cross-entropy",
            f"{beside(ce, 0)}; {beside(ce, true)}; {found['calibrated']['ce']:.3f}",
        ],
        [
            "the same, KL",
            f"{beside(kl, 0)}; {beside(kl, true)}; {found['calibrated']['kl']:.3f}; "
            f"least at scale {found['scale'][best]:.2f}",
        ],
    ]


def theorem(record: Record) -> list[list[str]]:
    """The theorem's probability at the largest size."""
    found = record["theorem"]
    last = len(found["n1"]) - 1
    return [
        [
            f"theorem at n1 = {found['n1'][last]}",
            f"printed bound {found['printed'][last]:.3f}, simulated {found['simulated'][last]:.3f} "
            f"(+- {found['error'][last]:.3f}), factor of the proof {found['needed_by_proof'][last]:.0e}",
        ]
    ]


def beside(curve: Record, at: int) -> str:
    """Theory and simulation at one place of a curve."""
    theory, simulated, error = (curve[key][at] for key in ("theory", "simulated", "error"))
    return f"{theory:.3f}, simulated {simulated:.3f} (+- {error:.4f})"


def nearest(values: list[float], wanted: float) -> int:
    """Index of the value nearest to ``wanted``."""
    return min(range(len(values)), key=lambda i: abs(values[i] - wanted))
