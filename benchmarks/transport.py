"""Optimal transport against POT, geomloss and OTT: ratios of CPU time in one process at equal error.

Every entropic solver starts from the points (the exact anchors from the cost matrix, which favours them).
Anchors run for the smallest number of iterations, on a grid, at which their plan meets the target error (L1
of both marginals, recomputed in float64), which spares them a stopping rule. Times are the fastest of many
runs; compilation is not counted for anyone, and nobody pays for fresh memory: glibc is told to keep what is
freed. An anchor that misses the target within its time is listed so.

``python -m benchmarks.transport --part pairing`` measures exact pairs beside entropic plans alone, in half a
minute, and puts them into the record that there is.
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
import ot
import torch
from torch import Tensor

from benchmarks.transport_anchors import batch_anchors, pair_anchors
from benchmarks.transport_page import page
from wassermix.core.errors import InputError
from wassermix.core.files import write_json, write_text
from wassermix.core.machine import processor_name
from wassermix.core.memory import keep_freed_memory
from wassermix.data import load_data
from wassermix.transport import (
    Coupling,
    GaussianMap,
    assign,
    grid_barycenter,
    solve_coupling,
    solve_exact,
    squared_distances,
    warm_up,
)

PATIENCE = 8.0  # seconds that one anchor may take for one solve
ROUND = 0.5  # seconds that a solver is timed for
PARTS = Path("benchmarks/.cache/transport.json")
RECORD, PAGE = Path("results/transport.json"), Path("docs/transport-benchmark.md")


@dataclass
class Row:
    """One case: what we take, what each anchor takes, and the ratio to the best that got there."""

    case: str
    target: float
    ours_ms: float
    ours_error: float
    anchors: dict[str, dict[str, float | str]] = field(default_factory=dict)

    @property
    def ratio(self) -> float | None:
        times = [float(a["ms"]) for a in self.anchors.values() if "ms" in a]
        return min(times) / self.ours_ms if times else None

    def record(self) -> dict[str, object]:
        return asdict(self) | {"ratio": self.ratio}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes only")
    parser.add_argument("--part", choices=["pairing"], help="this part alone, put into the record")
    parser.add_argument("--grow", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    torch.set_num_threads(1)
    keep_freed_memory()  # for the anchors too: page faults after each call would hide the solvers
    warm_up()
    if options.grow:
        print(json.dumps(growth_of(options.grow)))
        return
    warnings.simplefilter("ignore")
    name, z, y, images = embedded()
    if options.part:
        keep(json.loads(RECORD.read_text()) | {"pairing": pairing(z, y)})
        return
    rows = [measured(case, run) for case, run in cases(z, y, images, quick=options.quick)]
    sizes = (1000, 5000) if options.quick else (1000, 2000, 5000, 10_000, 20_000, 50_000)
    result = {
        "version": 1, "data": name, "machine": machine(), "torch": torch.__version__, "quick": options.quick,
        "rows": rows, "growth": [grown(n) for n in sizes],
        "threads": threads(z, y), "pairing": pairing(z, y),
    }  # fmt: skip
    keep(result)
    PARTS.unlink()


def keep(result: dict[str, object]) -> None:
    """Write the record, and the page from it."""
    write_json(RECORD, result)
    write_text(PAGE, page(result))


def machine() -> dict[str, str]:
    return {"processor": processor_name(), "python": platform.python_version()}


def measured(case: str, run: Callable[[], Row]) -> dict[str, object]:
    """One row of the table; those of a run that was stopped are kept."""
    done = json.loads(PARTS.read_text()) if PARTS.exists() else {}
    if case not in done:
        row = run()
        shown = f"{row.ratio:.1f}x" if row.ratio else "no anchor got there"
        print(f"{row.case}: {shown} (at least {row.target:g}x), ours {row.ours_ms:.2f} ms", flush=True)
        done[case] = row.record()
        write_json(PARTS, done)
    found: dict[str, object] = done[case]
    return found


def embedded() -> tuple[str, Tensor, Tensor, Tensor]:
    """MNIST's test images (or the small MNIST where it is absent): PCA-64, classes, images."""
    try:
        split, name = load_data("mnist").test, "MNIST test images, PCA-64"
    except InputError:
        split, name = load_data("mnist5k").train, "mnist5k training images, PCA-64"
    x = split.get(torch.arange(len(split))).double()
    flat = x.flatten(1) - x.flatten(1).mean(0)
    _, vectors = torch.linalg.eigh(flat.T @ flat)
    return name, (flat @ vectors[:, -64:]).float(), split.y, x.squeeze(1)


