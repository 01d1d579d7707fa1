"""What ``wassermix --processes N`` starts: torchrun, with the exit code of the process that failed first.

Run as ``python -m wassermix.cli.launch``, with torchrun's own words.
"""

from __future__ import annotations

import logging
import signal
import sys

__all__ = ["code_of", "main"]


def main() -> None:
    """Run torchrun; what ended a process was said by itself, so torchrun's traceback is left out."""
    from torch.distributed.elastic.multiprocessing.api import SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.run import main as torchrun

    logging.disable(logging.ERROR)  # torchrun's account of which process it ends when
    try:
        torchrun()
    except ChildFailedError as error:
        sys.exit(code_of(error.get_first_failure()[1].exitcode))
    except SignalException as stop:  # its processes have ended by then
        sys.exit(code_of(-stop.sigval))


def code_of(exitcode: int) -> int:
    """The exit code to hand on; a process that a signal ended is told, since it could not speak itself."""
    if exitcode >= 0:
        return exitcode
    if -exitcode != signal.SIGINT:  # Ctrl-C needs no explanation
        name = signal.Signals(-exitcode).name
        sys.stderr.write(f"wassermix: one of the processes was ended from outside ({name})\n")
    return 1


if __name__ == "__main__":
    main()
