"""Estimators of accuracy without labels, one idea in each file."""
