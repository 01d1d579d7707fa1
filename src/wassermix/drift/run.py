"""The jobs: a drift check into ``NAME.json``, a watched stream into ``NAME.jsonl``; resumable, atomic."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

import wassermix
from wassermix.core.classifier import Classifier
from wassermix.core.errors import InputError
from wassermix.core.files import write_beside, write_text
from wassermix.core.fingerprint import fingerprint, samples_fingerprint
from wassermix.core.job import Job, Output
from wassermix.core.samples import LabelledSamples, evenly_spaced
from wassermix.core.settings import as_record
from wassermix.core.streams import stream_seed
from wassermix.data.dataset import Statistics
from wassermix.data.unlabelled import NewSamples, load_unlabelled
from wassermix.drift.ask import ask
from wassermix.drift.check import Checked, check, used_rows
from wassermix.drift.estimators.registry import ESTIMATORS
from wassermix.drift.labelled import FewLabels
from wassermix.drift.prepared import Prepared, prepare
from wassermix.drift.result import DriftResult, read_result
from wassermix.drift.settings import DriftSettings, StreamSettings
from wassermix.drift.stream import BatchLine, StreamMonitor, cut, restored_lines
from wassermix.drift.way import way_between

__all__ = ["check_to_files", "prepared_reference", "stream_sources", "stream_to_files"]

FRAMES, TIMES = 6, 9
READABLE = (".npz", ".npy", ".csv", ".tsv", ".gz")


def prepared_reference(
    model: Classifier, reference: LabelledSamples, settings: DriftSettings, folder: Path
) -> tuple[Prepared, dict[str, Any]]:
    """The reference, run through the model once and stored in ``folder``, and what identifies both."""
    rows = evenly_spaced(len(reference), settings.reference_samples)
    marks = {"model": fingerprint(model), "reference": samples_fingerprint(reference, rows)}
    layer = settings.layer or "last"
    name = f"reference-{marks['model']}-{marks['reference']}-{layer}-{settings.components}.npz"
    stored = None if marks["model"] is None else folder / name.replace("/", "-")
    return prepare(model, reference, settings, stored=stored), marks


def check_to_files(
    model: Classifier,
    reference: LabelledSamples,
    new: NewSamples,
    *,
    output: Output,
    settings: DriftSettings,
    labelled: FewLabels | None = None,
    asked: int = 0,
    score: bool = False,
) -> DriftResult:
    """Check ``new`` against ``reference`` into ``folder/NAME.json`` and, for images, ``NAME.npz``.

    ``asked`` samples to label go to ``NAME.ask.csv``; ``score`` compares with the labels that the new data
    hold.
    """
    if score and new.labels is None:
        raise InputError(f"--score: '{new.name}' hold no labels to compare with; leave --score out")
    if not 0 <= asked <= min(len(new), settings.samples):
        raise InputError(
            f"--ask {asked}; expected 1 to {min(len(new), settings.samples)}, the new samples used"
        )
    _require_known(settings)
    rows = used_rows(len(new), settings.samples, labelled)
    prepared, marks = prepared_reference(model, reference, settings, output.folder)
    if labelled is not None:
        labelled.check(len(new), prepared.reference.num_classes)
    about = {**marks, **_said_of(new, rows, labelled), "ask": asked, "score": score}
    about["version"] = wassermix.__version__
    name, parameters = output.named(_plain(new.name)), {**as_record(settings), **about}
    job = Job(output.folder, name, parameters, files=(".json", ".npz", ".ask.csv"))
    if output.overwrite:
        _keep_answers(job.path(".ask.csv"))
    with job.begin(resume=output.resume, overwrite=output.overwrite):
        if job.finished:
            return read_result(job.path(".json"))
        checked = check(
            prepared, new.samples, labelled=labelled, truth=new.labels if score else None,
            columns=new.columns, about=about,
        )  # fmt: skip
        if asked:
            write_text(job.path(".ask.csv"), _questions(checked, asked, settings.seed))
        if checked.x.dim() == 4:
            _write_frames(job.path(".npz"), prepared, checked)
        job.finish({".json": _json(checked.result.record())})
    return checked.result


def _said_of(new: NewSamples, rows: Sequence[int], labelled: FewLabels | None) -> dict[str, Any]:
    """What a result says of the new data and of the labels that were given for some of them."""
    return {
        "data": new.name,
        "new": samples_fingerprint(new.samples, rows),
        "labels": 0 if labelled is None else len(labelled.index),
        "labelled": None if labelled is None else labelled.fingerprint,
    }


def _require_known(settings: DriftSettings) -> None:
    """Refuse a misspelt estimator before anything is begun."""
    for name in (settings.estimator, *settings.beside):
        ESTIMATORS.find(name)


def _keep_answers(path: Path) -> None:
    """Refuse to overwrite questions that a person has begun to answer."""
    if not path.exists():
        return
    _, *rows = csv.reader(path.read_text(encoding="utf-8", errors="replace").splitlines() or [""])
    # a row in another shape than the one written was edited by someone too
    if any(row and (len(row) != 3 or row[1].strip()) for row in rows):
        raise InputError(
            f"'{path}' holds labels that were filled in, and --overwrite would delete them; move the file, "
            "or give --name"
        )


def stream_sources(path: Path) -> list[Path]:
    """The files of a stream: the file itself, or those in a folder by name."""
    if not path.exists():
        raise InputError(f"stream '{path}' does not exist; expected a file or a folder of files")
    if path.is_file():
        return [path]
    found = sorted(
        file for file in path.iterdir() if file.suffix in READABLE and not file.name.startswith(".")
    )
    if not found:
        raise InputError(f"stream '{path}' holds no {', '.join(READABLE)} files")
    return found


def stream_to_files(
    model: Classifier,
    reference: LabelledSamples,
    sources: Iterable[Path],
    *,
    output: Output,
    settings: DriftSettings,
    watching: StreamSettings,
    scale: Statistics | None = None,
    columns: Sequence[str] = (),
    seen: Callable[[BatchLine], None] | None = None,
) -> BatchLine | None:
    """Watch a stream into ``folder/NAME.jsonl``, a line for each batch; returns the last one.

    Resumed, it goes on after the last whole line, with the evidence gathered so far; files that have come
    to a folder since are taken up, and rows that have come to a file. No row is bet on twice.
    """
    _require_known(settings)
    prepared, marks = prepared_reference(model, reference, settings, output.folder)
    parameters = {**as_record(settings), **as_record(watching), **marks, "version": wassermix.__version__}
    job = Job(output.folder, output.named("stream"), parameters, files=(".json", ".jsonl"), log=".jsonl")
    with job.begin(resume=output.resume, overwrite=output.overwrite):
        lines = restored_lines(job.own_lines(), job.path(".jsonl"))
        last = lines[-1] if lines else None
        monitor = StreamMonitor(prepared, tolerated=watching.alarm / 100, alpha=settings.alpha, last=last)
        done: dict[str, int] = {}
        for line in lines:
            done[line.source] = max(line.last, done.get(line.source, 0))
        shape = tuple(prepared.samples.get(torch.arange(1)).shape[1:])
        for source in sources:
            new = load_unlabelled(source, shape=shape, scale=scale, columns=columns)
            for first, batch in cut(new.samples, watching.every, start=done.get(source.name, 0)):
                line = monitor.watch(batch, source=source.name, first=first)
                job.append(json.dumps(line.record(), allow_nan=False))
                if seen is not None:
                    seen(line)
        state = monitor.last.record() if monitor.last is not None else {}
        job.finish({".json": _json({**parameters, "last": state})})
    return monitor.last


def _plain(name: str) -> str:
    return Path(name).name.split(".")[0] or "new"


def _json(record: Mapping[str, Any]) -> Callable[[Path], object]:
    text = json.dumps(dict(record), indent=1, allow_nan=False) + "\n"
    return lambda path: path.write_text(text, encoding="utf-8")


def _questions(checked: Checked, count: int, seed: int) -> str:
    """A table to fill in: the rows to label, an empty column for their labels, and their weights."""
    drawn = ask(checked.chances, count, rng=np.random.default_rng(stream_seed(seed, "drift", "ask")))
    rows = checked.rows.numpy()[drawn.index]
    lines = [f"{row},,{weight!r}" for row, weight in zip(rows.tolist(), drawn.weights.tolist())]
    return "\n".join(["index,label,weight", *lines]) + "\n"


def _write_frames(path: Path, prepared: Prepared, checked: Checked) -> None:
    """Pictures along the way of the most moved samples: ``frames (samples, times, C, H, W)`` uint8."""
    wanted = {one["row"] for one in checked.result.moved.furthest[:FRAMES]}
    places = [place for place, row in enumerate(checked.rows.tolist()) if row in wanted]
    labels = torch.from_numpy(prepared.reference.labels)
    k = prepared.reference.num_classes
    path_between = way_between(prepared.samples.all(), labels, checked.x, checked.partners, k=k)
    path_between = path_between.rows(torch.tensor(places))
    times = torch.linspace(0, 1, TIMES)
    frames = torch.stack([path_between.at(float(t)).x for t in times], dim=1)
    arrays: dict[str, Any] = {
        "frames": (frames.clamp(0, 1) * 255).round().byte().numpy(),
        "t": times.numpy(),
        "rows": checked.rows.numpy()[places],
    }

    def write(beside: Path) -> None:
        with beside.open("wb") as file:
            np.savez_compressed(file, **arrays)

    write_beside(path, write)
