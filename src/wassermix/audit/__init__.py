"""The audit: how a model behaves between classes, on the same paths for every model."""

from __future__ import annotations

from wassermix.audit.files import audit_to_files, simplex_to_files
from wassermix.audit.performance import PairCurve, PerformanceGeodesic, performance_geodesic
from wassermix.audit.simplex import PerformanceSimplex, performance_simplex

__all__ = [
    "PairCurve",
    "PerformanceGeodesic",
    "PerformanceSimplex",
    "audit_to_files",
    "performance_geodesic",
    "performance_simplex",
    "simplex_to_files",
]
