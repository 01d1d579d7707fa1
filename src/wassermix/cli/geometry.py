"""``wassermix geometry``: what a data set looks like to transport, in seconds and without training."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.table import Table as Shown

import wassermix
from wassermix.cli.console import console, counted, say
from wassermix.cli.train import parse_overrides
from wassermix.core.errors import InputError
from wassermix.core.files import write_json
from wassermix.core.settings import as_record, nearest
from wassermix.data import Dataset, load_data
from wassermix.embed import EMBEDDINGS, Embedding
from wassermix.geodesic.geometry import Geometry, GeometrySettings, Measured, data_geometry, sentence

__all__ = ["run_geometry"]

DEFAULTS = {"image": ("pixel", "pca"), "vector": ("standard", "pca")}


def run_geometry(
    name: str,
    overrides: Iterable[str],
    settings: GeometrySettings,
    *,
    out: Path | None,
    overwrite: bool = False,
) -> dict[str, Any]:
    """Measure, print a table and a sentence for each embedding, and write the JSON file where asked."""
    if out is not None and out.exists() and not overwrite:
        raise InputError(f"'{out}' exists; give --overwrite to replace it, or another --out")
    with counted("downloading") as downloading:
        data = load_data(name, progress=downloading, **_data_options(overrides))
    embeddings = [(word, _embedding(word)) for word in settings.embed or DEFAULTS[data.kind]]
    with counted("measuring") as progress:
        found = data_geometry(data.train, embeddings, settings, progress=progress)
    sentences = [sentence([one for one in found if one.embed == word]) for word, _ in embeddings]
    console.print(_shown(name, found))
    for line in sentences:
        say(line)
    record = _record(name, data, settings, found, sentences)
    if out is not None:
        write_json(out, record)
        say(f"written: {out}")
    return record


def _data_options(overrides: Iterable[str]) -> dict[str, Any]:
    given = parse_overrides(overrides)
    other = [key for key in given if not key.startswith("data.")]
    if other:
        raise InputError(
            f"geometry: key '{other[0]}' is not about data; expected data.KEY=VALUE, or an option"
        )
    return {key.removeprefix("data."): value for key, value in given.items()}


def _embedding(word: str) -> Embedding:
    """An embedding from ``pca`` or ``pca:16``, the number being its size."""
    name, _, size = word.partition(":")
    if name not in EMBEDDINGS.names():
        raise InputError(f"--embed: '{name}' is unknown; {nearest(name, EMBEDDINGS.names())}")
    if size and (not size.isdigit() or name not in ("pca", "vae")):
        raise InputError(f"--embed: got '{word}'; expected a name, or pca or vae with a size such as pca:16")
    embed: Embedding = EMBEDDINGS.make(name, {"size": int(size)} if size else {})
    return embed


def _shown(name: str, found: list[Geometry]) -> Shown:
    shown = Shown(title=f"{name}: exact pairs (random pairs)", caption="half-way between classes, t = 1/2")
    for head in ("embedding", "dim", "pair_size", "cost", "spread", "nearest real", "third class"):
        shown.add_column(head)
    for one in found:
        shares = "-" if one.intrusion is None else _both(one.intrusion, ".1%")
        cells = [_both(one.spread, ".2f"), _both(one.nearest, ".2f"), shares]
        shown.add_row(one.embed, str(one.dim), str(one.pair_size), f"{one.cost.exact:.2f}", *cells)
    return shown


def _both(measured: Measured, form: str) -> str:
    return f"{measured.exact:{form}} ({measured.random:{form}})"


def _record(
    name: str, data: Dataset, settings: GeometrySettings, found: list[Geometry], sentences: list[str]
) -> dict[str, Any]:
    about = {"data": name, "samples": len(data.train), "classes": data.num_classes, "shape": list(data.shape)}
    rows = [{**asdict(one), "kept": one.kept} for one in found]
    return {
        **about,
        "version": wassermix.__version__,
        "settings": as_record(settings),
        "rows": rows,
        "sentences": sentences,
    }
