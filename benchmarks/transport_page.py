"""The page that says how fast transport is, written from results/transport.json alone."""

from __future__ import annotations

from typing import Any


def page(result: dict[str, Any]) -> str:
    """Markdown: the ratios, every anchor's time or failure, growth and threads."""
    parts = [
        "# How fast transport is",
        f"{result['data']}; {result['machine']['processor']}, torch {result['torch']}. One thread, CPU time, "
        "from points to plan, all solvers in one process at equal error: the L1 error of both marginals, "
        "recomputed in float64. Anchors are the solvers of POT, OTT and geomloss; they run for the fewest "
        "iterations that meet it, which spares them a stopping rule; each time is the fastest of many runs, "
        "and freed memory stays with the process for all solvers. "
        "Written by `python -m benchmarks transport` from `results/transport.json`.",
        "## Against the best anchor that gets there",
        _ratios(result["rows"]),
        "The aim is the ratio that was to be reached; where the ratio is below it, it was not.",
        "## Exact pairs beside entropic plans",
        _pairing(result["pairing"]["rows"]),
        _pairing_words(result["pairing"]),
        "## Every anchor",
        "\n\n".join(_anchors(row) for row in result["rows"]),
        "## How cost and memory grow",
        _growth(result["growth"]),
        "Two normal clouds in 64 dimensions, entropy 0.1, error 1e-3; from the size at which the cost matrix "
        "exceeds the memory budget (2 GB), it is streamed. Peak memory is that of the whole process; "
        "Python and torch take the last column before the solve.",
        "## Threads",
        _threads(result["threads"]),
        "Wall time of 45 class pairs at entropy 0.01, error 1e-3, one problem to a thread at a time.",
    ]
    return "\n\n".join(parts) + "\n"


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _ratios(rows: list[dict[str, Any]]) -> str:
    def line(row: dict[str, Any]) -> list[str]:
        valid = {name: a for name, a in row["anchors"].items() if "ms" in a}
        best = min(valid, key=lambda name: float(valid[name]["ms"]), default="none got there")
        ratio = f"{row['ratio']:.1f}x" if row["ratio"] else "-"
        return [row["case"], f"{row['ours_ms']:.2f}", best, ratio, f"{row['target']:g}x"]

    return _table(["case", "ours, ms", "best anchor", "ratio", "aim"], [line(row) for row in rows])


def _pairing(rows: list[dict[str, Any]]) -> str:
    def line(row: dict[str, Any]) -> list[str]:
        case = f"{row['problems']} class pairs n={row['n']}, entropy {row['entropy']:g}"
        times = [
            f"{row[key]:.2f}" for key in ("exact_ms", "entropic_ms", "exact_ends_ms", "entropic_ends_ms")
        ]
        return [case, *times[:2], f"{row['ratio']:.2f}x", *times[2:], f"{row['ends_ratio']:.2f}x"]

    solved, ends = ["exact, ms", "entropic, ms", "ratio"], ["exact ends, ms", "entropic ends, ms", "ratio"]
    return _table(["case", *solved, *ends], [line(row) for row in rows])


def _pairing_words(part: dict[str, Any]) -> str:
    alone, ends, excess = ([row[key] for row in part["rows"]] for key in ("ratio", "ends_ratio", "excess"))
    worst = f"at most {max(excess):.0e} more than" if max(excess) > 1e-9 else "the same as"
    return (
        "Our own two ways to pair many small clouds, all problems in one call: `assign`, one partner for "
        "each point, and `solve_coupling` to an error of 1e-3. A ratio above 1 says that exact pairs are "
        f"faster: it is {min(alone):.2f} to {max(alone):.2f} where the entropic solve may stop at its "
        f"potentials, and {min(ends):.2f} to {max(ends):.2f} where both must say where each point ends (its "
        "partner, or its image under the plan), which is what an augmenter needs. They were timed in turn "
        f"({part['machine']['processor']}, torch {part['torch']}), so that other work on the machine slows "
        "all alike: the ratios count, and the times do not compare with those above. The exact pairs cost "
        f"{worst} scipy's. Measured alone by `python -m benchmarks.transport --part pairing`."
    )


def _anchors(row: dict[str, Any]) -> str:
    lines = [["ours", f"{row['ours_ms']:.2f}", "", f"{row['ours_error']:.1e}"]]
    for name, anchor in row["anchors"].items():
        if "ms" in anchor:
            error = f"{anchor['error']:.1e}" if "error" in anchor else ""
            lines.append([name, f"{anchor['ms']:.2f}", str(anchor.get("iterations", "")), error])
        else:
            lines.append([name, "-", "", anchor["failed"]])
    return f"**{row['case']}**\n\n" + _table(["solver", "ms", "iterations", "error"], lines)


def _growth(rows: list[dict[str, Any]]) -> str:
    lines = [
        [
            f"{r['n']:,}",
            f"{r['seconds']:.2f}",
            str(r["iterations"]),
            f"{r['peak_mb']:.0f}",
            f"{r['before_mb']:.0f}",
        ]
        for r in rows
    ]
    return _table(["n", "CPU s", "iterations", "peak MB", "before, MB"], lines)


def _threads(rows: list[dict[str, Any]]) -> str:
    return _table(["threads", "ms"], [[str(r["threads"]), f"{r['milliseconds']:.1f}"] for r in rows])
