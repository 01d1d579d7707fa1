"""A convolution with pooling and ReLU as one stage, whose gradients skip what these two cut.

With it a training step of LeNet takes about two thirds of its time on a CPU and a step of an attack a half
(``python -m benchmarks update``). Values are those of the three layers to the last bit; gradients differ by
the order of their sums. Under autocast the convolution alone computes in bfloat16: values and gradients of
pooling and ReLU stay float32.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from wassermix.core.jit import available, in_threads
from wassermix.models.substitute import holds_numbers, is_left_alone, is_plain_execution

__all__ = ["PooledStage", "warm_up_stages"]

Array = np.ndarray[Any, Any]


class PooledStage(nn.Sequential):
    """``PooledStage(nn.Conv2d(...), nn.MaxPool2d(2), nn.ReLU())``: as ``nn.Sequential``, and faster on a CPU.

    ReLU comes after pooling: they commute, and this way it sees a quarter of the values. Where the compiled
    kernels cannot serve, the layers are called one after another: other layers or settings, another device or
    type than float32, ``torch.func``, forward mode, tracing, hooks on the layers within.
    """

    def forward(self, x: Tensor) -> Tensor:
        """Images ``(n, C, H, W)`` to ``(n, channels, (H - k + 1) // 2, (W - k + 1) // 2)``."""
        tensors = (x, *self._own()) if available() and is_plain_execution() else ()
        if not (tensors and all(map(holds_numbers, tensors)) and _is_pooled_to_something(*tensors[:2])):
            return super().forward(x)  # type: ignore[no-any-return]
        if torch.is_grad_enabled() and any(one.requires_grad for one in tensors):
            return _Pooled.apply(*tensors)  # type: ignore[no-any-return]
        return _pooled(_convolved(tensors))[0]

    def _own(self) -> tuple[Any, ...]:
        """The convolution's weights and bias, or ``(None, None)`` where other layers are in the stage."""
        layers = tuple(self)
        if len(layers) == 3 and _are_meant(*layers) and all(map(is_left_alone, layers)):
            return layers[0].weight, layers[0].bias
        return None, None


def _are_meant(conv: nn.Module, pool: nn.Module, relu: nn.Module) -> bool:
    """Whether the kernels do what these layers do."""
    return (
        type(conv) is nn.Conv2d
        and (conv.stride, conv.padding, conv.dilation) == ((1, 1), (0, 0), (1, 1))
        and (conv.groups, conv.kernel_size[0]) == (1, conv.kernel_size[1])
        and type(pool) is nn.MaxPool2d
        and (pool.kernel_size, pool.stride, pool.padding, pool.dilation) == (2, 2, 0, 1)
        and not (pool.return_indices or pool.ceil_mode)
        and type(relu) is nn.ReLU
    )


def _is_pooled_to_something(x: Tensor, weight: Tensor) -> bool:
    return x.dim() == 4 and min(x.shape[2:]) > weight.shape[-1]


def warm_up_stages(model: nn.Module) -> None:
    """Compile the kernels of the model's pooled stages, or load them from Numba's cache, ahead of use.

    Takes some seconds once after installation.
    """
    for stage in (one for one in model.modules() if isinstance(one, PooledStage)):
        weight, bias = (None if one is None else torch.zeros_like(one) for one in stage._own())
        if weight is not None and bias is not None:
            side = 2 * weight.shape[-1]
            image = torch.zeros(1, weight.shape[1], side, side)
            with torch.enable_grad():
                _Pooled.apply(*(one.requires_grad_() for one in (image, weight, bias))).sum().backward()
            _pooled(image.to(torch.bfloat16))  # the one kernel that bfloat16 has to itself


def _convolved(tensors: Sequence[Tensor]) -> Tensor:
    x, weight, bias = tensors
    return F.conv2d(x, weight, bias)


class _Pooled(torch.autograd.Function):
    """The stage as a function of image, weights and bias; its backward can be differentiated again."""

    @staticmethod
    @torch.amp.custom_fwd(device_type="cpu")  # type: ignore[untyped-decorator]
    def forward(ctx: Any, *tensors: Tensor) -> Tensor:
        out, ctx.place = _pooled(_convolved(tensors))
        ctx.save_for_backward(*tensors)
        return out

    @staticmethod
    @torch.amp.custom_bwd(device_type="cpu")  # type: ignore[untyped-decorator]
    def backward(ctx: Any, back: Tensor) -> tuple[Tensor | None, ...]:
        if torch.is_grad_enabled() or not (is_plain_execution() and holds_numbers(back)):
            return _by_layers(ctx.saved_tensors, back, ctx.needs_input_grad)
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


def _by_layers(saved: Sequence[Tensor], back: Tensor, needed: Sequence[bool]) -> tuple[Tensor | None, ...]:
    """The gradients by PyTorch's own layers; as a graph where their own derivative is asked for."""
    further = torch.is_grad_enabled()
    with torch.enable_grad():
        out = F.relu(F.max_pool2d(_convolved(saved), 2))
    asked = [one for one, needs in zip(saved, needed, strict=True) if needs]
    found = iter(torch.autograd.grad(out, asked, back, create_graph=further))
    return tuple(next(found) if needs else None for needs in needed)


def _pooled(z: Tensor) -> tuple[Tensor, Array]:
    """The convolution's output pooled and cut at zero, ``(n, C, h, w)``, and where each value came from."""
    from wassermix.models.pooled_kernels import pool, pool_halves

    count, channels, height, width = z.shape
    out = np.empty((count, height // 2, width // 2, channels), np.float32)
    place = np.empty(out.shape, np.uint8)
    result: Array = out
    if z.dtype == torch.bfloat16:
        kernel, result, values = pool_halves, out.view(np.int32), _stored_last(z).view(torch.int16).numpy()
    else:
        kernel, values = pool, _channels_last(z)

    def run(rows: slice) -> None:
        kernel(values[rows], result[rows], place[rows])

    in_threads(run, count, operations=values.size // 8, shares=1)
    return torch.from_numpy(out).permute(0, 3, 1, 2), place


def _stored_last(x: Tensor) -> Tensor:
    """``(n, C, H, W)`` as ``(n, H, W, C)`` in one piece, copied only where it is stored otherwise."""
    return x.detach().permute(0, 2, 3, 1).contiguous()


def _channels_last(x: Tensor) -> Array:
    """``(n, C, H, W)`` as a float32 array ``(n, H, W, C)``."""
    found: Array = _stored_last(x.detach().float()).numpy()
    return found


def _channels_second(x: Array) -> Tensor:
    """``(n, H, W, C)`` as a tensor ``(n, C, H, W)`` on the same memory."""
    return torch.from_numpy(x).permute(0, 3, 1, 2)
