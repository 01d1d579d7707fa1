"""The options of ``wassermix drift`` that say what is compared with what."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from wassermix.core.settings import setting

__all__ = ["NewData"]


@dataclass(frozen=True, kw_only=True)
class NewData:
    """What to compare with what."""

    data: str | None = setting(None, "the new data: .npz, .npy, .csv, a folder of images, or a known name")
    reference: str | None = setting(
        None, "labelled data that the model did not train on; by default the run's"
    )
    labelled: Path | None = setting(None, "a CSV file of a few labels: index,label[,weight]")
    ask: int = setting(0, "name this many samples to label, in NAME.ask.csv")
    score: bool = setting(False, "compare with the labels that the new data hold", flag="--score")
    stream: Path | None = setting(None, "watch a file or folder batch by batch instead")
    model: str | None = setting(
        None, "a model of your own instead of the run's: a file or package.module:factory"
    )
    weights: Path | None = setting(None, "safetensors weights for a --model factory")
    split: str = setting("test", "which part of the run's data is the reference: test or holdout")
    last: bool = setting(False, "of a run with averaged weights, those of the last update", flag="--last")
    trust: bool = setting(False, "import what the run's config names", flag="--trust")
