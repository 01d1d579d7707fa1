"""An audit into its files: piece by piece, resumable, shared among processes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import nn

from wassermix.audit.choice import few_rows
from wassermix.audit.result import PerformanceGeodesic, PerformanceSimplex
from wassermix.audit.settings import AuditSettings
from wassermix.audit.task import GeodesicTask, SimplexTask
from wassermix.core.classifier import Classifier
from wassermix.core.fingerprint import fingerprint
from wassermix.core.job import Job, Output
from wassermix.core.pieces import Progress, carry_out
from wassermix.core.processes import place
from wassermix.core.samples import LabelledSamples
from wassermix.embed import Embedding, load_embedding

__all__ = ["run_audit"]


def run_audit(
    model: Classifier,
    samples: LabelledSamples,
    settings: AuditSettings,
    *,
    output: Output,
    embed: Embedding | None = None,
    class_names: Sequence[str] = (),
    about: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> PerformanceGeodesic | PerformanceSimplex:
    """Audit a model on held-out samples as the settings say; see :func:`performance_geodesic`.

    Between pairs of classes: ``FOLDER/NAME.json``, and for images ``NAME.npz`` with pictures along the
    weakest pairs. Between three: ``FOLDER/simplex/NAME.json`` and ``NAME.svg``. ``about`` is put at the top
    of the JSON as it is (which data, which split, a note). ``embed`` is the embedding itself where the
    settings do not name its file. Killed at any moment, the same call with ``resume`` goes on.
    """
    embed = embed if settings.embed is None else load_embedding(settings.embed)
    rows = few_rows(samples.y, settings.per_class, settings.seed)
    first = next(model.parameters(), None) if isinstance(model, nn.Module) else None
    device = torch.device("cpu") if first is None else first.device
    x, y = samples.get(rows).to(device), samples.y[rows].to(device)
    made_of = {**(about or {}), **_fingerprints(model, embed)}
    task_class = GeodesicTask if settings.classes is None else SimplexTask
    task = task_class(model, x, y, settings, embed, class_names, made_of)
    rank, world = place()
    job = Job(
        output.folder / task.folder, output.named(task.name), task.told(),
        files=task.files, rank=rank, world=world, told_by=task.told_by,
    )  # fmt: skip
    carry_out(job, output, sizes=[1] * len(task), piece=task.piece, finish=task.writers, progress=progress)
    return task.read(job.path(".json"))


def _fingerprints(model: Classifier, embed: Embedding | None) -> dict[str, str | None]:
    """Which weights, and which embedding where one was given."""
    found = {"fingerprint": fingerprint(model)}
    return found if embed is None else {**found, "embedding": fingerprint(embed)}
