"""Where a compiled kernel may stand in for PyTorch's layers: nobody but the caller can tell."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.autograd import forward_ad

__all__ = ["holds_numbers", "is_left_alone", "is_plain_execution"]


def is_plain_execution() -> bool:
    """Whether operations are just carried out: no tracing, transform, dispatch mode or global hook."""
    return not (
        torch.compiler.is_compiling()
        or torch.jit.is_tracing()
        or torch._C._are_functorch_transforms_active()
        or torch._C._len_torch_dispatch_stack() > 0
        or nn.modules.module._has_any_global_hook()
    )


def holds_numbers(x: Tensor | None) -> bool:
    """Whether a tensor has float32 numbers of its own in the main memory, and no tangent."""
    return (
        x is not None
        and type(x) in (Tensor, nn.Parameter)
        and x.device.type == "cpu"
        and x.dtype == torch.float32
        and x.layout == torch.strided
        and not torch._C._functorch.is_legacy_batchedtensor(x)
        and forward_ad.unpack_dual(x).tangent is None
    )


def is_left_alone(layer: nn.Module) -> bool:
    """Whether nobody hooks into the layer or has replaced its ``forward``."""
    hooks = (
        layer._forward_hooks,
        layer._forward_pre_hooks,
        layer._backward_hooks,
        layer._backward_pre_hooks,
    )
    return not any(hooks) and "forward" not in vars(layer)
