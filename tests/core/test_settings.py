"""Settings: declared once, and from there to YAML, files and the identity of a protocol."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import pytest

from wassermix.core.errors import InputError
from wassermix.core.settings import (
    as_record,
    from_record,
    identity,
    options_of,
    read_number,
    setting,
    settings_from,
    spell_number,
)


@dataclass(frozen=True, kw_only=True)
class Plan:
    sigma: float = setting(help="the noise", from_run=True)
    mode: Literal["fixed", "grid"] = setting("fixed", "how to stop")
    radii: tuple[float, ...] = setting((0.0, 0.5), "radii of the table")
    backend: str = setting("eager", "what runs the model", identity=False)


def test_every_field_is_an_option_with_its_help() -> None:
    assert [(o.name, o.help) for o in options_of(Plan)][:2] == [
        ("sigma", "the noise"),
        ("mode", "how to stop"),
    ]


def test_a_section_is_checked_and_converted() -> None:
    plan = settings_from(Plan, {"sigma": "1/4", "radii": [0, 1]}, where="certify")
    assert plan == Plan(sigma=0.25, radii=(0.0, 1.0))


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"sigma": 1, "mod": "grid"}, "did you mean 'mode'"),
        ({"sigma": 1, "mode": "gird"}, "mode is 'gird'"),
        ({"mode": "grid"}, "'sigma' is missing; the noise"),
        ({"sigma": "1/0"}, "divides by zero"),
    ],
)
def test_what_is_wrong_in_a_section_is_named(values: dict[str, object], words: str) -> None:
    with pytest.raises(InputError, match=words):
        settings_from(Plan, values, where="certify")


def test_a_record_gives_the_settings_back_and_other_keys_are_passed_over() -> None:
    plan = Plan(sigma=0.5, mode="grid")
    assert from_record(Plan, {**as_record(plan), "version": "0.1", "accuracy": 1}) == plan
    assert from_record(Plan, {"sigma": 0.5}) == Plan(sigma=0.5)


def test_what_does_not_matter_to_the_number_is_no_part_of_its_identity() -> None:
    assert identity(Plan(sigma=1.0)) == identity(Plan(sigma=1.0, backend="compile"))
    assert identity(Plan(sigma=1.0)) != identity(Plan(sigma=1.0, radii=(0.0,)))
    assert {identity(Plan(sigma=1.0)): 1}


@pytest.mark.parametrize(
    ("text", "value"), [("8/255", 8 / 255), ("0.5", 0.5), (0.25, 0.25), ("1e-3", 1e-3), (" 4 / 8 ", 0.5)]
)
def test_numbers_and_fractions_are_read(text: object, value: float) -> None:
    assert read_number(text) == pytest.approx(value)


@pytest.mark.parametrize("text", ["eight", "8/", "1/0", "", "8/2/5", "nan", "nan/2"])
def test_what_is_no_number_is_an_error_that_quotes_it(text: str) -> None:
    with pytest.raises(InputError, match=r"not a number|divides by zero"):
        read_number(text)


@pytest.mark.parametrize(("value", "words"), [(8 / 255, "8/255"), (0.5, "0.5"), (1.0, "1"), (0.0, "0")])
def test_eight_bit_steps_are_spelled_as_such_and_read_back(value: float, words: str) -> None:
    assert spell_number(value) == words
    assert read_number(words) == pytest.approx(value)


@dataclass(frozen=True, kw_only=True)
class Open:
    options: dict[str, object] = setting({}, "more")


def test_a_dictionary_is_a_field_of_its_own_in_each_object() -> None:
    first, second = Open(), settings_from(Open, {"options": {"b": 1, "a": [2]}}, where="here")
    first.options["mine"] = 1
    assert Open().options == {}
    assert as_record(second) == {"options": {"b": 1, "a": [2]}}
    assert identity(second) == (("options", (("a", (2,)), ("b", 1))),)
