"""Where to interpolate: pixels, principal components, a VAE, standardised columns, or your own pair."""

from __future__ import annotations

from wassermix.embed.files import (
    EMBEDDINGS,
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
