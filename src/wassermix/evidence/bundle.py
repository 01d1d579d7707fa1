"""Making a bundle: a run's model, results and judged samples, the page, and a manifest of all of them."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
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
) -> Path:
    """Write the bundle of ``run`` into the new folder ``out``, or into ``out`` as a ``.zip``.

    ``samples`` are those that were judged, ``about`` says which (data, split, model's fingerprint, and what
    the model must know of them: ``inputs``), and ``page(run folder, file)`` writes the report. Data that may
    not be handed on stay out with ``keep_samples=False``; a replay then needs the data set. Returns what was
    written.
    """
    if out.exists():
        raise InputError(f"'{out}' exists; evidence is never written over: choose another --out")
    folder = out.with_suffix("") if out.suffix == ".zip" else out
    beside = folder.with_name(f".{folder.name}.part")
    shutil.rmtree(beside, ignore_errors=True)
    _fill(run, beside, samples=samples, about=about, page=page, keep_samples=keep_samples)
    if out.suffix != ".zip":
        beside.rename(out)
        return out
    archive = shutil.make_archive(str(folder), "zip", root_dir=beside)
    shutil.rmtree(beside)
    return Path(archive)


def _fill(
    run: Path,
    folder: Path,
    *,
    samples: LabelledSamples,
    about: Mapping[str, Any],
    page: Callable[[Path, Path], object],
    keep_samples: bool,
) -> None:
    copied = folder / "run"
    copied.mkdir(parents=True)
    for name in KEPT:
        _copy(run / name, copied / name)
    certified = {path.stem: Certificates.read(path) for path in _finished(copied / "certify", ".tsv")}
    attacked = [AttackResult.read(path) for path in _finished(copied / "attack", ".json")]
    told = [*((one.about, one.index) for one in certified.values())]
    told += [(one.parameters, one.index) for one in attacked]
    judged = [index for said, index in told if said.get("split", about.get("split")) == about.get("split")]
    indices = sorted({int(number) for index in judged for number in index})
    if not indices:
        raise InputError(
            f"'{run}' has neither certificates nor attacks of the split '{about.get('split')}'; `wassermix "
            f"certify {run}` makes some"
        )
    if keep_samples:
        write_samples(folder / SAMPLES, samples, indices)
    known = {**about, "samples": samples_fingerprint(samples, indices)}
    write_text(folder / "SUMMARY.md", summary_page(run.name, known, certified, attacked))
    write_text(folder / "README.md", model_card(run.name, known, certified, attacked))
    page(copied, folder / "report.html")
    write_schemas(folder / "schemas")
    write_json(folder / MANIFEST, manifest_of(folder, known))


def _copy(source: Path, target: Path) -> None:
    if source.is_dir():
        unwanted = shutil.ignore_patterns("*.running", "*.lock", "*.part*", "*.log", ".*", f"*{SHARDS}")
        shutil.copytree(source, target, ignore=unwanted)
    elif source.exists():
        shutil.copy2(source, target)


def _finished(folder: Path, suffix: str) -> Iterator[Path]:
    for path in sorted(folder.glob(f"*{suffix}")):
        if path.with_suffix(".json").exists():
            yield path
