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


def run_reproduce(
    name: str, *, rows: list[str] | None, out: Path, results: Path, scale: str = "reduced"
) -> None:
    """Fill the table, write ``results/NAME.json``, and print what it says so far."""
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise InputError("reproduce runs in one process; give each torchrun-free process its own --rows")
    if scale not in ("reduced", "paper"):
        raise InputError(f"--scale is '{scale}'; expected reduced (for two cores) or paper")
    table, stem = load_table(name), Path(name).stem
    if scale == "paper":
        table, stem = table.at_paper_scale(), f"{stem}-paper"
    with training(stem) as progress:
        run_table(table, out / stem, rows=rows, tell=lambda what, share: progress(share, what))
    record = gather(table, out / stem, name=name if scale == "reduced" else f"{name} --scale paper")
    write_json(results / f"{stem}.json", record)
    console.print(Markdown(table_page(record)))
    say(f"written: {results / stem}.json")
