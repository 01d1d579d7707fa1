"""The certificate rules by name; an installed package adds its own in the group ``wassermix.rules``."""

from __future__ import annotations

from wassermix.core.registry import Registry

__all__ = ["RULES"]

RULES = Registry(
    family="mode",
    group="wassermix.rules",
    shipped={
        "fixed": "wassermix.certify.fixed:FixedRule",
        "grid": "wassermix.certify.grid:GridRule",
        "tolerance": "wassermix.certify.tolerance:ToleranceRule",
    },
)
