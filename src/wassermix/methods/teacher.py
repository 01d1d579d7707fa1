"""Smoothed predictions to learn from: a teacher's, or those of the network itself."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from wassermix.core.classifier import Classifier, evaluating
from wassermix.core.samples import LabelledSamples
from wassermix.methods.noise import forward_copies, noises
from wassermix.methods.protocol import OWN_TEACHER, Counting

__all__ = ["AVERAGE", "OWN", "count_votes", "smoothed_prediction", "votes_on", "with_unvoted"]

OWN, AVERAGE = OWN_TEACHER, "average"
"""Names of teachers: the network under training, and the moving average of its weights."""

ROWS = 256
"""Noisy samples in one forward of a voting teacher."""


@torch.no_grad()
def smoothed_prediction(teacher: Classifier, noisy: Tensor) -> tuple[Tensor, Tensor]:
    """The mean prediction and the share of votes for each class: ``(m, n, ...) -> (n, k), (n, k)``."""
    with evaluating(teacher):
        logits = forward_copies(teacher, noisy)
    votes = torch.nn.functional.one_hot(logits.argmax(dim=2), logits.shape[2]).to(logits.dtype)
    return logits.softmax(dim=2).mean(dim=0), votes.mean(dim=0)


def count_votes(
    teacher: Classifier,
    samples: LabelledSamples,
    counting: Counting,
    *,
    generator: torch.Generator,
    indices: Tensor | None = None,
    counted: Callable[[int], None] = lambda _: None,
) -> Tensor:
    """The share of a teacher's votes for each class under noise, on each sample: float32 ``(n, k)``.

    Samples (all, or those at ``indices``) go in order to the generator's device, so that the same teacher
    and seed vote the same again. ``counted`` hears how many samples are done.
    """
    rows: list[Tensor] = []
    done = 0
    wanted = torch.arange(len(samples)) if indices is None else indices
    for chunk in wanted.split(max(1, ROWS // counting.draws)):
        x = samples.get(chunk).to(generator.device)
        noisy = x + noises(x, counting.sigma, count=counting.draws, generator=generator)
        rows.append(smoothed_prediction(teacher, noisy)[1].float().cpu())
        done += len(chunk)
        counted(done)
    return torch.cat(rows)


def votes_on(votes: Tensor | None, indices: Tensor, device: torch.device) -> Tensor | None:
    """The rows of ``votes (n, k)`` at ``indices``; NaN from n on: samples beside the training set."""
    if votes is None:
        return None
    found = votes[indices.clamp_max(len(votes) - 1)]
    return found.masked_fill((indices >= len(votes)).unsqueeze(1), torch.nan).to(device)


def with_unvoted(votes: Tensor | None, count: int) -> Tensor | None:
    """``votes (n, k)`` and below them ``count`` rows of NaN: ``(n + count, k)``."""
    return None if votes is None else torch.nn.functional.pad(votes, (0, 0, 0, count), value=torch.nan)
