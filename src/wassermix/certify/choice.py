"""``backend="auto"``: what runs the model fastest on this machine, measured in two seconds and remembered.

Memory layout, batch size and compilation change how fast the votes come, never the noise; votes may differ
only where two logits are equal up to rounding. Training is not chosen by the clock: its weights would then
depend on how busy the machine was.
"""

from __future__ import annotations

import hashlib
import json
import platform
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from wassermix.certify.rule import rule_for
from wassermix.certify.settings import BLOCK, CertifySettings, Layout
from wassermix.certify.votes import NoiseBlock, Voter, branches, compiler_exists, voting
from wassermix.core.cache import cache_folder
from wassermix.core.classifier import Classifier
from wassermix.core.errors import InputError
from wassermix.core.files import read_json, write_json
from wassermix.core.fingerprint import fingerprint
from wassermix.core.machine import processor_name
from wassermix.core.processes import world_size

__all__ = ["Choice", "Speeds", "choose_backend", "decide", "expected_draws"]

WORTH = 1_000_000
"""From so many expected draws on it pays to measure: below, the usual setting is taken unmeasured."""
SECONDS = 2.0
"""The measurement takes at most so long, a first forward to warm up aside."""
CLEAR = 1.05
"""Another setting than the usual one must be so many times faster: less may be chance."""
TRY_COMPILING = 1800.0
"""Compiling takes up to a minute, so it is tried where the work would else take so many seconds."""
PROCESSES_PAY = 1.2
"""Processes are recommended where they promise so many times the speed: starting them takes seconds."""
EARLY = 0.1
"""The share of their budget that rules which stop early are expected to spend."""


@dataclass(frozen=True)
class Speeds:
    """What was measured for one model on one machine; speeds in draws per second."""

    layout: Layout
    batch_size: int
    eager: float
    """With the best layout and batch size."""
    usual: float
    """With the usual ones."""
    compiled: float | None = None
    """None where it was not tried, 0 where it fails or is not for this model."""
    compile_seconds: float = 0.0
    single: float | None = None
    """``eager`` on one thread; None where torch's threads do not run the model, there is no other thread, or
    no time was left."""


@dataclass(frozen=True)
class Choice:
    """Settings with a backend that is not ``auto``, and a sentence about it where something was measured."""

    settings: CertifySettings
    sentence: str = ""


def expected_draws(settings: CertifySettings, images: int) -> float:
    """Roughly the draws on so many images: all of them, or a tenth where the rule stops early."""
    share = 1.0 if len(rule_for(settings).looks) == 1 else EARLY
    return images * (settings.n0 + share * settings.n)


def choose_backend(
    model: Classifier,
    x: Tensor,
    settings: CertifySettings,
    *,
    images: int,
    folder: Path | None = None,
    seconds: float = SECONDS,
) -> Choice:
    """Replace ``backend="auto"`` by what is fastest for ``model`` on inputs like ``x (...)``.

    The settings' sampler must be resolved. What was measured is kept in ``folder`` (the cache), by the
    model's fingerprint and the machine; a plain function has no fingerprint and is measured each time.
    """
    if settings.backend != "auto":
        return Choice(settings)
    usual, draws = settings.with_backend("eager"), expected_draws(settings, images)
    if draws < WORTH:
        return Choice(usual)
    file = _file(model, x, settings, folder or cache_folder() / "backends")
    known = _read(file)
    speeds = known or measure(model, x, usual, seconds=seconds)
    if branches(model):
        speeds = replace(speeds, compiled=0.0)
    if speeds.compiled is None and draws / speeds.eager > TRY_COMPILING and compiler_exists():
        speeds = _compiled(model, x, usual, speeds)
    if speeds != known:
        _write(file, speeds)
    return Choice(decide(usual, speeds, draws), _sentence(usual, speeds, draws))


def decide(settings: CertifySettings, speeds: Speeds, draws: float) -> CertifySettings:
    """The settings for so many draws: compiled where that saves more time than compiling takes."""
    best = replace(settings, layout=speeds.layout, batch_size=speeds.batch_size)
    saved = draws / speeds.eager - draws / speeds.compiled if speeds.compiled else 0.0
    return best.with_backend("compile" if saved > speeds.compile_seconds and compiler_exists() else "eager")


def measure(model: Classifier, x: Tensor, settings: CertifySettings, *, seconds: float = SECONDS) -> Speeds:
    """Time the layouts at the usual batch size, then other batch sizes with the better one.

    What would not be done in time is left out; of a model so slow that nothing is, the usual setting stays.
    """
    usual = Key(settings.layout, settings.batch_size)
    # the first forward also loads and compiles the noise, so the clock starts after it
    guess = _drawn(model, x, replace(settings, batch_size=BLOCK), lambda votes: _speed(votes, x, 0.0))
    deadline, found = time.perf_counter() + seconds, dict[Key, float]()

    def run(key: Key) -> None:
        left = deadline - time.perf_counter()
        if left > 3 * key.batch_size / max(found.values(), default=guess):  # one to warm up, two to time
            asked = replace(settings, layout=key.layout, batch_size=key.batch_size)
            found[key] = _drawn(model, x, asked, lambda votes: _speed(votes, x, min(left, seconds / 6)))

    run(usual)
    if usual not in found:
        return Speeds(usual.layout, usual.batch_size, guess, guess)
    if x.dim() == 3:
        run(Key("contiguous" if usual.layout == "channels_last" else "channels_last", usual.batch_size))
    layout = _fastest(found, usual).layout
    for batch_size in (128, 256, 512, 1024):
        if batch_size != usual.batch_size:
            run(Key(layout, batch_size))
    best = _fastest(found, usual)
    asked = replace(settings, layout=best.layout, batch_size=best.batch_size)
    left, threads = deadline - time.perf_counter(), torch.get_num_threads()
    enough = threads > 1 and left > 3 * threads * best.batch_size / found[best]
    single = _one_thread(model, x, asked) if enough and _device(model) == "cpu" else None
    return Speeds(best.layout, best.batch_size, found[best], found[usual], single=single)


