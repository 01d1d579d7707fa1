"""The published schemas are those of the code, and the files that commands write fit them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator

from cli.words import run
from wassermix.evidence.schemas import SCHEMAS, schema_texts

PUBLISHED = Path(__file__).parents[2] / "docs" / "schemas"


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small run with every evaluation, and its bundle."""
    work = tmp_path_factory.mktemp("schemas")
    rng = np.random.default_rng(0)
    y = np.arange(240) % 3
    x = (4 * np.eye(3)[y] + rng.normal(size=(240, 3))).astype(np.float32)
    np.savez(work / "d.npz", x_train=x[:120], y_train=y[:120], x_test=x[120:], y_test=y[120:])
    np.savez(work / "new.npz", x=x[:60] + np.float32(0.5))
    folder, few = (
        work / "run",
        ("--estimator", "joint", "--permutations", 39, "--resamples", 5, "--points", 3),
    )
    certify = ("certify", folder, "--n", 300, "--images", 6, "--sigma", 0.5)
    with pytest.MonkeyPatch.context() as patch:
        data = (f"data={work / 'd.npz'}", "model=mlp", "updates=20")
        assert run(patch, "train", "vectors", *data, "--out", folder) == 0
        assert run(patch, *certify) == 0
        assert run(patch, *certify, "--mode", "grid", "--name", "parts", "--shard", "1/2") == 0
        for attack in ("pgd", "geodesic"):
            norm = ("--norm", "l2", "--eps", 0.3) if attack == "pgd" else ()
            assert run(patch, "attack", folder, "--attack", attack, *norm, "--images", 12) == 0
        assert run(patch, "audit", folder, "--points", 3) == 0
        assert run(patch, "audit", folder, "--points", 3, "--classes", "0-1-2") == 0
        assert run(patch, "drift", folder, "--data", work / "new.npz", *few) == 0
        stream = ("--stream", work / "new.npz", "--every", 30, "--name", "watched")
        assert run(patch, "drift", folder, *stream, *few) in (0, 3)
        assert run(patch, "evidence", folder, "--out", work / "bundle") == 0
    return work


FILES = {
    "certify": ("run/certify/*.json", "run/certify/*.shards/*.json"),
    "attack": ("run/attack/*.json",),
    "audit": ("run/audit/*.json",),
    "audit-simplex": ("run/audit/simplex/*.json",),
    "drift": ("run/drift/new.json",),
    "drift-stream": ("run/drift/watched.json",),
    "manifest": ("bundle/MANIFEST.json",),
}


def problems(name: str, record: Any) -> list[str]:
    return [error.message for error in Draft202012Validator(SCHEMAS[name].schema()).iter_errors(record)]


@pytest.mark.parametrize("name", FILES)
def test_the_files_that_commands_write_fit_their_schema(name: str, written: Path) -> None:
    paths = [path for pattern in FILES[name] for path in sorted(written.glob(pattern))]
    assert len(paths) >= len(FILES[name])
    for path in paths:
        assert problems(name, json.loads(path.read_text())) == [], path.name


def test_every_schema_is_checked_and_is_one() -> None:
    assert FILES.keys() == SCHEMAS.keys()
    for shape in SCHEMAS.values():
        Draft202012Validator.check_schema(shape.schema())


def test_a_file_with_a_key_missing_added_or_of_another_type_does_not_fit(written: Path) -> None:
    record = json.loads(next(written.glob("run/certify/*.json")).read_text())
    assert problems("certify", {**record, "sigma": "0.5"})
    assert problems("certify", {**record, "unheard_of": 1})
    assert problems("certify", {key: value for key, value in record.items() if key != "alpha"})
    cell = {key: value for key, value in record["certified"][0].items() if key != "low"}
    assert problems("certify", {**record, "certified": [cell]})


def test_the_published_schemas_are_those_of_the_code() -> None:
    made = {name: json.loads(text) for name, text in schema_texts().items()}
    published = {path.name: json.loads(path.read_text()) for path in PUBLISHED.glob("*.json")}
    assert published == made, "python docs/make.py --schemas writes them anew"


def test_a_bundle_carries_the_schemas(written: Path) -> None:
    carried = {path.name: path.read_text() for path in (written / "bundle" / "schemas").iterdir()}
    assert carried == schema_texts()
