"""A small certification that a test can run in a process of its own, and kill."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import torch
from torch import Tensor

from wassermix.certify import Certificates, CertifySettings, certify_to_files
from wassermix.core.job import Output
from wassermix.core.shard import Shard

SETTINGS = CertifySettings(sigma=0.5, mode="grid", n=3000, batch_size=256)
INDICES = list(range(0, 60, 3))


class Points:
    """Sixty points of the plane; the label says on which side of a line they lie, with some mistakes."""

    def __init__(self) -> None:
        generator = torch.Generator().manual_seed(0)
        self.x = torch.randn(60, 2, generator=generator)
        self.x[0] = 0  # on the line itself: nobody can certify it
        flips = torch.rand(60, generator=generator) < 0.2
        self.y = ((self.x.sum(dim=1) > 0) ^ flips).long()

    def __len__(self) -> int:
        return 60

    def get(self, indices: Tensor) -> Tensor:
        return self.x[indices]


def model(x: Tensor) -> Tensor:
    score = x.sum(dim=1)
    return torch.stack([-score, score], dim=1)


def slow_model(x: Tensor) -> Tensor:
    time.sleep(0.01)
    return model(x)


def run(
    out: Path,
    *,
    slow: bool = False,
    resume: bool = False,
    settings: CertifySettings = SETTINGS,
    shard: Shard | None = None,
) -> Certificates:
    return certify_to_files(
        slow_model if slow else model,
        Points(),
        INDICES,
        output=Output(out, "job", resume=resume, shard=shard),
        settings=settings,
    )


if __name__ == "__main__":
    part = Shard.parse(sys.argv[2]) if len(sys.argv) > 2 else None
    run(Path(sys.argv[1]), slow=True, resume=True, shard=part)
