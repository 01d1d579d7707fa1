"""Where an update of LeNet and of ResNet-20 spends its time, and what other ways of running it would gain.

Numbers are processor time of one thread (a busy machine hardly blurs it), the lower quartile of several
repetitions. Tried beside our loop: LeNet's stages as PyTorch's layers, the default memory layout,
``torch.compile``, bfloat16; pixels kept as floats instead of bytes, the noise added in one go; and LeNet's
stages one by one, where most of an update goes. Weights are fresh: of a trained network ReLU cuts more, and
the gradients of our stages cost less. Only what two threads gain is by the clock, and needs an idle machine.
"""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, get_args

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.training_page import write_page
from wassermix.core.machine import has_bfloat16, processor_name
from wassermix.core.memory import keep_freed_memory
from wassermix.data import TensorSplit
from wassermix.engine.average import WeightAverage
from wassermix.engine.precision import computing_in
from wassermix.engine.settings import Precision
from wassermix.methods.noise import noises
from wassermix.models import build_model
from wassermix.models.pooled import PooledStage

RESULT = Path("results/update.json")
BATCH, REPEATS = 128, 15
ENOUGH = 4.0
"""Seconds after which nothing is repeated any more."""
LAST = torch.channels_last
SIGMA = 0.5
SHAPES = {"lenet": (1, 28, 28), "resnet20": (3, 32, 32)}
Milliseconds = dict[str, float]


def main() -> None:
    torch.set_num_threads(1)
    keep_freed_memory()
    groups: dict[str, Milliseconds] = {f"update, {name}": updates(name) for name in SHAPES}
    groups |= {
        "beside the network": parts(),
        "a pass of an attack, lenet": attack_passes(),
        "first stage, lenet": stage((1, 20, 5), side=28),
        "second stage, lenet": stage((20, 50, 5), side=12),
    }
    record: dict[str, Any] = {
        "torch": torch.__version__,
        "machine": platform.machine(),
        "processor": processor_name(),
        "bfloat16": has_bfloat16(),
        "batch": BATCH,
        "milliseconds": groups,
        "two_threads": {name: two_threads(name) for name in SHAPES},
    }
    for group, found in groups.items():
        for name, value in found.items():
            print(f"{group}: {name}: {value:.2f} ms", flush=True)
    print(f"two threads against one: {record['two_threads']}")
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(json.dumps(record, indent=1) + "\n")
    write_page()


def milliseconds(work: Callable[[], object], clock: Callable[[], float] = time.process_time) -> float:
    """The lower quartile of the time of ``work``, after one repetition to warm up; slow work has fewer."""
    work()
    spent: list[float] = []
    while len(spent) < REPEATS and (len(spent) < 3 or sum(spent) < ENOUGH):
        started = clock()
        work()
        spent.append(clock() - started)
    return 1e3 * sorted(spent)[len(spent) // 4]


def network(name: str) -> nn.Module:
    return build_model(name, shape=SHAPES[name], num_classes=10)


def plain_network(name: str) -> nn.Module:
    """The same network of PyTorch's own layers, as everybody writes it."""
    model = network(name)
    for stage_name, child in list(model.named_children()):
        if isinstance(child, PooledStage):
            setattr(model, stage_name, nn.Sequential(*child))
    return model


def updates(name: str) -> Milliseconds:
    """A whole update: forward, backward, step; as the engine runs it, and otherwise."""
    x = torch.rand(BATCH, *SHAPES[name])
    fast, fast_x = network(name).to(memory_format=LAST), x.contiguous(memory_format=LAST)
    plain, by_layers = plain_network(name), plain_network(name).to(memory_format=LAST)
    return {
        "ours": milliseconds(update(fast, fast_x)),
        "precision=bfloat16 (ours)": milliseconds(update(fast, fast_x, precision="bfloat16")),
        "PyTorch's layers, channels last": milliseconds(update(by_layers, fast_x)),
        "PyTorch's layers, channels last, bfloat16": milliseconds(
            update(by_layers, fast_x, precision="bfloat16")
        ),
        "PyTorch's layers, default layout": milliseconds(update(plain, x)),
        "PyTorch's layers, torch.compile": milliseconds(update(torch.compile(by_layers), fast_x)),
    }


def two_threads(name: str) -> float:
    """How many times as fast our update is with two threads, by the clock."""
    x = torch.rand(BATCH, *SHAPES[name]).contiguous(memory_format=LAST)
    work, spent = update(network(name).to(memory_format=LAST), x), []
    for threads in (1, 2):
        torch.set_num_threads(threads)
        spent.append(milliseconds(work, time.perf_counter))
    torch.set_num_threads(1)
    return spent[0] / spent[1]


def update(model: nn.Module, x: Tensor, *, precision: Precision = "float32") -> Callable[[], None]:
    y = torch.arange(BATCH) % 10
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, fused=True)

    def work() -> None:
        with computing_in(precision, model):
            loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()

    return work


