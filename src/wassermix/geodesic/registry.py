"""The regularisers by name; a line here is all that another one needs."""

from __future__ import annotations

from wassermix.core.registry import Registry

__all__ = ["REGULARIZERS"]

REGULARIZERS = Registry(
    "regularizer",
    "wassermix.regularizers",
    {"geodesic": "wassermix.geodesic.smoothness:GeodesicSmoothness"},
)
"""``regularizer=NAME``; the constructor's keyword arguments are the config's keys."""
