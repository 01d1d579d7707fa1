"""Tables share rows: a network that one of them has trained is not trained again for another."""

from __future__ import annotations

from pathlib import Path

from wassermix.engine.rundir import RunDir
from wassermix.engine.settings import Config, dump_config

__all__ = ["reuse_training"]


def reuse_training(config: Config, folder: Path, *, tables: Path) -> bool:
    """Copy a finished training of the very same ``config`` to ``folder``; whether there was one.

    It is looked for in ``tables/TABLE/ROW/seedN``. A folder that exists already is left as it is.
    """
    if folder.exists():
        return False
    wanted = dump_config(config)
    for file in sorted(tables.glob(f"*/*/seed{config.seed}/config.yaml")):
        if file.read_text(encoding="utf-8") == wanted and _finished(RunDir(file.parent)):
            RunDir(file.parent).copy_training(folder)
            return True
    return False


def _finished(run: RunDir) -> bool:
    return run.state_file.exists() and run.weights_file.exists() and run.trained_share() == 1
