"""The command line: words to functions, errors to sentences and exit codes.

Commands import what they need when they run, so that ``--help`` answers at once.
"""

from __future__ import annotations

import os
import sys
import traceback
from pathlib import Path
from typing import Annotated, Any

import typer

from wassermix import __version__
from wassermix.attacks.settings import AttackSettings
from wassermix.audit.settings import AuditSettings
from wassermix.certify.settings import CertifySettings
from wassermix.cli.answer import Answer, answering
from wassermix.cli.arguments import (
    Consensus,
    DataName,
    Deployment,
    DryRun,
    Images,
    Minutes,
    Name,
    Overrides,
    Overwrite,
    Recipe,
    RecipeName,
    Resume,
    Run,
    ShardOf,
    SplitName,
    TableName,
)
from wassermix.cli.common import JobOptions, OutputOptions, TargetOptions
from wassermix.cli.new_data import NewData
from wassermix.cli.options import command_with
from wassermix.cli.processes import complain, relaunched, split_processes
from wassermix.cli.stopped import how_to_go_on, sentence_of
from wassermix.core.errors import InputError, LostProcessError
from wassermix.core.memory import keep_freed_memory
from wassermix.core.openmp import let_idle_threads_sleep
from wassermix.drift.settings import DriftSettings, StreamSettings
from wassermix.geodesic.geometry_settings import GeometrySettings

__all__ = ["app", "main"]

INTERRUPTED = 130
"""The exit code after Ctrl-C, as shells know it."""
FAILED = 1
"""The exit code of a check that does not hold."""
ALARM = 3
"""The exit code of a monitor whose alarm has sounded."""

app = typer.Typer(
    name="wassermix",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Robust learning on Wasserstein geodesics: train, attack, certify, audit, report.",
    epilog="--debug shows the traceback of an error. Exit codes: 0 done, 1 failed, 2 bad input, 3 alarm.",
)

Given = dict[str, Any]
"""The options of a settings class that the user gave, or that have a default."""


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"wassermix {__version__}")
        raise typer.Exit


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="where runs and report go")] = Path("demo-run"),
    overwrite: Overwrite = False,
) -> None:
    """On 5,000 digits: train three ways, attack, certify, audit, check under drift, and report."""
    from wassermix.cli.demo import run_demo

    run_demo(out, overwrite=overwrite)


@app.command()
@answering
def train(
    recipe: Recipe,
    overrides: Overrides = None,
    out: Annotated[Path | None, typer.Option(help="the run directory; by default under runs/")] = None,
    resume: Resume = False,
    overwrite: Overwrite = False,
    dry_run: DryRun = False,
    minutes: Minutes = None,
    sigma: Annotated[float | None, typer.Option(help="the noise to be robust to")] = None,
) -> Answer:
    """Train a classifier into a run directory."""
    from wassermix.cli.train import run_train

    kept: Given = {"out": out, "resume": resume, "overwrite": overwrite, "dry_run": dry_run}
    return Answer(run_train(recipe, overrides or [], **kept, minutes=minutes, sigma=sigma))


@app.command()
@answering
@command_with(CertifySettings, TargetOptions, JobOptions)
def certify(
    runs: Annotated[
        list[Path], typer.Argument(help="a run directory; several are certified as one, their mean")
    ],
    images: Images = "500",
    deployment: Deployment = False,
    consensus: Consensus = 0,
    shard: ShardOf = None,
    *,
    certify_settings: Given,
    target_options: Given,
    job_options: Given,
) -> Answer:
    """Certify by randomized smoothing: how far each prediction provably holds."""
    from wassermix.cli.certify import run_certify
    from wassermix.cli.target import joined_target
    from wassermix.engine.distributed import process_group

    given = {**certify_settings, "evaluation": not deployment}
    kept: Given = {key: job_options[key] for key in ("overwrite", "dry_run")}
    with process_group():
        target = joined_target(runs, target_options, consensus=consensus, **kept)
        return Answer(run_certify(target, given, images=images, shard=shard, **job_options))


@app.command()
@answering
def merge(run: Run, name: Name = None, overwrite: Overwrite = False) -> Answer:
    """Join the parts that `certify --shard I/N` made into one result."""
    from wassermix.cli.certify import run_merge

    return Answer(run_merge(run, name=name, overwrite=overwrite))


@app.command()
@answering
@command_with(AttackSettings, TargetOptions, JobOptions)
def attack(run: Run, *, attack_settings: Given, target_options: Given, job_options: Given) -> Answer:
    """Attack a model, check that the attack can be believed, and write what survives."""
    from wassermix.cli.attack import attack_target
    from wassermix.cli.target import judged_target

    found = attack_target(judged_target(run, target_options), attack_settings, **job_options)
    return Answer({"run": run, "results": found})


@app.command()
@answering
@command_with(TargetOptions)
def verify(
    what: Annotated[
        Path, typer.Argument(help="a run directory, a certify TSV file, or a bundle (folder or .zip)")
    ],
    replay: Annotated[
        int, typer.Option(help="draw the noise of this many random images again, with model and data")
    ] = 0,
    *,
    target_options: Given,
) -> Answer:
    """Recompute every certificate from its stored counts and say whether it holds."""
    from wassermix.cli.verify import run_verify

    found = run_verify(what, target_options, replay=replay)
    return Answer(found, code=0 if found["holds"] else FAILED)


@app.command()
@answering
@command_with(AuditSettings, TargetOptions, OutputOptions)
def audit(run: Run, *, audit_settings: Given, target_options: Given, output_options: Given) -> Answer:
    """The performance geodesic: the model's loss and accuracy on the way from class to class."""
    from wassermix.cli.audit import audit_target
    from wassermix.cli.target import judged_target

    found = audit_target(judged_target(run, target_options), audit_settings, **output_options)
    return Answer({"run": run, **found})


