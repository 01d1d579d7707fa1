"""What certified tables cost: hit bits recorded once, replayed through every certifier; the plain loop timed.

For each sigma a LeNet is trained with that noise and the votes of its test images are recorded with the
library's own noise. An image is recorded until the table of the ``fixed`` certifier can no longer beat
that of ``grid`` on it: grid has proved its last radius, or so many misses have come that fixed cannot prove
the radius after grid's either, or all 100,000 draws are there. So every fall of a cell is found. Every
tenth image or so is recorded to the end, for the certifiers that need it. All of it is kept under
``--cache``: a run that was stopped goes on, and counts do not depend on how busy the machine is, so
``--record-only`` may run beside other work, the timing after it.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.certify_page import page
from wassermix.certify import CertifySettings, certify, default_radii
from wassermix.certify.bounds import clopper_pearson_lower, smallest_hits, union_of_looks_levels
from wassermix.certify.fixed import FixedRule
from wassermix.certify.grid import GridRule
from wassermix.certify.noise import NoiseKey, gaussian
from wassermix.certify.rule import Rule
from wassermix.certify.settings import BLOCK, Backend
from wassermix.certify.tolerance import ToleranceRule
from wassermix.certify.votes import NoiseBlock, Voter, compiler_exists, voting
from wassermix.core.fingerprint import fingerprint
from wassermix.core.machine import processor_name
from wassermix.core.samples import evenly_spaced
from wassermix.core.streams import stream
from wassermix.data import Dataset, load_data
from wassermix.models import build_model

N, ALPHA, BATCH = 100_000, 0.001, 256


@dataclass(frozen=True)
class Options:
    data: str
    sigmas: tuple[float, ...]
    images: tuple[int, ...]
    full: int
    epochs: int
    plain_draws: int
    cache: Path
    result: Path
    page: Path | None
    record_only: bool = False


def main() -> None:
    options = parse()
    options.cache.mkdir(parents=True, exist_ok=True)
    (options.cache / ".gitignore").write_text("*\n")
    data = load_data(options.data)
    rows = []
    for sigma, images in zip(options.sigmas, options.images):
        model = trained(data, sigma, options)
        rows.append(certified(model, data, sigma, images=images, options=options))
        print(json.dumps(rows[-1]), flush=True)
    if not options.record_only:
        torch._dynamo.reset()  # what was compiled for all threads would stay on all
        speed = measure_speed(model, data, sigma, options)
        write(options, {"rows": rows, "speed": speed, "note": data.note})


def parse() -> Options:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default="mnist")
    parser.add_argument("--sigmas", type=float, nargs="+", default=[0.25, 0.5, 1.0])
    parser.add_argument("--images", type=int, nargs="+", default=[500], help="for each sigma, or one for all")
    parser.add_argument("--full", type=int, default=20, help="images recorded to the end at each sigma")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--plain-draws", type=int, default=2_000_000)
    parser.add_argument("--cache", type=Path, default=Path("benchmarks/.cache/certify"))
    parser.add_argument("--record-only", action="store_true", help="fill the cache; no timing, no result")
    parser.add_argument("--quick", action="store_true", help="three images of mnist5k, written to the cache")
    given = parser.parse_args()
    images = tuple(given.images) if len(given.images) > 1 else tuple(given.images) * len(given.sigmas)
    if given.quick:
        return Options("mnist5k", (0.5,), (3,), 1, 2, 20_000, given.cache, given.cache / "quick.json", None)
    if len(images) < len(given.sigmas):
        parser.error("--images needs one number, or one for each sigma")
    return Options(
        data=given.data,
        sigmas=tuple(given.sigmas),
        images=images,
        full=given.full,
        epochs=given.epochs,
        plain_draws=given.plain_draws,
        cache=given.cache,
        result=Path("results/certify.json"),
        page=Path("docs/certify-benchmark.md"),
        record_only=given.record_only,
    )


def write(options: Options, found: dict[str, Any]) -> None:
    result = {
        "machine": {"processor": processor_name(), "cpus": os.cpu_count()},
        "torch": torch.__version__,
        "data": options.data,
        "epochs": options.epochs,
        "n": N,
        "alpha": ALPHA,
        **found,
    }
    options.result.parent.mkdir(parents=True, exist_ok=True)
    options.result.write_text(json.dumps(result, indent=1) + "\n")
    if options.page is not None:
        options.page.parent.mkdir(parents=True, exist_ok=True)
        fair = options.result.with_name("speed.json")
        options.page.write_text(page(result, json.loads(fair.read_text()) if fair.exists() else None))


# -- the model ---------------------------------------------------------------------------------------


def trained(data: Dataset, sigma: float, options: Options) -> nn.Module:
    """A LeNet trained with noise of this sigma; read back where it was trained before."""
    model = build_model("lenet", shape=data.shape, num_classes=data.num_classes)
    path = options.cache / f"lenet-{data.name}-s{sigma:g}-e{options.epochs}.pt"
    if path.exists():
        model.load_state_dict(torch.load(path, weights_only=True))
        return model.eval()
    model = model.to(memory_format=torch.channels_last).train()
    generator, batch = stream(0, "benchmark", int(1000 * sigma)), 128
    steps = options.epochs * (len(data.train) // batch)
    optimiser = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, max_lr=0.05, total_steps=steps)
    for indices in batches_of(len(data.train), batch, options.epochs, generator=generator):
        x = data.train.get(indices)
        x = x + sigma * torch.randn(x.shape, generator=generator)
        loss = F.cross_entropy(model(x.contiguous(memory_format=torch.channels_last)), data.train.y[indices])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
    model = model.to(memory_format=torch.contiguous_format).eval()
    torch.save(model.state_dict(), path)
    return model


def batches_of(total: int, batch: int, epochs: int, *, generator: torch.Generator) -> Iterator[Tensor]:
    for _ in range(epochs):
        order = torch.randperm(total, generator=generator)
        yield from order[: total // batch * batch].split(batch)


# -- recording ---------------------------------------------------------------------------------------


def fastest() -> Backend:
    """Compiled where that is possible: hours of draws pay for it."""
    return "compile" if compiler_exists() else "eager"


def certified(
    model: nn.Module, data: Dataset, sigma: float, *, images: int, options: Options
) -> dict[str, Any]:
    """Record, replay, and compare the certifiers at one sigma."""
    radii = default_radii(sigma)
    grid, fixed = GridRule(sigma, radii, N, ALPHA), FixedRule(sigma, N, ALPHA)
    chosen = evenly_spaced(len(data.test), images)
    full = set(evenly_spaced(len(chosen), min(options.full, len(chosen))))
    folder = options.cache / f"{data.name}-s{sigma:g}-{fingerprint(model)}"
    folder.mkdir(exist_ok=True)
    recorded = []
    settings = CertifySettings(sigma=sigma, batch_size=BATCH, backend=fastest(), sampler="exact", grid=255)
    with voting(model, data.shape, settings) as votes:
        for position, index in enumerate(chosen):
            enough = (lambda bits: len(bits) >= N) if position in full else stop_of(grid, sigma)
            recorded.append(record(votes, data, index, folder=folder, enough=enough))
    bits = [part[:N] for part in recorded]
    row = compare_tables(bits, grid, sigma)
    complete = [bits[position] for position in sorted(full)]
    return {
        "sigma": sigma,
        "radii": list(radii),
        "images": len(chosen),
        **row,
        "full": compare_full(complete, grid, fixed, tolerance=ToleranceRule(sigma, 0.1 * sigma, N, ALPHA)),
        "replay_is_certify": same_as_certify(model, data, chosen[:3], bits[:3], sigma=sigma),
        "recorded": int(sum(map(len, bits))),
    }


def record(
    votes: Voter, data: Dataset, index: int, *, folder: Path, enough: Callable[[np.ndarray], bool]
) -> np.ndarray:
    """The hits of an image's label, draw by draw, until there are ``enough``; kept as packed bits."""
    path = folder / f"{index}.npy"
    bits = np.unpackbits(np.load(path)).astype(bool) if path.exists() else np.zeros(0, dtype=bool)
    if enough(bits):
        return bits
    x, label, step = data.test.get(torch.tensor([index]))[0], int(data.test.y[index]), BATCH // BLOCK
    while not enough(bits):
        for first in range(len(bits) // BLOCK, len(bits) // BLOCK + 8, step):  # to the next look or so
            noise = [NoiseBlock(x, index, "count", block) for block in range(first, first + step)]
            bits = np.append(bits, votes(noise).reshape(-1) == label)
    np.save(path, np.packbits(bits))
    return bits


def stop_of(grid: GridRule, sigma: float) -> Callable[[np.ndarray], bool]:
    """Stop when fixed cannot do better than grid on this image any more (see the top of this file)."""
    needed = smallest_hits(
        lambda hits: clopper_pearson_lower(hits, N, ALPHA) >= grid.thresholds, np.full(len(grid.radii), N)
    )

    def enough(bits: np.ndarray) -> bool:
        if len(bits) >= N:
            return True
        stop = replay(grid, bits)
        if stop is None:
            return False
        climbed = steps_climbed(grid, *stop)
        if climbed == len(grid.radii):
            return True
        return int(np.sum(~bits)) > N - int(needed[climbed])

    return enough


def replay(rule: Rule, bits: np.ndarray) -> tuple[int, int] | None:
    """Draws and hits at the rule's stop on these bits; None where they end before it."""
    total = np.cumsum(bits)
    for look, draws in enumerate(rule.looks):
        if draws > len(bits):
            return None
        hits = int(total[draws - 1])
        if bool(rule.finished(look, np.asarray(hits))):
            return draws, hits
    return None


def steps_climbed(grid: GridRule, draws: int, hits: int) -> int:
    radius = float(grid.radius(np.asarray(draws), np.asarray(hits)))
    return 0 if np.isnan(radius) else grid.radii.index(radius) + 1


# -- comparing ---------------------------------------------------------------------------------------


def compare_tables(bits: list[np.ndarray], grid: GridRule, sigma: float) -> dict[str, Any]:
    """Draws of grid, and how far each cell of its table may lie below that of fixed on the same bits.

    Where recording stopped early fixed is credited with grid's own cell, its best there.
    """
    stops = [stop for part in bits if (stop := replay(grid, part)) is not None]
    assert len(stops) == len(bits)
    draws = np.array([stop[0] for stop in stops])
    ours = np.array([steps_climbed(grid, *stop) for stop in stops])
    theirs = np.array([fixed_steps(part, cell, grid) for part, cell in zip(bits, ours)])
    table = [float(np.mean(ours > j)) for j in range(len(grid.radii))]
    best = [float(np.mean(theirs > j)) for j in range(len(grid.radii))]
    return {
        "draws_mean": float(draws.mean()),
        "draws_median": float(np.median(draws)),
        "saving": (N + 100) / float(draws.mean()),
        "grid": table,
        "fixed_at_most": best,
    }


def fixed_steps(bits: np.ndarray, ours: int, grid: GridRule) -> int:
    if len(bits) < N:
        return ours
    bound = float(clopper_pearson_lower(int(bits.sum()), N, ALPHA))
    return int(np.sum(bound >= grid.thresholds))


def compare_full(
    bits: list[np.ndarray], grid: GridRule, fixed: FixedRule, *, tolerance: ToleranceRule
) -> dict[str, Any]:
    """Every certifier on the images that were recorded to the end: mean draws, and the average radius."""
    found: dict[str, Any] = {"images": len(bits)}
    for name, rule in (("fixed", fixed), ("grid", grid), ("tolerance", tolerance)):
        stops = np.array([replay(rule, part) for part in bits])
        radii = np.nan_to_num(rule.radius(stops[:, 0], stops[:, 1]))
        found[name] = {"draws_mean": float(stops[:, 0].mean()), "radius_mean": float(radii.mean())}
    found["tolerance"]["asked"] = tolerance.tolerance
    found["union"] = union_of_looks(bits, grid)
    return found


def union_of_looks(bits: list[np.ndarray], grid: GridRule) -> dict[str, float]:
    """The simple variant: 14 geometric looks, a Clopper-Pearson bound at each; stop at the last radius."""
    looks = np.unique(np.geomspace(128, N, 14).astype(int))
    levels = union_of_looks_levels(len(looks), ALPHA)
    draws, radii = [], []
    for part in bits:
        hits = np.array([part[:count].sum() for count in looks])
        bounds = np.maximum.accumulate(clopper_pearson_lower(hits, looks, levels))
        cells = np.sum(bounds[:, None] >= grid.thresholds, axis=1)
        hopeful = clopper_pearson_lower(
            np.minimum(1, hits / looks + 2 * np.sqrt(0.25 / looks)) * N, N, ALPHA / 2
        )
        over = (cells == len(grid.radii)) | (hopeful < 0.5)
        stop = int(np.argmax(over)) if over.any() else len(looks) - 1
        draws.append(int(looks[stop]))
        radii.append(grid.radii[cells[stop] - 1] if cells[stop] else 0.0)
    return {"draws_mean": float(np.mean(draws)), "radius_mean": float(np.mean(radii))}


def same_as_certify(
    model: nn.Module, data: Dataset, indices: list[int], bits: list[np.ndarray], *, sigma: float
) -> bool:
    """Whether the certifier itself, run on a few images, says what the replay of their bits says."""
    chosen = torch.tensor(indices)
    x, y = data.test.get(chosen), data.test.y[chosen]
    got = certify(
        model, x, y, sigma=sigma, mode="grid", n=N, indices=indices, batch_size=BATCH, backend=fastest()
    )
    rule = GridRule(sigma, default_radii(sigma), N, ALPHA)
    return [(row.draws, row.hits) for row in got] == [replay(rule, part) for part in bits]


# -- speed -------------------------------------------------------------------------------------------


def measure_speed(model: nn.Module, data: Dataset, sigma: float, options: Options) -> dict[str, Any]:
    """Draws a second on one thread: the plain loop and ours in turn, medians; and how often votes agree."""
    torch.set_num_threads(1)
    x = data.test.get(torch.arange(8))
    backends = ["eager", *(["compile"] if compiler_exists() else [])]
    rounds = 10
    rates: dict[str, list[float]] = {name: [] for name in ("plain", *backends)}
    for backend in backends:
        ours(model, x[:1], sigma, 512, backend=backend)  # compiles and warms up, outside the clock
    plain(model, x[0], sigma, 1000)
    part = options.plain_draws // rounds
    for turn in range(rounds):
        image = x[turn % 8]
        rates["plain"].append(part / timed(partial(plain, model, image, sigma, part)))
        for backend in backends:
            ours_now = partial(ours, model, image[None], sigma, part // 4, backend=backend)
            rates[backend].append(part // 4 / timed(ours_now))
    agreement = {backend: agree(model, x, sigma, backend=backend) for backend in backends}
    medians = {name: statistics.median(values) for name, values in rates.items()}
    return {
        "sigma": sigma,
        "threads": 1,
        "plain_draws": rounds * part,
        "draws_per_second": medians,
        "ratio": {backend: medians[backend] / medians["plain"] for backend in backends},
        "agreement": agreement,
    }


def timed(act: Callable[[], object]) -> float:
    started = time.perf_counter()
    act()
    return time.perf_counter() - started


def plain(model: nn.Module, x: Tensor, sigma: float, draws: int) -> Tensor:
    """The loop that the field uses: default layout, batches of 1,000, one image at a time."""
    counts = torch.zeros(10, dtype=torch.int64)
    with torch.no_grad():
        for start in range(0, draws, 1000):
            batch = x.repeat((min(1000, draws - start), 1, 1, 1))
            counts += torch.bincount(model(batch + torch.randn_like(batch) * sigma).argmax(1), minlength=10)
    return counts


def ours(model: nn.Module, x: Tensor, sigma: float, draws: int, *, backend: Any) -> None:
    certify(model, x, sigma=sigma, n0=BLOCK, n=max(draws - BLOCK, 1), batch_size=BATCH, backend=backend)


def agree(model: nn.Module, x: Tensor, sigma: float, *, backend: Any) -> float:
    """The share of draws on which our votes are those of the plain model on the same noise."""
    settings, same = CertifySettings(sigma=sigma, batch_size=BATCH, backend=backend, sampler="gaussian"), []
    with voting(model, x.shape[1:], settings) as votes:
        for index in range(len(x)):
            for block in range(0, 100, 2):
                said = votes([NoiseBlock(x[index], index, "count", block + i) for i in range(2)])
                for i in range(2):
                    key = NoiseKey(0, "count", index, block + i)
                    noise = gaussian(key, torch.empty(BLOCK, *x.shape[1:]))
                    same.append(
                        np.mean(said[i] == model((x[index] + sigma * noise).contiguous()).argmax(1).numpy())
                    )
    return float(np.mean(same))


if __name__ == "__main__":
    main()