def halves(z: Tensor, y: Tensor, n: int) -> tuple[Tensor, Tensor]:
    """``n`` digits below 5 and ``n`` others, or as many as there are of both."""
    below, above = z[y < 5], z[y >= 5]
    count = min(n, len(below), len(above))
    return below[:count], above[:count]


def class_pairs(z: Tensor, y: Tensor, n: int) -> tuple[Tensor, Tensor]:
    """All 45 pairs of classes, ``(45, n, d)`` each."""
    classes = [z[y == c][:n] for c in range(10)]
    pairs = [(s, t) for s in range(10) for t in range(s + 1, 10)]
    return torch.stack([classes[s] for s, _ in pairs]), torch.stack([classes[t] for _, t in pairs])


def cpu_ms(run: Callable[[], object]) -> float:
    """The fastest of as many runs as fit into ``ROUND`` seconds, three at least: others only add noise."""
    times: list[float] = []
    while len(times) < 3 or (sum(times) < ROUND and len(times) < 200):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
        if times[0] > PATIENCE / 4:
            break
    return 1000 * min(times)


def error_of(plan: Tensor) -> float:
    """L1 of both marginals against uniform weights, of the worst problem, in float64."""
    plan = plan.double()
    n, m = plan.shape[-2:]
    rows, columns = (plan.sum(-1) - 1 / n).abs().sum(-1), (plan.sum(-2) - 1 / m).abs().sum(-1)
    worst = float((rows + columns).max())
    return worst if np.isfinite(worst) else float("inf")


def timed_anchor(run: Callable[[int], Tensor], tolerance: float) -> dict[str, float | str]:
    """The time at the fewest iterations that meet ``tolerance``; what it reached where none do."""
    count, best = 5, float("inf")
    try:
        while True:
            start = time.process_time()
            best = min(best, error_of(run(count)))
            if best <= tolerance:
                break
            if time.process_time() - start > PATIENCE / 1.6 or count > 60_000:
                return {"failed": f"error {best:.1e} after {count} iterations"}
            count = int(count * 1.6) + 1
        return {"ms": cpu_ms(lambda: run(count)), "iterations": count, "error": best}
    except Exception as error:  # an anchor may fail in any way; that is its result
        return {"failed": f"{type(error).__name__}: {str(error)[:80]}"}


def coupling_row(
    case: str, target: float, z0: Tensor, z1: Tensor, *, entropy: float, tolerance: float
) -> Row:
    """Ours against all anchors on one problem, or on a batch of them."""

    def ours() -> Tensor:
        return solve_coupling(z0, z1, entropy, tolerance=tolerance).f

    ours()
    row = Row(
        case,
        target,
        cpu_ms(ours),
        error_of(solve_coupling(z0, z1, entropy, tolerance=tolerance).plan),
    )
    anchors = pair_anchors(z0, z1, entropy) if z0.dim() == 2 else batch_anchors(z0, z1, entropy)
    for name, run in anchors.items():
        row.anchors[name] = {"failed": run} if isinstance(run, str) else timed_anchor(run, tolerance)
    return row


