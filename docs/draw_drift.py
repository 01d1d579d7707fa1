"""docs/drift.svg and the tables of docs/drift.md, from results/drift.json."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from page import fill, table

Record = dict[str, Any]
WORDS = {
    "joint": "**ours: one plan, classes may grow**",
    "joint-balanced": "the same cost, balanced plan",
    "plan-input": "balanced plan, inputs",
    "plan-feature": "balanced plan, features",
    "cot": "COT (plan on outputs)",
    "neighbour": "nearest neighbour",
    "atc": "ATC (thresholded confidence)",
    "confidence": "average confidence",
    "confidence-difference": "difference of confidences",
    "nannyml-cbpe": "NannyML CBPE",
    "random": "random pairing",
    "source": "source accuracy",
}
PANELS = ("joint", "cot", "atc")


def draw(record: Record, docs: Path) -> None:
    """The picture, then the tables."""
    matplotlib.rcParams["svg.hashsalt"] = "wassermix"  # the same record gives the same file
    figure = Figure(figsize=(10, 3.6), layout="constrained")
    judged = [case for case in record["cases"] if not case["settles"]]
    for axes, name in zip(figure.subplots(1, len(PANELS), sharey=True), PANELS):
        scatter(axes, judged, name)
    figure.savefig(docs / "drift.svg", metadata={"Date": None})
    fill(docs / "drift.md", "numbers", numbers(record))


def scatter(axes: Any, cases: list[Record], name: str) -> None:
    """Estimate over truth, label shift in another colour."""
    for shifted, colour, label in ((False, "#0072b2", "other kinds"), (True, "#d55e00", "label shift")):
        chosen = [case for case in cases if (case["kind"] in ("few-classes", "one-class")) == shifted]
        truth = [100 * case["truth"] for case in chosen]
        axes.scatter(
            truth, [100 * case["estimates"][name] for case in chosen], s=9, color=colour, label=label
        )
    axes.plot([0, 100], [0, 100], color="#7f7f7f", linewidth=1)
    axes.set(title=WORDS[name].strip("*"), xlabel="true accuracy, %", xlim=(0, 101), ylim=(0, 101))
    axes.spines[["top", "right"]].set_visible(False)
    if name == PANELS[0]:
        axes.set_ylabel("estimated, %")
        axes.legend(frameon=False)


def numbers(record: Record) -> list[str]:
    """Everything that was measured, as tables."""
    results = record["results"]
    judged, settling = results["judged"], results["settling"]
    return [
        settings_line(record),
        "",
        speed_line(record["speed"]),
        "",
        "### Judged kinds, no label shift",
        "",
        *estimators(judged["plain"]),
        "",
        "### Judged kinds, label shift",
        "",
        *estimators(judged["label_shift"]),
        "",
        "### The tuning kinds (all)",
        "",
        *estimators(settling["all"]),
        "",
        "### Targets",
        "",
        *targets(results),
        "",
        "### Mean error in points by data set (judged, no label shift) and by kind (all strengths)",
        "",
        *by(results["by_data"], "data"),
        "",
        *by(results["by_net"], "net"),
        "",
        *by(results["by_kind"], "kind", marked=record["settings"]["settling_kinds"]),
    ]


def settings_line(record: Record) -> str:
    """What was run."""
    chosen, results = record["settings"], record["results"]
    weights = ", ".join(f"{key} {value:g}" for key, value in chosen["weights"].items())
    cases = results["settling"]["cases"] + results["judged"]["cases"]
    gap = results["settling"]["plain"]["ratio"]["cot"]["deviation"]
    cbpe = "" if not record["cbpe_absent"] else f" NannyML's CBPE: {record['cbpe_absent']}."
    return (
        f"Weights {weights}; relax {chosen['relax']:g}, entropy {chosen['entropy']:g}, interval factor "
        f"{chosen['interval_factor']:g} and share {chosen['interval_share']:g}. {cases} cases: "
        f"{len(results['settling']['kinds'])} kinds were tuned on, {len(results['judged']['kinds'])} are "
        "judged; "
        f"seeds {', '.join(map(str, record['seeds']))}. Between tuning kinds the paired difference to COT "
        f"has a deviation of {100 * gap:.1f} points.{cbpe}"
    )


def speed_line(speed: Record) -> str:
    """What a batch of a monitor costs."""
    return (
        f"A monitor's estimate for {speed['new']} new samples against a prepared reference of "
        f"{speed['reference']}: {speed['joint']:.2f} CPU seconds for our plan, {speed['all']:.2f} with "
        "all estimators beside it."
    )


def estimators(group: Record) -> list[str]:
    """One row for each estimator."""
    heads = ["estimator", "mean error", "90th percentile", "bias", "rank correlation", "AUC, loss > 10",
             "our error / its", "ms"]  # fmt: skip
    rows = []
    for name in sorted(group["estimators"], key=lambda name: group["estimators"][name]["mean"]):
        one = group["estimators"][name]
        ratio = group["ratio"].get(name)
        rows.append(
            [
                WORDS.get(name, name),
                *(f"{100 * one[key]:.1f}" for key in ("mean", "p90", "bias")),
                *(number(one[key]) for key in ("rank_correlation", "auc")),
                "" if ratio is None else ratio_words(ratio),
                "" if one["milliseconds"] is None else f"{one['milliseconds']:.0f}",
            ]
        )
    words = (
        f"{group['cases']} cases, errors in points. Coverage of the interval without labels: "
        f"{group['coverage']:.1%}, mean half width {100 * group['half_width']:.1f} points. "
        f"{labelled(group['labels'])}"
    )
    return [words, "", *table(heads, rows)]


def ratio_words(ratio: Record) -> str:
    """The ratio with its interval over kinds; one kind alone gives none."""
    if ratio["deviation"] == 0:
        return f"{ratio['ratio']:.2f}"
    return f"{ratio['ratio']:.2f} ({ratio['low']:.2f} to {ratio['high']:.2f})"


def labelled(found: Record | None) -> str:
    """The prediction-powered interval beside that of the labels alone."""
    if found is None:
        return ""
    return (
        f"With 100 labels: coverage {found['covered']:.1%}, half width {100 * found['half_width']:.1f} "
        f"points; from the labels alone {found['alone_covered']:.1%} and "
        f"{100 * found['alone_half_width']:.1f}."
    )


def number(value: float | None) -> str:
    """Two decimals, or nothing."""
    return "" if value is None else f"{value:.2f}"


def targets(results: Record) -> list[str]:
    """What was asked for, what came out, and whether that is met."""
    plain, shifted = results["judged"]["plain"], results["judged"]["label_shift"]
    cot, atc, alarms = plain["ratio"]["cot"], plain["ratio"]["atc"], results["false_alarms"]
    ours, theirs = (100 * one["estimators"]["joint"]["mean"] for one in (plain, shifted))
    labels = results["judged"]["all"]["labels"]
    worst = max(alarms["tests"].values())
    allowed = 0.05 + 2 * np.sqrt(0.05 * 0.95 / alarms["deals"])
    ratio = "{ratio:.2f} ({low:.2f} to {high:.2f})"
    ahead = cot["ratio"] <= 0.75 and cot["high"] < 1
    sounded = f"{alarms['monitors']:.1%} of {alarms['streams']}"
    rows = [
        ("error at most 0.75 of COT's, interval below 1", ratio.format(**cot), ahead),
        ("error at most 0.4 of ATC's", ratio.format(**atc), atc["ratio"] <= 0.4),
        ("at most 4 points without label shift", f"{ours:.1f}", ours <= 4),
        ("at most 6 points with label shift", f"{theirs:.1f}", theirs <= 6),
        (
            f"false alarms of the tests at 5% (at most {allowed:.1%}: two standard errors above)",
            ", ".join(f"{space} {share:.1%}" for space, share in alarms["tests"].items())
            + f" of {alarms['deals']} deals",
            worst <= allowed,
        ),
        ("false alarms of monitors at 5%", sounded, alarms["monitors"] <= 0.05),
        ("coverage with 100 labels 93 to 97%", f"{labels['covered']:.1%}", 0.93 <= labels["covered"] <= 0.97),
    ]  # fmt: skip
    return table(["target", "measured", "met"], [[a, b, "yes" if met else "**no**"] for a, b, met in rows])


def by(groups: Record, head: str, *, marked: list[str] | None = None) -> list[str]:
    """Mean errors of the main estimators for each data set, net or kind."""
    shown = [
        name
        for name in WORDS
        if name in next(iter(groups.values())) and name not in ("random", "joint-balanced")
    ]
    rows = [
        [
            f"{key}{' (tuning)' if marked and key in marked else ''}",
            *(f"{100 * one[name]:.1f}" for name in shown),
        ]
        for key, one in groups.items()
    ]
    return table([head, *(WORDS[name].split(" (")[0] for name in shown)], rows)
