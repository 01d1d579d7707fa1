"""A Gaussian two-class problem, trained and certified by the commands, against closed forms.

Classes are N(+-mu, s^2 I). A linear classifier along mu is optimal; its margin at x is N(|mu|, s^2) and its
smoothed accuracy under noise sigma is Phi(|mu| / sqrt(s^2 + sigma^2)): the variances add, not the deviations.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import integrate, stats

from cli.words import run

MU, SD, SIGMA = 1.0, 0.5, 0.5
N, ALPHA, IMAGES = 1000, 0.001, 400
RADII = (0.0, 0.5, 1.0)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("gaussians") / "run"
    words = (
        "data=gaussians", "data.dim=6", f"data.separation={2 * MU}", f"data.sd={SD}", "data.train_size=4000",
        "data.test_size=2000", "model=mlp", "model.hidden=[]", f"sigma={SIGMA}", "epochs=12",
    )  # fmt: skip
    radii = ",".join(map(str, RADII))
    with pytest.MonkeyPatch.context() as patch:
        assert run(patch, "train", "vectors", *words, "--out", folder) == 0
        assert run(patch, "certify", folder, "--n", N, "--images", IMAGES, "--radii", radii) == 0
    return folder


def test_noisy_accuracy_is_the_closed_form(trained: Path) -> None:
    last = json.loads((trained / "metrics.jsonl").read_text().splitlines()[-1])
    expected = stats.norm.cdf(MU / np.hypot(SD, SIGMA))
    assert abs(last["accuracy"] - expected) < 4 * np.sqrt(expected * (1 - expected) / 1000)


def test_certified_accuracy_is_the_closed_form_at_every_radius(trained: Path) -> None:
    (summary,) = (json.loads(path.read_text()) for path in (trained / "certify").glob("*.json"))
    for cell in summary["certified"]:
        expected = _certified_share(cell["radius"])
        error = np.sqrt(expected * (1 - expected) / IMAGES)
        assert abs(cell["accuracy"] - expected) < 4 * error + 0.01, cell


def _certified_share(radius: float) -> float:
    """``P(certified to radius)`` over the margin and the n noise draws, by quadrature."""
    counts = np.arange(N + 1)
    lower = np.where(counts > 0, stats.beta.ppf(ALPHA, np.maximum(counts, 1), N - counts + 1), 0.0)
    enough = counts[lower >= max(stats.norm.cdf(radius / SIGMA), 0.5)][0]

    def integrand(margin: float) -> float:
        hit = stats.norm.cdf(margin / SIGMA)
        return float(stats.norm.pdf(margin, MU, SD) * stats.binom.sf(enough - 1, N, hit))

    return float(integrate.quad(integrand, MU - 6 * SD, MU + 6 * SD)[0])
