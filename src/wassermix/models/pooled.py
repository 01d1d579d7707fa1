"""A convolution with pooling and ReLU as one stage, whose gradients skip what these two cut.

With it a training step of LeNet takes about two thirds of its time on a CPU and a step of an attack a half
(``python -m benchmarks update``). Values are those of the three layers to the last bit; gradients differ by
the order of their sums.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd import forward_ad

from wassermix.core.jit import available, in_threads

__all__ = ["PooledConv2d", "warm_up_stages"]

Array = np.ndarray[Any, Any]


class PooledConv2d(nn.Sequential):
    """``relu(max_pool(conv(x), 2))``: Conv2d, MaxPool2d and ReLU by the names that nn.Sequential gives them.

    Where the compiled kernels cannot serve (another device or type than float32, ``torch.func``, forward
    mode, tracing, hooks on the layers within) the three layers are called one after another.
    """

    def __init__(self, in_channels: int, out_channels: int, kernel_size: int) -> None:
        # ReLU after pooling: they commute, and this way it sees a quarter of the values.
        super().__init__(nn.Conv2d(in_channels, out_channels, kernel_size), nn.MaxPool2d(2), nn.ReLU())
        self.sizes = in_channels, out_channels, kernel_size

    def forward(self, x: Tensor) -> Tensor:
        """Images ``(n, C, H, W)`` to ``(n, channels, (H - k + 1) // 2, (W - k + 1) // 2)``."""
        tensors = (x, *self.parameters())
        if not (available() and all(map(_is_ordinary, tensors)) and not any(map(_is_hooked, self))):
            return super().forward(x)  # type: ignore[no-any-return]
        if torch.is_grad_enabled() and any(one.requires_grad for one in tensors):
            return _Pooled.apply(*tensors)  # type: ignore[no-any-return]
        return _pooled(_convolved(tensors))[0]


def warm_up_stages(model: nn.Module) -> None:
    """Compile the kernels of the model's pooled convolutions, or load them from Numba's cache, ahead of use.

    Takes some seconds once after installation.
    """
    for stage in (one for one in model.modules() if isinstance(one, PooledConv2d)):
        channels, _, size = stage.sizes
        x = torch.zeros(1, channels, 2 * size, 2 * size)
        PooledConv2d(*stage.sizes)(x.requires_grad_()).sum().backward()


def _is_ordinary(x: Tensor) -> bool:
    """Whether a tensor holds numbers of its own that a compiled kernel can read."""
    return (
        type(x) in (Tensor, nn.Parameter)
        and x.device.type == "cpu"
        and x.dtype == torch.float32
        and not torch.compiler.is_compiling()
        and not torch.jit.is_tracing()
        and not torch._C._functorch.is_functorch_wrapped_tensor(x)
        and forward_ad.unpack_dual(x).tangent is None
    )


def _is_hooked(layer: nn.Module) -> bool:
    return bool(layer._forward_hooks or layer._forward_pre_hooks or layer._backward_hooks)


def _convolved(tensors: Sequence[Tensor]) -> Tensor:
    x, weight, bias = tensors
    return F.conv2d(x, weight, bias)


class _Pooled(torch.autograd.Function):
    """The stage as a function of image, weights and bias; its backward can be differentiated again."""

    @staticmethod
    def forward(ctx: Any, *tensors: Tensor) -> Tensor:
        out, ctx.place = _pooled(_convolved(tensors))
        ctx.save_for_backward(*tensors)
        return out

    @staticmethod
    def backward(ctx: Any, back: Tensor) -> tuple[Tensor | None, ...]:
        if torch.is_grad_enabled():  # its own derivative is asked for
            return _differentiable(ctx.saved_tensors, back, ctx.needs_input_grad)
        from wassermix.models.pooled_gradients import image_gradient, weight_gradients

        x, weight, _ = ctx.saved_tensors
        of_image, *of_layer = ctx.needs_input_grad
        given = _channels_last(back), ctx.place
        image, weights, bias = None, None, None
        if of_image:
            image = _channels_second(image_gradient(*given, _channels_last(weight), tuple(x.shape[2:])))
        if any(of_layer):
            sums = weight_gradients(*given, _channels_last(x), weight.shape[-1])
            weights, bias = _channels_second(sums[0]), torch.from_numpy(sums[1])
        return image, weights, bias


def _differentiable(
    saved: Sequence[Tensor], back: Tensor, needed: Sequence[bool]
) -> tuple[Tensor | None, ...]:
    """The gradients by PyTorch's own layers, as a graph."""
    out = F.relu(F.max_pool2d(_convolved(saved), 2))
    asked = [one for one, needs in zip(saved, needed, strict=True) if needs]
    found = iter(torch.autograd.grad(out, asked, back, create_graph=True))
    return tuple(next(found) if needs else None for needs in needed)


def _pooled(z: Tensor) -> tuple[Tensor, Array]:
    """The convolution's output pooled and cut at zero, ``(n, C, h, w)``, and where each value came from."""
    from wassermix.models.pooled_kernels import pool

    values = _channels_last(z)
    count, height, width, channels = values.shape
    out = np.empty((count, height // 2, width // 2, channels), np.float32)
    place = np.empty(out.shape, np.uint8)
    in_threads(lambda rows: pool(values[rows], out[rows], place[rows]), count, operations=values.size)
    return torch.from_numpy(out).permute(0, 3, 1, 2), place


def _channels_last(x: Tensor) -> Array:
    """``(n, C, H, W)`` as a float32 array ``(n, H, W, C)``, copied only where it is stored otherwise."""
    found: Array = x.detach().float().permute(0, 2, 3, 1).contiguous().numpy()
    return found


def _channels_second(x: Array) -> Tensor:
    """``(n, H, W, C)`` as a tensor ``(n, C, H, W)`` on the same memory."""
    return torch.from_numpy(x).permute(0, 3, 1, 2)