def cases(z: Tensor, y: Tensor, images: Tensor, *, quick: bool) -> Iterator[tuple[str, Callable[[], Row]]]:
    """Every row of the table by name, to be measured."""
    for n, entropy, target in ((64, 0.01, 25), (128, 0.01, 25), (64, 0.1, 2.5), (128, 0.1, 2.5)):
        case = f"45 class pairs n={n}, entropy {entropy}, error 0.001"
        clouds = class_pairs(z, y, n)
        yield case, partial(coupling_row, case, target, *clouds, entropy=entropy, tolerance=1e-3)
    singles = [(128, 0.01, 1e-3, 8), (512, 0.01, 1e-3, 8), (512, 0.01, 1e-5, 10), (512, 0.001, 4e-5, 50)]
    if not quick:
        singles += [(2048, 0.1, 1e-3, 2.5), (2048, 0.01, 1e-3, 8), (2048, 0.01, 1e-5, 10)]
    for n, entropy, tolerance, target in singles:
        case = f"one pair n={n}, entropy {entropy}, error {tolerance:g}"
        yield (
            case,
            partial(coupling_row, case, target, *halves(z, y, n), entropy=entropy, tolerance=tolerance),
        )
    for n in (1024,) if quick else (1024, 5000):
        yield f"exact {n}", partial(exact_row, *halves(z, y, n))
    yield "gaussian", partial(gaussian_row, *halves(z, y, 2000))
    yield "barycenter", partial(barycenter_row, images[y == 3][:20], 100 if quick else 400)


def exact_row(z0: Tensor, z1: Tensor) -> Row:
    from scipy.optimize import linear_sum_assignment

    n = len(z0)
    cost, weights = squared_distances(z0.double(), z1.double()).numpy(), np.full(len(z0), 1 / len(z0))
    coupling = solve_exact(z0, z1)
    gap = float(coupling.gap.max()) if coupling.gap is not None else float("nan")
    row = Row(f"exact, uniform, n={n}", 4, cpu_ms(lambda: solve_exact(z0, z1)), gap)
    row.anchors["POT emd"] = {"ms": cpu_ms(lambda: ot.emd(weights, weights, cost, numItermax=10**8))}
    row.anchors["scipy assignment"] = {"ms": cpu_ms(lambda: linear_sum_assignment(cost))}
    return row


def gaussian_row(z0: Tensor, z1: Tensor) -> Row:
    x0, x1 = z0.double().numpy(), z1.double().numpy()

    def theirs() -> tuple[np.ndarray, np.ndarray]:
        found: tuple[np.ndarray, np.ndarray] = ot.gaussian.empirical_bures_wasserstein_mapping(
            x0, x1, reg=1e-9
        )
        return found

    matrix = GaussianMap().fit(z0.double(), z1.double()).state["matrix"]
    difference = float((matrix - torch.from_numpy(theirs()[0])).abs().max())
    ours = cpu_ms(lambda: GaussianMap().fit(z0.double(), z1.double()))
    row = Row(f"Gaussian map d=64 from {len(z0)} points", 4, ours, difference)
    row.anchors["POT"] = {"ms": cpu_ms(theirs)}
    return row


def barycenter_row(images: Tensor, count: int) -> Row:
    """To the distance from the limit that POT has after ``count`` iterations."""
    reg, images = 0.004, images / images.sum((1, 2), keepdim=True)

    def theirs() -> np.ndarray:
        found: np.ndarray = ot.bregman.convolutional_barycenter2d_debiased(
            images.numpy(), reg, stopThr=0, numItermax=count, warn=False
        )
        return found / found.sum()

    def ours(iterations: int) -> Tensor:
        return grid_barycenter(
            images, None, reg, absolute=True, tolerance=1e-12, max_iterations=iterations
        ).histogram

    limit = ours(20 * count)
    reached = float((torch.from_numpy(theirs()) - limit).abs().sum())
    needed = count
    while float((ours(needed) - limit).abs().sum()) > reached:
        needed = int(1.1 * needed) + 1
    row = Row("debiased barycenter of 20 digits", 3, cpu_ms(lambda: ours(needed)), reached)
    row.anchors["POT"] = {"ms": cpu_ms(theirs), "iterations": count}
    return row


def pairing(z: Tensor, y: Tensor) -> dict[str, object]:
    """Exact pairs of all 45 pairs of classes, in one call, beside their entropic plans, in one call too."""
    rows = [
        pairing_row(*class_pairs(z, y, n), entropy=entropy)
        for n in (64, 128, 256)
        for entropy in (0.01, 0.02, 0.1)
    ]
    return {"machine": machine(), "torch": torch.__version__, "rows": rows}


