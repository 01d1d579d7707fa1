"""The page that says what certification costs, written from results/certify.json alone."""

from __future__ import annotations

from typing import Any

TARGETS = {0.25: (10.0, 15.0), 0.5: (2.3, 3.5), 1.0: (4.0, 6.0)}
"""sigma -> the saving in draws and the speed-up of the whole table that were aimed at."""


def page(result: dict[str, Any], fair: dict[str, Any] | None = None) -> str:
    """Markdown: the draws, the cells, the speed, and how each was measured.

    ``fair`` is what ``python -m benchmarks speed`` found beside the best plain loop.
    """
    speed = result["speed"]
    best = max(speed["ratio"], key=lambda name: speed["ratio"][name])
    parts = [
        "# What a certified table costs",
        f"A LeNet for each sigma, trained with that noise on {result['data']} ({result['epochs']} epochs), "
        f"test images evenly spaced, alpha {result['alpha']:g}, N = {result['n']:,}. Machine: "
        f"{result['machine']['processor']}, {result['machine']['cpus']} CPUs, torch {result['torch']}. "
        "Written by `python -m benchmarks certify` from `results/certify.json`.",
        "## Draws: `grid` against `fixed` on the same noise",
        draws_table(result["rows"]),
        "The votes of each image were recorded once and replayed. Its recording ends when `fixed` can no "
        "longer certify it at a radius that `grid` did not, so no fall is missed: `fixed` is credited with "
        "grid's outcome where its own was not needed, and spared its wrong picks: both count the label. "
        "Falls are in points of certified accuracy; the aim was at most 0.6, at 3.5 sigma 2.5.",
        "## Speed of a draw, one thread",
        speed_table(speed),
        f"The plain loop (default memory layout, batches of 1,000, one image at a time) was timed on "
        f"{speed['plain_draws']:,} draws at sigma {speed['sigma']:g}, in turn with ours; its time for a "
        "whole table is computed from this rate, not measured.",
        *([] if fair is None else fair_parts(fair)),
        "## The whole certified table against the plain loop",
        whole_table(result["rows"], speed["ratio"], best, fair),
        "Saving in draws times speed of a draw; the plain loops make all N draws.",
        "## All certifiers on the images recorded to the end",
        full_table(result["rows"]),
        "The mean radii of `grid` and of the union of looks are rounded down to the grid.",
    ]
    return "\n\n".join(parts) + "\n"


def draws_table(rows: list[dict[str, Any]]) -> str:
    head = "| sigma | radii to | images | mean draws (median) | saving | aim | largest fall | at 3.5 sigma |"
    lines = [
        f"| {row['sigma']:g} | {row['radii'][-1]:g} | {row['images']} | {row['draws_mean']:,.0f} "
        f"({row['draws_median']:,.0f}) | {row['saving']:.1f}x | {aim(row, 0)} "
        f"| {largest_fall(row, extreme=False)} | {largest_fall(row, extreme=True)} |"
        for row in rows
    ]
    return "\n".join([head, "|---" * 8 + "|", *lines])


def largest_fall(row: dict[str, Any], *, extreme: bool) -> str:
    """Of the cells at 3.5 sigma, the edge of what N draws can prove, or of all others."""
    cells = zip(row["radii"], row["fixed_at_most"], row["grid"])
    falls = [fixed - grid for radius, fixed, grid in cells if (radius >= 3.5 * row["sigma"]) == extreme]
    return f"{100 * max(falls):.1f} points" if falls else "-"


def aim(row: dict[str, Any], which: int) -> str:
    target = TARGETS.get(row["sigma"])
    return f"{target[which]:g}x" if target else "-"


def speed_table(speed: dict[str, Any]) -> str:
    head = "| | draws/s | against plain | votes equal to the plain model's |\n|---|---|---|---|"
    lines = [f"| plain loop | {speed['draws_per_second']['plain']:,.0f} | 1x | |"]
    for name, ratio in speed["ratio"].items():
        equal = f"{100 * speed['agreement'][name]:.3f}%"
        lines.append(f"| ours, `{name}` | {speed['draws_per_second'][name]:,.0f} | {ratio:.2f}x | {equal} |")
    return "\n".join([head, *lines])


