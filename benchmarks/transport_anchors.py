"""The anchors: other libraries' entropic solvers behind one signature, iterations -> plan."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import ot
import torch
from torch import Tensor

Anchor = Callable[[int], Tensor] | str
"""A solver, or why there is none."""


def pair_anchors(z0: Tensor, z1: Tensor, entropy: float) -> dict[str, Anchor]:
    """Solvers of one pair of clouds ``(n, d), (m, d)``."""
    x0, x1 = z0.double().numpy(), z1.double().numpy()

    def pot64(count: int, method: str = "sinkhorn") -> Tensor:
        cost = ot.dist(x0, x1)
        reg = entropy * cost.mean()
        return torch.from_numpy(
            np.asarray(ot.sinkhorn([], [], cost, reg, method=method, numItermax=count, stopThr=0, warn=False))
        )

    def pot32(count: int, method: str = "sinkhorn") -> Tensor:
        cost = ot.dist(z0, z1)
        a, b = torch.full((len(z0),), 1 / len(z0)), torch.full((len(z1),), 1 / len(z1))
        reg = entropy * float(cost.mean())
        plan: Tensor = ot.sinkhorn(a, b, cost, reg, method=method, numItermax=count, stopThr=0, warn=False)
        return plan

    def scaling(count: int) -> Tensor:
        cost = ot.dist(x0, x1)
        reg = entropy * cost.mean()
        plan = ot.bregman.sinkhorn_epsilon_scaling(
            [], [], cost, reg, numItermax=100, numInnerItermax=count, stopThr=0, warn=False
        )
        return torch.from_numpy(np.asarray(plan))

    anchors: dict[str, Anchor] = {
        "POT sinkhorn float64": pot64,
        "POT sinkhorn float32": pot32,
        "POT sinkhorn_log float32": lambda count: pot32(count, "sinkhorn_log"),
        "POT epsilon scaling": scaling,
        "geomloss": _geomloss(z0, z1, entropy),
    }
    return anchors | _ott(z0[None], z1[None], entropy)


def batch_anchors(z0: Tensor, z1: Tensor, entropy: float) -> dict[str, Anchor]:
    """Solvers of a batch ``(p, n, d), (p, m, d)``."""

    def batch(count: int, method: str) -> Tensor:
        cost = torch.cdist(z0, z1).square()
        cost = cost / cost.mean((1, 2), keepdim=True)
        plan: Tensor = ot.solve_batch(cost, entropy, max_iter=count, tol=0, method=method).plan
        return plan

    def loop(count: int) -> Tensor:
        plans = []
        for x0, x1 in zip(z0.double().numpy(), z1.double().numpy()):
            cost = ot.dist(x0, x1)
            plans.append(
                ot.sinkhorn([], [], cost, entropy * cost.mean(), numItermax=count, stopThr=0, warn=False)
            )
        return torch.from_numpy(np.stack(plans))

    anchors: dict[str, Anchor] = {
        "POT solve_batch exp float32": lambda count: batch(count, "sinkhorn"),
        "POT solve_batch log float32": lambda count: batch(count, "log_sinkhorn"),
        "POT loop float64": loop,
    }
    return anchors | _ott(z0, z1, entropy)


def _geomloss(z0: Tensor, z1: Tensor, entropy: float) -> Anchor:
    try:
        from geomloss import ot as geomloss_ot
    except ImportError:
        return "not installed"

    def run(count: int) -> Tensor:
        cost = torch.cdist(z0, z1).square()
        plan: Tensor = geomloss_ot.solve(cost, reg=entropy * float(cost.mean()), max_iter=count).plan
        return plan

    return run


def _ott(z0: Tensor, z1: Tensor, entropy: float) -> dict[str, Anchor]:
    try:
        import jax
        from ott.geometry import pointcloud
        from ott.problems.linear import linear_problem
        from ott.solvers.linear import acceleration, sinkhorn
    except ImportError:
        return {"OTT": "not installed"}

    def solver(value: float) -> Anchor:
        compiled: dict[int, Callable[..., jax.Array]] = {}

        def run(count: int) -> Tensor:
            momentum = acceleration.Momentum(start=0, value=value)
            inner = sinkhorn.Sinkhorn(
                max_iterations=count, min_iterations=count, threshold=0.0, momentum=momentum
            )

            def one(x0: jax.Array, x1: jax.Array) -> jax.Array:
                cloud = pointcloud.PointCloud(x0, x1)
                cloud = pointcloud.PointCloud(x0, x1, epsilon=entropy * cloud.mean_cost_matrix)
                return inner(linear_problem.LinearProblem(cloud)).matrix

            if count not in compiled:
                compiled.clear()
                compiled[count] = jax.jit(jax.vmap(one))
            plan = compiled[count](z0.numpy(), z1.numpy())
            return torch.from_numpy(np.array(plan))

        return run

    return {"OTT": solver(1.0), "OTT momentum 1.5": solver(1.5)}
