"""Entropic maps between all ordered pairs of classes of a data set, in one file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from wassermix.core.errors import InputError
from wassermix.core.tensors import write_tensors
from wassermix.transport.maps import soft_image
from wassermix.transport.sinkhorn import Sinkhorn, solve_couplings

__all__ = ["ClassMaps"]


@dataclass(frozen=True)
class ClassMaps:
    """Where a point of one class goes in another, for every ordered pair of classes.

    Holds each class's points once, and for each unordered pair the potentials of both sides::

        maps = ClassMaps.fit(z, y, data="mnist5k, PCA-64")
        maps.save("maps.safetensors")
        image = ClassMaps.load("maps.safetensors").map(z3, 3, 8)
    """

    points: dict[int, Tensor]
    """Class -> its points ``(n_c, d)``."""
    log_weights: dict[tuple[int, int], Tensor]
    """``(source, target)`` -> the offsets of the target's points in the soft assignment, ``(n_target,)``."""
    eps: dict[tuple[int, int], Tensor]
    """``(source, target)`` -> Sinkhorn's epsilon in units of cost, ``()``."""
    about: dict[str, Any]
    """What the maps were fitted on and how well: data, digest, sizes, entropy, tolerance, largest error."""

    @classmethod
    def fit(
        cls,
        z: Tensor,
        y: Tensor,
        solver: Sinkhorn | None = None,
        *,
        data: str = "",
        progress: Callable[[int, int], None] | None = None,
    ) -> ClassMaps:
        """Fit on the points ``z (n, d)`` of classes ``y (n,)``; ``data`` says where they come from."""
        solver = solver or Sinkhorn()
        classes = [int(c) for c in y.unique()]
        if len(classes) < 2:
            raise InputError(f"y: holds {len(classes)} class; maps need at least two")
        points = {c: z[y == c] for c in classes}
        pairs = list(combinations(classes, 2))
        couplings = solve_couplings([(points[s], points[t]) for s, t in pairs], solver)
        log_weights, eps, errors = {}, {}, []
        for done, ((s, t), coupling) in enumerate(zip(pairs, couplings), 1):
            for (source, target), side in (((s, t), coupling), ((t, s), coupling.reversed())):
                eps[source, target] = side.entropy.detach()
                log_weights[source, target] = side.g / side.entropy.detach() + side.weights1.log()
            errors.append(float(coupling.marginal_error))
            if progress is not None:
                progress(done, len(pairs))
        about = {
            "data": data, "digest": digest(z, y), "classes": classes, "points": len(z),
            "coordinates": z.shape[1],
            "entropy": float(torch.as_tensor(solver.entropy).max()), "tolerance": solver.tolerance,
            "marginal_error": max(errors), "version": 1,
        }  # fmt: skip
        return cls(points, log_weights, eps, about)

    def map(self, z: Tensor, source: int, target: int) -> Tensor:
        """Where the points ``z (k, d)`` of class ``source`` go in class ``target``."""
        if (source, target) not in self.log_weights:
            raise InputError(
                f"no map from class {source} to class {target}; classes are {sorted(self.points)}"
            )
        pair = source, target
        return soft_image(z, self.points[target], self.log_weights[pair], self.eps[pair])

    def check(self, z: Tensor, y: Tensor) -> None:
        """Refuse data other than what the maps were fitted on."""
        if digest(z, y) != self.about["digest"]:
            raise InputError(
                f"the maps were fitted on other data ({self.about['data'] or 'unnamed'}, "
                f"{self.about['points']} points); fit them again"
            )

    def save(self, path: str | Path) -> None:
        """Write all maps to one safetensors file."""
        tensors = {f"points/{c}": points for c, points in self.points.items()}
        for (source, target), offsets in self.log_weights.items():
            tensors[f"log_weights/{source}/{target}"] = offsets
            tensors[f"eps/{source}/{target}"] = self.eps[source, target].clone()
        write_tensors(Path(path), tensors, {"about": json.dumps(self.about)})

    @classmethod
    def load(cls, path: str | Path) -> ClassMaps:
        """Maps that were written by :meth:`save`."""
        from safetensors import SafetensorError, safe_open

        maps = cls({}, {}, {}, {})
        try:
            with safe_open(path, framework="pt") as file:
                maps.about.update(json.loads((file.metadata() or {})["about"]))
                for name in file.keys():  # noqa: SIM118 (not a dict)
                    maps._take(name.split("/"), file.get_tensor(name))
        except (OSError, KeyError, ValueError, SafetensorError) as error:
            raise InputError(
                f"class maps '{path}': cannot be read ({error}); fit and save them again"
            ) from error
        return maps

    def _take(self, name: list[str], tensor: Tensor) -> None:
        kind, *classes = name
        if kind == "points":
            self.points[int(classes[0])] = tensor
        else:
            table = self.log_weights if kind == "log_weights" else self.eps
            table[int(classes[0]), int(classes[1])] = tensor


def digest(z: Tensor, y: Tensor) -> str:
    """A short fingerprint of points and classes."""
    content = hashlib.blake2b(digest_size=16)
    for part in (z, y):
        content.update(repr((tuple(part.shape), str(part.dtype))).encode())
        content.update(part.detach().cpu().contiguous().numpy().tobytes())
    return content.hexdigest()
