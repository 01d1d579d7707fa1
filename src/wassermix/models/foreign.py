"""Models of others: files of torch.export, TorchScript, ONNX or transformers, or a factory with weights."""

from __future__ import annotations

import os
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from wassermix.core.classifier import evaluating
from wassermix.core.errors import InputError
from wassermix.models.build import build_model
from wassermix.models.onnx import load_onnx
from wassermix.models.pretrained import PREFIX, load_pretrained
from wassermix.models.registry import MODELS
from wassermix.models.sanity import require_logits

__all__ = ["BatchLimits", "load_foreign_model"]

SUFFIXES = (".pt2", ".pt", ".pth", ".ts", ".torchscript", ".onnx", ".joblib", ".pkl", ".pickle")


def load_foreign_model(
    model: str, *, weights: Path | None = None, shape: tuple[int, ...], num_classes: int
) -> nn.Module:
    """A model that others trained, in eval mode and tried on one batch of samples of ``shape``.

    ``model`` is a ``.pt2`` file of ``torch.export.save``, a TorchScript or ONNX file, ``transformers:DIR``
    with a folder that ``save_pretrained`` wrote, or ``package.module:factory`` (or the name of one of our
    architectures) with ``weights`` in a safetensors file. It must take inputs on their data scale,
    normalisation inside. Nothing is unpickled, but model files are programs: load those of people you trust.
    From Python no loading is needed: attacks, certifiers and audits take any callable.
    """
    from_file = Path(model).is_file() or model.endswith(SUFFIXES) or model.startswith(PREFIX)
    if from_file:
        if weights is not None:
            raise InputError(f"--weights goes with package.module:factory; '{model}' holds its own weights")
        loaded = load_pretrained(model, shape=shape) if model.startswith(PREFIX) else _from_file(Path(model))
    else:
        loaded = _from_factory(model, weights, shape=shape, num_classes=num_classes)
    for module in loaded.modules():
        module.training = False  # .eval() is refused by exported programs, whose mode is fixed
    _try_out(model, loaded, shape=shape, num_classes=num_classes)
    if from_file:
        _refuse_wavering(model, loaded, shape)
    return loaded


@torch.no_grad()
def _refuse_wavering(name: str, model: nn.Module, shape: tuple[int, ...]) -> None:
    """A file keeps the mode it was saved in: answers that vary with chance or company show training mode."""
    x = torch.rand(4, *shape, generator=torch.Generator().manual_seed(0))
    together, again, alone = model(x), model(x), model(x[:1])
    close = 1e-3 * float(together.abs().max().clamp_min(1e-6))
    if not torch.allclose(together, again, atol=close) or not torch.allclose(together[:1], alone, atol=close):
        raise InputError(
            f"model '{name}' answers the same sample differently from time to time or batch to batch: it was "
            "saved in training mode; call model.eval() before tracing or exporting and save it again"
        )


class BatchLimits(nn.Module):
    """A model that takes only ``low`` to ``high`` samples at once, made to take any number.

    Larger batches are split, smaller ones filled up with copies of their last sample, whose outputs
    are dropped; gradients pass through.
    """

    def __init__(self, model: nn.Module, *, low: int, high: int | None) -> None:
        super().__init__()
        self.model, self.low, self.high = model, low, high

    def forward(self, x: Tensor) -> Tensor:
        """Logits ``(n, k)`` of ``x (n, ...)`` for any ``n``."""
        parts = x.split(self.high or max(len(x), 1))
        return torch.cat([self._filled(part) for part in parts])

    def _filled(self, x: Tensor) -> Tensor:
        lacking = self.low - len(x)
        if lacking <= 0:
            return self._logits(x)
        filler = x[-1:].expand(lacking, *x.shape[1:]) if len(x) else x.new_zeros(lacking, *x.shape[1:])
        return self._logits(torch.cat([x, filler]))[: len(x)]

    def _logits(self, x: Tensor) -> Tensor:
        logits: Tensor = self.model(x)
        return logits


def _from_file(path: Path) -> nn.Module:
    if path.suffix == ".onnx" and path.is_file():
        model, batch = load_onnx(path)
        return model if batch is None else BatchLimits(model, low=batch, high=batch)
    kind = _kind(path)
    try:
        return _exported(path) if kind == "export" else _scripted(path)
    except InputError:
        raise
    except Exception as error:  # torch raises many kinds for a file that is damaged or of another version
        raise InputError(
            f"model '{path}' cannot be loaded: {_first_line(error)}; save it again with the torch that is "
            f"installed here, {torch.__version__}"
        ) from error


def _kind(path: Path) -> str:
    """What a file is by its content: ``export`` or ``script``; anything else is refused unread."""
    if not path.is_file():
        raise InputError(f"model '{path}' does not exist; expected a .pt2 or TorchScript file")
    try:
        with zipfile.ZipFile(path) as archive:
            names = {name.split("/", 1)[-1] for name in archive.namelist()}
    except zipfile.BadZipFile as error:
        raise InputError(f"model '{path}' is damaged or no model file; {_SAVE_AGAIN}") from error
    if names & {"archive_format", "serialized_exported_program.json"}:
        return "export"
    if "constants.pkl" in names:
        return "script"
    raise InputError(f"model '{path}' is a pickle or a bare state dict, which is not run here; {_SAVE_AGAIN}")


_SAVE_AGAIN = (
    "save it with torch.export.save or torch.jit.save, or give package.module:factory and "
    "--weights FILE.safetensors"
)


