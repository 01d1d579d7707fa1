"""The entropic solver: its backends agree, its options do what they say, and it never fails in silence."""

from __future__ import annotations

import warnings

import pytest
import torch

from generators.transport_problems import check_coupling, cloud
from wassermix.core.errors import InputError
from wassermix.transport import Sinkhorn, sinkhorn_divergence, solve_cost, solve_coupling, solve_couplings

BACKENDS = ["compiled", "torch", "streaming"]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("entropy", "tolerance"), [(0.1, 1e-3), (0.02, 1e-4), (0.005, 1e-7)])
def test_backends_give_one_result(backend: str, entropy: float, tolerance: float) -> None:
    z0, z1 = cloud(3 * 21, 4, 0).reshape(3, 21, 4), 1 + cloud(3 * 17, 4, 1).reshape(3, 17, 4)
    weights = torch.rand(3, 17, generator=torch.Generator().manual_seed(0))
    exact = solve_coupling(z0, z1, entropy, weights1=weights, tolerance=1e-10, backend="torch")
    found = solve_coupling(z0, z1, entropy, weights1=weights, tolerance=tolerance, backend=backend)
    check_coupling(found)
    assert bool(found.converged.all())
    assert float((found.plan - exact.plan).abs().sum((-1, -2)).max()) < 30 * tolerance
    torch.testing.assert_close(found.value, exact.value, rtol=10 * tolerance, atol=0)


def test_batch_equals_loop_and_ragged_pairs() -> None:
    pairs = [(cloud(n, 3, n), cloud(m, 3, m + 50)) for n, m in ((5, 7), (1, 4), (5, 7), (9, 2))]
    entropies = torch.tensor([0.02, 0.1, 0.05, 0.02])
    together = solve_couplings(pairs, Sinkhorn(entropy=entropies, tolerance=1e-8))
    for (z0, z1), entropy, coupling in zip(pairs, entropies, together):
        alone = solve_coupling(z0, z1, float(entropy), tolerance=1e-8)
        torch.testing.assert_close(coupling.plan, alone.plan, atol=1e-7, rtol=0)
        assert coupling.plan.shape == (len(z0), len(z1))


def test_leading_dimensions_broadcast() -> None:
    z0, z1 = cloud(6, 2, 0), cloud(2 * 3 * 5, 2, 1).reshape(2, 3, 5, 2)
    coupling = solve_coupling(z0, z1, tolerance=1e-9)
    assert coupling.plan.shape == (2, 3, 6, 5)
    alone = solve_coupling(z0, z1[1, 2], tolerance=1e-9)
    torch.testing.assert_close(coupling[1].plan[2], alone.plan, atol=1e-7, rtol=0)


def test_relative_and_absolute_entropy_agree() -> None:
    z0, z1 = cloud(8, 3, 0), cloud(9, 3, 1)
    mean = float((z0[:, None] - z1).square().sum(-1).mean())
    relative = solve_coupling(z0, z1, 0.05, tolerance=1e-9)
    absolute = solve_coupling(z0, z1, 0.05 * mean, absolute=True, tolerance=1e-9)
    torch.testing.assert_close(relative.plan, absolute.plan, atol=1e-7, rtol=0)


def test_labels_add_their_cost() -> None:
    z0, z1 = cloud(6, 2, 0), cloud(5, 2, 1)
    y0, y1 = torch.tensor([0, 1, 2, 0, 1, 2]), torch.tensor([0, 0, 1, 2, 2])
    cost = (z0[:, None] - z1).square().sum(-1) + 3.0 * (y0[:, None] != y1)
    soft1 = torch.nn.functional.one_hot(y1, 3).double()
    for labels1 in (y1, soft1):
        joint = solve_coupling(z0, z1, 0.05, labels0=y0, labels1=labels1, label_weight=3.0, tolerance=1e-8)
        torch.testing.assert_close(joint.plan, solve_cost(cost, 0.05, tolerance=1e-8).plan, atol=1e-7, rtol=0)


