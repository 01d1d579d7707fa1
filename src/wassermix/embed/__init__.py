"""Where to interpolate: pixels, principal components, a VAE, standardised columns, or your own pair."""

from typing import TYPE_CHECKING

from wassermix.core.lazy import lazy_names

if TYPE_CHECKING:
    from wassermix.embed.files import (
        encode_rows,
        fit_cached,
        fit_rows,
        load_embedding,
        reconstruction_error,
        save_embedding,
    )
    from wassermix.embed.own import EncoderDecoder
    from wassermix.embed.pca import PCA
    from wassermix.embed.pixel import Pixel, Standard
    from wassermix.embed.protocol import Embedding
    from wassermix.embed.registry import EMBEDDINGS
    from wassermix.embed.vae import VAE

__all__ = [
    "EMBEDDINGS",
    "PCA",
    "VAE",
    "Embedding",
    "EncoderDecoder",
    "Pixel",
    "Standard",
    "encode_rows",
    "fit_cached",
    "fit_rows",
    "load_embedding",
    "reconstruction_error",
    "save_embedding",
]

__getattr__ = lazy_names(__name__)
