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
from wassermix.core.intervals import compare_paired

if TYPE_CHECKING:
    from wassermix.certify.result import Certificates

__all__ = ["LEVELS", "ShareAbove", "crossing", "distribution", "label_probabilities", "plain"]

LEVELS = (0.5, 0.7, 0.9, 0.95, 0.99, 0.995, 0.999)
"""Values of p at which the share is told unless others are asked for."""

CONFIDENCE = 0.95
Floats = npt.NDArray[np.float64]


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

    The counts are the label's, except where a class was picked first (mode ``fixed``) and is not the label:
    then nothing but ``p_label <= 1 - p_picked`` is known, and the estimate is 0.
    """
    s, draws, hits = certificates.settings, certificates.draws, certificates.hits
    assert s is not None, "a log of others has no counts"
    assert draws is not None, "a log of others has no counts"
    assert hits is not None, "a log of others has no counts"
    k, n = hits.numpy().astype(np.float64), draws.numpy().astype(np.float64)
    bound = clopper_pearson_lower if len(rule_for(s).looks) == 1 else time_uniform_lower
    low, other_low = (np.asarray(bound(count, n, s.alpha), dtype=np.float64) for count in (k, n - k))
    wrong = _counted_another(certificates)
    return np.where(wrong, 0.0, k / n), np.where(wrong, 0.0, low), 1 - np.where(wrong, low, other_low)


def _counted_another(certificates: Certificates) -> npt.NDArray[np.bool_]:
    """Where the counts are those of a class that is not the label."""
    s, label = certificates.settings, certificates.label
    assert label is not None, "the label's probability needs labels"
    if s is not None and not picks_class(s):
        return np.zeros(len(label), dtype=bool)
    predicted = certificates.predicted.numpy()
    return np.asarray((predicted >= 0) & (predicted != label.numpy()), dtype=bool)


def plain(rows: Sequence[ShareAbove]) -> list[dict[str, Any]]:
    """The same as dictionaries, for JSON."""
    return [asdict(row) for row in rows]


def crossing(
    names: tuple[str, str], acr: tuple[float, float], right: tuple[npt.ArrayLike, npt.ArrayLike], *, p: float
) -> str | None:
    """A sentence where one of two models leads in average radius but the other in images with p_A >= p.

    ``right`` are the flags ``p_A >= p`` of both models on the same images; the lead must stand out from
    chance (the paired 95% interval lies on one side of 0), else None.
    """
    leader = 0 if acr[0] >= acr[1] else 1
    other = 1 - leader
    test = compare_paired(right[other], right[leader])
    if acr[0] == acr[1] or test.low <= 0:
        return None
    shares = [f"{np.mean(np.asarray(right[which], dtype=float)):.1%}" for which in (leader, other)]
    return (
        f"{names[leader]} has the larger average radius ({acr[leader]:.3f} against {acr[other]:.3f}), but "
        f"fewer images with p_A of at least {p:g} ({shares[0]} against {shares[1]} of {names[other]}): "
        "it is surer of easy images and has given up hard ones"
    )