def fair_parts(fair: dict[str, Any]) -> list[str]:
    """Our speed beside the best of all plain loops, as ranges over the cores."""
    plain = {name: rate for name, rate in fair["rates"].items() if name.startswith("plain")}
    best = max(plain, key=lambda name: max(plain[name]))
    lines = [f"| {name} | {span(rate, ',.0f')} | |" for name, rate in plain.items()]
    lines += [
        f"| {name} | {span(fair['rates'][name], ',.0f')} | {span(ratio, '.2f')}x |"
        for name, ratio in fair["ratio"].items()
    ]
    head = "| one thread on each core in turn | draws/s | against the best plain loop |\n|---|---|---|"
    return [
        "## Against the best plain loop",
        f"The loop above is not the fastest that one can write without a library. {fair['processor']}, torch "
        f"{fair['torch']}, LeNet, sigma {fair['sigma']:g} (`python -m benchmarks speed`, "
        f"`results/speed.json`); the best plain loop here: {best.removeprefix('plain, ')}.",
        "\n".join([head, *lines]),
        *([bound(fair)] if "forward_gflops" in fair else []),  # earlier records have none
    ]


def bound(fair: dict[str, Any]) -> str:
    """Why no loop is much faster: what the forward alone takes, beside a product of matrices."""
    alone = [ratio for name, ratio in fair["ratio"].items() if name.startswith("forward")]
    best = span([max(ratios) for ratios in zip(*alone)], ".2f")
    return (
        f"The forward alone, without noise and without counting, is {best} times as fast as the best plain "
        "loop: more than that no loop around this model can gain on one thread. "
        f"It computes {span(fair['forward_gflops'], '.0f')} GFLOP/s, where a product of two large matrices "
        f"reaches {span(fair['product_gflops'], '.0f')} on the same core. What certification saves are draws."
    )


def span(values: list[float], form: str) -> str:
    """The lowest and the highest, or the one value where they look alike."""
    low, high = format(min(values), form), format(max(values), form)
    return low if low == high else f"{low} to {high}"


def whole_table(
    rows: list[dict[str, Any]], ratio: dict[str, float], best: str, fair: dict[str, Any] | None
) -> str:
    """What a table costs with the loop above; last, with the best plain loop, where that was measured."""
    head = f"| sigma | with `eager` | with `{best}` | aim | `eager`, best plain loop |\n|---|---|---|---|---|"
    lines = [
        f"| {row['sigma']:g} | {row['saving'] * ratio['eager']:.1f}x "
        f"| {row['saving'] * ratio[best]:.1f}x | {aim(row, 1)} | {against_best(row, fair)} |"
        for row in rows
    ]
    return "\n".join([head, *lines])


def against_best(row: dict[str, Any], fair: dict[str, Any] | None) -> str:
    """The saving in draws at our best eager speed beside the best plain loop, as a range over the cores."""
    if fair is None:
        return "-"
    eager = [ratio for name, ratio in fair["ratio"].items() if name.startswith("ours, eager")]
    return f"{span([row['saving'] * max(rates) for rates in zip(*eager)], '.1f')}x"


def full_table(rows: list[dict[str, Any]]) -> str:
    names = {"fixed": "fixed", "grid": "grid", "tolerance": "tolerance", "union": "union of looks"}
    head = "| sigma | images | certifier | mean draws | mean radius |\n|---|---|---|---|---|"
    lines = [
        f"| {row['sigma']:g} | {row['full']['images']} | {label} | {row['full'][name]['draws_mean']:,.0f} "
        f"| {row['full'][name]['radius_mean']:.3f} |"
        for row in rows
        for name, label in names.items()
    ]
    return "\n".join([head, *lines])
