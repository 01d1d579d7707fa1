"""The audit: how a model behaves between classes, on the same paths for every model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wassermix.core.lazy import lazy_names

if TYPE_CHECKING:
    from wassermix.audit.paths import class_path
    from wassermix.audit.performance import performance_geodesic, performance_simplex
    from wassermix.audit.result import Frames, PairCurve, PerformanceGeodesic, PerformanceSimplex
    from wassermix.audit.run import run_audit
    from wassermix.audit.settings import AuditSettings

__all__ = [
    "AuditSettings",
    "Frames",
    "PairCurve",
    "PerformanceGeodesic",
    "PerformanceSimplex",
    "class_path",
    "performance_geodesic",
    "performance_simplex",
    "run_audit",
]

__getattr__ = lazy_names(__name__)
