"""Two attacks that differ in step or start stand under heads of their own, also in early records."""

from __future__ import annotations

import json
from pathlib import Path

import torch

from wassermix.attacks import AttackSettings, make_attack
from wassermix.attacks.result import AttackResult
from wassermix.experiments import table_page
from wassermix.experiments.measured import _attacked
from wassermix.experiments.page import attack_head

RESULTS = Path(__file__).parents[2] / "results"


def measured(settings: AttackSettings) -> dict[str, object]:
    """What a table keeps of an attack with these settings."""
    attack, flags = make_attack(settings), torch.tensor([1, 0]).bool()
    result = AttackResult(
        parameters=attack.parameters(), title=attack.title, identity_keys=attack.identity_keys,
        index=torch.arange(2), label=torch.zeros(2), clean_correct=flags, robust_correct=flags,
    )  # fmt: skip
    return _attacked(result)


def test_a_table_keeps_step_and_start_and_its_heads_show_them() -> None:
    usual = AttackSettings(norm="l2", eps=2.0, steps=4)
    paper = AttackSettings(norm="l2", eps=2.0, steps=4, step_size=1.0, random_start=False)
    assert measured(paper)["step_size"] == 1.0
    assert measured(paper)["random_start"] is False
    assert attack_head(measured(usual)) == "pgd, l2, eps 2, steps 4, restarts 1"
    assert attack_head(measured(paper)) == "pgd, l2, eps 2, steps 4, restarts 1, step 1, from x"


def test_attacks_that_have_one_way_to_walk_say_nothing_about_it() -> None:
    fast = measured(AttackSettings(attack="fgsm", eps=0.1))
    smoothed = measured(AttackSettings(attack="smoothed", norm="l2", eps=0.5, sigma=0.25))
    assert not any(word in attack_head(one) for one in (fast, smoothed) for word in ("step ", "from x"))


def test_a_record_without_step_and_start_is_headed_by_what_its_table_asked_for() -> None:
    record = json.loads((RESULTS / "paper-table-1.json").read_text())
    for row in record["results"].values():
        for attack in row["attacks"]:
            attack.pop("step_size", None)
            attack.pop("random_start", None)
    heads = next(line for line in table_page(record).splitlines() if line.startswith("| row"))
    assert "| pgd, l2, eps 2, steps 4, restarts 1, step 1, from x |" in heads
    assert "| pgd, l2, eps 2, steps 50, restarts 2 |" in heads


def test_a_record_of_which_not_even_the_plan_is_kept_still_makes_a_page() -> None:
    record = json.loads((RESULTS / "paper-table-1.json").read_text())
    del record["attacks"]
    assert "| pgd, l2, eps 2, steps 4, restarts 1" in table_page(record)
