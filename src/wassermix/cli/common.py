"""The options that every evaluation command shares: which model and samples, what to do with the output."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from wassermix.core.settings import setting

__all__ = ["JobOptions", "OutputOptions", "TargetOptions"]


@dataclass(frozen=True, kw_only=True)
class TargetOptions:
    """What an evaluation works on: the run's own model and data, or others."""

    model: str | None = setting(
        None, "a model of your own: a torch.export, TorchScript or ONNX file, or package.module:factory"
    )
    weights: Path | None = setting(None, "safetensors weights for a --model factory")
    data: str | None = setting(None, "the data for --model (verify: where the run's are): a name or a path")
    mean: tuple[float, ...] = setting((), "for --model: what its own normalisation subtracts, per channel")
    std: tuple[float, ...] = setting((), "for --model: what its own normalisation divides by, per channel")
    split: str = setting("test", "test, or holdout for choosing settings")
    last: bool = setting(False, "of a run with averaged weights, those of the last update", flag="--last")
    trust: bool = setting(
        False, "import the package.module:object that the run's config names; model files are programs too",
        flag="--trust",
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class OutputOptions:
    """What to do with the output."""

    name: str | None = setting(None, "name of the output; by default made from the settings")
    resume: bool = setting(False, "go on where an interrupted call stopped", flag="--resume")
    overwrite: bool = setting(False, "begin anew, replacing what is there", flag="--overwrite")


@dataclass(frozen=True, kw_only=True)
class JobOptions(OutputOptions):
    """The same, for work whose cost can be estimated."""

    dry_run: bool = setting(False, "measure briefly, say what it would cost, and stop", flag="--dry-run")
