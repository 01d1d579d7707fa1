"""Where numbers go while a training runs: always metrics.jsonl, TensorBoard when asked."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from wassermix.core.errors import InputError
from wassermix.core.files import append_line, cut_back

__all__ = ["MetricsFile", "TensorBoard", "peak_memory_mib"]


class MetricsFile:
    """``RUN/metrics.jsonl``: one line per epoch, cut back to the checkpoint when a training is resumed."""

    def __init__(self, path: Path, *, epochs_done: int) -> None:
        self.path = path
        cut_back(path, keep=lambda line: bool(json.loads(line)["epoch"] <= epochs_done))

    def write(self, row: dict[str, Any]) -> None:
        """Append one epoch's numbers."""
        append_line(self.path, json.dumps(row))


class TensorBoard:
    """The same numbers as scalars for TensorBoard, under ``RUN/tensorboard``."""

    def __init__(self, folder: Path, *, epochs_done: int) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError as error:
            raise InputError(
                "tensorboard=true needs the package tensorboard; pip install tensorboard"
            ) from error
        self.writer = SummaryWriter(str(folder), purge_step=epochs_done + 1)

    def write(self, row: dict[str, Any]) -> None:
        """Add one epoch's numbers."""
        for key, value in row.items():
            if isinstance(value, dict):
                for term, amount in value.items():
                    self.writer.add_scalar(f"{key}/{term}", amount, row["epoch"])
            elif isinstance(value, int | float) and key != "epoch":
                self.writer.add_scalar(key, value, row["epoch"])
        self.writer.flush()


def peak_memory_mib() -> float:
    """The most memory this process ever held, in MiB; 0 where the system does not tell (Windows)."""
    try:
        import resource
    except ImportError:
        return 0.0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 2**10
