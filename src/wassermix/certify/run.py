"""Certification to files: one row per image as it finishes, resumable to the image, shared by processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, replace
from importlib.metadata import version
from typing import Any

import torch
from torch import Tensor

from wassermix.certify.certifier import Image, Progress, certify_images
from wassermix.certify.choice import choose_backend
from wassermix.certify.result import Certificates
from wassermix.certify.rows import HEADER, Certificate, certificate_of, row_of
from wassermix.certify.samplers import resolve_sampler
from wassermix.certify.settings import CertifySettings
from wassermix.core.classifier import Classifier
from wassermix.core.errors import InputError
from wassermix.core.files import read_json
from wassermix.core.fingerprint import fingerprint, samples_fingerprint, selection_fingerprint
from wassermix.core.job import Job, Output
from wassermix.core.processes import from_first, place, together
from wassermix.core.samples import LabelledSamples, evenly_spaced, require_finite, warn_of_missing_classes

__all__ = ["certify_to_files"]


def certify_to_files(
    model: Classifier,
    split: LabelledSamples,
    indices: Sequence[int],
    *,
    settings: CertifySettings,
    output: Output,
    about: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
    chose: Callable[[str], None] | None = None,
) -> Certificates:
    """Certify ``indices`` of ``split`` into ``FOLDER/NAME.tsv`` and ``FOLDER/NAME.json``.

    Each image's row is appended and flushed when it finishes; when all are there the file is rewritten
    in the order of ``indices``, so a run that was killed and resumed, or shared among processes, ends
    with the file of an undisturbed one (its time column aside). Where ``torch.distributed`` is
    initialised (``torchrun``) each process takes every world-th image and appends to a part file of its
    own, and rank 0 merges. ``about`` is put into the summary as it is: which data, which split.
    ``progress`` counts the images of this process; ``chose`` is told what ``backend="auto"`` has taken, if
    that was measured. A resumed certification goes on with what it was begun with.

    With ``output.shard`` only that part of ``indices`` is certified, into
    ``FOLDER/NAME.shards/I-of-N.tsv`` and ``.json``; :func:`~wassermix.certify.merge.merge_shards` joins
    the parts. No shard needs to know of the others.
    """
    rank, world = place()
    some = _some(split, indices)
    if rank == 0:
        warn_of_missing_classes(split.y, indices)
    settings = _as_begun(resolve_sampler(settings, some), output)
    count = len(indices) if output.shard is None else len(output.shard.share(indices))
    choice = from_first(lambda: choose_backend(model, some[0], settings, images=count))
    settings = choice.settings
    if chose is not None and choice.sentence and rank == 0:
        chose(choice.sentence)
    whole = {**(about or {}), **_parameters(model, split, indices, settings=settings)}
    parameters = whole
    if output.shard is not None:
        indices = output.shard.share(indices)
        own = _parameters(model, split, indices, settings=settings)
        whole.pop("version")  # a shard may be resumed by the next version
        parameters = {**whole, **own, "shard": {**asdict(output.shard), "whole": whole}}
    folder, name = output.place(settings.name)
    job = Job(folder, name, parameters, files=(".json", ".tsv"), log=".tsv", rank=rank, world=world)
    with ExitStack() as stack:
        together(lambda: stack.enter_context(job.begin(resume=output.resume, overwrite=output.overwrite)))
        done = together(lambda: _rows(job, split, indices))
        share = indices[rank::world]
        images, tell = _waiting(split, share, done), _teller(share, done, progress)
        together(lambda: certify_images(model, images, settings, emit=_appender(job, tell)))
        rows = together(lambda: _rows(job, split, indices))
        certificates = Certificates.of([rows[index] for index in indices], settings, parameters)
        together(lambda: job.finish(certificates.writers()) if rank == 0 and not job.finished else None)
    return certificates


def _as_begun(settings: CertifySettings, output: Output) -> CertifySettings:
    """Settings with the backend of the call that is resumed, where it is not asked for by name."""
    if settings.backend != "auto" or not output.resume:
        return settings
    folder, name = output.place(settings.name)
    found = next((path for end in (".running", ".json") if (path := folder / f"{name}{end}").exists()), None)
    told = read_json(found) if found is not None else {}
    if not isinstance(told, dict) or told.get("backend") not in ("eager", "compile"):
        return settings
    begun = {key: told[key] for key in ("backend", "batch_size", "layout") if key in told}
    return replace(settings, **begun)


def _some(split: LabelledSamples, indices: Sequence[int]) -> Tensor:
    """A few of the images, to see whether they lie on a grid; the others are checked when they are drawn."""
    _require_indices(split, indices)
    return split.get(torch.tensor([indices[i] for i in evenly_spaced(len(indices), 32)]))


def _require_indices(split: LabelledSamples, indices: Sequence[int]) -> None:
    total, images = len(split), len(indices)
    if not images or len(set(indices)) != images or min(indices) < 0 or max(indices) >= total:
        raise InputError(f"indices must be different numbers from 0 to {total - 1}, and at least one")


def _parameters(
    model: Classifier, split: LabelledSamples, indices: Sequence[int], *, settings: CertifySettings
) -> dict[str, Any]:
    """What must be equal for rows to belong to one certification."""
    total, images = len(split), len(indices)
    even = list(indices) == evenly_spaced(total, images)
    return {
        "version": version("wassermix"),
        **settings.as_dict(),
        "images": images,
        "every": (total // images if total % images == 0 else total / images) if even else None,
        "selection": selection_fingerprint(indices),
        "samples": samples_fingerprint(split, indices),
        "model": fingerprint(model),
    }


def _rows(job: Job, split: LabelledSamples, indices: Sequence[int]) -> dict[int, Certificate]:
    """All finished rows by index, whichever process wrote them."""
    where = f"a line of '{job.path('.tsv')}'"
    rows = [certificate_of(line, where) for line in job.lines() if line != HEADER]
    wanted = set(indices)
    for row in rows:
        if row.index not in wanted or row.label != int(split.y[row.index]):
            raise InputError(
                f"'{job.path('.tsv')}' has a row for image {row.index} of other data; overwrite it"
            )
    return {row.index: row for row in rows}


def _waiting(
    split: LabelledSamples, share: Sequence[int], done: Mapping[int, Certificate]
) -> Iterator[Image]:
    """The images that have no row yet, read when their turn comes."""
    for index in share:
        if index not in done:
            x = split.get(torch.tensor([index]))
            require_finite(x, [index])
            yield Image(x[0], index, int(split.y[index]))


def _appender(job: Job, tell: Callable[[], None]) -> Callable[[int, Certificate], None]:
    """Log each certificate as it comes; one process logs into the result file itself, with its header."""
    if job.world == 1 and not job.own_lines():
        job.append(HEADER)

    def emit(_position: int, certificate: Certificate) -> None:
        job.append(row_of(certificate))
        tell()

    return emit


def _teller(
    share: Sequence[int], done: Mapping[int, Certificate], progress: Progress | None
) -> Callable[[], None]:
    """A call for each image that finishes, counting on from those that had a row before."""
    finished = sum(index in done for index in share)

    def tell() -> None:
        nonlocal finished
        finished += 1
        if progress is not None:
            progress(finished, len(share))

    return tell
