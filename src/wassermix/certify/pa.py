"""The distribution of p_A: how sure the smoothed classifier is of the right class, over all images.

One average radius can hide that hard images were given up for the sake of easy ones, whose radius grows
without limit as p_A nears 1. The share of images with p_A at least p, for each p, hides nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy import special

from wassermix.certify.bounds import clopper_pearson_lower, time_uniform_lower
from wassermix.certify.rule import picks_class, rule_for

if TYPE_CHECKING:
    from wassermix.certify.result import Certificates

__all__ = ["LEVELS", "ShareAbove", "distribution", "label_probabilities", "plain"]

LEVELS = (0.5, 0.7, 0.9, 0.95, 0.99, 0.995, 0.999)
"""Values of p at which the share is told unless others are asked for."""

CONFIDENCE = 0.95
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class ShareAbove:
    """The share of all images whose label has probability at least ``p`` under noise, with a 95% band.

    ``radius`` is the l2 radius ``sigma * Phi^-1(p)`` that such a probability stands for.
    """

    p: float
    radius: float
    share: float
    low: float
    high: float


def distribution(
    certificates: Certificates, levels: Sequence[float] = LEVELS, *, confidence: float = CONFIDENCE
) -> list[ShareAbove]:
    r"""The share of images with :math:`p_A \ge p` for each level p, with a band that holds for all p at once.

    ``low(p) = mean 1[l_i >= p] - D`` and ``high(p) = mean 1[u_i >= p] + D``: each image's own bounds
    ``l_i <= p_A <= u_i`` from its counts, and ``D = sqrt(log(2 / (1 - confidence)) / (2 n))`` of
    Dvoretzky, Kiefer, Wolfowitz and Massart for the draw of n images. Each bound fails with probability at
    most ``alpha``; that share of the images is added to D.
    """
    s = certificates.settings
    assert s is not None, "a log of others has no counts"
    estimate, low, high = label_probabilities(certificates)
    width = math.sqrt(math.log(2 / (1 - confidence)) / (2 * len(estimate))) + s.alpha
    return [
        ShareAbove(
            p=float(p),
            radius=float(s.sigma * special.ndtri(p)),
            share=float(np.mean(estimate >= p)),
            low=max(0.0, float(np.mean(low >= p)) - width),
            high=min(1.0, float(np.mean(high >= p)) + width),
        )
        for p in levels
    ]


def label_probabilities(certificates: Certificates) -> tuple[Floats, Floats, Floats]:
    """The label's probability under noise for each image: estimate, lower and upper bound, each ``(n,)``.

    The counts are the label's, except where a class was picked first (mode ``fixed``). If that is another
    class c, nothing but ``p_label <= 1 - p_c`` is known, and the estimate is 0. An abstention does not tell
    which class it counted. Either it was the label, so that ``p_label <= u``, or another one, so that
    ``p_label <= 1 - l``, with ``l <= p_c <= u``: the larger of the two is the upper bound, 0 the lower one,
    and the estimate is the smaller of both shares.
    """
    s, draws, hits = certificates.settings, certificates.draws, certificates.hits
    assert s is not None, "a log of others has no counts"
    assert draws is not None, "a log of others has no counts"
    assert hits is not None, "a log of others has no counts"
    k, n = hits.numpy().astype(np.float64), draws.numpy().astype(np.float64)
    bound = clopper_pearson_lower if len(rule_for(s).looks) == 1 else time_uniform_lower
    low, rest = (np.asarray(bound(count, n, s.alpha), dtype=np.float64) for count in (k, n - k))
    wrong, unknown = _counted_another(certificates), _counted_either(certificates)
    cases = [wrong, unknown]
    return (
        np.select(cases, [np.zeros_like(k), np.minimum(k, n - k) / n], k / n),
        np.where(wrong | unknown, 0.0, low),
        np.select(cases, [1 - low, 1 - np.minimum(low, rest)], 1 - rest),
    )


def _counted_another(certificates: Certificates) -> Flags:
    """Where the counts are those of a class that is not the label."""
    predicted, label = certificates.predicted.numpy(), certificates.label
    assert label is not None, "the label's probability needs labels"
    return np.asarray(_picked(certificates) & (predicted >= 0) & (predicted != label.numpy()))


def _counted_either(certificates: Certificates) -> Flags:
    """Where the counts are those of the label or of another class, and the abstention does not say which."""
    return _picked(certificates) & (certificates.predicted.numpy() < 0)


def _picked(certificates: Certificates) -> Flags:
    """Where a class was picked before it was counted: everywhere or nowhere."""
    s = certificates.settings
    return np.full(len(certificates), s is None or picks_class(s), dtype=bool)


def plain(rows: Sequence[ShareAbove]) -> list[dict[str, Any]]:
    """The same as dictionaries, for JSON."""
    return [asdict(row) for row in rows]
