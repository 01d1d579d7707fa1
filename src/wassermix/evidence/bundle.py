"""Making a bundle: a run's model, results and judged samples, the page, and a manifest of all of them."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from wassermix.attacks.result import AttackResult
from wassermix.certify.result import Certificates
from wassermix.core.errors import InputError
from wassermix.core.files import write_json, write_text
from wassermix.core.fingerprint import samples_fingerprint
from wassermix.core.job import SHARDS
from wassermix.core.samples import LabelledSamples
from wassermix.evidence.manifest import MANIFEST, manifest_of
from wassermix.evidence.samples import SAMPLES, write_samples
from wassermix.evidence.schemas import write_schemas
from wassermix.evidence.selection import left_out, remove_results
from wassermix.evidence.words import model_card, summary_page

__all__ = ["write_evidence"]

KEPT = (
    "config.yaml", "model.safetensors", "last.safetensors", "metrics.jsonl",
    "certify", "attack", "audit", "drift",
)  # fmt: skip
"""What of a run directory goes into a bundle; the state of the optimiser does not."""


def write_evidence(
    run: Path,
    out: Path,
    *,
    samples: LabelledSamples,
    about: Mapping[str, Any],
    page: Callable[[Path, Path], object],
    keep_samples: bool = True,
    models: Collection[str | None] = (),
) -> Path:
    """Write the bundle of ``run`` into the new folder ``out``, or into ``out`` as a ``.zip``.

    ``samples`` are those that were judged, ``about`` says which (data, split, model's fingerprint, and what
    the model must know of them: ``inputs``), and ``page(run folder, file)`` writes the report. Results that
    speak of other samples or models stay out, see :func:`~wassermix.evidence.selection.left_out`, which
    takes the same ``models``. Data that may not be handed on stay out with ``keep_samples=False``; a replay
    then needs the data set. Returns what was written.
    """
    if out.exists():
        raise InputError(f"'{out}' exists; evidence is never written over: choose another --out")
    beside = out.with_name(f".{out.name}.part")
    archive = beside.with_name(f"{beside.name}.zip")
    others = left_out(run, about, models=models)
    try:
        shutil.rmtree(beside, ignore_errors=True)
        copied = _copied(run, beside / "run", without=others)
        _fill(copied, run.name, samples=samples, about=about, page=page, keep_samples=keep_samples)
        if out.suffix == ".zip":
            os.replace(shutil.make_archive(str(beside), "zip", root_dir=beside), out)
        else:
            beside.rename(out)
    except OSError as error:
        why = error.strerror or str(error)
        raise InputError(f"cannot write '{out}': {why}; choose another --out") from error
    finally:
        shutil.rmtree(beside, ignore_errors=True)
        with contextlib.suppress(OSError):
            archive.unlink(missing_ok=True)
    return out


def _copied(run: Path, copied: Path, *, without: Collection[str]) -> Path:
    """The copy of a run's model and results, but for those results."""
    copied.mkdir(parents=True)
    for name in KEPT:
        _copy(run / name, copied / name)
    remove_results(copied, without)
    return copied


def _fill(
    copied: Path,
    name: str,
    *,
    samples: LabelledSamples,
    about: Mapping[str, Any],
    page: Callable[[Path, Path], object],
    keep_samples: bool,
) -> None:
    """Put what is said of the run called ``name``, and its samples, beside the copy of it."""
    folder = copied.parent
    certified = {path.stem: Certificates.read(path) for path in sorted((copied / "certify").glob("*.tsv"))}
    attacked = [AttackResult.read(path) for path in sorted((copied / "attack").glob("*.json"))]
    judged = [*(one.index for one in certified.values()), *(one.index for one in attacked)]
    indices = sorted({int(number) for index in judged for number in index})
    if not indices:
        raise InputError(
            f"the run '{name}' has neither certificates nor attacks of its own model on the split "
            f"'{about.get('split')}'; `wassermix certify` makes some"
        )
    if keep_samples:
        write_samples(folder / SAMPLES, samples, indices)
    known = {**about, "samples": samples_fingerprint(samples, indices)}
    write_text(folder / "SUMMARY.md", summary_page(name, known, certified, attacked))
    write_text(folder / "README.md", model_card(name, known, certified, attacked))
    page(copied, folder / "report.html")
    write_schemas(folder / "schemas")
    write_json(folder / MANIFEST, manifest_of(folder, known))


def _copy(source: Path, target: Path) -> None:
    if source.is_dir():
        unwanted = shutil.ignore_patterns("*.running", "*.lock", "*.part*", "*.log", ".*", f"*{SHARDS}")
        shutil.copytree(source, target, ignore=unwanted)
    elif source.exists():
        shutil.copy2(source, target)
