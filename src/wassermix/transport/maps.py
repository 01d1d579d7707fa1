"""Transport maps: where does this point go?"""

from __future__ import annotations

from pathlib import Path
from typing import Protocol, Self

import torch
from torch import Tensor

from wassermix.core.errors import InputError
from wassermix.core.tensors import write_tensors
from wassermix.transport.cost import PointCost
from wassermix.transport.coupling import Coupling
from wassermix.transport.exact import solve_exact
from wassermix.transport.gaussian import Gaussian, gaussian_map
from wassermix.transport.sinkhorn import Sinkhorn

__all__ = [
    "BarycentricMap",
    "EntropicMap",
    "ExactMap",
    "GaussianMap",
    "PairMap",
    "TransportMap",
    "load_map",
    "soft_image",
]

BLOCK_ENTRIES = 2**22  # of the table between new points and targets, at a time


class TransportMap(Protocol):
    """Fitted on two clouds, it moves points of the first towards the second.

    A map that knows which targets each fitted source goes to may have ``carry(values)`` besides: what the
    sources receive of ``values (..., m, k)``, one row per target. Paths to targets of several classes need it
    for their labels.
    """

    def fit(self, z0: Tensor, z1: Tensor) -> Self:
        """Learn where ``z0 (..., n, d)`` goes in ``z1 (..., m, d)``."""

    def map(self, z: Tensor) -> Tensor:
        """Where the points ``z (..., k, d)`` go, same shape."""


class _Stored:
    """A map whose whole knowledge is a few named tensors."""

    def __init__(self) -> None:
        self.state: dict[str, Tensor] = {}

    def _known(self, name: str) -> Tensor:
        if name not in self.state:
            raise InputError(f"{type(self).__name__}: map() before fit(); call fit(z0, z1) first")
        return self.state[name]

    def save(self, path: str | Path) -> None:
        """Write the fitted map to a safetensors file."""
        tensors = {name: tensor.clone() for name, tensor in self.state.items()}  # some may share memory
        write_tensors(Path(path), tensors, {"map": type(self).__name__})


class _Coupled(_Stored):
    """A map that comes from a coupling."""

    coupling: Coupling | None = None

    def carry(self, values: Tensor) -> Tensor:
        """For each fitted source the average of ``values (..., m, k)`` over its targets, ``(..., n, k)``."""
        if self.coupling is None:
            raise InputError(f"{type(self).__name__}: carry() before fit(); call fit(z0, z1) first")
        return self.coupling.push(values)


def load_map(path: str | Path) -> BarycentricMap | EntropicMap | ExactMap | GaussianMap | PairMap:
    """A map that was written by ``save``."""
    from safetensors import SafetensorError, safe_open

    kinds = {each.__name__: each for each in (BarycentricMap, EntropicMap, ExactMap, GaussianMap, PairMap)}
    try:
        with safe_open(path, framework="pt") as file:
            name = (file.metadata() or {}).get("map", "")
            state = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118 (not a dict)
    except (OSError, SafetensorError) as error:
        raise InputError(
            f"map '{path}': cannot be read ({error}); expected a file written by save()"
        ) from error
    if name not in kinds:
        raise InputError(f"map '{path}': holds no transport map; expected a file written by save()")
    fitted = kinds[name]()
    fitted.state = state
    return fitted


