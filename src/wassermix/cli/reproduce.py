"""``wassermix reproduce``: fill a table of experiments, row by row, or run a study."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from rich import box
from rich.markup import escape
from rich.table import Table as Shown
from rich.text import Text

from wassermix.cli.console import console, say, training
from wassermix.core.errors import InputError
from wassermix.core.files import read_json, write_json
from wassermix.core.lock import locked
from wassermix.experiments import (
    STUDIES,
    Table,
    at_paper_scale,
    draw_figure,
    draw_study,
    gather,
    load_table,
    run_study,
    run_table,
    study_names,
    table_names,
)
from wassermix.experiments.crossings import table_crossings
from wassermix.experiments.earlier import changed_rows
from wassermix.experiments.page import attack_head, measure_words
from wassermix.experiments.reach import row_reach
from wassermix.experiments.sureness import sure_cells
from wassermix.experiments.table import row_folder

__all__ = ["list_tables", "run_reproduce"]


def list_tables() -> dict[str, Any]:
    """Print the tables and studies that ship with the package, the paper's first, with what each needs."""
    tables = {name: load_table(name) for name in table_names()}
    for group, words in GROUPS.items():
        say(words)
        for name, table in tables.items():
            if table.group == group:
                needs = f"needs {', '.join(table.data_names)}" + (f"; {table.takes}" if table.takes else "")
                say(f"  {name}: {table.title} ({needs})")
    say("Studies (no training of tables):")
    for name in study_names():
        say(f"  {name} (study): {STUDIES[name].title}")
    return {
        "tables": {name: table.title for name, table in tables.items()},
        "paper": [name for name, table in tables.items() if table.group == "paper"],
        "needs": {name: list(table.data_names) for name, table in tables.items()},
        "studies": {name: STUDIES[name].title for name in study_names()},
    }


GROUPS = {
    "paper": "The paper's tables, ablations and figures (times at reduced scale on two cores are estimates):",
    "ours": "Our own tables:",
}


def run_reproduce(
    name: str,
    *,
    rows: list[str] | None,
    out: Path,
    results: Path,
    seeds: list[int] | None = None,
    scale: str = "reduced",
) -> dict[str, Any]:
    """Fill the table, write ``results/NAME.json``, and print what it says so far; what the file holds.

    Rows that the file holds already, measured in the same way elsewhere or earlier, stay in it.
    """
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise InputError(
            "reproduce runs in one process; leave torchrun out and start it once for each share of the --rows"
        )
    if scale not in ("reduced", "paper"):
        raise InputError(f"--scale is '{scale}'; expected reduced (for two cores) or paper")
    if name in STUDIES:
        if rows is not None or seeds or scale != "reduced":
            raise InputError(
                f"'{name}' is a study, without rows, seeds or scales; leave --rows, --seed and --scale out"
            )
        return _run_study(name, out=out, results=results)
    table, stem = load_table(name), Path(name).stem
    if name != stem and stem in {*table_names(), *STUDIES}:
        raise InputError(
            f"'{name}' has the name of a table or study that comes with the package, and would overwrite its "
            "results; rename the file"
        )
    if scale == "paper":
        table, stem = at_paper_scale(table), f"{stem}-paper"
    with training(stem) as progress:
        run_table(
            table, out / stem, rows=rows, seeds=seeds or None, tell=lambda what, share: progress(share, what)
        )
    file = results / f"{stem}.json"
    words = name if scale == "reduced" else f"{name} --scale paper"
    with locked(results / f".{stem}.lock", f"'{file}'", wait=WAIT):  # others may have filled other rows
        record = _merged(file, table, out / stem, words)
    if draw_figure(record, results / f"{stem}.svg"):
        say(f"drawn: {results / stem}.svg")
    console.print(_shown(record))
    say(f"written: {file} (all radii and intervals)")
    return record


def _earlier(file: Path) -> dict[str, Any] | None:
    """What the file holds already, if it is a table's record."""
    record = read_json(file) if file.exists() else {}
    return record if {"rows", "results"} <= record.keys() else None


WAIT = 60.0
"""Seconds that a command waits for another one that is writing the same record."""


def _merged(file: Path, table: Table, out: Path, words: str) -> dict[str, Any]:
    """Write what the finished runs say together with what the file holds already; rows left out are named."""
    earlier = _earlier(file)
    record = gather(table, out, name=words, earlier=earlier)
    if earlier is not None and (changed := changed_rows(record, earlier)):
        kept = file.with_suffix(".earlier.json")
        write_json(kept, earlier)
        say(f"trained or judged otherwise, and so left out of {file} (kept in {kept}): {', '.join(changed)}")
    begun = [row for row in table.rows if (out / row_folder(row)).exists() and row not in record["results"]]
    if begun:
        say(f"not counted, as unfinished or made by other settings: {', '.join(begun)}")
    write_json(file, record)
    return record


