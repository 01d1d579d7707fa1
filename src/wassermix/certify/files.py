"""Certification to files: a row an image as it finishes, resumable to the image, shared by many processes."""

from __future__ import annotations

import glob
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor

from wassermix.certify.certificates import Certificate, Certificates
from wassermix.certify.certifier import Image, Progress, certify_images
from wassermix.certify.record import HEADER, read_rows, row_of, rows_text
from wassermix.certify.settings import CertifySettings
from wassermix.certify.votes import resolve_backend
from wassermix.core.classifier import Classifier
from wassermix.core.errors import InputError
from wassermix.core.files import append_line, cut_back, read_json, write_json, write_text
from wassermix.core.fingerprint import fingerprint, selection_fingerprint
from wassermix.core.processes import place, together
from wassermix.core.samples import evenly_spaced

__all__ = ["Labelled", "certify_to_files"]


class Labelled(Protocol):
    """What is certified: labels, and inputs by index (a ``Split`` of :mod:`wassermix.data`)."""

    @property
    def y(self) -> Tensor:
        """Labels (n,) int64."""

    def __len__(self) -> int: ...

    def get(self, indices: Tensor) -> Tensor:
        """Inputs (len(indices), ...) as floats on the data scale."""


def certify_to_files(
    model: Classifier,
    split: Labelled,
    indices: Sequence[int],
    *,
    out: Path,
    settings: CertifySettings,
    name: str | None = None,
    resume: bool = False,
    overwrite: bool = False,
    about: dict[str, Any] | None = None,
    progress: Progress | None = None,
) -> Certificates:
    """Certify ``indices`` of ``split`` into ``out/NAME.tsv`` and ``out/NAME.json``.

    Each image's row is appended and flushed when it finishes; when all are there the file is rewritten
    in the order of ``indices``, so a run that was killed and resumed, or shared among processes, ends
    with the file of an undisturbed one (its time column aside). Where ``torch.distributed`` is
    initialised (``torchrun``) each process takes every world-th image and appends to a part file of its
    own, and rank 0 merges. ``about`` is put into the summary as it is: which data, which split.
    ``progress`` counts the images of this process.
    """
    if name is not None and Path(name).name != name:
        raise InputError(f"certify: the name '{name}' cannot be a file's; expected a plain word without '/'")
    rank, world = place()
    settings = settings.with_backend(resolve_backend(settings.backend))
    parameters = {**(about or {}), **_parameters(model, split, indices, settings=settings)}
    job = _Job(out, name or settings.name, list(indices), parameters)
    together(lambda: job.open(resume=resume, overwrite=overwrite) if rank == 0 else None)
    own = job.part(rank) if world > 1 else job.table
    cut_back(own)
    share, done = job.indices[rank::world], job.rows(split)
    images, tell = _waiting(split, share, done), _counted(share, done, progress)
    together(lambda: _append(model, images, settings, own=own, tell=tell))
    rows = job.rows(split)
    certificates = Certificates.of([rows[index] for index in job.indices], settings)
    together(lambda: None)  # all have read the parts before rank 0 clears them away
    together(lambda: job.close(certificates) if rank == 0 else None)
    return certificates


