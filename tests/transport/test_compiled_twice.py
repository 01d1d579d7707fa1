"""A process that compiles the kernels and one that loads them from the cache round alike."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("numba")

SOLVE = """
import torch
from wassermix.transport import solve_coupling
z = torch.randn(2, 40, 33, 3, generator=torch.Generator().manual_seed(0))
plan = solve_coupling(z[0], z[1], entropy=0.01, tolerance=1e-3)
print(plan.f.numpy().tobytes().hex(), plan.g.numpy().tobytes().hex())
"""


@pytest.mark.long
def test_compiling_and_loading_give_the_same_bits(tmp_path: Path) -> None:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    compiled, loaded = (
        subprocess.run(
            [sys.executable, "-c", SOLVE], env=environment, capture_output=True, text=True, check=True
        ).stdout
        for _ in range(2)
    )
    assert list(tmp_path.rglob("*.nbi")), "nothing was kept: both processes compiled"
    assert compiled == loaded
