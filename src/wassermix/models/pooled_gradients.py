"""The gradients of a convolution before pooling and ReLU, from those of the pooled values.

A share of the images to each thread. Arrays have channels last: the stage's gradient ``back (n, h, w,
channels)``, its ``place`` of the same shape, images ``(n, H, W, depth)``, weights ``(channels, size, size,
depth)``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from wassermix.core.jit import in_threads
from wassermix.models.pooled_kernels import (
    LANE,
    rows_to_input,
    rows_to_weight,
    windows_to_input,
    windows_to_weight,
)

__all__ = ["image_gradient", "weight_gradients"]

Array = np.ndarray[Any, Any]


def weight_gradients(back: Array, place: Array, image: Array, size: int) -> tuple[Array, Array]:
    """The gradients of weights and bias."""
    layout = _layout(back.shape[3], size, image.shape[3])
    lines, shares = layout.lines(image), {}

    def run(rows: slice) -> None:
        weight, bias = np.zeros(layout.shape, np.float32), np.zeros(layout.channels, np.float32)
        layout.add_to_weight(back[rows], place[rows], lines[rows], weight, bias)
        shares[rows.start] = weight, bias

    in_threads(run, len(image), operations=_operations(back, layout), shares=1)
    weights, biases = zip(*(shares[start] for start in sorted(shares)), strict=True)  # summed in one order
    return layout.unfolded(np.sum(weights, axis=0)), np.sum(biases, axis=0)


def image_gradient(back: Array, place: Array, weight: Array, sides: tuple[int, int]) -> Array:
    """The gradient of images of ``sides`` (height, width)."""
    channels, size, _, depth = weight.shape
    layout = _layout(channels, size, depth)
    folded, width = layout.folded(weight), sides[1] * depth
    lines = np.zeros((len(back), sides[0], width + layout.beyond), np.float32)

    def run(rows: slice) -> None:
        layout.add_to_input(back[rows], place[rows], folded, lines[rows])

    in_threads(run, len(back), operations=_operations(back, layout), shares=1)
    return lines[..., :width].reshape(len(back), *sides, depth)


def _operations(back: Array, layout: _Layout) -> int:
    """Additions of vector registers: a share of a thread has enough of them to pay for its start."""
    return back.size * layout.size * -(-layout.size * layout.depth // LANE)


@dataclass(frozen=True)
class _Layout(ABC):
    """How kernels take images, as lines ``(H, W depth + beyond)``, and weights, as ``shape``."""

    channels: int
    size: int
    depth: int

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]: ...

    @property
    @abstractmethod
    def beyond(self) -> int: ...

    @abstractmethod
    def folded(self, weight: Array) -> Array: ...

    @abstractmethod
    def unfolded(self, gradient: Array) -> Array: ...

    @abstractmethod
    def add_to_weight(self, back: Array, place: Array, lines: Array, weight: Array, bias: Array) -> None: ...

    @abstractmethod
    def add_to_input(self, back: Array, place: Array, weight: Array, lines: Array) -> None: ...

    def lines(self, image: Array) -> Array:
        flat = image.reshape(*image.shape[:2], image.shape[2] * self.depth)
        return np.pad(flat, ((0, 0), (0, 0), (0, self.beyond))) if self.beyond else flat


class _Rows(_Layout):
    """Patch by patch and row by row, for images of several channels."""

    @property
    def shape(self) -> tuple[int, ...]:
        return self.channels, self.size, self.size * self.depth

    @property
    def beyond(self) -> int:
        return 0

    def folded(self, weight: Array) -> Array:
        return weight.reshape(self.shape)

    def unfolded(self, gradient: Array) -> Array:
        return gradient.reshape(self.channels, self.size, self.size, self.depth)

    def add_to_weight(self, back: Array, place: Array, lines: Array, weight: Array, bias: Array) -> None:
        rows_to_weight(back, place, lines, self.depth, weight, bias)

    def add_to_input(self, back: Array, place: Array, weight: Array, lines: Array) -> None:
        rows_to_input(back, place, weight, self.depth, lines)


class _Windows(_Layout):
    """By windows that hold the patches of all four corners, for one channel and small kernels."""

    @property
    def shape(self) -> tuple[int, ...]:
        return self.channels, 4, (self.size + 1) * LANE

    @property
    def beyond(self) -> int:
        return LANE - self.size - 1  # the last window's rows end there

    def folded(self, weight: Array) -> Array:
        windows = np.zeros((self.channels, 4, self.size + 1, LANE), np.float32)
        for corner, patch in enumerate(self._patches()):
            windows[:, corner, *patch] = weight[..., 0]
        return windows.reshape(self.shape)

    def unfolded(self, gradient: Array) -> Array:
        windows = gradient.reshape(self.channels, 4, self.size + 1, LANE)
        patches = [windows[:, corner, *patch] for corner, patch in enumerate(self._patches())]
        return np.sum(patches, axis=0)[..., None]  # type: ignore[no-any-return]

    def add_to_weight(self, back: Array, place: Array, lines: Array, weight: Array, bias: Array) -> None:
        windows_to_weight(back, place, lines, weight, bias)

    def add_to_input(self, back: Array, place: Array, weight: Array, lines: Array) -> None:
        windows_to_input(back, place, weight, lines)

    def _patches(self) -> list[tuple[slice, slice]]:
        """Where in a window the patch of each corner lies."""
        ends = [slice(start, start + self.size) for start in (0, 1)]
        return [(row, column) for row in ends for column in ends]


def _layout(channels: int, size: int, depth: int) -> _Layout:
    kind = _Windows if depth == 1 and size < LANE else _Rows
    return kind(channels, size, depth)