def _scripted(path: Path) -> nn.Module:
    with warnings.catch_warnings():
        # torch asks users to move on to torch.export; files that exist must still be judged.
        warnings.simplefilter("ignore", DeprecationWarning)
        scripted: nn.Module = torch.jit.load(str(path), map_location="cpu")
    return scripted


def _exported(path: Path) -> nn.Module:
    with _weights_only():
        program = torch.export.load(str(path))
    _refuse_training_mode(path, program)
    low, high = _batch_range(path, program)
    module: nn.Module = program.module()
    return module if low <= 1 and high is None else BatchLimits(module, low=low, high=high)


@contextmanager
def _weights_only() -> Iterator[None]:
    """``torch.export.load`` may fall back on full unpickling; this forbids it."""
    key = "TORCH_FORCE_WEIGHTS_ONLY_LOAD"
    before = os.environ.get(key)
    os.environ[key] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[key]
        else:
            os.environ[key] = before


def _batch_range(path: Path, program: Any) -> tuple[int, int | None]:
    """The smallest and largest batch that the exported program takes."""
    inputs = program.graph_signature.user_inputs
    if len(inputs) != 1:
        raise InputError(f"model '{path}' takes {len(inputs)} inputs; expected one, a batch of samples")
    (node,) = (node for node in program.graph.nodes if node.op == "placeholder" and node.name == inputs[0])
    batch = node.meta["val"].shape[0]
    if isinstance(batch, int):
        return batch, batch
    limits = program.range_constraints.get(batch.node.expr)
    if limits is None:
        return 1, None
    # Without a limit the upper end is one of several infinities of sympy's, none of them a number.
    return max(int(limits.lower), 1), int(limits.upper) if limits.upper.is_Integer else None


def _refuse_training_mode(path: Path, program: Any) -> None:
    """An export keeps the mode it was made in: one made in training mode keeps its dropout on."""
    for node in program.graph.nodes:
        schema = getattr(node.target, "_schema", None)  # of operators only; plain functions have none
        given = zip(schema.arguments, node.args) if schema is not None else ()
        if any(argument.name in ("train", "training") and value is True for argument, value in given):
            raise InputError(
                f"model '{path}' was exported in training mode ({node.target}); call model.eval() before "
                "torch.export.export and save it again"
            )


def _from_factory(name: str, weights: Path | None, *, shape: tuple[int, ...], num_classes: int) -> nn.Module:
    model = build_model(name, shape=shape, num_classes=num_classes)
    if weights is None and name in MODELS.shipped:
        raise InputError(f"model '{name}' has random weights; give its own with --weights FILE.safetensors")
    if weights is not None:
        _fill(model, Path(weights), name)
    elif _is_random(name, model, shape=shape, num_classes=num_classes):
        raise InputError(
            f"model '{name}' starts with random weights; give the trained ones with --weights "
            "FILE.safetensors, or let the factory load them"
        )
    return model


def _is_random(name: str, model: nn.Module, *, shape: tuple[int, ...], num_classes: int) -> bool:
    """Whether a factory's weights depend on the seed: then nobody has trained them."""
    other = build_model(name, shape=shape, num_classes=num_classes, seed=1)
    pairs = zip(model.state_dict().values(), other.state_dict().values())
    return any(not torch.equal(one, two) for one, two in pairs)


def _fill(model: nn.Module, path: Path, name: str) -> None:
    """Load safetensors weights that must fit exactly."""
    if not path.is_file():
        raise InputError(f"weights '{path}' do not exist; expected a safetensors file")
    try:
        lacking, spare = model.load_state_dict(load_file(path), strict=False)
    except SafetensorError as error:
        raise InputError(
            f"weights '{path}' are not a whole safetensors file: {_unreadable(path, error)}"
        ) from error
    except RuntimeError as error:
        raise InputError(f"weights '{path}' do not fit the model '{name}': {_last_line(error)}") from error
    if lacking or spare:
        differing = [f"'{key}' is missing" for key in lacking] + [f"'{key}' is not its own" for key in spare]
        more = f" and {len(differing) - 3} more" if len(differing) > 3 else ""
        raise InputError(f"weights '{path}' do not fit the model '{name}': {', '.join(differing[:3])}{more}")


def _unreadable(path: Path, error: SafetensorError) -> str:
    """Why weights cannot be read; the files of ``torch.save`` are archives, which begin with ``PK``."""
    with path.open("rb") as file:
        saved_by_torch = file.read(2) in (b"PK", b"\x80\x02")
    if not saved_by_torch:
        return str(error)
    return (
        "torch.save wrote it, and reading it may run code; if you trust it, write it anew with "
        "safetensors.torch.save_file(torch.load(FILE, weights_only=True), 'weights.safetensors')"
    )


def _try_out(name: str, model: nn.Module, *, shape: tuple[int, ...], num_classes: int) -> None:
    """One forward of three samples, so that a model that does not fit the data fails here and clearly."""
    expected = f"expected logits (3, {num_classes}) of inputs {(3, *shape)}"
    try:
        with torch.no_grad(), evaluating(model):
            logits = model(torch.full((3, *shape), 0.5))
    except Exception as error:  # the model is anyone's and may raise anything
        raise InputError(f"model '{name}' fails on the data: {_last_line(error)}; {expected}") from error
    logits = require_logits(logits, samples=3, name=f"model '{name}'")
    if logits.shape[1] < num_classes:
        raise InputError(
            f"model '{name}' knows {logits.shape[1]} classes, the data have {num_classes}; {expected}"
        )


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def _last_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[-1].strip()