def soft_image(z: Tensor, targets: Tensor, log_weights: Tensor, eps: Tensor) -> Tensor:
    """``sum_j w_j(z) y_j`` with ``w_j(z)`` proportional to ``exp(log_weights_j - |z - y_j|^2 / eps)``.

    ``z (..., k, d)``, ``targets (..., m, d)``, ``log_weights (..., m)``, ``eps (...)``; differentiable in
    ``z``. Points are taken in blocks, in float64.
    """
    middle = targets.double().mean(-2, keepdim=True)
    y, rate = targets.double() - middle, (1 / eps)[..., None, None]
    offset = (log_weights - y.square().sum(-1) / eps[..., None]).unsqueeze(-2)
    step = max(1, BLOCK_ENTRIES // (y.shape[-2] * max(1, y.shape[:-2].numel())))
    images = [
        (offset + 2 * rate * ((part.double() - middle) @ y.mT)).softmax(-1) @ y + middle
        for part in z.split(step, -2)
    ]
    return torch.cat(images, -2).to(z.dtype)


class BarycentricMap(_Coupled):
    """The barycentric projection of the entropic plan, ``diag(P 1)^-1 P z1`` (Eq. 11), of fitted points."""

    def __init__(self, *, entropy: float = 0.02, tolerance: float = 1e-4) -> None:
        super().__init__()
        self.solver = Sinkhorn(entropy=entropy, tolerance=tolerance)

    def fit(
        self, z0: Tensor, z1: Tensor, *, weights0: Tensor | None = None, weights1: Tensor | None = None
    ) -> Self:
        """Solve the coupling and project it."""
        self.coupling = self.solver.solve(PointCost(z0, z1), weights0, weights1)
        self.state = {"source": z0, "image": self.coupling.push(z1)}
        return self

    def map(self, z: Tensor) -> Tensor:
        """The images of the fitted points, in their order."""
        return _images_of(self, z)


class ExactMap(_Coupled):
    """The barycentric projection of the exact plan, of fitted points: no blur of entropy.

    Between clouds of one size and even weights each point goes to one partner of its own.
    """

    def fit(
        self, z0: Tensor, z1: Tensor, *, weights0: Tensor | None = None, weights1: Tensor | None = None
    ) -> Self:
        """Solve the exact coupling and project it."""
        self.coupling = solve_exact(z0, z1, weights0=weights0, weights1=weights1)
        self.state = {"source": z0, "image": self.coupling.push(z1)}
        return self

    def map(self, z: Tensor) -> Tensor:
        """The images of the fitted points, in their order."""
        return _images_of(self, z)


class PairMap(_Stored):
    """Point ``i`` goes to target ``i`` (counted round where there are fewer): the map behind mixup."""

    def fit(self, z0: Tensor, z1: Tensor) -> Self:
        """Pair the clouds in the order given."""
        self.state = {"source": z0, "image": _in_turn(z1, z0.shape[-2])}
        return self

    def carry(self, values: Tensor) -> Tensor:
        """The row of ``values (..., m, k)`` that belongs to each source's partner, ``(..., n, k)``."""
        return _in_turn(values, self._known("source").shape[-2])

    def map(self, z: Tensor) -> Tensor:
        """The partners of the fitted points, in their order."""
        return _images_of(self, z)


def _in_turn(rows: Tensor, count: int) -> Tensor:
    """``count`` rows of ``rows (..., m, k)`` in order, from the first again after the last."""
    return rows[..., torch.arange(count, device=rows.device) % rows.shape[-2], :]


def _images_of(fitted: _Stored, z: Tensor) -> Tensor:
    source, image = fitted._known("source"), fitted._known("image")
    if z is not source and not (z.shape == source.shape and torch.equal(z, source)):
        raise InputError(
            f"{type(fitted).__name__} only knows the points that it was fitted on; "
            "use EntropicMap or GaussianMap for others"
        )
    return image


class EntropicMap(_Coupled):
    """The entropic map, for points not seen too (Pooladian and Niles-Weed 2021).

    ``T(x) = sum_j w_j(x) z1_j`` with ``w_j(x)`` proportional to ``b_j exp((g_j - |x - z1_j|^2) / entropy)``.
    On the fitted points it equals the barycentric projection. With ``debiased`` it is
    ``T(x) + x - T_self(x)``, where ``T_self`` maps ``z0`` to itself: exact for translations. ``map`` is
    differentiable in its argument.
    """

    def __init__(self, *, entropy: float = 0.02, tolerance: float = 1e-4, debiased: bool = False) -> None:
        super().__init__()
        self.solver, self.debiased = Sinkhorn(entropy=entropy, tolerance=tolerance), debiased

    def fit(
        self, z0: Tensor, z1: Tensor, *, weights0: Tensor | None = None, weights1: Tensor | None = None
    ) -> Self:
        """Solve the coupling; only the targets and their potentials are kept for mapping."""
        coupling = self.coupling = self.solver.solve(PointCost(z0, z1), weights0, weights1)
        self.state = {"targets": z1, **_soft_state(coupling)}
        if self.debiased:
            alone = Sinkhorn(
                entropy=coupling.entropy.detach(), absolute=True, tolerance=self.solver.tolerance
            )
            own = _soft_state(alone.solve(PointCost(z0, z0), weights0, weights0))
            self.state |= {"own_targets": z0, "own_log_weights": own["log_weights"]}
        return self

    def map(self, z: Tensor) -> Tensor:
        """Where the points ``z (..., k, d)`` go."""
        eps = self._known("eps")
        image = soft_image(z, self.state["targets"], self.state["log_weights"], eps)
        if "own_targets" not in self.state:
            return image
        return image + z - soft_image(z, self.state["own_targets"], self.state["own_log_weights"], eps)


def _soft_state(coupling: Coupling) -> dict[str, Tensor]:
    eps = coupling.entropy.detach()
    return {"log_weights": coupling.g / eps[..., None] + coupling.weights1.detach().log(), "eps": eps}


class GaussianMap(_Stored):
    """The optimal map between the Gaussians fitted to both clouds, ``m1 + A (x - m0)``."""

    def fit(
        self, z0: Tensor, z1: Tensor, *, weights0: Tensor | None = None, weights1: Tensor | None = None
    ) -> Self:
        """Fit both Gaussians and their map."""
        p0, p1 = Gaussian.fit(z0, weights0), Gaussian.fit(z1, weights1)
        self.state = {"mean0": p0.mean, "mean1": p1.mean, "matrix": gaussian_map(p0, p1)}
        return self

    def map(self, z: Tensor) -> Tensor:
        """Where the points ``z (..., k, d)`` go."""
        matrix = self._known("matrix")
        moved = (z.double() - self.state["mean0"].unsqueeze(-2)) @ matrix
        return (moved + self.state["mean1"].unsqueeze(-2)).to(z.dtype)
