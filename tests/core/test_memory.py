"""Freed memory stays in the process where glibc can be told so."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import resource
import torch
from wassermix.core.memory import keep_freed_memory
assert keep_freed_memory()
for _ in range(5):
    torch.ones(3_000_000)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(50):
    torch.ones(3_000_000)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="glibc's allocator")
def test_large_blocks_are_not_mapped_anew_each_time() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert (
        int(done.stdout) < 50 * 3_000_000 * 4 // 4096 // 10
    )  # a tenth of what mapping them anew would fault
