"""An embedding made of the user's own encoder and decoder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Self

from torch import Tensor, nn

from wassermix.embed.protocol import Embedding

__all__ = ["EncoderDecoder"]


class EncoderDecoder(Embedding):
    """Your own encoder ``(n, *shape) -> (n, d)`` and decoder back, functions or modules, used as they are."""

    name = "own"

    def __init__(self, encoder: Callable[[Tensor], Tensor], decoder: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.encoder, self.decoder = encoder, decoder
        for part in (encoder, decoder):
            if isinstance(part, nn.Module):
                part.eval()

    def restore(self, tensors: Mapping[str, Tensor], shape: tuple[int, ...]) -> Self:
        """Load weights into the modules among the two parts."""
        self.shape = tuple(shape)
        self.load_state_dict(dict(tensors))
        return self

    def encode(self, x: Tensor) -> Tensor:
        """``encoder(x)``, flattened to ``(n, d)``."""
        return self.encoder(x).reshape(len(x), -1)

    def decode(self, z: Tensor) -> Tensor:
        """``decoder(z)`` in the shape of the samples that ``fit`` saw, or as the decoder gives it."""
        x = self.decoder(z)
        return x.reshape(len(z), *self.shape) if self.shape else x
