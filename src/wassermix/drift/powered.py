"""A few labels make it a guarantee: the prediction-powered interval for accuracy on the new data."""

from __future__ import annotations

import numpy as np
from scipy import stats

from wassermix.core.errors import InputError
from wassermix.drift.interval import Interval
from wassermix.drift.views import Floats, Ints

__all__ = ["labels_only", "powered_interval", "require_enough"]

FOLDS = 5
LEAST = 10
RIDGE = 1e-3


def require_enough(labels: int) -> None:
    """Refuse fewer labels than an interval can be made of."""
    if labels < LEAST:
        raise InputError(f"{labels} labels are too few for an interval; expected {LEAST} or more; label more")


def powered_interval(
    correct: Floats,
    index: Ints,
    controls: Floats,
    *,
    weights: Floats | None = None,
    counted: Ints | None = None,
    confidence: float = 0.95,
    rng: np.random.Generator,
) -> Interval:
    """The accuracy over all new samples from ``m`` labelled ones, valid whatever the controls are worth.

    ``correct (m,)`` says whether the model is right about the labelled samples ``index (m,)``; ``controls
    (N, d)`` holds what estimators say about all ``N``. A linear prediction ``g`` of ``correct`` from the
    controls is fitted on four fifths of the labels and corrected on the fifth that it has not seen::

        theta = mean over all of g + mean over the labelled of w (correct - g)

    so that a useless ``g`` costs width, never validity. ``weights (m,)`` are ``1 / (N p_j)`` where ``j`` was
    drawn with the chance ``p_j`` in each draw (:func:`~wassermix.drift.ask.ask`); 1 for a uniform draw.
    ``counted`` are the rows of ``controls`` that the mean over all runs over, by default all of them.
    Student's t-interval over the labelled samples and one more of each sort (:func:`_student`).
    """
    m, count = len(correct), len(controls)
    require_enough(m)
    weights = np.ones(m) if weights is None else weights
    design = np.column_stack([np.ones(count), controls])
    whole = np.arange(count) if counted is None else counted
    terms, spread = np.zeros(m), np.zeros(m)
    for fold in np.array_split(rng.permutation(m), FOLDS):
        others = np.setdiff1d(np.arange(m), fold)
        guess = np.clip(design @ _fitted(design[index[others]], correct[others], weights[others]), 0, 1)
        terms[fold] = guess[whole].mean() + weights[fold] * (correct[fold] - guess[index[fold]])
        spread[fold] = guess[whole].var()
    return _student(terms, confidence, more=float(spread.mean()) / len(whole))


def labels_only(correct: Floats, *, weights: Floats | None = None, confidence: float = 0.95) -> Interval:
    """The same from the labels alone: what the estimators' help is measured against."""
    return _student(correct if weights is None else weights * correct, confidence)


def _fitted(design: Floats, correct: Floats, weights: Floats) -> Floats:
    """Least squares with a little ridge on all but the constant."""
    ridge = np.eye(design.shape[1]) * RIDGE * len(correct)
    ridge[0, 0] = 1e-9
    weighted = design * weights[:, None]
    return np.linalg.solve(weighted.T @ design + ridge, weighted.T @ correct).astype(np.float64)


def _student(terms: Floats, confidence: float, *, more: float = 0.0) -> Interval:
    """Student's interval for the mean of ``terms (m,)``, whose variance has a part ``more`` besides theirs.

    Its limits are those of the terms and of two samples more, one wrong (0) and one right (1), much as
    Agresti and Coull add them to a share: where nearly every answer is right, a few labels hold hardly a
    wrong one, and their own spread says far too little. The estimate is the mean of the terms alone.
    """
    m = len(terms)
    guarded = np.append(terms, (0.0, 1.0))
    error = np.sqrt(guarded.var(ddof=1) / (m + 2) + more)
    half = float(stats.t.ppf(0.5 + confidence / 2, m - 1) * error)
    centre, estimate = float(guarded.mean()), float(np.clip(terms.mean(), 0, 1))
    return Interval(estimate, max(0.0, centre - half), min(1.0, centre + half))
