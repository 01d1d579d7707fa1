"""Plans against POT, and label shifts that the relaxed plan must find."""

from __future__ import annotations

import numpy as np
import ot
import pytest

from drift.problems import rng
from wassermix.drift.plans import carried, exact_plan, relaxed_plan


def cost(n: int, m: int, seed: int = 0) -> np.ndarray:
    first, second = rng(seed).normal(size=(n, 3)), rng(seed + 1).normal(size=(m, 3))
    return ot.dist(first, second)


@pytest.mark.parametrize(("n", "m"), [(20, 20), (20, 33)])
def test_the_exact_plan_costs_what_pot_finds(n: int, m: int) -> None:
    c = cost(n, m)
    plan = exact_plan(c)
    assert (plan * c).sum() == pytest.approx(ot.emd2(np.full(n, 1 / n), np.full(m, 1 / m), c), rel=1e-7)
    assert plan.sum(1) == pytest.approx(np.full(n, 1 / n))
    assert plan.sum(0) == pytest.approx(np.full(m, 1 / m))


def test_without_relaxation_the_plan_is_pots_sinkhorn() -> None:
    c = cost(15, 22)
    found = relaxed_plan(
        c, np.zeros(15, np.int64), entropy=0.1, relax=np.inf, tolerance=1e-9, max_iterations=5000
    )
    theirs = ot.sinkhorn(np.full(15, 1 / 15), np.full(22, 1 / 22), c, 0.1 * c.mean(), stopThr=1e-12)
    assert found.plan == pytest.approx(theirs, abs=1e-6)


def test_columns_are_uniform_and_rows_grow_by_class_alone() -> None:
    y = np.arange(30) % 3
    found = relaxed_plan(cost(30, 40), y, entropy=0.05, relax=0.1, tolerance=1e-8, max_iterations=5000)
    assert found.plan.sum(0) == pytest.approx(np.full(40, 1 / 40), rel=1e-6)
    assert found.plan.sum(1) == pytest.approx(found.growth[y] / 30, rel=1e-5)


def test_relaxation_minimises_what_it_claims_to() -> None:
    """Two classes: the growth is the best of a grid, each point solved as a balanced problem by POT."""
    y, c = np.arange(12) % 2, cost(12, 10, seed=5)
    entropy, relax, mean = 0.2, 0.3, cost(12, 10, seed=5).mean()
    found = relaxed_plan(c, y, entropy=entropy, relax=relax, tolerance=1e-10, max_iterations=20_000)

    def objective(w: float) -> float:
        growth = np.array([w, 2 - w])
        rows, columns = growth[y] / 12, np.full(10, 1 / 10)
        plan = ot.sinkhorn(rows, columns, c, entropy * mean, stopThr=1e-10, numItermax=20_000)
        entropic = (plan * np.log(plan / (np.full((12, 1), 1 / 12) * columns))).sum()
        price = 0.5 * (growth * np.log(growth) - growth + 1).sum()
        return float((plan * c).sum() + entropy * mean * entropic + relax * mean * price)

    grid = np.linspace(0.7, 1.3, 31)
    best = grid[np.argmin([objective(w) for w in grid])]
    assert found.growth[0] == pytest.approx(best, abs=0.021)


def test_a_label_shift_between_distant_classes_is_found() -> None:
    y = np.arange(100) % 2
    old = rng(0).normal(size=(100, 2)) + 20 * y[:, None]
    young_y = (np.arange(100) >= 80).astype(np.int64)  # 80% of class 0
    young = rng(1).normal(size=(100, 2)) + 20 * young_y[:, None]
    found = relaxed_plan(ot.dist(old, young), y, entropy=0.02, relax=0.05)
    assert found.growth == pytest.approx([1.6, 0.4], abs=0.1)
    assert carried(found.plan, y, young_y).mean() > 0.97
    assert carried(exact_plan(ot.dist(old, young)), y, young_y).mean() == pytest.approx(0.7)