def pairing_row(z0: Tensor, z1: Tensor, *, entropy: float, tolerance: float = 1e-3) -> dict[str, float]:
    """Solutions, and the ends of all points: partners, or images under the plan."""

    def plan() -> Coupling:
        return solve_coupling(z0, z1, entropy, tolerance=tolerance)

    best = in_turn(
        exact=lambda: assign(z0, z1),
        entropic=plan,
        exact_ends=lambda: z1.gather(1, assign(z0, z1)[..., None].expand_as(z0)),
        entropic_ends=lambda: plan().push(z1),
    )
    ratio, ends_ratio = best["entropic"] / best["exact"], best["entropic_ends"] / best["exact_ends"]
    print(f"n={z0.shape[1]}, entropy {entropy:g}: exact {ratio:.2f}x, ends {ends_ratio:.2f}x", flush=True)
    return {
        "problems": len(z0), "n": z0.shape[1], "entropy": entropy, "tolerance": tolerance,
        **{f"{name}_ms": value for name, value in best.items()},
        "ratio": ratio, "ends_ratio": ends_ratio, "excess": excess(z0, z1),
    }  # fmt: skip


def in_turn(**runs: Callable[[], object]) -> dict[str, float]:
    """The fastest CPU time of each, in ms; they take turns, so that a busy machine slows all of them."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    end = time.process_time() + ROUND * len(runs)
    while time.process_time() < end:
        for name, run in runs.items():
            start = time.process_time()
            run()
            times[name].append(1000 * (time.process_time() - start))
    return {name: min(some) for name, some in times.items()}


def excess(z0: Tensor, z1: Tensor) -> float:
    """How much more the exact pairs cost than scipy's, as a share, in the worst of the problems."""
    from scipy.optimize import linear_sum_assignment

    found, worst = assign(z0, z1), 0.0
    for x0, x1, columns in zip(z0.double(), z1.double(), found):
        cost = squared_distances(x0, x1).numpy()
        least = cost[linear_sum_assignment(cost)].sum()
        worst = max(worst, float(cost[np.arange(len(x0)), columns.numpy()].sum() / least - 1))
    return worst


def growth_of(n: int) -> dict[str, float]:
    """Time and peak memory of one problem of two normal clouds, in a process of its own."""
    draw = torch.Generator().manual_seed(0)
    z0, z1 = torch.randn(n, 64, generator=draw), 1.3 * torch.randn(n, 64, generator=draw) + 0.2
    before = peak_mb()
    start = time.process_time()
    coupling = solve_coupling(z0, z1, 0.1, tolerance=1e-3)
    return {
        "n": n,
        "seconds": time.process_time() - start,
        "iterations": int(coupling.iterations),
        "error": float(coupling.marginal_error),
        "peak_mb": peak_mb(),
        "before_mb": before,
    }


def peak_mb() -> float:
    """The most memory this program held; getrusage would also count the parent's before the exec."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


def grown(n: int) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.transport", "--grow", str(n)]
    found: dict[str, float] = json.loads(
        subprocess.run(command, check=True, capture_output=True, text=True).stdout
    )
    print(f"n={n}: {found['seconds']:.2f} s, {found['peak_mb']:.0f} MB", flush=True)
    return found


def threads(z: Tensor, y: Tensor) -> list[dict[str, float]]:
    """Wall time of 45 pairs of 512 points over one and two threads."""
    z0, z1 = class_pairs(z, y, min(512, int(y.bincount().min())))
    found = []
    for count in (1, 2):
        torch.set_num_threads(count)
        times = []
        for _ in range(5):
            start = time.perf_counter()
            solve_coupling(z0, z1, 0.01, tolerance=1e-3)
            times.append(time.perf_counter() - start)
        found.append({"threads": count, "milliseconds": 1000 * min(times)})
    torch.set_num_threads(1)
    return found


if __name__ == "__main__":
    main()
