"""What a training costs in passes: each batch, with the samples that stand beside it."""

from __future__ import annotations

from wassermix.engine.build import Parts
from wassermix.engine.objective import conditions_of, online
from wassermix.methods import Batch
from wassermix.methods.protocol import passes_at

__all__ = ["batch_passes", "stored_samples"]


def stored_samples(parts: Parts) -> int:
    """How many samples a stored set puts beside the training split."""
    keeper = None if parts.augment is None else parts.augment.keeps_set
    return 0 if keeper is None else round(keeper.ratio * len(parts.data.train))


def batch_passes(parts: Parts, batch: Batch) -> float:
    """Forward+backward passes that a batch costs at its share of training, all told.

    New samples beside the batch cost the method too; making a stored set is counted when it is made.
    """
    augment, progress = online(parts), batch.progress
    each = passes_at(parts.method, progress) * (1 + (0.0 if augment is None else augment.ratio))
    if augment is not None:
        each += augment.batch_passes(conditions_of(parts.method, progress))
    further = 0.0 if parts.regularizer is None else parts.regularizer.batch_passes(len(batch))
    return each * len(batch) + further
