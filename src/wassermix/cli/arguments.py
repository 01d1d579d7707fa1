"""Arguments and options that several commands share, with their help and completion."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from wassermix.cli.completion import complete_data, complete_override, complete_recipe, complete_table

__all__ = [
    "Consensus",
    "DataName",
    "Deployment",
    "DryRun",
    "Images",
    "Minutes",
    "Name",
    "Overrides",
    "Overwrite",
    "Recipe",
    "RecipeName",
    "Resume",
    "Run",
    "ShardOf",
    "SplitName",
    "TableName",
]

Recipe = Annotated[
    str,
    typer.Argument(
        help="best (recommended), demo, mnist, cifar10, cifar100, tiny-imagenet, vectors; a preset such as "
        "mnist/smoothmix-0.5 (`wassermix recipes` lists all); a YAML file; with --minutes the data",
        autocompletion=complete_recipe,
    ),
]
RecipeName = Annotated[
    str | None,
    typer.Argument(help="print this one; without it, lists all", autocompletion=complete_recipe),
]
Overrides = Annotated[
    list[str] | None,
    typer.Argument(
        help="key=value. Parts by name: data= model= method= augment= regularizer= embed= (`wassermix "
        "methods` lists them and their keys). Numbers: sigma=0.5 epochs=20 updates=1000 batch_size=128 "
        "seed=1 optimizer.lr=0.01 augment.ratio=2",
        autocompletion=complete_override,
    ),
]
DataName = Annotated[str, typer.Argument(help="a data set's name or path", autocompletion=complete_data)]
TableName = Annotated[
    str | None,
    typer.Argument(
        help="a table or study, or a table's YAML file; without it, lists all", autocompletion=complete_table
    ),
]
Run = Annotated[Path, typer.Argument(help="a run directory, as `wassermix train` writes it")]
SplitName = Annotated[str, typer.Option("--split", help="test, or holdout for choosing settings")]
Resume = Annotated[bool, typer.Option("--resume", help="go on where an interrupted call stopped")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="begin anew, replacing what is there")]
Images = Annotated[str, typer.Option(help="how many test samples, evenly spaced, or 'all'")]
Name = Annotated[str | None, typer.Option(help="name of the output; by default made from the settings")]
ShardOf = Annotated[str | None, typer.Option(metavar="I/N", help="part I of N only; `merge` joins them")]
Minutes = Annotated[
    float | None,
    typer.Option(help="for about this long: the recommended recipe on the data named, or the recipe named"),
]
Deployment = Annotated[bool, typer.Option("--deployment", help="do not use the labels to pick the class")]
Consensus = Annotated[int, typer.Option(help="several runs: ask the others only where the first N disagree")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="measure briefly, say what it would cost, and stop")]
