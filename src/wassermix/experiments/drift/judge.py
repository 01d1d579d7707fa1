"""One net on all its cases: every estimator's word, intervals, tests and labels, beside the truth."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from wassermix.core.streams import stream_seed
from wassermix.drift.check import disagreement_of
from wassermix.drift.estimators.plan import CarriedLabels
from wassermix.drift.estimators.protocol import Estimator
from wassermix.drift.estimators.registry import make_estimator
from wassermix.drift.interval import Interval, resampled
from wassermix.drift.powered import labels_only, powered_interval
from wassermix.drift.prepared import CONTROLS
from wassermix.drift.reference import Reference
from wassermix.drift.shift_test import shift_tests
from wassermix.drift.views import Floats, Ints, Spaces, View
from wassermix.experiments.drift.cases import Case
from wassermix.experiments.drift.looks import Looks

__all__ = ["NAMES", "judged_cases"]

NAMES = (
    "joint", "joint-balanced", "plan-input", "plan-feature", "cot", "neighbour", "atc",
    "confidence", "confidence-difference", "random", "source",
)  # fmt: skip
LABELS, DRAWS, LEAST = 100, 10, 200
"""Labels of the prediction-powered interval, how often it is redrawn, and the fewest samples for it."""
PERMUTATIONS, RESAMPLES = 99, 30
DEALS, SPACES = 10, ("input", "feature")


def judged_cases(looks: Looks) -> list[dict[str, Any]]:
    """A record for each case of one net."""
    reference = Reference(looks.reference, looks.labels)
    fitted = {name: _made(name).fit(reference) for name in NAMES}
    about = {"data": looks.data, "net": looks.net, "seed": looks.seed, "source": reference.accuracy}
    return [
        {
            **about,
            **_judged(case, view, labels, fitted=fitted, seed=looks.seed),
            "p_values": p_values(case, looks),
        }
        for case, (view, labels) in looks.cases.items()
    ]


def _made(name: str) -> Estimator:
    if name == "joint-balanced":  # what the relaxation contributes: the same cost, shares held fixed
        joint = make_estimator("joint")
        assert isinstance(joint, CarriedLabels)
        weights = joint.weights
        return CarriedLabels(input=weights.input, feature=weights.feature, output=weights.output)
    return make_estimator(name)


def _judged(
    case: Case, view: View, labels: Ints, *, fitted: Mapping[str, Estimator], seed: int
) -> dict[str, Any]:
    rng = np.random.default_rng(stream_seed(seed, "drift", "judge", case.kind, case.strength))
    joint = fitted["joint"]
    assert isinstance(joint, CarriedLabels)
    said: dict[str, Floats] = {}
    seconds: dict[str, float] = {}
    for name, estimator in fitted.items():
        began = time.process_time()
        if estimator is joint:  # its plans are needed again below
            blocks = joint.blocks(view)
            said[name] = joint.chances_from(blocks, view)
        else:
            said[name] = estimator.chances(view)
        seconds[name] = time.process_time() - began
    estimates = {name: float(q.mean()) for name, q in said.items()}
    correct = (view.predicted == labels).astype(np.float64)
    replicates = resampled(joint, blocks, view, count=RESAMPLES, rng=rng)
    return {
        "kind": case.kind,
        "strength": case.strength,
        "settles": case.settles,
        "label_shift": case.label_shift,
        "samples": len(view),
        "truth": float(correct.mean()),
        "estimates": estimates,
        "seconds": seconds,
        "spread": float(np.std(replicates)),
        "disagreement": disagreement_of(estimates, "joint"),
        "labels": _with_labels(correct, said, rng=rng) if len(view) >= LEAST else None,
    }


def p_values(case: Case, looks: Looks) -> dict[str, list[float]]:
    """The two-sample tests where nothing has drifted: reference and new samples dealt anew ``DEALS`` times.

    One reference serves all draws of a net, and may by chance lie apart from the whole pool: tests against
    it err together, and a few dozen of them say little about their level. Dealt anew, each test is a draw of
    its own.
    """
    if case not in looks.spaces:
        return {}
    rng = np.random.default_rng(stream_seed(looks.seed, "drift", "deals", case.strength))
    held, new, found = looks.held, looks.spaces[case], []
    for _ in range(DEALS):
        order = rng.permutation(len(held.inputs) + len(new.inputs))
        dealt = _dealt(held, new, order)
        found.append(shift_tests(*dealt, permutations=PERMUTATIONS, rngs=lambda space: rng))
    return {space: [tests[place].p_value for tests in found] for place, space in enumerate(SPACES)}


def _dealt(held: Spaces, new: Spaces, order: Ints) -> tuple[Spaces, Spaces]:
    """Two sets of the same sizes, dealt from both by ``order``."""
    inputs = np.concatenate([held.inputs, new.inputs])[order]
    features = np.concatenate([held.features, new.features])[order]
    count = len(held.inputs)
    return Spaces(inputs[:count], features[:count]), Spaces(inputs[count:], features[count:])


def _with_labels(
    correct: Floats, said: Mapping[str, Floats], *, rng: np.random.Generator
) -> dict[str, float]:
    """How often the interval from ``LABELS`` labels covers, and how wide it is, over redrawn new data.

    The case's samples stand for the population: new data are drawn from them with replacement, labels from
    the new data without, and the interval must cover the accuracy over all samples of the case.
    """
    controls = np.column_stack([said[name] for name in CONTROLS])
    truth, found = float(correct.mean()), []
    for _ in range(DRAWS):
        drawn = rng.integers(len(correct), size=len(correct))
        index = rng.choice(len(drawn), LABELS, replace=False)
        right = correct[drawn]
        powered = powered_interval(right[index], index, controls[drawn], rng=rng)
        alone = labels_only(right[index])
        found.append([*_coverage(powered, truth), *_coverage(alone, truth)])
    keys = ("covered", "half_width", "alone_covered", "alone_half_width")
    return dict(zip(keys, np.mean(found, axis=0).tolist()))


def _coverage(interval: Interval, truth: float) -> tuple[float, float]:
    return float(interval.low <= truth <= interval.high), interval.half_width
