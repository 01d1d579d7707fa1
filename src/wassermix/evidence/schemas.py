"""The JSON schemas of the files that are published: in docs/schemas, and in every bundle."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wassermix.attacks.result import Check
from wassermix.audit.result import PairCurve, PerformanceSimplex
from wassermix.certify.pa import ShareAbove
from wassermix.certify.result import CertifiedAccuracy
from wassermix.certify.settings import CertifySettings
from wassermix.core.files import write_text
from wassermix.core.schema import FileShape, fields_of, settings_of
from wassermix.drift.result import DriftResult
from wassermix.drift.settings import DriftSettings, StreamSettings
from wassermix.drift.stream import BatchLine

__all__ = ["SCHEMAS", "schema_texts", "write_schemas"]


@dataclass(frozen=True)
class CertifiedCell(CertifiedAccuracy):
    """Certified accuracy at one radius, with Wilson's 95% interval and the exact one."""

    exact_low: float
    exact_high: float


@dataclass(frozen=True)
class Draws:
    """Noise draws per image, those that picked a class not among them."""

    mean: float
    median: float
    total: int


@dataclass(frozen=True)
class ShardOfFile:
    """Which part of a certification a file is, and the parameters of the whole."""

    number: int
    of: int
    whole: dict[str, Any]


@dataclass(frozen=True)
class CountedShare:
    """A share of images with its 95% interval, and how many they are."""

    accuracy: float
    low: float
    high: float
    images: int
    count: int


@dataclass(frozen=True)
class Flags:
    """One entry for each image, in the same order; flags are 0 or 1."""

    index: list[int]
    label: list[int]
    clean_correct: list[int]
    robust_correct: list[int]


@dataclass(frozen=True)
class ModelInputs:
    """The shape of a sample, the number of classes, and the normalisation of the first layer."""

    shape: list[int]
    num_classes: int
    mean: list[float]
    std: list[float]


@dataclass(frozen=True)
class FileMark:
    """What a file was when the bundle was made."""

    sha256: str
    bytes: int


ABOUT: dict[str, tuple[Any, str]] = {
    "data": (str, "the data set"),
    "split": (str, "which part of it"),
    "note": (str, "what a reader should know of the data or the model"),
    "model_file": (str, "the file or factory of a model that was not trained here"),
    "weights": (str, "of a run with averaged weights: last, where those of the last update were judged"),
}
VERSION: dict[str, tuple[Any, str]] = {"version": (str, "of wassermix")}

