"""Optimal transport: where mass goes."""

from wassermix.transport.barycenter import (
    CloudBarycenter,
    GridBarycenter,
    cloud_barycenter,
    grid_barycenter,
)
from wassermix.transport.compiled import warm_up
from wassermix.transport.cost import MatrixCost, PointCost, squared_distances
from wassermix.transport.coupling import Coupling
from wassermix.transport.exact import solve_exact, solve_exact_cost
from wassermix.transport.gaussian import (
    Gaussian,
    gaussian_barycenter,
    gaussian_distance,
    gaussian_geodesic,
    gaussian_map,
)
from wassermix.transport.maps import (
    BarycentricMap,
    EntropicMap,
    ExactMap,
    GaussianMap,
    PairMap,
    TransportMap,
    load_map,
)
from wassermix.transport.pairing import assign
from wassermix.transport.sinkhorn import (
    Sinkhorn,
    sinkhorn_divergence,
    solve_cost,
    solve_coupling,
    solve_couplings,
)
from wassermix.transport.stored_maps import ClassMaps

__all__ = [
    "BarycentricMap",
    "ClassMaps",
    "CloudBarycenter",
    "Coupling",
    "EntropicMap",
    "ExactMap",
    "Gaussian",
    "GaussianMap",
    "GridBarycenter",
    "MatrixCost",
    "PairMap",
    "PointCost",
    "Sinkhorn",
    "TransportMap",
    "assign",
    "cloud_barycenter",
    "gaussian_barycenter",
    "gaussian_distance",
    "gaussian_geodesic",
    "gaussian_map",
    "grid_barycenter",
    "load_map",
    "sinkhorn_divergence",
    "solve_cost",
    "solve_coupling",
    "solve_couplings",
    "solve_exact",
    "solve_exact_cost",
    "squared_distances",
    "warm_up",
]
