"""Closed forms between Gaussians, batched: distance, map, geodesic, barycenter; singular ones included."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import torch
from torch import Tensor

from wassermix.core.errors import InputError

__all__ = ["Gaussian", "gaussian_barycenter", "gaussian_distance", "gaussian_geodesic", "gaussian_map"]

WELL_ABOVE_0 = 1e-3  # ratio of Cholesky's pivots: a covariance of condition 1e6 or so costs 6 digits of 15


@dataclass(frozen=True)
class Gaussian:
    """A normal distribution: ``mean (..., d)``, ``cov (..., d, d)``."""

    mean: Tensor
    cov: Tensor

    @classmethod
    def fit(cls, z: Tensor, weights: Tensor | None = None) -> Gaussian:
        """Mean and covariance of the points ``z (..., n, d)``, in float64; one point has covariance 0."""
        if z.dim() < 2 or z.shape[-2] == 0:
            raise InputError(f"z: got shape {tuple(z.shape)}; expected at least one point, (..., n, d)")
        if not bool(z.isfinite().all()):
            raise InputError("z: holds NaN or infinite values; a Gaussian is fitted on finite points")
        z = z.double()
        if weights is None:
            mean = z.mean(-2)
            centred = z - mean.unsqueeze(-2)
            return cls(mean, centred.mT @ centred / z.shape[-2])
        share = weights.double().expand(z.shape[:-1])
        if not bool((share >= 0).all() & (share.sum(-1) > 0).all() & share.isfinite().all()):
            raise InputError("weights: must be finite, not negative and not all zero")
        share = (share / share.sum(-1, keepdim=True)).unsqueeze(-1)
        mean = (share * z).sum(-2)
        centred = z - mean.unsqueeze(-2)
        return cls(mean, (share * centred).mT @ centred)


def _spectrum(matrix: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Square roots of the eigenvalues of a symmetric positive semi-definite matrix, and which are not 0."""
    values, vectors = torch.linalg.eigh(matrix)
    floor = matrix.shape[-1] * torch.finfo(matrix.dtype).eps * values[..., -1:].clamp_min(0)
    held = values > floor
    return torch.where(held, values, 0.0).sqrt(), held, vectors


def _root(matrix: Tensor) -> Tensor:
    """``M^1/2`` for symmetric positive semi-definite ``M (..., d, d)``."""
    roots, _, vectors = _spectrum(matrix)
    return (vectors * roots.unsqueeze(-2)) @ vectors.mT


def _roots(matrix: Tensor) -> tuple[Tensor, Tensor]:
    """``M^1/2`` and its pseudo-inverse."""
    roots, held, vectors = _spectrum(matrix)
    inverses = torch.where(held, 1 / roots, 0.0)
    return (vectors * roots.unsqueeze(-2)) @ vectors.mT, (vectors * inverses.unsqueeze(-2)) @ vectors.mT


def gaussian_distance(p0: Gaussian, p1: Gaussian) -> Tensor:
    """``W2^2 = |m0 - m1|^2 + tr(S0 + S1 - 2 (S0^1/2 S1 S0^1/2)^1/2)``, shape ``(...)``.

    The cross term is the sum of the singular values of ``S0^1/2 S1^1/2``.
    """
    cross: Tensor = torch.linalg.svdvals(_root(p0.cov) @ _root(p1.cov)).sum(-1)
    spread = p0.cov.diagonal(dim1=-2, dim2=-1).sum(-1) + p1.cov.diagonal(dim1=-2, dim2=-1).sum(-1)
    return (p0.mean - p1.mean).square().sum(-1) + (spread - 2 * cross).clamp_min(0)


def gaussian_map(p0: Gaussian, p1: Gaussian) -> Tensor:
    """``A = S0^-1/2 (S0^1/2 S1 S0^1/2)^1/2 S0^-1/2``, so that ``m1 + A (x - m0)`` carries ``p0`` to ``p1``.

    ``(..., d, d)``, symmetric. Where ``S0`` is singular, ``A`` is zero on its null space. Where it is far
    from that, any ``L L^T = S0`` gives the same map as ``L^-T (L^T S1 L)^1/2 L^-1``, and Cholesky's is cheap.
    """
    lower, failed = torch.linalg.cholesky_ex(p0.cov)
    pivots = lower.diagonal(dim1=-2, dim2=-1)
    if not bool(failed.any()) and bool((pivots.amin(-1) > WELL_ABOVE_0 * pivots.amax(-1)).all()):
        half = torch.linalg.solve_triangular(lower.mT, _root(lower.mT @ p1.cov @ lower), upper=True)
        whole: Tensor = torch.linalg.solve_triangular(lower, half, upper=False, left=False)
        return whole
    root, inverse = _roots(p0.cov)
    return inverse @ _root(root @ p1.cov @ root) @ inverse


def gaussian_geodesic(p0: Gaussian, p1: Gaussian, t: float) -> Gaussian:
    """The point at time ``t`` between two Gaussians, itself a Gaussian.

    Mean ``(1-t) m0 + t m1``; covariance
    ``(1-t)^2 S0 + t^2 S1 + t (1-t) (R + R^T)`` with ``R = S0^1/2 U S1^1/2`` the optimal cross covariance,
    which needs no inverse and so holds for singular covariances too.
    """
    root0, root1 = _root(p0.cov), _root(p1.cov)
    left, _, right = torch.linalg.svd(root0 @ root1)
    cross = root0 @ left @ right @ root1
    cov = (1 - t) ** 2 * p0.cov + t**2 * p1.cov + t * (1 - t) * (cross + cross.mT)
    return Gaussian((1 - t) * p0.mean + t * p1.mean, cov)


def gaussian_barycenter(
    gaussians: Gaussian, weights: Tensor, *, tolerance: float = 1e-10, max_iterations: int = 500
) -> Gaussian:
    """The Wasserstein barycenter of ``k`` Gaussians, ``mean (k, d)``, ``cov (k, d, d)``, by fixed point.

    ``S <- S^-1/2 (sum_k w_k (S^1/2 S_k S^1/2)^1/2)^2 S^-1/2`` (Alvarez-Esteban et al. 2016).
    """
    if len(weights) != len(gaussians.mean) or not bool((weights >= 0).all() & (weights.sum() > 0)):
        raise InputError(
            f"weights: expected {len(gaussians.mean)} numbers that are not negative and not all zero"
        )
    weights = (weights / weights.sum()).to(gaussians.cov)
    share = weights[:, None, None]
    cov = (share * gaussians.cov).sum(0)
    for _ in range(max_iterations):
        root, inverse = _roots(cov)
        middle = (share * _root(root @ gaussians.cov @ root)).sum(0)
        new = inverse @ middle @ middle @ inverse
        change, cov = (new - cov).norm(), new
        if change <= tolerance * cov.norm():
            break
    else:
        warnings.warn(
            f"gaussian_barycenter: not within {tolerance:g} after {max_iterations} iterations; raise either",
            stacklevel=2,
        )
    return Gaussian((weights[:, None] * gaussians.mean).sum(0), cov)