def test_warm_start_needs_fewer_iterations() -> None:
    z0, z1 = cloud(100, 8, 0), cloud(100, 8, 1)
    cold = solve_coupling(z0, z1, 0.01)
    near = z0 + 0.01 * cloud(100, 8, 2)
    assert int(solve_coupling(near, z1, 0.01, start=cold).iterations) < int(cold.iterations) / 2
    assert int(solve_coupling(z0, z1, 0.01, start=cold).iterations) <= 2


def test_unconverged_problem_says_so_once_and_converged_one_is_silent() -> None:
    z0, z1 = cloud(4 * 20, 3, 0).reshape(4, 20, 3), cloud(4 * 20, 3, 1).reshape(4, 20, 3)
    for backend in BACKENDS:
        with pytest.warns(UserWarning, match="did not converge for 4 of 4") as caught:
            coupling = solve_coupling(z0, z1, 0.001, max_iterations=2, backend=backend)
        assert len(caught) == 1
        assert not bool(coupling.converged.any())
        check_coupling(coupling)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        solve_coupling(z0, z1)


def test_reaches_1e_5_at_entropy_0_001() -> None:
    z0, z1 = cloud(256, 16, 0), cloud(256, 16, 1) * 1.5 + 0.5
    coupling = solve_coupling(z0.float(), z1.float(), 0.001, tolerance=1e-5)
    assert bool(coupling.converged)
    f, g, eps = coupling.f, coupling.g, coupling.entropy
    exact = (z0.float().double()[:, None] - z1.float().double()).square().sum(-1)
    plan = ((f[:, None] + g - exact) / eps).exp() / 256**2
    error = (plan.sum(0) - 1 / 256).abs().sum() + (plan.sum(1) - 1 / 256).abs().sum()
    assert float(error) <= 1.1e-5


def test_streaming_is_chosen_by_memory() -> None:
    z0, z1 = cloud(50, 3, 0), cloud(40, 3, 1)
    streamed = solve_coupling(z0, z1, memory=1000, tolerance=1e-7)
    torch.testing.assert_close(streamed.plan, solve_coupling(z0, z1, tolerance=1e-7).plan, atol=1e-6, rtol=0)
    with pytest.raises(InputError, match="memory"):
        solve_coupling(z0, z1, memory=1000, relax=1.0)


def test_divergence_is_zero_for_equal_clouds_and_the_shift_for_translations() -> None:
    z = cloud(30, 3, 0)
    assert float(sinkhorn_divergence(z, z.clone(), 0.1, tolerance=1e-9)) == pytest.approx(0, abs=1e-8)
    shift = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64)
    moved = float(sinkhorn_divergence(z, z + shift, 0.1, tolerance=1e-9))
    assert moved == pytest.approx(float(shift.square().sum()), rel=1e-6)
    assert float(sinkhorn_divergence(z, 2 * cloud(20, 3, 1), 0.1)) > 0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"entropy": 0.0}, "entropy"),
        ({"entropy": float("nan")}, "entropy"),
        ({"tolerance": 0.0}, "tolerance"),
        ({"max_iterations": 0}, "max_iterations"),
        ({"weights0": torch.ones(3)}, "weights0"),
        ({"weights0": -torch.ones(5)}, "weights0"),
        ({"weights1": torch.zeros(4)}, "weights1"),
        ({"labels0": torch.zeros(5, dtype=torch.long)}, "labels1"),
        ({"start": torch.zeros(9)}, "start"),
        ({"relax": -1.0}, "relax"),
        ({"backend": "foo"}, "backend"),
        ({"z0": torch.full((5, 2), float("nan"))}, "NaN"),
        ({"z0": torch.full((5, 2), float("inf"))}, "infinite"),
        ({"z0": torch.zeros(0, 2)}, "at least one"),
        ({"z0": torch.zeros(5, 3)}, "coordinates"),
        ({"z0": torch.zeros(5, 2, dtype=torch.long)}, "floating-point"),
    ],
)
def test_mistakes_are_refused_with_a_sentence(change: dict[str, object], words: str) -> None:
    call: dict[str, object] = {"z0": torch.rand(5, 2), "z1": torch.rand(4, 2)} | change
    with pytest.raises(InputError, match=words):
        solve_coupling(**call)  # type: ignore[arg-type]
