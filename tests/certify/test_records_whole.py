"""The estimate for a whole set of images, from dear certificates of a few and cheap ones of all."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats

from wassermix.certify import Certificates, CertifySettings

ROOT = Path(__file__).parents[2]
RADII = (0.0, 0.5, 1.0)
IMAGES, FEW, SIGMA = 3000, 150, 0.5


@pytest.fixture
def records_whole(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(sys, "path", [str(ROOT), *sys.path])
    return importlib.import_module("benchmarks.records_whole")


def certificates(index: np.ndarray, radius: np.ndarray, hits: np.ndarray, mode: str) -> Certificates:
    """Certificates of label 0, all of which were right."""
    settings = CertifySettings(sigma=SIGMA, mode=mode, n=200, radii=RADII)
    zeros = torch.zeros(len(index), dtype=torch.int64)
    return Certificates(
        index=torch.from_numpy(index), predicted=zeros, label=zeros, correct=zeros == 0,
        radius=torch.from_numpy(radius), draws=zeros + 200, hits=torch.from_numpy(hits), settings=settings,
    )  # fmt: skip


def test_the_interval_for_all_images_holds_the_truth_and_is_narrower_than_that_of_the_few(
    records_whole: Any,
) -> None:
    rng, held, narrower, trials = np.random.default_rng(0), 0, [], 40
    for _ in range(trials):
        radius = rng.normal(0.8, 0.5, IMAGES).clip(0)  # what many draws prove
        hits = rng.binomial(200, stats.norm.cdf(radius / SIGMA))  # what few draws count
        chosen = rng.choice(IMAGES, FEW, replace=False)
        few = certificates(chosen, radius[chosen], hits[chosen], "grid")
        every = certificates(np.arange(IMAGES), radius, hits, "fixed")
        row = records_whole.whole_set(few, every)[2]
        held += row["low"] <= np.mean(radius >= 1.0) <= row["high"]
        narrower.append((row["high"] - row["low"]) / (row["few_high"] - row["few_low"]))
    assert stats.binomtest(held, trials, 0.95, alternative="less").pvalue > 1e-3
    assert np.mean(narrower) < 0.7
