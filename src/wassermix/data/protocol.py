"""What is asked of data: a split of samples, and a function that loads a data set.

A new data set is a function in a file of its own that returns a :class:`~wassermix.data.dataset.Dataset`, and
a line in the registry (or an entry point, or ``package.module:function`` in a config). Its splits may be of
any class that has the members below.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from wassermix.core.samples import LabelledSamples

if TYPE_CHECKING:
    from wassermix.data.dataset import Dataset

__all__ = ["Loader", "Split", "is_streamed"]


@runtime_checkable
class Split(LabelledSamples, Protocol):
    """Samples by index with labels and a known shape.

    What a split may have besides: ``streamed = True`` where reading costs enough (files to decode) for worker
    processes to pay.
    """

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one sample: ``(C, H, W)`` or ``(d,)``."""


class Loader(Protocol):
    """From options to a data set.

    Keyword-only arguments of plain types are the config's keys ``data.KEY``. A loader that names one of
    ``seed`` (fixes every random choice), ``root`` (the folder to look in), ``download`` (whether it may
    fetch), ``progress`` (called with bytes done and in all) or ``train_size`` (samples wanted) gets it.
    """

    def __call__(self, *where: Any, **options: Any) -> Dataset:
        """The data set; ``where`` is the path for loaders of files."""


def is_streamed(split: LabelledSamples) -> bool:
    """Whether reading costs enough (files to decode) for worker processes to pay."""
    return bool(getattr(split, "streamed", False))
