"""What lies between distributions: paths, surfaces, the worst place on them, and how smooth the loss is."""

from typing import TYPE_CHECKING

from wassermix.core.lazy import lazy_names

if TYPE_CHECKING:
    from wassermix.geodesic.geometry import Geometry, data_geometry, measure_geometry
    from wassermix.geodesic.path import Geodesic, PathPoint
    from wassermix.geodesic.registry import REGULARIZERS
    from wassermix.geodesic.smoothness import GeodesicSmoothness, geodesic_smoothness
    from wassermix.geodesic.surface import SimplexGeodesic

__all__ = [
    "REGULARIZERS",
    "Geodesic",
    "GeodesicSmoothness",
    "Geometry",
    "PathPoint",
    "SimplexGeodesic",
    "data_geometry",
    "geodesic_smoothness",
    "measure_geometry",
]

__getattr__ = lazy_names(__name__)
