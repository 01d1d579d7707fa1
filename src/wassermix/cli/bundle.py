"""A bundle as a replay needs it: unpacked, with its model and the samples that it holds."""

from __future__ import annotations

import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from wassermix.core.classifier import Classifier
from wassermix.core.errors import InputError
from wassermix.core.samples import LabelledSamples
from wassermix.engine.build import Inputs
from wassermix.engine.target import run_model, run_target
from wassermix.evidence import SAMPLES, SampleFile, read_manifest

__all__ = ["from_bundle", "unpacked"]


@contextmanager
def unpacked(what: Path) -> Iterator[Path]:
    """``what`` itself, or for a ``.zip`` a folder with its contents, which is gone afterwards."""
    if what.suffix != ".zip" or not what.is_file():
        yield what
        return
    with tempfile.TemporaryDirectory() as folder:
        try:
            with zipfile.ZipFile(what) as archive:
                archive.extractall(folder)
        except (zipfile.BadZipFile, OSError, RuntimeError, zlib.error) as error:
            raise InputError(f"'{what}' cannot be unpacked ({error}); copy it again") from error
        yield Path(folder)


def from_bundle(
    bundle: Path, options: Mapping[str, Any], *, last: bool = False
) -> tuple[Classifier, LabelledSamples]:
    """The model of a bundle, and the samples: its own, or those of the data set where it holds none.

    ``options`` are ``data`` (where the data set is found here), ``split`` and ``trust``.
    """
    manifest, trust = read_manifest(bundle), bool(options.get("trust"))
    if options.get("data") is None and (bundle / SAMPLES).exists():
        if options["split"] != manifest.get("split"):
            raise InputError(
                f"the certificates are of the split '{options['split']}', the samples in '{bundle}' of "
                f"'{manifest.get('split')}'; give the data set, as in --data {manifest.get('data')}"
            )
        model = run_model(bundle / "run", _inputs(bundle, manifest), last=last, trust=trust)
        return model, SampleFile(bundle / SAMPLES)
    try:
        target = run_target(
            bundle / "run", split=options["split"], last=last, trust=trust, data_name=options.get("data")
        )
    except InputError as error:
        if options.get("data") is not None:
            raise
        raise InputError(
            f"'{bundle}' holds no samples to draw noise for, and its data set is not found here ({error}); "
            f"give the data that were certified, as in --data {manifest.get('data')}"
        ) from error
    return target.model, target.split


def _inputs(bundle: Path, manifest: Mapping[str, Any]) -> Inputs:
    try:
        told = manifest["inputs"]
        shape, mean, std = (tuple(told[key]) for key in ("shape", "mean", "std"))
        return Inputs(shape, int(told["num_classes"]), mean, std)
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"the manifest of '{bundle}' does not say what the model takes (it is of an earlier version); "
            f"give the data set, as in --data {manifest.get('data')}"
        ) from error
