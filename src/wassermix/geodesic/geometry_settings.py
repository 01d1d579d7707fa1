"""What ``wassermix geometry`` measures; a file of its own, so that ``--help`` needs no torch."""

from __future__ import annotations

from dataclasses import dataclass

from wassermix.core.settings import setting

__all__ = ["GeometrySettings"]


@dataclass(frozen=True, kw_only=True)
class GeometrySettings:
    """What to measure."""

    embed: tuple[str, ...] = setting((), "embeddings, such as pixel,pca,pca:16; by default some that fit")
    pair_size: tuple[int, ...] = setting((16, 64, 256), "samples of each class in one transport problem")
    problems: int = setting(20, "transport problems for each embedding and pair_size")
    samples: int = setting(4000, "real samples to measure among, at most")
    seed: int = setting(0, "seed of the random draws")
