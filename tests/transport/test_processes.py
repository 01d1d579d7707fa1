"""Transport from threads, forked and spawned processes, and DataLoader workers; compiled ahead of need."""

from __future__ import annotations

import ast
import multiprocessing
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
from torch.utils.data import DataLoader, Dataset

from wassermix.transport import solve_coupling, warm_up


def value(seed: int) -> float:
    draw = torch.Generator().manual_seed(seed)
    z0, z1 = torch.randn(8, 64, 4, generator=draw), torch.randn(8, 64, 4, generator=draw)
    return float(solve_coupling(z0, z1).value.sum())


class Values(Dataset[float]):
    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> float:
        return value(index)


def test_threads_get_what_one_thread_gets() -> None:
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(value, range(12))) == [value(k) for k in range(12)]


def test_problems_spread_over_threads_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = value(0)
    monkeypatch.setattr("wassermix.core.jit.WORTH_A_THREAD", 1)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 3)
    assert value(0) == expected


def child_value(method: str) -> float:
    """:func:`value` from a child process, of a parent that has used its kernels before."""
    value(1)
    # one thread, as in DataLoader workers: torch's own matrix products hang in a forked child otherwise
    with multiprocessing.get_context(method).Pool(1, torch.set_num_threads, (1,)) as pool:
        return pool.apply_async(value, (1,)).get(timeout=240)


def loader_values() -> list[float]:
    """The values that forked DataLoader workers give."""
    value(1)
    loaded = DataLoader(Values(), batch_size=None, num_workers=2, multiprocessing_context="fork", timeout=240)
    return [float(v) for v in loaded]


def in_a_process_of_its_own(expression: str) -> object:
    """What ``expression`` gives in a fresh process.

    To fork beside the threads that other tests have left is unsafe for any library: MKL's allocator, for one,
    may then spin for ever in the child.
    """
    code = f"import transport.test_processes as t; print(repr(t.{expression}))"
    folders = [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    here = {**os.environ, "PYTHONPATH": os.pathsep.join(folder for folder in folders if folder)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=here, check=True, capture_output=True, text=True, timeout=600
    )
    return ast.literal_eval(done.stdout)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_child_processes_get_the_same(method: str) -> None:
    assert in_a_process_of_its_own(f"child_value({method!r})") == value(1)


def test_data_loader_workers_get_the_same() -> None:
    assert in_a_process_of_its_own("loader_values()") == [value(k) for k in range(4)]


def test_import_compiles_nothing_and_warm_up_compiles_all() -> None:
    code = (
        "import sys, wassermix.transport as t; assert 'numba' not in sys.modules; t.warm_up();"
        "from wassermix.transport.kernels import solve_run as s; assert len(s.signatures) == 3"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=1800)


def test_warm_up_can_be_called_again() -> None:
    warm_up()
