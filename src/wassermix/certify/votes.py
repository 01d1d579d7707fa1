"""Noise votes: what a model says about noisy copies of images, in seeded blocks and fixed shapes."""

from __future__ import annotations

import copy
import shutil
import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from wassermix.certify.noise import NoiseKey, Purpose
from wassermix.certify.samplers import make_sampler
from wassermix.certify.settings import BLOCK, Backend, CertifySettings
from wassermix.core.classifier import Classifier, evaluating, logits_of
from wassermix.core.errors import InputError
from wassermix.core.registry import has_trait

__all__ = ["NoiseBlock", "Voter", "branches", "compiler_exists", "resolve_backend", "voting"]


@dataclass(frozen=True, slots=True)
class NoiseBlock:
    """128 draws of noise around one image; the noise is a function of (seed, purpose, index, block) alone."""

    x: Tensor
    index: int
    purpose: Purpose
    block: int


def compiler_exists() -> bool:
    """Whether a C++ compiler that ``torch.compile`` could use is on the path."""
    return any(shutil.which(name) for name in ("g++", "c++", "clang++", "cl"))


def branches(model: Classifier) -> bool:
    """Whether a model or a part of it says that its inputs' values decide what it computes."""
    parts = model.modules() if isinstance(model, nn.Module) else (model,)
    return any(has_trait(part, "branches") for part in parts)


def resolve_backend(backend: Backend) -> Backend:
    """``auto`` where nothing was measured is ``eager``; ``compile`` needs a compiler."""
    if backend == "auto":
        return "eager"
    if backend == "compile" and not compiler_exists():
        raise InputError(
            "certify: backend 'compile' needs a C++ compiler and none is on the path; "
            "install g++ or use backend 'eager'"
        )
    return backend


@contextmanager
def voting(model: Classifier, shape: Sequence[int], settings: CertifySettings) -> Iterator[Voter]:
    """A voter for ``model`` on inputs of ``shape``; eval mode inside, the mode found restored after.

    All forwards have the shape ``(batch_size, *shape)``, the last one padded. Images are laid out
    channels-last unless the settings say otherwise: on many CPUs convolutions are then twice as fast. The
    model itself is not touched; where its weights lie otherwise than ``contiguous`` asks for, a copy is run.
    """
    device = _device(model)
    _require_precision(model, settings)
    if settings.layout == "contiguous":
        model = _contiguous(model)
    forward = _compiled(model) if resolve_backend(settings.backend) == "compile" else model
    with ExitStack() as stack:
        stack.enter_context(evaluating(model))
        stack.enter_context(torch.no_grad())
        if settings.precision == "bfloat16":
            stack.enter_context(torch.autocast(device.type, dtype=torch.bfloat16))
        yield Voter(forward, tuple(shape), settings, device=device)


def _require_precision(model: Classifier, settings: CertifySettings) -> None:
    first = next(model.parameters(), None) if isinstance(model, nn.Module) else None
    if first is not None and (first.dtype == torch.float64) != (settings.precision == "float64"):
        raise InputError(
            f"certify: the model's weights are {str(first.dtype).removeprefix('torch.')}, the precision "
            f"asked for is {settings.precision}; use precision 'float64' for a float64 model, or convert it"
        )


class Voter:
    """Takes at most a batch of blocks to the predicted classes; its buffers are reused from call to call."""

    def __init__(
        self, forward: Classifier, shape: tuple[int, ...], settings: CertifySettings, *, device: torch.device
    ) -> None:
        last = len(shape) == 3 and settings.layout == "channels_last"
        layout = torch.channels_last if last else torch.contiguous_format
        dtype = torch.float64 if settings.precision == "float64" else torch.float32
        self.forward, self.seed, self.blocks = forward, settings.seed, settings.batch_size // BLOCK
        self.batch = torch.empty(
            (settings.batch_size, *shape), dtype=dtype, device=device, memory_format=layout
        ).zero_()
        self.sampler = make_sampler(settings, shape, self.batch)
        self.classes: int | None = None
        """How many classes the model knows, once it has been asked."""

    def __call__(self, blocks: Sequence[NoiseBlock]) -> npt.NDArray[np.int64]:
        """The classes, shape (blocks, 128)."""
        # arg-max takes the first of equal logits, on every device
        classes = self.logits(blocks).argmax(dim=1).reshape(len(blocks), BLOCK)
        return np.asarray(classes.cpu().numpy(), dtype=np.int64)

    def logits(self, blocks: Sequence[NoiseBlock]) -> Tensor:
        """The logits behind the votes, shape (blocks * 128, classes)."""
        assert 0 < len(blocks) <= self.blocks, f"{len(blocks)} blocks for a batch of {self.blocks}"
        for position, block in enumerate(blocks):
            key = NoiseKey(self.seed, block.purpose, block.index, block.block)
            self.sampler.fill(key, block.x, self.batch[position * BLOCK : (position + 1) * BLOCK])
        logits = logits_of(self.forward, self.batch)
        self.classes = logits.shape[1]
        return logits[: len(blocks) * BLOCK]


def _device(model: Classifier) -> torch.device:
    """Where the model lives: its first parameter or buffer; the CPU for a plain function."""
    if isinstance(model, nn.Module):
        for tensor in (*model.parameters(), *model.buffers()):
            return tensor.device
    return torch.device("cpu")


def _contiguous(model: Classifier) -> Classifier:
    """The model, or a copy with contiguous weights where some are not."""
    if not isinstance(model, nn.Module) or all(one.is_contiguous() for one in model.parameters()):
        return model
    return copy.deepcopy(model).to(memory_format=torch.contiguous_format)  # type: ignore[call-overload, no-any-return]


def _compiled(model: Classifier) -> Classifier:
    """The model compiled for one shape.

    Its weights are not frozen into the kernels: that gains another 5% on LeNet, and a model trained on
    between two certifications would be certified with its old weights.
    """
    if branches(model):
        raise InputError(
            "certify: backend 'compile' is not for a model whose inputs decide what it computes, such as an "
            "ensemble with a consensus; use backend 'eager'"
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # PyTorch's compiler uses what PyTorch deprecates
        from torch._dynamo.exc import TorchDynamoException  # seconds to import, so only where it is needed

        compiled: Classifier = torch.compile(model, dynamic=False)

    def forward(x: Tensor) -> Tensor:
        try:
            return compiled(x)
        except TorchDynamoException as error:
            reason = str(error).strip().splitlines()[0]
            raise InputError(f"certify: torch.compile fails here ({reason}); use backend 'eager'") from error

    return forward
