"""``wassermix reproduce theory``: every formula of the Gaussian model beside a simulation of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wassermix.core.streams import stream_seed
from wassermix.theory.gaussian_model import l2_error, linf_error, sample

__all__ = ["run"]

Values = NDArray[np.float64]
Tell = Callable[[str, float], None]
MU, SIGMA, SAMPLES, SEED = np.array([1.2, 0.8, 0.0, -0.4]), 1.0, 200_000, 0
THETA = np.array([1.0, 1.0, 0.3, -0.2])  # close to mu, as an estimate is


def run(out: Path, tell: Tell) -> dict[str, Any]:
    """All parts of the study, in the order of docs/theory.md; nothing is kept in ``out``."""
    record: dict[str, Any] = {}
    for number, (name, part) in enumerate(PARTS.items()):
        tell(name, number / len(PARTS))
        record[name] = part()
    return {**record, "summary": []}


def errors() -> dict[str, Any]:
    """Attacked errors over eps: l2 and linf, formula and simulation."""
    x, y = sample(MU, SIGMA, SAMPLES, generator=_generator("errors"))
    margin, eps = y * (x @ THETA), np.linspace(0, 1, 6)
    steps = {"l2": np.linalg.norm(THETA), "linf": np.abs(THETA).sum()}
    formulas = {"l2": l2_error, "linf": linf_error}
    return {
        "eps": eps.tolist(),
        **{
            norm: {
                "theory": [float(formulas[norm](THETA, MU, SIGMA, eps=e)) for e in eps],
                "simulated": [float(np.mean(margin < e * step)) for e in eps],
            }
            for norm, step in steps.items()
        },
    }


def _generator(purpose: str) -> np.random.Generator:
    return np.random.default_rng(stream_seed(SEED, "theory", purpose))


PARTS: dict[str, Callable[[], dict[str, Any]]] = {"errors": errors}
