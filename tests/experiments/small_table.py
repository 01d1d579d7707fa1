"""A table that is filled within seconds: two rows on Gaussians, judged in every way."""

from __future__ import annotations

__all__ = ["SMALL"]

SMALL = """
title: "Two rows on Gaussians"
recipe: vectors
common: {data: gaussians, data.classes: 3, data.dim: 3, model: mlp, "model.hidden": [], epochs: 1, sigma: 0.5}
seeds: [0, 1]
certify: {n: 200, images: 20}
attacks: [{attack: pgd, norm: l2, eps: 0.5, steps: 2, images: 20}]
audit: {points: 3, per_class: 10}
control: plain
against: {plain: mixed}
rows:
  plain: {}
  mixed: {augment: mixup}
"""
