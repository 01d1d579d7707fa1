"""``wassermix --processes N ...``: the same command in several processes of this machine."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from wassermix.core.errors import InputError

__all__ = ["complain", "relaunched", "split_processes"]

FLAG = "--processes"
SPOKEN = "WASSERMIX_SPOKEN"
"""The variable that names a file which the first of several processes makes before it speaks of an error."""
SHARED = ("train", "certify", "attack")
"""Commands whose work several processes can share."""


def split_processes(words: Sequence[str]) -> tuple[list[str], int]:
    """The words without ``--processes N``, and N (1 where it is not given)."""
    rest = list(words)
    for position, word in enumerate(rest):
        if word == FLAG or word.startswith(f"{FLAG}="):
            value = word.partition("=")[2] if "=" in word else "".join(rest[position + 1 : position + 2])
            if not value.isdigit() or int(value) < 1:
                raise InputError(f"{FLAG} is '{value}'; expected a whole number, as in {FLAG} 2")
            del rest[position : position + (1 if "=" in word else 2)]
            return rest, int(value)
    return rest, 1


def relaunched(words: Sequence[str], processes: int) -> int | None:
    """Run the command in ``processes`` processes and return its exit code; None where this is one of them.

    It is the line ``torchrun --standalone --nproc-per-node N -m -- wassermix ...``; the two dashes keep
    torchrun from taking ``--n`` for an option of its own. Each process gets its share of the cores.
    """
    if processes == 1 or "WORLD_SIZE" in os.environ:
        return None
    if not words or words[0] not in SHARED:
        what = f"'{words[0]}' runs in one process" if words else "name one of them"
        raise InputError(f"{FLAG} goes with {', '.join(SHARED)}; {what}")
    threads = max(1, (os.cpu_count() or 1) // processes)
    launch = ["--standalone", "--nproc-per-node", str(processes), "-m", "--", "wassermix", *words]
    command = [sys.executable, "-m", "wassermix.cli.launch", *launch]
    with tempfile.TemporaryDirectory() as folder:
        environment = {"OMP_NUM_THREADS": str(threads), **os.environ, SPOKEN: str(Path(folder) / "spoken")}
        return _waited_for(command, environment)


def _waited_for(command: Sequence[str], environment: dict[str, str]) -> int:
    with subprocess.Popen(command, env=environment) as launched:
        try:
            return launched.wait()
        except KeyboardInterrupt:  # the processes got it too, and end by themselves
            launched.wait()
            raise


def complain(sentence: str) -> None:
    """Say what went wrong, unless another process of the same command has: they mostly fail alike."""
    file = os.environ.get(SPOKEN)
    if file is not None:
        try:
            Path(file).touch(exist_ok=False)
        except FileExistsError:
            return
        except OSError:  # where it cannot be known, rather twice than not at all
            pass
    sys.stderr.write(f"{sentence}\n")