@app.command()
@answering
@command_with(NewData, DriftSettings, StreamSettings, OutputOptions)
def drift(
    run: Run, *, new_data: Given, drift_settings: Given, stream_settings: Given, output_options: Given
) -> Answer:
    """How good is the model on data without labels? Exit code 3: the monitor's alarm has sounded."""
    from wassermix.cli.drift import run_drift

    found = run_drift(run, new_data, drift_settings, stream=stream_settings, files=output_options)
    return Answer({"run": run, **found}, code=ALARM if found["alarm"] else 0)


@app.command()
@answering
def augment(
    data: DataName,
    overrides: Overrides = None,
    out: Annotated[Path, typer.Option(help="the .npz file to write")] = Path("augmented.npz"),
    run: Annotated[Path | None, typer.Option(help="search the worst times under this run's model")] = None,
    overwrite: Overwrite = False,
) -> Answer:
    """Write the augmented set alone, for use in any other trainer."""
    from wassermix.cli.augment import run_augment

    return Answer(run_augment(data, overrides or [], out=out, run=run, overwrite=overwrite))


@app.command()
@answering
@command_with(GeometrySettings)
def geometry(
    data: DataName,
    overrides: Overrides = None,
    out: Annotated[Path | None, typer.Option(help="a JSON file (page: RUN/geometry.json)")] = None,
    overwrite: Overwrite = False,
    *,
    geometry_settings: dict[str, Any],
) -> Answer:
    """What a data set looks like to transport, in seconds: can pairing matter there?"""
    from wassermix.cli.geometry import run_geometry

    settings = GeometrySettings(**geometry_settings)
    return Answer(run_geometry(data, overrides or [], settings, out=out, overwrite=overwrite))


@app.command()
@answering
def report(
    runs: Annotated[
        list[Path], typer.Argument(help="run directories, or certification logs (.tsv) of others")
    ],
    out: Annotated[Path, typer.Option(help="the page to write")] = Path("report.html"),
) -> Answer:
    """One self-contained page from run directories."""
    from wassermix.cli.report import run_report

    return Answer(run_report(runs, out))


@app.command()
@answering
def evidence(
    run: Run,
    out: Annotated[Path, typer.Option(help="the folder or .zip file to write")] = Path("evidence"),
    split: SplitName = "test",
    trust: Annotated[bool, typer.Option("--trust", help="import what the run's config names")] = False,
    samples: Annotated[bool, typer.Option(help="put the judged samples into it, for a replay")] = True,
) -> Answer:
    """A bundle that another person can check: model, results, judged samples, page and a manifest."""
    from wassermix.cli.evidence import run_evidence

    return Answer(run_evidence(run, out, split=split, trust=trust, samples=samples))


@app.command()
@answering
def reproduce(
    table: TableName = None,
    scale: Annotated[str, typer.Option(help="reduced (for two cores) or paper")] = "reduced",
    rows: Annotated[str | None, typer.Option(help="only these rows, with commas")] = None,
    seed: Annotated[list[int] | None, typer.Option(help="only this seed of each; may be repeated")] = None,
    out: Annotated[Path, typer.Option(help="where the runs go")] = Path("runs"),
    results: Annotated[Path, typer.Option(help="where the finished table goes")] = Path("results"),
) -> Answer:
    """Fill a table of experiments row by row, or run a study; the same command goes on where it stopped."""
    from wassermix.cli.reproduce import list_tables, run_reproduce

    if table is None:
        return Answer(list_tables())
    chosen = [row.strip() for row in rows.split(",")] if rows else None
    return Answer(run_reproduce(table, rows=chosen, seeds=seed, out=out, results=results, scale=scale))


@app.command()
@answering
def methods() -> Answer:
    """List the methods, augmenters, regularisers and embeddings with their options."""
    from wassermix.cli.methods import run_methods

    return Answer(run_methods())


@app.command()
@answering
def recipes(
    name: RecipeName = None,
) -> Answer:
    """The shipped trainings by name; with a name, what is in it."""
    from wassermix.cli.recipes import run_recipes

    return Answer(run_recipes(name))


@app.command()
@answering
def doctor() -> Answer:
    """Versions, device, threads, which optional parts are usable, where data is looked for."""
    from wassermix.cli.doctor import run_doctor

    return Answer(run_doctor())


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", help="print the version and stop", callback=_version, is_eager=True)
    ] = False,
    processes: Annotated[
        int, typer.Option(help="run train, certify or attack in this many processes of this machine")
    ] = 1,
) -> None:
    """Robust learning on Wasserstein geodesics: train, attack, certify, audit, report."""


def main() -> None:
    """Run the command line: bad input is a sentence and exit code 2, any other failure one and 1."""
    keep_freed_memory()
    let_idle_threads_sleep()
    given = [word for word in sys.argv[1:] if word != "--debug"]
    debug = len(given) < len(sys.argv) - 1
    try:
        words, processes = split_processes(given)
        code = relaunched(words, processes)
        if code is not None:
            sys.exit(code)
        app(args=words, prog_name="wassermix")
    except (SystemExit, KeyboardInterrupt) as stop:
        if isinstance(stop, SystemExit) and stop.code != INTERRUPTED:
            raise
        if os.environ.get("RANK", "0") == "0":  # of several processes one speaks
            sys.stderr.write(f"wassermix: interrupted; {how_to_go_on(given)}\n")
        sys.exit(INTERRUPTED)
    except LostProcessError as error:
        complain(f"wassermix: {error}; {how_to_go_on(given)}")
        sys.exit(1)
    except Exception as error:
        if debug:
            traceback.print_exc()
        complain(sentence_of(error))
        sys.exit(2 if isinstance(error, InputError) else 1)
