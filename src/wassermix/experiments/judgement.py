"""Whether a table's rows can be judged as it asks, found out before the first of them trains."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch

from wassermix.attacks import AttackSettings, make_attack
from wassermix.attacks.norms import Bounds
from wassermix.audit import AuditSettings
from wassermix.audit.choice import wanted_pairs
from wassermix.certify.registry import RULES
from wassermix.core.errors import InputError
from wassermix.core.samples import evenly_spaced
from wassermix.data import Dataset, Split
from wassermix.embed import load_embedding
from wassermix.engine.settings import Config
from wassermix.experiments.table import CertifyPlan, Table

__all__ = ["bounds_of", "check_judgement", "judged_split"]


def check_judgement(table: Table, config: Config, data: Dataset) -> None:
    """Refuse certificates, attacks and audits that could not be carried out on a row's network."""
    split = judged_split(table, data)
    if table.certify is not None:
        _check_certificates(table.certify, config.sigma, split)
    _check_attacks(table.attack_settings(config), split, bounds_of(data))
    if (audit := table.audit_settings(config)) is not None:
        _check_audit(audit, split)


def judged_split(table: Table, data: Dataset) -> Split:
    """The samples that a table is judged on."""
    if table.split == "test":
        return data.test
    if data.holdout is None:
        raise InputError(
            "the table is judged on held-out samples, but its data hold none out; set data.holdout"
        )
    return data.holdout


def bounds_of(data: Dataset) -> Bounds:
    """The range of the inputs: that of images; vectors have none."""
    return (0.0, 1.0) if data.kind == "image" else None


def _check_certificates(plan: CertifyPlan, sigma: float, split: Split) -> None:
    RULES.find(plan.settings(sigma).mode)
    _require_several(len(evenly_spaced(len(split), plan.images)), "certify")


def _require_several(images: int, where: str) -> None:
    if images < 2:
        raise InputError(f"{where}: {images} image judges the rows; a table compares them on 2 or more")


def _check_attacks(asked: Sequence[AttackSettings], split: Split, bounds: Bounds) -> None:
    first, files = torch.tensor([0]), set[str]()
    for settings in asked:
        attack = make_attack(settings, bounds=bounds)
        attack.check(split.get(first), split.y[first])
        wanted = None if settings.images == "all" else settings.images
        _require_several(len(evenly_spaced(len(split), wanted)), "attacks")
        if attack.label in files:
            raise InputError(
                f"attacks: two of them would be written to '{attack.label}.json', whose name does not tell "
                "in what they differ; leave one out, or put it into a table of its own"
            )
        files.add(attack.label)


def _check_audit(settings: AuditSettings, split: Split) -> None:
    if settings.pairing == "both":
        raise InputError(
            "audit: pairing is 'both', but the rows of a table are compared along one kind of path; expected "
            "exact, entropic or random; for both make two tables"
        )
    if settings.classes is not None:
        raise InputError(
            f"audit: classes is {settings.classes!r}, but a table audits pairs of classes; leave classes "
            "out, and audit its runs one by one: wassermix audit RUN --classes"
        )
    wanted_pairs(settings.pairs, split.y.unique().tolist())
    assert settings.noise >= 0  # noise of the run's own that it does not have is refused here
    if settings.embed is not None:
        _check_embedding(settings.embed, split)


def _check_embedding(path: Path, split: Split) -> None:
    try:
        shape = load_embedding(path).shape
    except InputError as error:
        raise InputError(f"audit.embed: {error}") from error
    if shape != split.shape:
        raise InputError(
            f"audit.embed: '{path}' was fitted on samples of shape {shape}, but the table's have "
            f"{split.shape}; fit one on its data"
        )
