"""Work in pieces: killed and resumed, or shared among processes, it ends as if one call had done it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch.distributed as dist
from torch import multiprocessing

from wassermix.core.errors import InputError
from wassermix.core.job import Job, Output
from wassermix.core.pieces import carry_out
from wassermix.core.processes import place


def work(
    folder: Path,
    *,
    progress: Callable[[int, int], None] | None = None,
    log: list[int] | None = None,
    **more: Any,
) -> None:
    """Five squares, written as their list."""

    def square(number: int) -> dict[str, int]:
        if log is not None:
            log.append(number)
        return {"square": number**2}

    def finish(found: list[Any]) -> dict[str, Callable[[Path], object]]:
        text = json.dumps({"asked": 5, "squares": [one["square"] for one in found]})
        return {".json": lambda path: path.write_text(text)}

    rank, world = place()
    job = Job(folder, "a", {"asked": 5}, rank=rank, world=world)
    sizes = [2, 2, 2, 2, 1]
    carry_out(job, Output(folder, **more), sizes=sizes, piece=square, finish=finish, progress=progress)


def squares(folder: Path) -> list[int]:
    assert [path.name for path in folder.iterdir()] == ["a.json"]
    found: list[int] = json.loads((folder / "a.json").read_text())["squares"]
    return found


@pytest.mark.parametrize("killed", [2, 4, 9])
def test_killed_and_resumed_each_piece_is_done_once(tmp_path: Path, killed: int) -> None:
    def stop(done: int, total: int) -> None:
        assert total == 9
        if done >= killed:
            raise KeyboardInterrupt

    log: list[int] = []
    with pytest.raises(KeyboardInterrupt):
        work(tmp_path, progress=stop, log=log)
    work(tmp_path, resume=True, log=log)
    assert log == [0, 1, 2, 3, 4]
    assert squares(tmp_path) == [0, 1, 4, 9, 16]
    work(tmp_path, resume=True, log=log)
    assert len(log) == 5


def test_a_damaged_log_is_an_error_that_says_so(tmp_path: Path) -> None:
    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work(tmp_path, progress=stop)
    (tmp_path / "a.log").write_text("no json\n")
    with pytest.raises(InputError, match="damaged"):
        work(tmp_path, resume=True)


def _share(rank: int, folder: Path) -> None:
    dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=2)
    work(folder / "out")
    dist.destroy_process_group()


def test_two_processes_share_the_pieces(tmp_path: Path) -> None:
    multiprocessing.spawn(_share, (tmp_path,), nprocs=2)
    assert squares(tmp_path / "out") == [0, 1, 4, 9, 16]
