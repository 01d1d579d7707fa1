"""The embeddings by name; a line here is all that another one needs."""

from __future__ import annotations

from wassermix.core.registry import Registry

__all__ = ["EMBEDDINGS"]

EMBEDDINGS = Registry(
    "embed",
    "wassermix.embeddings",
    {
        "pixel": "wassermix.embed.pixel:Pixel",
        "pca": "wassermix.embed.pca:PCA",
        "vae": "wassermix.embed.vae:VAE",
        "standard": "wassermix.embed.pixel:Standard",
    },
)
"""``embed=NAME``; the constructor's keyword arguments are the config's keys."""