def _one_thread(model: Classifier, x: Tensor, settings: CertifySettings) -> float:
    """Draws per second on one thread: what each of several processes of one thread would do at best."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return float(_drawn(model, x, settings, lambda votes: _speed(votes, x, 0.0)))
    finally:
        torch.set_num_threads(threads)


class Key(NamedTuple):
    """A setting that is timed."""

    layout: Layout
    batch_size: int


def _fastest(found: Mapping[Key, float], usual: Key) -> Key:
    """The fastest setting, or the usual one where that is as fast up to chance."""
    best = max(found, key=lambda key: found[key])
    return best if found[best] > CLEAR * found[usual] else usual


def _compiled(model: Classifier, x: Tensor, settings: CertifySettings, speeds: Speeds) -> Speeds:
    """The speeds with that of the compiled model, timed once it is compiled."""
    asked = replace(settings, layout=speeds.layout, batch_size=speeds.batch_size, backend="compile")
    begun = time.perf_counter()

    def timed(votes: Voter) -> tuple[float, float]:
        return time.perf_counter() - begun, _speed(votes, x, SECONDS / 6)

    try:
        took, speed = _drawn(model, x, asked, timed)
    except InputError:  # a model that cannot be compiled is run as it is
        took, speed = 0.0, 0.0
    return replace(speeds, compiled=speed, compile_seconds=took)


def _drawn(model: Classifier, x: Tensor, settings: CertifySettings, act: Callable[[Voter], Any]) -> Any:
    """``act`` with a voter that has made one forward."""
    with voting(model, tuple(x.shape), settings) as votes:
        votes(list(_blocks(x, votes.blocks)))
        return act(votes)


def _speed(votes: Voter, x: Tensor, seconds: float) -> float:
    """Draws per second: the fastest of at least two forwards, noise included."""
    best, begun, forwards = float("inf"), time.perf_counter(), 0
    while forwards < 2 or time.perf_counter() - begun < seconds:
        before = time.perf_counter()
        votes(list(_blocks(x, votes.blocks)))
        best, forwards = min(best, time.perf_counter() - before), forwards + 1
    return votes.blocks * BLOCK / best


def _blocks(x: Tensor, count: int) -> Iterator[NoiseBlock]:
    return (NoiseBlock(x, 0, "predict", block) for block in range(count))


def _file(model: Classifier, x: Tensor, settings: CertifySettings, folder: Path) -> Path | None:
    """Where the speeds of this model on this machine are kept; None for a plain function."""
    mark = fingerprint(model)
    if mark is None:
        return None
    key = {
        "model": mark,
        "input": list(x.shape),
        "precision": settings.precision,
        "sampler": settings.sampler,
        "batch_size": settings.batch_size,
        "device": _device(model) or "cpu",
        "machine": [platform.machine(), processor_name()],
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
    }
    return folder / f"{hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()[:24]}.json"


def _device(model: Classifier) -> str | None:
    """Where torch runs the model; None for what has no weights of torch, whose threads are not torch's."""
    first = next(model.parameters(), None) if isinstance(model, nn.Module) else None
    return None if first is None else str(first.device)


def _read(file: Path | None) -> Speeds | None:
    if file is None or not file.exists():
        return None
    try:
        return Speeds(**read_json(file))
    except (InputError, TypeError):  # damaged, or of another version: measured anew
        return None


def _write(file: Path | None, speeds: Speeds) -> None:
    if file is not None:
        try:
            write_json(file, asdict(speeds))
        except InputError:  # a cache that cannot be written is no reason to stop
            return


def _sentence(settings: CertifySettings, speeds: Speeds, draws: float) -> str:
    chosen = decide(settings, speeds, draws)
    speed = speeds.compiled if chosen.backend == "compile" else speeds.eager
    layout = f", {chosen.layout.replace('_', ' ')}" if chosen.layout != settings.layout else ""
    return (
        f"backend auto: {chosen.backend}, batches of {chosen.batch_size}{layout}: {speed:,.0f} draws/s "
        f"measured here ({speeds.usual:,.0f} with the usual {settings.batch_size}){_about_processes(speeds)}"
    )


def _about_processes(speeds: Speeds) -> str:
    """Whether as many processes of one thread each would beat the threads of one process."""
    threads = torch.get_num_threads()
    gain = 0.0 if speeds.single is None else threads * speeds.single / speeds.eager
    if gain < PROCESSES_PAY or world_size() > 1:
        return ""
    return f"; `wassermix --processes {threads} certify ...` would be up to {gain:.1f} times as fast"