CERTIFY = FileShape(
    "wassermix certification",
    "certify/NAME.json: parameters and summary of the certificates in NAME.tsv.",
    {
        **ABOUT,
        **VERSION,
        **settings_of(CertifySettings),
        "images": (int, "how many were certified"),
        "every": (
            float | None,
            "their distance in the data; null where they are not evenly spaced",
        ),
        "selection": (str, "fingerprint of which images, in which order"),
        "samples": (str, "fingerprint of the images and labels themselves"),
        "model": (str | None, "fingerprint of the weights"),
        "shard": (ShardOfFile, "in the file of a shard only"),
        "certified": (list[CertifiedCell], "certified accuracy at each radius"),
        "acr": (float | None, "average certified radius; null where the mode rounds radii down"),
        "p_a": (list[ShareAbove], "share of images whose label has at least a probability under noise"),
        "abstained": (int, "images about which nothing is proved"),
        "draws": (Draws, ""),
        "saving": (float, "how many times fewer draws than mode fixed"),
        "expected_false": (float, "false certificates to be expected at most"),
        "statement": (str, "what may be said of the set"),
        "seconds": (float, "of computation"),
        "digest": (str, "of all of this and the rows, times aside"),
    },
    optional=(*ABOUT, "shard", "layout"),
)
ATTACK = FileShape(
    "wassermix attack",
    "attack/NAME.json: every parameter, accuracy before and under the attack, a flag for each image.",
    {
        **ABOUT,
        **VERSION,
        "fingerprint": (str | None, "of the weights"),
        "attack": (str, "its name"),
        "seed": (int, "of the attack's draws"),
        "batch_size": (int, "images attacked at once"),
        "indices": (dict[str, int] | list[int], "the images: first, every, count; or a list"),
        "title": (str, "the attack in a few words"),
        "identity": (list[str], "keys that two results must share to stand in one table"),
        "images": (int, "how many"),
        "clean": (CountedShare, "accuracy without the attack"),
        "robust": (CountedShare, "accuracy under the attack: an upper bound"),
        "summary": (list[str], "keys of this file that hold what only this attack measures"),
        "checks": (list[Check], "reasons to believe the number, or not"),
        "seconds": (float, "of computation"),
        "per_image": (Flags, ""),
    },
    optional=tuple(ABOUT),
    open=True,
)
AUDIT = FileShape(
    "wassermix audit",
    "audit/NAME.json: the model on the way between pairs of classes.",
    {
        **ABOUT,
        **VERSION,
        "fingerprint": (str | None, "of the weights"),
        "embedding": (str | None, "fingerprint of the embedding, where one was given"),
        "parameters": (dict[str, Any], "what the curves depend on"),
        "pairs": (list[PairCurve], "one curve for each pair of classes"),
        "mean": (dict[str, list[float]], "the curves averaged over the pairs"),
    },
    optional=(*ABOUT, "embedding"),
)
SIMPLEX = FileShape(
    "wassermix audit of three classes",
    "audit/simplex/NAME.json: the model on the triangle between three classes.",
    {
        **ABOUT,
        **VERSION,
        "fingerprint": (str | None, "of the weights"),
        "embedding": (str | None, "fingerprint of the embedding, where one was given"),
        **fields_of(PerformanceSimplex, omit=("about",)),
    },
    optional=(*ABOUT, "embedding"),
)
MARKS: dict[str, tuple[Any, str]] = {
    "model": (str | None, "fingerprint of the weights"),
    "reference": (str, "fingerprint of the labelled reference samples"),
}
DRIFT = FileShape(
    "wassermix drift check",
    "drift/NAME.json: accuracy on data without labels, and a test for drift.",
    {
        "format": (int, "of this file"),
        **VERSION,
        **settings_of(DriftSettings),
        **MARKS,
        "data": (str, "the new data"),
        "new": (str, "fingerprint of the new samples that were used"),
        "labels": (int, "how many labels were given"),
        "labelled": (str | None, "fingerprint of the labels that were given"),
        "ask": (int, "how many samples were chosen to be labelled"),
        "score": (bool, "whether the estimate was compared with known labels"),
        **fields_of(DriftResult, omit=("parameters",)),
        "loss": (float, "accuracy lost against the reference, by the estimate"),
    },
    optional=("new", "labelled"),
)
STREAM = FileShape(
    "wassermix drift monitor",
    "drift/NAME.json of a watched stream: its parameters and the last line of NAME.jsonl.",
    {
        **VERSION,
        **settings_of(DriftSettings),
        **settings_of(StreamSettings),
        **MARKS,
        "last": (BatchLine, "the last batch"),
    },
)
MANIFEST = FileShape(
    "wassermix evidence manifest",
    "MANIFEST.json of a bundle: what every file was when the bundle was made, and what made it.",
    {
        **ABOUT,
        "format": (str, "of the bundle"),
        "created": (str, "date and time, UTC"),
        "wassermix": (str, "version"),
        "python": (str, "version"),
        "platform": (str, "system and processor"),
        "dependencies": (dict[str, str | None], "versions"),
        "model": (str | None, "fingerprint of the weights"),
        "samples": (str, "fingerprint of the judged samples"),
        "inputs": (ModelInputs, "what the model must know of its data"),
        "files": (dict[str, FileMark], "path below the bundle -> what the file was"),
    },
    optional=("note", "model_file", "weights"),
)

SCHEMAS = {
    "certify": CERTIFY,
    "attack": ATTACK,
    "audit": AUDIT,
    "audit-simplex": SIMPLEX,
    "drift": DRIFT,
    "drift-stream": STREAM,
    "manifest": MANIFEST,
}
"""Name of the schema's file -> what it describes."""


def schema_texts() -> dict[str, str]:
    """File name -> the schema as text."""
    return {f"{name}.json": json.dumps(s.schema(), indent=1) + "\n" for name, s in SCHEMAS.items()}


def write_schemas(folder: Path) -> None:
    """Write every schema into ``folder``."""
    for name, text in schema_texts().items():
        write_text(folder / name, text)
