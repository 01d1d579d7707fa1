"""``wassermix drift``: how good is the model on data without labels?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from rich.table import Table

from wassermix.cli.console import console, say
from wassermix.cli.new_data import NewData
from wassermix.cli.target import Target, load_target
from wassermix.core.errors import InputError
from wassermix.core.job import Output
from wassermix.core.settings import settings_from
from wassermix.data import DATA, Split, TensorSplit, load_data
from wassermix.data.standardize import StandardSplit
from wassermix.data.unlabelled import load_unlabelled
from wassermix.drift.labelled import read_labels
from wassermix.drift.result import DriftResult
from wassermix.drift.run import check_to_files, stream_sources, stream_to_files
from wassermix.drift.settings import DriftSettings, StreamSettings
from wassermix.drift.stream import BatchLine

__all__ = ["run_drift"]

Given = dict[str, Any]
SHOWN_COLUMNS = 5


def run_drift(run: Path, new_data: Given, settings: Given, *, stream: Given, files: Given) -> Given:
    """Check new data, or watch a stream of them; under ``alarm`` whether the monitor's has sounded."""
    new = NewData(**new_data)
    if new.model is not None and new.reference is None:
        raise InputError("--model needs --reference: labelled data that the model did not train on")
    wanted: Given = {"model": new.model, "weights": new.weights, "split": new.split, "trust": new.trust}
    target = load_target(run, data=new.reference, last=new.last, **wanted)
    output = Output(target.folder / "drift", **files, suffix=target.suffix)
    asked = settings_from(DriftSettings, settings, where="drift")
    if new.stream is None:
        return {**_check(target, new, asked, output=output), "alarm": False}
    return _watch(target, new, asked, settings_from(StreamSettings, stream, where="drift"), output=output)


def _check(target: Target, new: NewData, settings: DriftSettings, *, output: Output) -> Given:
    """Check new data, write ``RUN/drift/NAME.json`` and print what it says."""
    if new.data is None:
        raise InputError("drift needs --data NEW: the new samples, or --stream for a stream of them")
    reference = reference_of(target, new.reference)
    result = check_to_files(
        target.model,
        reference,
        load_unlabelled(
            new.data, shape=tuple(target.data.shape), scale=target.data.scale, columns=target.data.columns
        ),
        output=output,
        settings=settings,
        labelled=None if new.labelled is None else read_labels(new.labelled),
        asked=new.ask,
        score=new.score,
    )
    _print(result, target.data.class_names)
    if new.ask:
        say(
            "fill in the labels of the .ask.csv file beside the result and give it back with "
            "--labelled FILE --name NAME"
        )
    return result.record()


def _watch(
    target: Target, new: NewData, settings: DriftSettings, watching: StreamSettings, *, output: Output
) -> Given:
    """Watch a stream and print a line for each batch; the batches seen now, and the state after them."""
    assert new.stream is not None
    lines: list[Given] = []

    def seen(line: BatchLine) -> None:
        say(_line(line))
        lines.append(line.record())

    last = stream_to_files(
        target.model,
        reference_of(target, new.reference),
        stream_sources(new.stream),
        output=output,
        settings=settings,
        watching=watching,
        scale=target.data.scale,
        columns=target.data.columns,
        seen=seen,
    )
    state = None if last is None else last.record()
    return {"batches": lines, "last": state, "alarm": last is not None and last.alarm}


def reference_of(target: Target, name: str | None) -> Split:
    """The run's own evaluation samples; or a known data set's test split, or all samples of a user's file."""
    if name is None:
        return target.split
    scale = target.data.scale
    data = load_data(name) if scale is None or name in DATA.names() else load_data(name, standardize=False)
    if tuple(data.shape) != tuple(target.data.shape):
        raise InputError(
            f"reference '{name}' has samples of shape {data.shape}; the model takes {target.data.shape}"
        )
    if name in DATA.names():
        return data.test
    parts = [(part, torch.arange(len(part))) for part in (data.train, data.test)]
    whole = TensorSplit(torch.cat([p.get(rows) for p, rows in parts]), torch.cat([p.y for p, _ in parts]))
    return whole if scale is None else StandardSplit(whole, scale)


def _line(line: BatchLine) -> str:
    state = "ALARM" if line.alarm else "ok"
    return (
        f"batch {line.batch}, {line.source} rows {line.first} to {line.last - 1}: "
        f"accuracy {line.estimate:.1%} ({line.low:.1%} to {line.high:.1%}), "
        f"evidence {line.wealth:.3g}: {state}"
    )


def _print(result: DriftResult, names: tuple[str, ...]) -> None:
    found = result.estimate
    table = Table(title=f"accuracy without labels, {result.used_count} new samples")
    for head in ("", "accuracy", "interval"):
        table.add_column(head)
    table.add_row("reference", f"{result.reference_accuracy:.1%}", "")
    table.add_row("new data, estimated", f"{found.estimate:.1%}", f"{found.low:.1%} to {found.high:.1%}")
    if result.powered is not None:
        powered = result.powered.interval
        words = f"{powered.low:.1%} to {powered.high:.1%}"
        table.add_row(f"with {result.powered.labels} labels", f"{powered.estimate:.1%}", words)
    if result.truth is not None:
        table.add_row("truth", f"{result.truth:.1%}", "")
    console.print(table)
    say("other estimators: " + ", ".join(f"{name} {value:.1%}" for name, value in result.estimates.items()))
    _print_drift(result, names)


def _print_drift(result: DriftResult, names: tuple[str, ...]) -> None:
    worst = sorted((c for c in result.classes if c.accuracy is not None), key=lambda c: c.accuracy or 0.0)[:3]
    words = [f"{names[c.label] if names else c.label} {c.accuracy:.0%}" for c in worst]
    say("least sure decisions: " + ", ".join(words))
    tests = ", ".join(f"{test.space} p = {test.p_value:.3g}" for test in result.tests)
    say(f"{'drift' if result.drifted else 'no drift shown'}: {tests}")
    for column in result.moved.columns[:SHOWN_COLUMNS]:
        say(
            f"moved: {column.name} by {column.shift:+.2f} sd "
            f"(median {column.old[2]:.4g} to {column.new[2]:.4g})"
        )
    if result.way is not None and result.way.fails_at is not None:
        say(f"on the way to the new data the model starts to fail at t = {result.way.fails_at:.2f}")
    for doubt in (*result.doubts, *result.notes):
        say(f"note: {doubt}")
