"""Where an update of LeNet spends its time, and what other ways of running it would gain.

Every number is processor time of one thread (a busy machine does not blur it), the lower quartile of several
repetitions. Tried beside our loop: PyTorch's default memory layout, ``torch.compile``, bfloat16, the noise
and the averaged weights alone, the image's gradient by the first convolution as PyTorch makes it, and the
second convolution, where most of an update goes, beside products of matrices of its size.
"""

from __future__ import annotations

import copy
import json
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from wassermix.core.memory import keep_freed_memory
from wassermix.engine.average import WeightAverage
from wassermix.models import build_model
from wassermix.models.one_channel import image_gradient

RESULT = Path("results/update.json")
BATCH, REPEATS = 128, 15
LAST = torch.channels_last


def main() -> None:
    torch.set_num_threads(1)
    keep_freed_memory()
    record: dict[str, Any] = {"torch": torch.__version__, "machine": platform.machine(), "batch": BATCH}
    record["milliseconds"] = {**updates(), **parts(), **input_gradients(), **second_layer()}
    for name, value in record["milliseconds"].items():
        print(f"{name}: {value:.2f} ms", flush=True)
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(json.dumps(record, indent=1) + "\n")


def milliseconds(work: Callable[[], object]) -> float:
    """The lower quartile of the processor time of ``work``."""
    spent = []
    for _ in range(REPEATS + 2):
        started = time.process_time()
        work()
        spent.append(time.process_time() - started)
    return 1e3 * sorted(spent[2:])[REPEATS // 4]


def lenet() -> nn.Module:
    return build_model("lenet", shape=(1, 28, 28), num_classes=10)


def updates() -> dict[str, float]:
    """A whole update: forward, backward, step; as the engine runs it, and otherwise."""
    x = torch.rand(BATCH, 1, 28, 28)
    fast, fast_x = lenet().to(memory_format=LAST), x.contiguous(memory_format=LAST)
    return {
        "update, channels last (ours)": milliseconds(update(fast, fast_x)),
        "update, default layout": milliseconds(update(lenet(), x)),
        "update, torch.compile": milliseconds(update(torch.compile(lenet().to(memory_format=LAST)), fast_x)),
        "update, bfloat16": milliseconds(update(fast, fast_x, half=True)),
    }


def update(model: nn.Module, x: Tensor, *, half: bool = False) -> Callable[[], None]:
    y = torch.arange(BATCH) % 10
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, fused=True)

    def work() -> None:
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=half):
            loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()

    return work


def parts() -> dict[str, float]:
    """What a step spends outside the network's own passes."""
    model, noise = lenet(), torch.Generator().manual_seed(0)
    average = WeightAverage(model, 0.999)
    return {
        "drawing the noise": milliseconds(lambda: torch.randn(BATCH, 1, 28, 28, generator=noise)),
        "averaging the weights": milliseconds(lambda: average.update(model, 1000)),
    }


def input_gradients() -> dict[str, float]:
    """A pass of an attack with our first convolution and with PyTorch's, and that gradient alone."""
    model = lenet().to(memory_format=LAST).requires_grad_(False)
    plain = copy.deepcopy(model)
    plain.stage1[0] = nn.Conv2d(1, 20, 5).requires_grad_(False).to(memory_format=LAST)
    x = torch.rand(BATCH, 1, 28, 28).contiguous(memory_format=LAST).requires_grad_()
    back, weight = torch.randn(BATCH, 20, 24, 24).contiguous(memory_format=LAST), torch.randn(20, 1, 5, 5)
    first = F.conv2d(x, weight.contiguous(memory_format=LAST))
    return {
        "pass of an attack (ours)": milliseconds(lambda: torch.autograd.grad(model(x).sum(), x)),
        "pass of an attack, PyTorch's convolutions": milliseconds(
            lambda: torch.autograd.grad(plain(x).sum(), x)
        ),
        "first convolution, gradient of the image (ours)": milliseconds(lambda: image_gradient(back, weight)),
        "first convolution, gradient of the image, PyTorch's": milliseconds(
            lambda: torch.autograd.grad(first, x, back, retain_graph=True)
        ),
    }


def second_layer() -> dict[str, float]:
    """The three products of the second convolution, and one product of matrices with as many operations."""
    x = torch.rand(BATCH, 20, 12, 12).contiguous(memory_format=LAST).requires_grad_()
    weight = torch.randn(50, 20, 5, 5).contiguous(memory_format=LAST).requires_grad_()
    out = F.conv2d(x, weight)
    back = torch.randn(out.shape).contiguous(memory_format=LAST)
    patches, columns = torch.rand(BATCH * 64, 500), torch.rand(500, 50)
    return {
        "second convolution, forward": milliseconds(lambda: F.conv2d(x, weight)),
        "second convolution, gradient of its inputs": milliseconds(
            lambda: torch.autograd.grad(out, x, back, retain_graph=True)
        ),
        "second convolution, gradient of its weights": milliseconds(
            lambda: torch.autograd.grad(out, weight, back, retain_graph=True)
        ),
        "second convolution, one product of matrices": milliseconds(lambda: patches @ columns),
    }


if __name__ == "__main__":
    main()
