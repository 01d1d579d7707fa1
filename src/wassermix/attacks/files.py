"""An attack's result file: written block by block beside, resumable, and never half."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from wassermix import __version__
from wassermix.attacks.base import Attack, BallAttack, Judgement
from wassermix.attacks.checks import Check, in_training
from wassermix.attacks.evaluation import AttackResult, Samples, gather_result, joined, judge_block
from wassermix.core.classifier import Classifier
from wassermix.core.errors import InputError
from wassermix.core.files import append_line, cut_back, read_json, write_json
from wassermix.core.fingerprint import fingerprint

__all__ = ["attack_to_files", "read_attack"]

Progress = Callable[[int, int], None]


def attack_to_files(
    model: Classifier,
    split: Samples,
    indices: Tensor | Sequence[int],
    *,
    attack: Attack,
    out: Path,
    name: str | None = None,
    resume: bool = False,
    overwrite: bool = False,
    batch_size: int = 128,
    check: bool = True,
    about: dict[str, Any] | None = None,
    progress: Progress | None = None,
) -> AttackResult:
    """Attack the images of ``split`` at ``indices`` and write ``out/NAME.json``.

    Blocks of ``batch_size`` images are appended to ``out/NAME.part`` as they finish; killed at any
    moment, the same call with ``resume`` goes on after the last whole block and ends with the same file
    (its seconds aside), since a block's noise depends only on the seed and its number. ``about`` is put
    into the file as it is: which data, which split.
    """
    result_path, part_path = _paths(out, name or attack.label)
    indices = torch.as_tensor(indices, dtype=torch.int64)
    if len(indices) == 0:
        raise InputError("attack: there are no images to attack; expected at least one")
    task = _task(attack, indices, batch_size, (about or {}) | {"fingerprint": fingerprint(model)})
    if _finished(result_path, part_path, task, resume=resume, overwrite=overwrite):
        return read_attack(result_path)
    training, rows = in_training(model), indices.split(batch_size)
    done = _begin(part_path, task)
    for block in range(len(done), len(rows)):
        _report(progress, block * batch_size, len(indices))
        start = time.perf_counter()
        found = judge_block(model, split, rows[block], attack=attack, block=block)
        done.append(_line(found, time.perf_counter() - start))
        append_line(part_path, json.dumps(done[-1]))
    _report(progress, len(indices), len(indices))
    result = gather_result(
        model,
        split,
        indices,
        attack=attack,
        found=joined([_judgement(line) for line in done]),
        seconds=sum(line["seconds"] for line in done),
        training=training,
        check=check,
        beside=_autoattack_beside(out, attack, task),
    )
    write_json(result_path, {"version": __version__, **task, **result.record()})
    part_path.unlink()
    return result


def read_attack(path: Path) -> AttackResult:
    """The result that :func:`attack_to_files` wrote."""
    record = read_json(path)
    try:
        flags = {key: torch.tensor(values) for key, values in record["per_image"].items()}
        summary = {key: record[key] for key in ("curve", "flip_t") if key in record}
        own = ("clean", "robust", "checks", "seconds", "per_image", *summary)
        return AttackResult(
            parameters={key: value for key, value in record.items() if key not in own},
            index=flags["index"],
            label=flags["label"],
            clean_correct=flags["clean_correct"].bool(),
            robust_correct=flags["robust_correct"].bool(),
            summary=summary,
            checks=tuple(Check(**check) for check in record["checks"]),
            seconds=record["seconds"],
        )
    except (KeyError, TypeError) as error:
        raise InputError(
            f"'{path}' is not an attack's result (missing {error}); run the attack again"
        ) from error


def _paths(out: Path, name: str) -> tuple[Path, Path]:
    if not name or Path(name).name != name or name.startswith("."):
        raise InputError(f"attack: the name '{name}' cannot be a file's; expected a plain word without '/'")
    return out / f"{name}.json", out / f"{name}.part"


def _task(attack: Attack, indices: Tensor, batch_size: int, about: dict[str, Any]) -> dict[str, Any]:
    """All that decides the result: a resumed run must ask for the same."""
    return {**about, **attack.parameters(), "batch_size": batch_size, "indices": _spelled(indices)}


def _spelled(indices: Tensor) -> dict[str, int] | list[int]:
    """Evenly spaced indices as ``{first, every, count}``, others as a list."""
    values = indices.tolist()
    every = values[1] - values[0] if len(values) > 1 else 1
    if values == list(range(values[0], values[0] + every * len(values), every or 1)):
        return {"first": values[0], "every": every, "count": len(values)}
    return [int(value) for value in values]


def _finished(result: Path, part: Path, task: dict[str, Any], *, resume: bool, overwrite: bool) -> bool:
    """Whether the result is there already; an output that the user did not give up is refused."""
    if overwrite:
        result.unlink(missing_ok=True)
        part.unlink(missing_ok=True)
        return False
    found = next((path for path in (result, part) if path.exists()), None)
    if found is not None and not resume:
        what = "exists" if found == result else "holds an unfinished attack"
        raise InputError(
            f"'{found}' {what}; go on with --resume, start over with --overwrite, or give --name"
        )
    if not result.exists():
        return False
    _same_task(result, {key: read_json(result).get(key) for key in task}, task)
    part.unlink(missing_ok=True)
    return True


def _begin(part: Path, task: dict[str, Any]) -> list[dict[str, Any]]:
    """The blocks that an earlier run finished; the file's first line is the task."""
    lines = cut_back(part)
    if not lines:
        try:
            append_line(part, json.dumps(task))
        except OSError as error:
            raise InputError(f"cannot write '{part}': {error}; choose a folder that is writable") from error
        return []
    try:
        before, *done = (json.loads(line) for line in lines)
    except json.JSONDecodeError as error:
        raise InputError(f"'{part}' is damaged ({error}); start over with --overwrite") from error
    _same_task(part, before, task)
    return done


def _same_task(path: Path, before: dict[str, Any], task: dict[str, Any]) -> None:
    """Refuse to go on with other parameters, naming the first that differs."""
    wanted = json.loads(json.dumps(task))
    for key in wanted:
        if before.get(key) != wanted[key]:
            raise InputError(
                f"'{path}' was begun with {key}={before.get(key)!r}, now it is {wanted[key]!r}; resume with "
                "the same parameters, or give another --name"
            )


def _line(found: Judgement, seconds: float) -> dict[str, Any]:
    extra = {name: values.tolist() for name, values in found.extra.items()}
    flags = {"clean": found.clean.int().tolist(), "robust": found.robust.int().tolist()}
    return {**flags, "extra": extra, "seconds": seconds}


def _judgement(line: dict[str, Any]) -> Judgement:
    extra = {name: torch.tensor(values) for name, values in line["extra"].items()}
    return Judgement(torch.tensor(line["clean"]).bool(), torch.tensor(line["robust"]).bool(), extra)


def _autoattack_beside(out: Path, attack: Attack, task: dict[str, Any]) -> bool:
    """Whether AutoAttack's number at the same radius, for the same weights and images, lies beside."""
    if not isinstance(attack, BallAttack):
        return False
    same = {key: task[key] for key in ("norm", "eps", "fingerprint", "indices")}
    wanted = json.loads(json.dumps({"attack": "autoattack", **same}))
    records = map(read_json, sorted(out.glob("*.json")))
    return any(all(record.get(key) == value for key, value in wanted.items()) for record in records)


def _report(progress: Progress | None, done: int, total: int) -> None:
    if progress is not None:
        progress(min(done, total), total)
