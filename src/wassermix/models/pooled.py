"""A convolution with pooling and ReLU as one stage, whose gradients skip what these two cut.

A training step of LeNet on a CPU is 1.5 times as fast by it, a step of an attack twice
(``python -m benchmarks update``); values are those of the three layers to the last bit, gradients up to the
order of sums.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd import forward_ad

from wassermix.core.jit import available, in_threads

__all__ = ["PooledConv2d"]

Array = np.ndarray[Any, Any]


class PooledConv2d(nn.Sequential):
    """``relu(max_pool(conv(x), 2))``: ``nn.Sequential(nn.Conv2d(...), nn.MaxPool2d(2), nn.ReLU())`` and its names.

    Where the compiled kernels cannot serve (another device or type than float32, ``torch.func``, forward
    mode, tracing, hooks on the layers within) the three layers are called one after another.
    """

    def __init__(self, in_channels: int, out_channels: int, kernel_size: int) -> None:
        # ReLU after pooling: they commute, and this way it sees a quarter of the values.
        super().__init__(nn.Conv2d(in_channels, out_channels, kernel_size), nn.MaxPool2d(2), nn.ReLU())

    def forward(self, x: Tensor) -> Tensor:
        """Images ``(n, C, H, W)`` to ``(n, channels, (H - k + 1) // 2, (W - k + 1) // 2)``."""
        conv = self[0]
        tensors = (x, conv.weight, conv.bias)
        if not (available() and all(map(_ordinary, tensors)) and not any(map(_is_hooked, self))):
            return super().forward(x)  # type: ignore[no-any-return]
        if torch.is_grad_enabled() and any(one.requires_grad for one in tensors):
            return _Pooled.apply(*tensors)  # type: ignore[no-any-return]
        return _pooled(F.conv2d(*tensors))[0]


def _ordinary(x: Tensor) -> bool:
    """Whether a tensor holds numbers of its own that a compiled kernel can read."""
    return (
        type(x) in (Tensor, nn.Parameter)
        and x.device.type == "cpu"
        and x.dtype == torch.float32
        and not torch.compiler.is_compiling()
        and not torch.jit.is_tracing()  # type: ignore[no-untyped-call]
        and not torch._C._functorch.is_functorch_wrapped_tensor(x)
        and forward_ad.unpack_dual(x).tangent is None
    )


def _is_hooked(layer: nn.Module) -> bool:
    return bool(layer._forward_hooks or layer._forward_pre_hooks or layer._backward_hooks)


class _Pooled(torch.autograd.Function):
    """The stage as a function of image, weights and bias; its backward can be differentiated again."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        out, place = _pooled(F.conv2d(x, weight, bias))
        ctx.save_for_backward(x, weight, bias)
        ctx.place = place
        return out

    @staticmethod
    def backward(ctx: Any, back: Tensor) -> tuple[Tensor | None, ...]:
        needed = ctx.needs_input_grad
        if torch.is_grad_enabled():  # its own derivative is asked for
            return _differentiable(ctx.saved_tensors, back, needed)
        x, weight, _ = ctx.saved_tensors
        at = _Backward(_channels_last(back), ctx.place, tuple(weight.shape))
        image = at.to_input(x, weight) if needed[0] else None
        return image, *(at.to_weight(x) if needed[1] or needed[2] else (None, None))


def _differentiable(saved: tuple[Tensor, ...], back: Tensor, needed: tuple[bool, ...]) -> tuple[Tensor | None, ...]:
    """The gradients by PyTorch's own layers, as a graph."""
    asked = [one for one, needs in zip(saved, needed, strict=True) if needs]
    found = iter(torch.autograd.grad(F.relu(F.max_pool2d(F.conv2d(*saved), 2)), asked, back, create_graph=True))
    return tuple(next(found) if needs else None for needs in needed)


def _channels_last(x: Tensor) -> Array:
    """``(n, C, H, W)`` as an array ``(n, H, W, C)``, copied only where it is stored otherwise."""
    found: Array = x.detach().float().permute(0, 2, 3, 1).contiguous().numpy()
    return found


def _pooled(z: Tensor) -> tuple[Tensor, Array]:
    """The convolution's output pooled and cut at zero, ``(n, C, h, w)``, and where each value came from."""
    from wassermix.models.pooled_kernels import pool

    values = _channels_last(z)
    count, height, width, channels = values.shape
    out = np.empty((count, height // 2, width // 2, channels), np.float32)
    place = np.empty(out.shape, np.uint8)
    in_threads(lambda rows: pool(values[rows], out[rows], place[rows]), count, operations=values.size)
    return torch.from_numpy(out).permute(0, 3, 1, 2), place


class _Backward:
    """The two gradients for one batch, ``back`` and ``place (n, h, w, channels)``; a share of images a thread."""

    def __init__(self, back: Array, place: Array, shape: tuple[int, ...]) -> None:
        self.back, self.place = back, place
        self.channels, self.depth, self.size, _ = shape
        self.by_windows = self.depth == 1 and self.size < 8  # a window of size + 1 rows of LANE numbers
        self.operations = back.size * self.depth * self.size**2

    def to_weight(self, x: Tensor) -> tuple[Tensor, Tensor]:
        from wassermix.models.pooled_kernels import rows_to_weight, windows_to_weight

        image, found = self._rows_of(_channels_last(x)), {}

        def run(rows: slice) -> None:
            weight, bias = np.zeros(self._shape(), np.float32), np.zeros(self.channels, np.float32)
            given = self.back[rows], self.place[rows], image[rows]
            if self.by_windows:
                windows_to_weight(*given, weight, bias)
            else:
                rows_to_weight(*given, self.depth, weight, bias)
            found[rows.start] = weight, bias

        in_threads(run, len(image), operations=self.operations)
        weights, biases = zip(*(found[start] for start in sorted(found)), strict=True)  # sums in one order
        return self._unfolded(sum(weights)), torch.from_numpy(sum(biases))

    def to_input(self, x: Tensor, weight: Tensor) -> Tensor:
        from wassermix.models.pooled_kernels import rows_to_input, windows_to_input

        folded = self._folded(_channels_last(weight))
        count, _, height, width = x.shape
        image = np.zeros((count, height, width * self.depth + self._padding()), np.float32)

        def run(rows: slice) -> None:
            if self.by_windows:
                windows_to_input(self.back[rows], self.place[rows], folded, image[rows])
            else:
                rows_to_input(self.back[rows], self.place[rows], folded, self.depth, image[rows])

        in_threads(run, count, operations=self.operations)
        inside = torch.from_numpy(image)[..., : width * self.depth]
        return inside.reshape(count, height, width, self.depth).permute(0, 3, 1, 2)

    def _padding(self) -> int:
        """How far the windows of an image's last column reach beyond it."""
        return 8 - self.size - 1 if self.by_windows else 0

    def _shape(self) -> tuple[int, ...]:
        """Of the weights as the kernels take them."""
        if self.by_windows:
            return self.channels, 4, 8 * (self.size + 1)
        return self.channels, self.size, self.size * self.depth

    def _rows_of(self, image: Array) -> Array:
        count, height, width, depth = image.shape
        flat = image.reshape(count, height, width * depth)
        return np.pad(flat, ((0, 0), (0, 0), (0, self._padding()))) if self._padding() else flat

    def _folded(self, weight: Array) -> Array:
        """Weights ``(channels, size, size, depth)`` as the kernels take them."""
        if not self.by_windows:
            return weight.reshape(self._shape())
        folded = np.zeros((self.channels, 4, self.size + 1, 8), np.float32)
        for corner, place in enumerate(self._corners()):
            folded[:, corner, *place] = weight[..., 0]
        return folded.reshape(self._shape())

    def _unfolded(self, weight: Array) -> Tensor:
        """The gradient as the layer's weights are shaped, ``(channels, depth, size, size)``."""
        if self.by_windows:
            windows = weight.reshape(self.channels, 4, self.size + 1, 8)
            weight = sum(windows[:, corner, *place] for corner, place in enumerate(self._corners()))
        shaped = torch.from_numpy(weight).reshape(self.channels, self.size, self.size, self.depth)
        return shaped.permute(0, 3, 1, 2)

    def _corners(self) -> list[tuple[slice, slice]]:
        """Where in a window the patch of each corner lies."""
        return [
            (slice(row, row + self.size), slice(column, column + self.size)) for row in (0, 1) for column in (0, 1)
        ]
