"""The theorem on augmentation as printed, against simulation."""

from __future__ import annotations

import numpy as np
import pytest

from wassermix.theory.theorem import (
    Setting,
    conditions_hold,
    improvement,
    printed_probability,
    proof_probability,
)

COUNTEREXAMPLES = [
    Setting(2, 10.0, 1.0, 1, 8200, 0.1),
    Setting(2, 10.0, 1.0, 10, 9000, 0.1),
    Setting(5, 10.0, 1.0, 10, 9000, 0.1),
]


@pytest.mark.parametrize("setting", [Setting(2, 3.0, 1.0, 10, 500, 0.3), Setting(6, 2.0, 1.5, 5, 900, 0.4)])
def test_the_printed_probability_is_the_share_of_draws_in_its_events(setting: Setting) -> None:
    rng, count = np.random.default_rng(0), 400_000
    x = rng.standard_normal((count, setting.dim))
    norm = np.linalg.norm(x, axis=1)
    ring = (setting.inner <= norm) & (norm <= np.log(setting.n1))
    side = setting.length * x[:, 0] / norm <= np.sqrt(setting.length**2 - setting.inner**2)
    first = np.mean(norm <= np.log(setting.n1) / setting.sigma)
    assert printed_probability(setting) == pytest.approx(first * np.mean(ring & side), abs=5 / np.sqrt(count))


@pytest.mark.parametrize("setting", COUNTEREXAMPLES)
def test_the_printed_bound_is_above_the_true_probability_though_its_conditions_hold(setting: Setting) -> None:
    share, error = improvement(setting, count=20_000, generator=np.random.default_rng(1))
    assert conditions_hold(setting)
    assert conditions_hold(Setting(**{**vars(setting), "n1": setting.n1 - 1}))  # the theorem's N1 < n1
    assert printed_probability(setting) > share + 5 * error


def test_in_two_dimensions_and_far_classes_the_true_probability_is_a_ratio_of_angles() -> None:
    """Far from the origin angles are |N(0, v)|; the real part is shared, so they are correlated Gaussians."""
    setting = COUNTEREXAMPLES[1]
    n0, n1, r = setting.n0, setting.n1, setting.shrinkage
    scale = (n0 + r * n1) / n0  # |z0| >= |z0 + z1| / scale, z0 ~ N(0, n0), z1 ~ N(0, n1)
    slopes = np.sqrt(n0 / n1) * np.array([-scale - 1, scale - 1])
    exact = np.diff(np.arctan(slopes))[0] / np.pi
    share, error = improvement(setting, count=100_000, generator=np.random.default_rng(2))
    assert share == pytest.approx(exact, abs=5 * error + 0.005)


def test_what_the_proof_needs_tends_to_nothing_while_the_printed_factor_tends_to_one() -> None:
    needed = [proof_probability(Setting(2, 10.0, 1.0, 10, n1, 0.5)) for n1 in (100, 10_000, 1_000_000)]
    assert needed == sorted(needed, reverse=True)
    assert needed[-1] < 1e-4
    printed = [printed_probability(Setting(2, 10.0, 1.0, 10, n1, 0.5)) for n1 in (100, 10_000, 1_000_000)]
    assert printed[-1] > 0.99


def test_the_proofs_event_has_the_probability_of_drawn_means() -> None:
    setting, rng, count = Setting(2, 3.0, 1.0, 10, 30, 0.9), np.random.default_rng(3), 200_000
    mean = setting.sigma / np.sqrt(setting.n1) * rng.standard_normal((count, 2))
    share = np.mean(np.linalg.norm(mean, axis=1) <= setting.shrinkage * np.log(setting.n1) / setting.n1)
    assert proof_probability(setting) == pytest.approx(share, abs=5 * np.sqrt(share / count))
