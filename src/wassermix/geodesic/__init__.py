"""What lies between distributions: paths, surfaces, the worst place on them, and how smooth the loss is."""

from wassermix.geodesic.path import Geodesic, PathPoint
from wassermix.geodesic.smoothness import GeodesicSmoothness, geodesic_smoothness
from wassermix.geodesic.surface import SimplexGeodesic

__all__ = ["Geodesic", "GeodesicSmoothness", "PathPoint", "SimplexGeodesic", "geodesic_smoothness"]
