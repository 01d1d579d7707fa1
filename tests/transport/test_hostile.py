"""Ten thousand hostile problems: each converges, says that it did not, or is refused with a sentence."""

from __future__ import annotations

import itertools
import warnings

import pytest
import torch
from torch import Tensor

from generators.transport_problems import check_coupling
from wassermix.core.errors import InputError
from wassermix.transport import solve_coupling

SCALES = [1e-160, 1e-30, 1e-6, 1.0, 1e6, 1e18, 1e30, 1e160]
SIZES = [(1, 1), (1, 6), (7, 1), (5, 8), (12, 12)]
KINDS = ["normal", "repeated", "identical", "all equal", "outlier", "offset"]
WEIGHTS = ["uniform", "zeros", "tiny", "one point"]
ENTROPIES = [1e-4, 1e-2, 1.0, 100.0]
COPIES = 4


def points(kind: str, n: int, m: int, draw: torch.Generator) -> tuple[Tensor, Tensor]:
    z0, z1 = (torch.randn(COPIES, k, 3, generator=draw, dtype=torch.float64) for k in (n, m))
    if kind == "repeated":
        z0, z1 = z0[:, :1].expand(-1, n, -1), z1[:, torch.arange(m) // 2]
    elif kind == "identical":
        z1 = z0[:, torch.arange(m) % n]
    elif kind == "all equal":
        z0, z1 = torch.zeros_like(z0), torch.zeros_like(z1)
    elif kind == "outlier":
        z1 = z1.clone()
        z1[:, 0] *= 1e4
    elif kind == "offset":
        z0, z1 = z0 + 1e3, z1 + 1e3
    return z0, z1


def weights(kind: str, n: int, draw: torch.Generator) -> Tensor | None:
    if kind == "uniform":
        return None
    w = torch.rand(COPIES, n, generator=draw, dtype=torch.float64) + 0.1
    w[:, : n // 2] *= {"zeros": 0.0, "tiny": 1e-12, "one point": 1.0}[kind]
    return torch.nn.functional.one_hot(w.argmax(-1), n).double() if kind == "one point" else w


@pytest.mark.parametrize("backend", ["compiled", "torch"])
def test_hostile_problems_never_fail_in_silence(backend: str) -> None:
    draw = torch.Generator().manual_seed(0)
    outcome, sentences = {"converged": 0, "said so": 0}, []
    cases = list(itertools.product(SCALES, SIZES, KINDS, WEIGHTS, ENTROPIES))
    if backend == "torch":
        cases = cases[::125]
    for scale, (n, m), kind, weight, entropy in cases:
        z0, z1 = (scale * z for z in points(kind, n, m, draw))
        if 1e-30 <= scale <= 1e30:
            z0, z1 = z0.float(), z1.float()
        a, b = weights(weight, n, draw), weights(weight, m, draw)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                coupling = solve_coupling(
                    z0, z1, entropy, weights0=a, weights1=b, max_iterations=300, backend=backend
                )
            except InputError as refusal:
                sentences.append(str(refusal))
                continue
        check_coupling(coupling, slack=5e-5)
        missed = int((~coupling.converged).sum())
        assert len(caught) == (missed > 0), (caught, coupling)
        outcome["converged"] += COPIES - missed
        outcome["said so"] += missed
    assert all("; " in sentence for sentence in sentences)  # what is wrong; what to do
    outcome["refused"] = COPIES * len(sentences)
    total = sum(outcome.values())
    assert total == COPIES * len(cases)
    if backend == "compiled":
        assert total >= 10_000
    assert outcome["converged"] > 0.8 * (total - outcome["refused"]), outcome
    assert outcome["refused"] <= 0.26 * total, outcome  # only the scales whose squares leave float64


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_every_float_type_is_taken(dtype: torch.dtype) -> None:
    draw = torch.Generator().manual_seed(0)
    z0, z1 = torch.randn(20, 4, generator=draw).to(dtype), torch.randn(30, 4, generator=draw).to(dtype)
    coupling = solve_coupling(z0, z1)
    check_coupling(coupling, slack=1e-6)
    assert coupling.plan.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
    assert bool(coupling.converged)
