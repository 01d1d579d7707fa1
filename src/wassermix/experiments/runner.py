"""Filling a table: train and judge each row at each seed, skipping what is done, resuming what is not."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from wassermix.attacks import AttackSettings, run_attack
from wassermix.audit import AuditSettings, run_audit
from wassermix.certify import certify_to_files
from wassermix.core.classifier import Classifier
from wassermix.core.errors import InputError
from wassermix.core.job import Output
from wassermix.core.lock import locked
from wassermix.core.samples import evenly_spaced
from wassermix.core.whole import Whole
from wassermix.data import Dataset, Split
from wassermix.engine import RunDir, load_dataset, make_model, train
from wassermix.engine.build import check_parts
from wassermix.engine.ensemble import save_ensemble
from wassermix.engine.settings import Config
from wassermix.engine.teacher import check_teacher
from wassermix.experiments.judgement import bounds_of, check_judgement, judged_split
from wassermix.experiments.reuse import reuse_training
from wassermix.experiments.table import CertifyPlan, Table, row_folder

__all__ = ["audit_name", "check_table", "run_folder", "run_table"]

Tell = Callable[[str, float], None]
"""Called as ``tell(what is being done, share of the whole table that is done)``."""

MADE_BY_HAND = {
    "cifar10-20k.npz": "it holds the first 20,000 training images of CIFAR-10 and its test set; "
    "docs/paper.md has the lines that make it, under 'Tables, ablations and figures'"
}
"""How to make the files of shipped tables that nobody offers for download."""


def run_folder(out: Path, row: str, seed: int) -> Path:
    """Where a row's run at one seed lives."""
    return out / row_folder(row) / f"seed{seed}"


def run_table(
    table: Table,
    out: Path,
    *,
    rows: Sequence[str] | None = None,
    seeds: Sequence[int] | None = None,
    tell: Tell | None = None,
) -> None:
    """Train and judge every row at every seed (or those named); killed, the same call goes on.

    All rows are checked before the first one trains; ensembles come last, after their members. A network
    that another row or table beside ``out`` has trained by the same settings is copied. A row is filled by
    one process at a time: others may fill other rows of the same folder.
    """
    chosen = list(table.rows) if rows is None else list(rows)
    unknown = [row for row in chosen if row not in table.rows]
    if unknown:
        raise InputError(f"row '{unknown[0]}' is not in the table; its rows are {', '.join(table.rows)}")
    chosen.sort(key=lambda row: table.members_of(row) is not None)
    check_table(table, chosen)
    jobs = [(row, seed) for row in chosen for seed in table.seeds_of(row) if not seeds or seed in seeds]
    if not jobs:
        raise InputError(f"no row that was asked for has one of the seeds {', '.join(map(str, seeds or ()))}")
    whole = Whole([part for row, seed in jobs for part in _parts(table, table.config(row, seed))])
    with ExitStack() as held:
        for row in dict.fromkeys(chosen):
            held.enter_context(locked(out / row_folder(row) / "reproduce.lock", f"row '{row}' in '{out}'"))
        for number, (row, seed) in enumerate(jobs, start=1):
            name = f"{number}/{len(jobs)} {row}, seed {seed}"
            told = _Told(tell, name, whole)
            with told.whole.part():
                config = _network(table, row, seed, out=out, told=told)
            _judge(table, config, run_folder(out, row, seed), told)


def check_table(table: Table, rows: Sequence[str] | None = None) -> None:
    """Refuse a table of which some row could not be trained or judged: wrong keys, absent data, unfit parts.

    Each of the data sets that the rows name is loaded once.
    """
    loaded: dict[str, Dataset] = {}
    for row in table.rows if rows is None else rows:
        config = table.config(row, table.seeds_of(row)[0])
        try:
            key = json.dumps(config.data, sort_keys=True)
            if key not in loaded:
                loaded[key] = _loaded(config)
            method = check_parts(config, loaded[key])
            check_teacher(config, method, loaded[key])
            check_judgement(table, config, loaded[key])
        except InputError as error:
            raise InputError(f"row '{row}': {error}") from error


