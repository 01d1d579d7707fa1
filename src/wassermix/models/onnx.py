"""A model in an ONNX file: it can be certified and audited, but gives no gradients to an attack."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from wassermix.core.errors import InputError

__all__ = ["OnnxModel", "load_onnx"]


class OnnxModel(nn.Module):
    """An ONNX session that takes samples ``(n, ...)`` to its first output ``(n, k)``, on the CPU."""

    def __init__(self, session: Any) -> None:
        super().__init__()
        self.session = session
        self.input_name: str = session.get_inputs()[0].name
        self.output_name: str = session.get_outputs()[0].name

    def forward(self, x: Tensor) -> Tensor:
        """The outputs as a tensor; a call that wants gradients is refused."""
        if x.requires_grad and torch.is_grad_enabled():
            raise InputError(
                "an ONNX model gives no gradients, so attacks that follow them cannot be run on it; certify "
                "and audit it, or save the model with torch.export.save for attacks"
            )
        (found,) = self.session.run([self.output_name], {self.input_name: x.detach().cpu().numpy()})
        return torch.from_numpy(found).to(x.device)


def load_onnx(path: Path) -> tuple[OnnxModel, int | None]:
    """The model, and its batch size where the file fixes one."""
    session = _session(path)
    if len(session.get_inputs()) != 1:
        raise InputError(f"model '{path}' takes {len(session.get_inputs())} inputs; expected one, a batch")
    batch = session.get_inputs()[0].shape[0] if session.get_inputs()[0].shape else None
    return OnnxModel(session), batch if isinstance(batch, int) else None


def _session(path: Path) -> Any:
    try:
        import onnxruntime
    except ImportError as error:
        raise InputError(
            f"model '{path}' needs onnxruntime, which is not installed; pip install onnxruntime"
        ) from error
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    options.log_severity_level = 3  # what is wrong is said below, in our words
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime has a class of its own for every way a file can be off
        raise InputError(f"model '{path}' cannot be loaded as ONNX: {str(error).splitlines()[0]}") from error
