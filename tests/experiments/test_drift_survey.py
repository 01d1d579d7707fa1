"""The survey: kinds are cut in two before anything is seen, and its sums are right."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from wassermix.experiments.drift.cases import SEEDS, SETTLING, SIZES, Case, cases_of, make_case, net_of
from wassermix.experiments.drift.judge import NAMES, judged_cases
from wassermix.experiments.drift.looks import make_looks, read_looks
from wassermix.experiments.drift.summary import settled_factor, summarised


def row(kind: str, *, truth: float, ours: float, cot: float, data: str = "a", **more: Any) -> dict[str, Any]:
    estimates = {"joint": ours, "cot": cot, "source": 0.9}
    case = Case(kind, 1)
    return {
        "data": data, "net": "plain", "seed": 0, "source": 0.9, "kind": kind, "strength": 1,
        "settles": case.settles, "label_shift": case.label_shift, "truth": truth, "estimates": estimates,
        "seconds": dict.fromkeys(estimates, 0.01), "spread": 0.01, "disagreement": 0.0,
        "p_values": {"input": [0.5, 0.6], "feature": [0.01, 0.02]}, "labels": None, **more,
    }  # fmt: skip


ROWS = [
    row("none", truth=0.9, ours=0.9, cot=0.85),
    row("fog", truth=0.5, ours=0.52, cot=0.6),
    row("snow", truth=0.8, ours=0.77, cot=0.7),
    row("one-class", truth=0.9, ours=0.85, cot=0.6),
    row("jpeg", truth=0.7, ours=0.7, cot=0.7),
    row("few-classes", truth=0.9, ours=0.8, cot=0.6),
]


def test_at_least_forty_kinds_and_strengths_half_of_which_settle() -> None:
    cases = set(cases_of("mnist", (1, 28, 28))) | set(cases_of("wine", (13,)))
    kinds = {case.kind for case in cases if case.kind not in ("none", "other-digits")}
    assert len(cases) >= 40
    assert abs(len(kinds & SETTLING) - len(kinds) / 2) <= 1
    assert {"few-classes"} == {case.kind for case in cases if case.label_shift and case.settles}


def test_every_data_set_has_each_net_once() -> None:
    for data in SIZES:
        assert {net_of(data, seed) for seed in SEEDS} == {"plain", "noise", "adversarial"}


def test_a_case_is_the_same_for_the_same_seed() -> None:
    x, y = torch.rand(50, 4), torch.arange(50) % 3
    for case in (Case("gain", 2), Case("one-class", 3), Case("none", 1)):
        first, second = (make_case(case, x, y, count=20, seed=1) for _ in range(2))
        assert first[0].equal(second[0])
        assert len(first[0]) == len(first[1]) <= 20


def test_errors_ratios_and_alarms_are_what_the_rows_say() -> None:
    found = summarised(ROWS)
    plain = found["judged"]["plain"]
    assert plain["estimators"]["joint"]["mean"] == pytest.approx((0 + 0.02 + 0.03) / 3)
    assert plain["ratio"]["cot"]["ratio"] == pytest.approx(0.05 / 0.25)
    assert plain["ratio"]["cot"]["low"] <= 0.2 <= plain["ratio"]["cot"]["high"]
    assert found["judged"]["label_shift"]["estimators"]["cot"]["bias"] == pytest.approx(-0.3)
    assert (
        plain["estimators"]["joint"]["auc"] == 1
    )  # only fog loses more than ten points, and is ranked first
    assert found["false_alarms"]["tests"] == {"input": 0.0, "feature": 1.0}
    assert found["false_alarms"]["deals"] == 2
    assert found["false_alarms"]["monitors"] == 0


def test_the_factor_covers_the_kinds_that_settle_it() -> None:
    settling = [one for one in ROWS if one["settles"]]
    assert settled_factor(settling) == pytest.approx(
        np.quantile([0.0, 0.1 / np.sqrt(0.01**2 + 0.005**2)], 0.95)
    )


def test_a_small_data_set_goes_through_the_whole_survey(tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    make_looks("wine", 0, tmp_path)
    looks = read_looks("wine", 0, tmp_path)
    rows = judged_cases(looks)
    assert len(rows) == len(cases_of("wine", (13,)))
    assert {tuple(one["estimates"]) for one in rows} == {NAMES}
    assert all(0 <= value <= 1 for one in rows for value in one["estimates"].values())