def _loaded(config: Config) -> Dataset:
    """The row's data; of a file that users make themselves the error says how."""
    try:
        return load_dataset(config)
    except InputError as error:
        how = MADE_BY_HAND.get(Path(str(config.data["name"])).name)
        raise InputError(str(error) if how is None else f"{error}; {how}") from error


def _parts(table: Table, config: Config) -> list[str]:
    """What is done for one row at one seed, in this order."""
    certified = [] if table.certify is None else ["certifying"]
    audited = [] if table.audit_settings(config) is None else ["auditing"]
    return ["training", *certified, *("attacking" for _ in table.attack_settings(config)), *audited]


def _network(table: Table, row: str, seed: int, *, out: Path, told: _Told) -> Config:
    """Train the row's network, or average those of its members; what it was trained by."""
    folder, config = run_folder(out, row, seed), table.config(row, seed)
    members = table.members_of(row)
    if members is None:
        reuse_training(config, folder, tables=out.parent)
        train(config, folder, resume=True, progress=lambda share, line: told(f"training, {line}", share))
        return config
    runs = [run_folder(out, members, seed) for seed in table.seeds_of(members)]
    unfinished = [
        run for run in runs if not RunDir(run).weights_file.exists() or RunDir(run).trained_share() < 1
    ]
    if unfinished:
        raise InputError(
            f"row '{row}' averages the networks of row '{members}', and '{unfinished[0]}' is not trained to "
            "its end; fill that row first"
        )
    try:
        return save_ensemble(runs, folder)
    except InputError as error:
        changed = f"row '{row}': its members have changed since; delete '{folder}'"
        raise InputError(f"{changed} ({error})") from error


def _judge(table: Table, config: Config, folder: Path, told: _Told) -> None:
    data = load_dataset(config)
    model = make_model(config, data)
    RunDir(folder).load_weights(model)
    judged = _Judged(model.eval(), data, judged_split(table, data), table.split, folder, told)
    if table.certify is not None:
        with told.whole.part():
            judged.certify(table.certify, config.sigma)
    for settings in table.attack_settings(config):
        with told.whole.part():
            judged.attack(settings)
    if (audit := table.audit_settings(config)) is not None:
        with told.whole.part():
            judged.audit(audit)


@dataclass(frozen=True)
class _Judged:
    """A row's network before the samples that it is judged on; results go to the run's folder."""

    model: Classifier
    data: Dataset
    split: Split
    split_name: str
    folder: Path
    told: _Told

    def certify(self, plan: CertifyPlan, sigma: float) -> None:
        certify_to_files(
            self.model,
            self.split,
            evenly_spaced(len(self.split), plan.images),
            settings=plan.settings(sigma),
            output=Output(self.folder / "certify", resume=True),
            about=self._about(),
            progress=lambda done, total: self.told("certifying", done / total),
        )

    def attack(self, settings: AttackSettings) -> None:
        run_attack(
            self.model,
            self.split,
            settings,
            output=Output(self.folder / "attack", resume=True),
            train=self.data.train,
            bounds=bounds_of(self.data),
            about=self._about(),
            progress=lambda done, total: self.told("attacking", done / total),
        )

    def audit(self, settings: AuditSettings) -> None:
        run_audit(
            self.model,
            self.split,
            settings,
            output=Output(self.folder / "audit", audit_name(settings), resume=True),
            about=self._about(),
            progress=lambda done, total: self.told("auditing", done / total),
        )

    def _about(self) -> dict[str, str]:
        """What a result must say of its samples, so that another command finds the same ones."""
        return {"data": self.data.name, "split": self.split_name, "note": self.data.note}


def audit_name(settings: AuditSettings) -> str:
    """What the file of a table's audit is called."""
    pairing = "" if settings.pairing == "exact" else f"-{settings.pairing}"
    noise = f"-s{settings.noise:g}" if settings.noise else ""
    return f"pairs-p{settings.points}-c{settings.per_class}{pairing}{noise}"


@dataclass(frozen=True)
class _Told:
    """What one run tells: its name before what is being done, and how far the whole table is."""

    tell: Tell | None
    name: str
    whole: Whole

    def __call__(self, what: str, share: float) -> None:
        done = self.whole.at(share)
        if self.tell is not None:
            self.tell(f"{self.name}: {what}", done)