@dataclass(frozen=True)
class _Job:
    """The files of one certification, and the parameters that a resumed one must share."""

    out: Path
    name: str
    indices: list[int]
    parameters: dict[str, Any]

    @property
    def table(self) -> Path:
        return self.out / f"{self.name}.tsv"

    @property
    def summary(self) -> Path:
        return self.out / f"{self.name}.json"

    @property
    def running(self) -> Path:
        """The parameters while the work goes on; gone when it is done."""
        return self.out / f"{self.name}.running"

    def part(self, rank: int) -> Path:
        return self.out / f"{self.name}.part{rank}"

    def parts(self) -> list[Path]:
        return sorted(self.out.glob(f"{glob.escape(self.name)}.part*"))

    def open(self, *, resume: bool, overwrite: bool) -> None:
        """Refuse, take up or replace what exists, and write down the parameters before any row."""
        existing = [path for path in (self.table, self.summary, self.running, *self.parts()) if path.exists()]
        if existing and not resume and not overwrite:
            raise InputError(f"'{existing[0]}' exists; resume it, overwrite it, or give another name")
        if existing and resume:
            self._compare()
        for path in () if resume else (*self.parts(), self.table):
            path.unlink(missing_ok=True)
        if not (resume and self.summary.exists()):
            write_json(self.running, self.parameters)
            self.summary.unlink(missing_ok=True)
        if not self.table.exists():
            append_line(self.table, HEADER)

    def _compare(self) -> None:
        """Refuse to go on with other parameters than those of the rows that are there."""
        source = self.running if self.running.exists() else self.summary
        if not source.exists():
            raise InputError(
                f"'{self.table}' has no parameters beside it and cannot be resumed; overwrite it"
            )
        stored = read_json(source)
        for key, value in self.parameters.items():
            if key != "version" and stored.get(key) != value:
                raise InputError(
                    f"'{self.table}' was made with {key} {stored.get(key)!r}, now it is {value!r}; "
                    "resume with the same settings, overwrite it, or give another name"
                )

    def rows(self, split: Labelled) -> dict[int, Certificate]:
        """All finished rows by index, whoever wrote them."""
        found: dict[int, Certificate] = {}
        for path in (self.table, *self.parts()):
            found.update(read_rows(path))
        wanted = set(self.indices)
        for index, row in found.items():
            if index not in wanted or row.label != int(split.y[index]):
                raise InputError(f"'{self.table}' has a row for image {index} of other data; overwrite it")
        return found

    def close(self, certificates: Certificates) -> None:
        """Put the rows in order, write the summary, and clear away what only the work needed."""
        if self.summary.exists() and not self.running.exists():
            return
        write_text(self.table, rows_text(certificates))
        write_json(self.summary, {**self.parameters, **certificates.summary()})
        for path in (*self.parts(), self.running):
            path.unlink(missing_ok=True)


def _parameters(
    model: Classifier, split: Labelled, indices: Sequence[int], *, settings: CertifySettings
) -> dict[str, Any]:
    """What must be equal for rows to belong to one certification."""
    total, images = len(split), len(indices)
    if not images or len(set(indices)) != images or min(indices) < 0 or max(indices) >= total:
        raise InputError(f"indices must be different numbers from 0 to {total - 1}, and at least one")
    even = list(indices) == evenly_spaced(total, images)
    return {
        "version": version("wassermix"),
        **settings.as_dict(),
        "images": images,
        "every": (total // images if total % images == 0 else total / images) if even else None,
        "selection": selection_fingerprint(indices),
        "model": fingerprint(model),
    }


def _waiting(split: Labelled, share: Sequence[int], done: dict[int, Certificate]) -> Iterator[Image]:
    """The images that have no row yet, read when their turn comes."""
    for index in share:
        if index not in done:
            x = split.get(torch.tensor([index]))[0]
            if not torch.isfinite(x).all():
                raise InputError(f"image {index} holds NaN or infinite values; mend or remove it")
            yield Image(x, index, int(split.y[index]))


def _counted(
    share: Sequence[int], done: dict[int, Certificate], progress: Progress | None
) -> Callable[[], None]:
    """A call for each image that finishes, counting on from those that had a row before."""
    finished = sum(index in done for index in share)

    def tell() -> None:
        nonlocal finished
        finished += 1
        if progress is not None:
            progress(finished, len(share))

    return tell


def _append(
    model: Classifier,
    images: Iterator[Image],
    settings: CertifySettings,
    *,
    own: Path,
    tell: Callable[[], None],
) -> None:
    def emit(_position: int, certificate: Certificate) -> None:
        append_line(own, row_of(certificate))
        tell()

    certify_images(model, images, settings, emit=emit)
