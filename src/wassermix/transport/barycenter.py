"""Barycenters: the distribution half-way between several, on a grid or as a free cloud of points."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from wassermix.core.errors import InputError
from wassermix.transport.coupling import Coupling
from wassermix.transport.exact import solve_exact
from wassermix.transport.sinkhorn import solve_coupling

__all__ = ["CloudBarycenter", "GridBarycenter", "cloud_barycenter", "grid_barycenter"]

LARGEST_EXPONENT = 600.0  # beyond it scalings could leave float64: logarithms are kept instead
DEBIAS_UPDATES = 3  # of d in an iteration: cheap beside the k blurs, and fewer iterations are needed
AT_LEAST = 10  # iterations; the first ones can stand still before they move


@dataclass(frozen=True, kw_only=True)
class _Settled:
    """How a fixed point was reached."""

    change: float
    """How far the last iteration moved it: the L1 change of a histogram; the root mean square move of points
    as a share of their spread."""
    iterations: int
    tolerance: float

    @property
    def converged(self) -> bool:
        """Whether it stood still to the tolerance."""
        return self.change <= self.tolerance

    def warn(self, name: str) -> None:
        """One warning where it did not settle."""
        if not self.converged:
            warnings.warn(
                f"{name} did not converge: change {self.change:.2g} after {self.iterations} iterations, "
                f"asked {self.tolerance:g}; raise max_iterations, entropy or tolerance",
                stacklevel=3,
            )


@dataclass(frozen=True, kw_only=True)
class GridBarycenter(_Settled):
    """A barycenter on a grid and how it was reached."""

    histogram: Tensor
    """``(*shape)``, float64, sums to 1."""


def grid_barycenter(
    histograms: Tensor,
    weights: Tensor | None = None,
    entropy: float = 0.01,
    *,
    axes: Sequence[Tensor] | None = None,
    absolute: bool = False,
    debiased: bool = True,
    tolerance: float = 1e-6,
    max_iterations: int = 10_000,
) -> GridBarycenter:
    """The Sinkhorn barycenter of ``histograms (k, *shape)`` on a common grid of any dimension.

    The grid points are the products of ``axes``, one coordinate vector per dimension (by default 0 to 1).
    ``entropy`` is a share of the mean squared distance on the grid, or ``absolute``. ``debiased`` removes the
    blur of entropy (Janati, Cuturi and Gramfort 2020, in the corrected form of the docs): with
    ``K = exp(-C / eps)``, from ``b_k = d = 1``::

        a_k = h_k / (K b_k);  h = d prod_k (K^T a_k)^{w_k};  b_k = h / (K^T a_k);  d = sqrt(d h / (K d))

    ``K`` is a product over the axes; ``d`` is updated a few times per iteration. Small entropies, and any
    at which a scaling leaves float64, are solved in logarithms.
    """
    histograms, weights = _checked(histograms, weights)
    axes = _axes(axes, histograms)
    eps = entropy if absolute else entropy * sum(2 * float(axis.var(correction=0)) for axis in axes)
    if not eps > 0:
        raise InputError(f"entropy: got {entropy}; expected a positive number")
    exponents = [-(axis[:, None] - axis).square() / eps for axis in axes]
    gentle = sum(float(-exponent.min()) for exponent in exponents) < LARGEST_EXPONENT
    for scaling in (_Scaling(exponents), _LogScaling(exponents))[0 if gentle else 1 :]:
        histogram, change, count = _iterate(
            scaling,
            histograms,
            weights,
            debiased=debiased,
            tolerance=tolerance,
            max_iterations=max_iterations,
        )
        if change < float("inf"):
            break
    result = GridBarycenter(histogram=histogram, change=change, iterations=count, tolerance=tolerance)
    result.warn("grid barycenter")
    return result


def _checked(histograms: Tensor, weights: Tensor | None) -> tuple[Tensor, Tensor]:
    h = histograms.double()
    if h.dim() < 2 or 0 in h.shape:
        raise InputError(
            f"histograms: got shape {tuple(h.shape)}; expected (k, *shape), k histograms on one grid"
        )
    totals = h.flatten(1).sum(1)
    if not bool((h >= 0).all() & (totals > 0).all() & totals.isfinite().all()):
        raise InputError("histograms: must be finite, not negative and not all zero")
    w = h.new_ones(len(h)) if weights is None else weights.to(h)
    if w.shape != (len(h),) or not bool((w >= 0).all() & (w.sum() > 0)):
        raise InputError(f"weights: expected {len(h)} numbers that are not negative and not all zero")
    return h / totals.reshape(-1, *[1] * (h.dim() - 1)), w / w.sum()


def _axes(axes: Sequence[Tensor] | None, histograms: Tensor) -> list[Tensor]:
    shape = histograms.shape[1:]
    if axes is None:
        return [torch.linspace(0, 1, size, dtype=torch.float64, device=histograms.device) for size in shape]
    if [len(axis) for axis in axes] != list(shape):
        raise InputError(
            f"axes: lengths {[len(axis) for axis in axes]} do not fit a grid of shape {tuple(shape)}"
        )
    return [axis.to(histograms) for axis in axes]


class _Scaling:
    """One iteration on the scalings themselves."""

    def __init__(self, exponents: list[Tensor]) -> None:
        self.kernels = [exponent.exp() for exponent in exponents]

    def start(self, histograms: Tensor) -> tuple[Tensor, Tensor]:
        return torch.ones_like(histograms), torch.ones_like(histograms[0])

    def blur(self, x: Tensor) -> Tensor:
        """``K x`` for ``x (..., *shape)``, one axis after the other."""
        first = x.dim() - len(self.kernels)
        for axis, kernel in enumerate(self.kernels, first):
            x = x @ kernel if axis == x.dim() - 1 else (x.movedim(axis, -1) @ kernel).movedim(-1, axis)
        return x

    def step(
        self, histograms: Tensor, weights: Tensor, b: Tensor, d: Tensor, *, debiased: bool
    ) -> tuple[Tensor, Tensor, Tensor]:
        reached = self.blur(histograms / self.blur(b))
        share = weights.reshape(-1, *[1] * d.dim())
        if not debiased:
            h = (share * (b * reached).log()).sum(0).exp()
            return h, h / reached, d
        h = d * (share * reached.log()).sum(0).exp()
        for _ in range(DEBIAS_UPDATES):
            d = (d * h / self.blur(d)).sqrt()
        return h, h / reached, d


class _LogScaling:
    """The same iteration on logarithms, for entropies at which scalings overflow."""

    def __init__(self, exponents: list[Tensor]) -> None:
        self.exponents = exponents

    def start(self, histograms: Tensor) -> tuple[Tensor, Tensor]:
        return torch.zeros_like(histograms), torch.zeros_like(histograms[0])

    def blur(self, x: Tensor) -> Tensor:
        """``log K exp(x)`` for ``x (..., *shape)``, one axis after the other."""
        first = x.dim() - len(self.exponents)
        for axis, exponent in enumerate(self.exponents, first):
            lines = x.movedim(axis, -1)
            x = torch.stack([(lines + row).logsumexp(-1) for row in exponent], -1).movedim(-1, axis)
        return x

    def step(
        self, histograms: Tensor, weights: Tensor, b: Tensor, d: Tensor, *, debiased: bool
    ) -> tuple[Tensor, Tensor, Tensor]:
        reached = self.blur(histograms.log() - self.blur(b))
        share = weights.reshape(-1, *[1] * d.dim())
        if not debiased:
            h = (share * (b + reached)).sum(0)
            return h.exp(), h - reached, d
        h = d + (share * reached).sum(0)
        if (
            float(h.max()) > LARGEST_EXPONENT
        ):  # before it settles, a sharp one can leave float64: scale to mass 1
            h = h - h.flatten().logsumexp(0)
        for _ in range(DEBIAS_UPDATES):
            d = (d + h - self.blur(d)) / 2
        return h.exp(), h - reached, d


def _iterate(
    scaling: _Scaling | _LogScaling,
    histograms: Tensor,
    weights: Tensor,
    *,
    debiased: bool,
    tolerance: float,
    max_iterations: int,
) -> tuple[Tensor, float, int]:
    b, d = scaling.start(histograms)
    histogram, change, count = torch.zeros_like(histograms[0]), float("inf"), 0
    while count < max_iterations and (change > tolerance or count < AT_LEAST):
        new, b, d = scaling.step(histograms, weights, b, d, debiased=debiased)
        change, histogram, count = float((new - histogram).abs().sum()), new, count + 1
        if not change < float("inf"):  # a scaling left float64
            return histogram, float("inf"), count
    return histogram / histogram.sum(), change, count


@dataclass(frozen=True, kw_only=True)
class CloudBarycenter(_Settled):
    """A barycenter that is a cloud of points of equal weight."""

    points: Tensor
    """``(size, d)``."""


def cloud_barycenter(
    clouds: Sequence[Tensor],
    weights: Tensor | None = None,
    *,
    start: Tensor,
    cloud_weights: Sequence[Tensor | None] | None = None,
    entropy: float = 0.0,
    tolerance: float = 1e-3,
    max_iterations: int = 50,
) -> CloudBarycenter:
    """The free-support barycenter of clouds ``(n_k, d)``: points ``x = sum_k w_k T_k(x)``.

    ``T_k`` is the barycentric projection of the coupling of ``x`` with cloud ``k``, exact unless ``entropy``
    is positive (Cuturi and Doucet 2014; Alvarez-Esteban et al. 2016). ``start (size, d)`` gives the first
    points, for example those of one cloud; weights of points and of clouds are uniform unless given.
    """
    w = torch.ones(len(clouds)) if weights is None else weights
    if len(clouds) == 0 or w.shape != (len(clouds),) or not bool((w >= 0).all() & (w.sum() > 0)):
        raise InputError(
            f"clouds and weights: got {len(clouds)} and {tuple(w.shape)}; expected one weight per cloud"
        )
    inner = list(cloud_weights) if cloud_weights is not None else [None] * len(clouds)
    shares = (w / w.sum()).tolist()
    points, change, count = start, float("inf"), 0
    while count < max_iterations and change > tolerance:
        images = [
            share * _couple(points, cloud, own, entropy).push(cloud)
            for share, cloud, own in zip(shares, clouds, inner)
            if share > 0
        ]
        new = torch.stack(images).sum(0)
        spread = (new - new.mean(0)).square().sum().clamp_min(torch.finfo(new.dtype).tiny)
        change, points, count = float(((new - points).square().sum() / spread).sqrt()), new, count + 1
    result = CloudBarycenter(points=points, change=change, iterations=count, tolerance=tolerance)
    result.warn("cloud barycenter")
    return result


def _couple(points: Tensor, cloud: Tensor, weights: Tensor | None, entropy: float) -> Coupling:
    if entropy > 0:
        return solve_coupling(points, cloud, entropy, weights1=weights)
    return solve_exact(points, cloud, weights1=weights)
