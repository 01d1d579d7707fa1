"""Optimal transport: where mass goes."""

from wassermix.transport.compiled import warm_up
from wassermix.transport.cost import MatrixCost, PointCost, squared_distances
from wassermix.transport.coupling import Coupling
from wassermix.transport.exact import solve_exact
from wassermix.transport.gaussian import (
    Gaussian,
    gaussian_barycenter,
    gaussian_distance,
    gaussian_geodesic,
    gaussian_map,
)
from wassermix.transport.maps import BarycentricMap, EntropicMap, GaussianMap, PairMap, TransportMap
from wassermix.transport.sinkhorn import (
    Sinkhorn,
    sinkhorn_divergence,
    solve_cost,
    solve_coupling,
    solve_couplings,
)

__all__ = [
    "BarycentricMap",
    "Coupling",
    "EntropicMap",
    "Gaussian",
    "GaussianMap",
    "MatrixCost",
    "PairMap",
    "PointCost",
    "Sinkhorn",
    "TransportMap",
    "gaussian_barycenter",
    "gaussian_distance",
    "gaussian_geodesic",
    "gaussian_map",
    "sinkhorn_divergence",
    "solve_cost",
    "solve_coupling",
    "solve_couplings",
    "solve_exact",
    "squared_distances",
    "warm_up",
]
