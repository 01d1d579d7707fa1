"""``wassermix reproduce``: fill a table of experiments, row by row."""

from __future__ import annotations

import os
from pathlib import Path

from rich.markdown import Markdown

from wassermix.commands.console import console, say, training
from wassermix.errors import InputError
from wassermix.experiments import gather, load_table, run_table, table_names, table_page
from wassermix.files import write_json

__all__ = ["list_tables", "run_reproduce"]


def list_tables() -> None:
    """Print the tables that ship with the package."""
    for name in table_names():
        say(f"{name}: {load_table(name).title}")


def run_reproduce(name: str, *, rows: list[str] | None, out: Path, results: Path) -> None:
    """Fill the table, write ``results/NAME.json``, and print what it says so far."""
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise InputError("reproduce runs in one process; give each torchrun-free process its own --rows")
    table = load_table(name)
    with training(name) as progress:
        run_table(table, out / Path(name).stem, rows=rows, tell=lambda what, share: progress(share, what))
    record = gather(table, out / Path(name).stem, name=name)
    write_json(results / f"{Path(name).stem}.json", record)
    console.print(Markdown(table_page(record)))
    say(f"written: {results / Path(name).stem}.json")