def parts() -> Milliseconds:
    """What a step of LeNet spends outside the network's own passes, and the same otherwise."""
    model, noise, x = network("lenet"), torch.Generator().manual_seed(0), torch.rand(BATCH, 1, 28, 28)
    average = WeightAverage(model, 0.999)
    pixels, y = torch.randint(0, 256, (60_000, 1, 28, 28), dtype=torch.uint8), torch.zeros(60_000).long()
    as_bytes, as_floats = TensorSplit(pixels, y), TensorSplit(pixels.float().div_(255), y)
    rows = torch.randperm(60_000)[:BATCH]
    return {
        "a batch from pixels kept as bytes (ours)": milliseconds(lambda: as_bytes.get(rows)),
        "a batch from pixels kept as floats": milliseconds(lambda: as_floats.get(rows)),
        "noise drawn, scaled, added (ours)": milliseconds(
            lambda: x + noises(x, SIGMA, count=1, generator=noise)
        ),
        "noise drawn at its scale onto the batch": milliseconds(
            lambda: torch.empty_like(x).normal_(0, SIGMA, generator=noise).add_(x)
        ),
        "averaging the weights": milliseconds(lambda: average.update(model, 1000)),
    }


def attack_passes() -> Milliseconds:
    """A pass of an attack through our stages and through PyTorch's layers."""
    x = torch.rand(BATCH, 1, 28, 28).contiguous(memory_format=LAST).requires_grad_()
    models = {"ours": network("lenet"), "PyTorch's layers": plain_network("lenet")}
    found: Milliseconds = {}
    for name, model in models.items():
        frozen = model.to(memory_format=LAST).requires_grad_(False)
        for precision in get_args(Precision):
            words = name if precision == "float32" else f"{name}, {precision}"
            found[words] = milliseconds(attack_pass(frozen, x, precision))
    return found


def attack_pass(model: nn.Module, x: Tensor, precision: Precision) -> Callable[[], object]:
    def work() -> object:
        with computing_in(precision, model):
            loss = model(x).sum()
        return torch.autograd.grad(loss, x)

    return work


def stage(sizes: tuple[int, int, int], *, side: int) -> Milliseconds:
    """One stage of LeNet: forward, and the gradients of image and weights; ours beside PyTorch's layers."""
    ours = PooledStage(nn.Conv2d(*sizes), nn.MaxPool2d(2), nn.ReLU()).to(memory_format=LAST)
    plain = nn.Sequential(*ours)
    x = torch.rand(BATCH, sizes[0], side, side).contiguous(memory_format=LAST).requires_grad_()
    found: Milliseconds = {}
    for name, layers in (("ours", ours), ("PyTorch's layers", plain)):
        out = layers(x)
        back = torch.randn(out.shape).contiguous(memory_format=LAST)
        for what, asked in (("image", [x]), ("weights", list(layers.parameters()))):
            found[f"gradient of the {what}, {name}"] = milliseconds(
                partial(torch.autograd.grad, out, asked, back, retain_graph=True)
            )
        found[f"forward, {name}"] = milliseconds(partial(layers, x))
    convolution = ours[0]
    found["its convolution alone, forward"] = milliseconds(lambda: convolution(x))
    return found


if __name__ == "__main__":
    main()
