"""Smoothed predictions to learn from: a teacher's, or those of the network itself."""

from __future__ import annotations

import torch
from torch import Tensor

from wassermix.core.classifier import Classifier, evaluating
from wassermix.methods.noise import forward_copies
from wassermix.methods.protocol import OWN_TEACHER

__all__ = ["AVERAGE", "OWN", "smoothed_prediction"]

OWN, AVERAGE = OWN_TEACHER, "average"
"""Names of teachers: the network under training, and the moving average of its weights."""


@torch.no_grad()
def smoothed_prediction(teacher: Classifier, noisy: Tensor) -> tuple[Tensor, Tensor]:
    """The mean prediction and the share of votes for each class: ``(m, n, ...) -> (n, k), (n, k)``."""
    with evaluating(teacher):
        logits = forward_copies(teacher, noisy)
    votes = torch.nn.functional.one_hot(logits.argmax(dim=2), logits.shape[2]).to(logits.dtype)
    return logits.softmax(dim=2).mean(dim=0), votes.mean(dim=0)
