"""Robust learning on Wasserstein geodesics: train, attack, certify, audit, report."""

__version__ = "0.1.0"
