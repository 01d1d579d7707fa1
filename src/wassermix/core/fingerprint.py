"""Fingerprints: hex digits that change whenever weights or samples do."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from wassermix.core.classifier import Classifier
from wassermix.core.samples import LabelledSamples

__all__ = ["fingerprint", "samples_fingerprint", "selection_fingerprint"]

DIGITS = 16
CHUNK = 256


def fingerprint(model: Classifier) -> str | None:
    """Sixteen hex digits that change with any weight of the model; None for a plain function."""
    if not isinstance(model, nn.Module):
        return None
    digest = hashlib.sha256()
    for name, tensor in model.state_dict().items():
        if isinstance(tensor, Tensor):
            digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
            digest.update(_bytes(tensor))
    return digest.hexdigest()[:DIGITS]


def samples_fingerprint(samples: LabelledSamples, indices: Sequence[int]) -> str:
    """Sixteen hex digits of the samples at ``indices`` and their labels, as a model would see them."""
    digest = hashlib.sha256()
    for chunk in torch.as_tensor(indices, dtype=torch.int64).split(CHUNK):
        digest.update(_bytes(samples.get(chunk)))
        digest.update(_bytes(samples.y[chunk]))
    return digest.hexdigest()[:DIGITS]


def selection_fingerprint(indices: Sequence[int]) -> str:
    """Sixteen hex digits of which images were chosen, in which order."""
    return hashlib.sha256(repr([int(index) for index in indices]).encode()).hexdigest()[:DIGITS]


def _bytes(tensor: Tensor) -> bytes:
    plain = tensor.detach().cpu().contiguous()
    return plain.reshape(-1).view(torch.uint8).numpy().tobytes()