def _run_study(name: str, *, out: Path, results: Path) -> dict[str, Any]:
    """Run the study, write ``results/NAME.json``, draw its picture if it has one, and print its sentences."""
    lock = locked(out / name / "reproduce.lock", f"the study '{name}' in '{out}'")
    with lock, training(name) as progress:
        record = run_study(name, out / name, tell=lambda what, share: progress(share, what))
    write_json(results / f"{name}.json", record)
    if draw_study(record, results / f"{name}.svg"):
        say(f"drawn: {results / name}.svg")
    for sentence in record["summary"]:
        say(sentence)
    say(f"written: {results / name}.json")
    return record


def _shown(record: dict[str, Any]) -> Shown:
    """The table in short, to fit a terminal; the file has every cell."""
    shown = Shown(title=escape(record["title"]), box=box.SIMPLE_HEAD, pad_edge=False)
    rows = {name: {**row, "p_a": sure_cells(record, name)} for name, row in record["results"].items()}
    judged = {name: _judged(row, row_reach(record, name)) for name, row in rows.items()}
    measures = list(dict.fromkeys(head for found in judged.values() for head in found))
    against = record["against_control"]
    for head in ("row", "seeds", "minutes", *measures, *(["difference"] if against else [])):
        shown.add_column(escape(head), overflow="fold")
    for name, row in rows.items():
        cells = [str(len(row["seeds"])), f"{row['minutes']:.1f}"]
        cells += [judged[name].get(head, "") for head in measures]
        shown.add_row(escape(name), *cells, *([_gap(against.get(name))] if against else []))
    compared = [_against(record)] if against else []
    said = "\n".join([*compared, *_band(rows), *_some_crossings(table_crossings(record))])
    shown.caption = Text(said) if said else None  # names are no markup
    return shown


SHOWN_CROSSINGS = 3


def _some_crossings(sentences: list[str]) -> list[str]:
    """The first crossings of rows, and how many more there are: a long table would fill the screen."""
    shown = [f"{sentence}." for sentence in sentences[:SHOWN_CROSSINGS]]
    if more := len(sentences) - len(shown):
        shown.append(f"{more} more {'pair' if more == 1 else 'pairs'} of rows cross likewise.")
    return shown


def _judged(row: dict[str, Any], reach: float) -> dict[str, str]:
    """What a row was judged by: its certificates, the accuracy without and under attacks."""
    found = {"average radius": f"{row['acr']:.3f}"} if "acr" in row else {}
    found |= _sureness(row) | _some_radii(row, reach)
    if "total_variation" in row:
        found["total variation"] = f"{row['total_variation']:.2f}"
    for attack in row.get("attacks", []):
        found["clean"] = f"{attack['clean_accuracy']:.1%}"
        found[attack_head(attack)] = f"{attack['robust_accuracy']:.1%}"
    return found


SHOWN_LEVELS = (0.5, 0.99)
"""Of the distribution of p_A a terminal shows these: which images are right at all, and which surely so."""


def _sureness(row: dict[str, Any]) -> dict[str, str]:
    cells = [cell for cell in row.get("p_a", ()) if cell["p"] in SHOWN_LEVELS]
    return {f"p_A >= {cell['p']:g}": f"{cell['share']:.1%}" for cell in cells}


def _band(rows: dict[str, Any]) -> list[str]:
    """How far the shares of p_A may be off."""
    cells = [cell for row in rows.values() for cell in row.get("p_a", ()) if cell["p"] in SHOWN_LEVELS]
    if not cells:
        return []
    below, above = (max(abs(cell[end] - cell["share"]) for cell in cells) for end in ("low", "high"))
    return [
        f"p_A: share of images whose label has so much probability under noise; its 95% band reaches "
        f"{100 * below:.1f} points or less down and {100 * above:.1f} or less up."
    ]


def _some_radii(row: dict[str, Any], reach: float) -> dict[str, str]:
    """Accuracy at radius 0 and the largest that is reached; without an average radius at a middle one too."""
    reached = [cell for cell in row.get("certified", []) if cell["radius"] <= reach]
    last = len(reached) - 1
    some = dict.fromkeys([0, last] if "acr" in row else [0, last // 2, last]) if reached else {}
    return {f"r = {reached[place]['radius']:g}": f"{reached[place]['accuracy']:.1%}" for place in some}


def _against(record: dict[str, Any]) -> str:
    """What the differences are of, and to which row."""
    name, found = next(iter(record["against_control"].items()))
    words = measure_words(_told(found), record["results"].get(name, {}))
    return f"difference: {words} against {record['control']}, with its 95% interval."


def _told(comparison: dict[str, Any]) -> str:
    """Which of its measures a comparison is shown by."""
    return next(
        key
        for key in ("acr_difference", "attacked_difference", "variation_difference")
        if comparison.get(key)
    )


def _gap(comparison: dict[str, Any] | None) -> str:
    if comparison is None:
        return ""
    found = comparison[_told(comparison)]
    gap = found[-1] if isinstance(found, list) else found  # attacks: the last is the strongest
    return f"{gap['mean']:+.3f} ({gap['low']:+.3f} to {gap['high']:+.3f})"
