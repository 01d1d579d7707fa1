"""The training methods by name; a line here is all that another one needs."""

from __future__ import annotations

from wassermix.core.registry import Registry

__all__ = ["METHODS"]

METHODS = Registry(
    "method",
    "wassermix.methods",
    {
        "erm": "wassermix.methods.erm:ERM",
        "pgd": "wassermix.methods.pgd:PGDTraining",
        "trades": "wassermix.methods.trades:TRADES",
        "augmix": "wassermix.methods.augmix:AugMix",
        "gaussian": "wassermix.methods.gaussian:Gaussian",
        "stability": "wassermix.methods.stability:Stability",
        "smoothadv": "wassermix.methods.smoothadv:SmoothAdv",
        "macer": "wassermix.methods.macer:MACER",
        "consistency": "wassermix.methods.consistency:Consistency",
        "smoothmix": "wassermix.methods.smoothmix:SmoothMix",
        "catrs": "wassermix.methods.catrs:CATRS",
        "phases": "wassermix.methods.phases:Phases",
    },
)
"""``method=NAME``; the constructor's keyword arguments are the config's keys."""
