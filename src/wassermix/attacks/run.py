"""An attack into its result file: block by block, resumable, shared among processes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from wassermix.attacks.ball import BallAttack
from wassermix.attacks.evaluation import AttackTask
from wassermix.attacks.norms import Bounds
from wassermix.attacks.registry import make_attack
from wassermix.attacks.result import AttackResult
from wassermix.attacks.settings import AttackSettings
from wassermix.core.classifier import Classifier
from wassermix.core.files import read_json
from wassermix.core.job import Job, Output
from wassermix.core.pieces import Found, Progress, carry_out
from wassermix.core.processes import place
from wassermix.core.samples import LabelledSamples, evenly_spaced, warn_of_missing_classes

__all__ = ["attack_to_files", "run_attack"]


def run_attack(
    model: Classifier,
    samples: LabelledSamples,
    settings: AttackSettings,
    *,
    output: Output,
    train: LabelledSamples | None = None,
    bounds: Bounds = (0.0, 1.0),
    about: Mapping[str, Any] | None = None,
    after: AttackResult | None = None,
    progress: Progress | None = None,
) -> AttackResult:
    """Attack ``samples`` as the settings say and write ``FOLDER/NAME.json``; see :class:`AttackTask`.

    ``train`` are the training samples, for an attack that learns from them.
    """
    attack = make_attack(settings, bounds=bounds)
    attack = attack if train is None else attack.prepare(train)
    indices = evenly_spaced(len(samples), None if settings.images == "all" else settings.images)
    if place()[0] == 0:
        warn_of_missing_classes(samples.y, indices)
    task = AttackTask(
        model, samples, indices, attack,
        batch_size=settings.batch_size, checks=settings.checks, about=about, after=after,
    )  # fmt: skip
    return attack_to_files(task, output, progress=progress)


def attack_to_files(task: AttackTask, output: Output, *, progress: Progress | None = None) -> AttackResult:
    """Carry out the task and write ``FOLDER/NAME.json``.

    Blocks are logged as they finish; killed at any moment, the same call with ``resume`` goes on with those
    that lack and ends with the same file (its seconds aside). Several processes (``torchrun``) share the
    blocks among them.
    """
    rank, world = place()
    job = Job(output.folder, output.named(task.attack.label), task.parameters(), rank=rank, world=world)
    sizes = [len(block) for block in task.blocks]

    def finish(blocks: list[Found]) -> dict[str, Callable[[Path], object]]:
        text = task.result(blocks, beside=_stronger(task, job.folder)).text()
        return {".json": lambda beside: beside.write_text(text, encoding="utf-8")}

    carry_out(job, output, sizes=sizes, piece=task.judge, finish=finish, progress=progress)
    return AttackResult.read(job.path(".json"))


def _stronger(task: AttackTask, folder: Path) -> str | None:
    """The title of a strong attack on the same classifier and images at this radius that lies beside."""
    if not isinstance(task.attack, BallAttack):
        return None
    parameters = json.loads(json.dumps(task.parameters()))
    same = {key: parameters.get(key) for key in ("norm", "eps", "sigma", "fingerprint", "indices")}
    for record in map(read_json, sorted(folder.glob("*.json"))):
        if all(record.get(key) == value for key, value in same.items()):
            found = AttackResult.from_record(record)
            if found.strong:
                return found.title
    return None
