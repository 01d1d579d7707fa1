"""Configs: every default filled in, unknown keys named with the nearest, values checked."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
import yaml

from wassermix.core.errors import InputError
from wassermix.engine.settings import LENGTHS, build_config, config_hash, dump_config, parse_value
from wassermix.recipes import load_recipe, recipe_names

DEMO = load_recipe("demo")


@pytest.mark.parametrize("name", recipe_names())
def test_every_shipped_recipe_is_valid(name: str) -> None:
    config = build_config(load_recipe(name))
    assert sum(length is not None for length in (config.epochs, config.updates, config.budget)) == 1


def test_a_resolved_config_written_and_read_again_is_the_same() -> None:
    config = build_config(DEMO, {"augment": "geodesic", "regularizer": "geodesic", "sigma": 0.25})
    again = build_config(yaml.safe_load(dump_config(config)))
    assert again == config
    assert config_hash(again) == config_hash(config)


def test_defaults_of_a_component_are_written_out() -> None:
    config = build_config(DEMO, {"augment": "geodesic"})
    assert config.augment is not None
    assert (config.augment["ratio"], config.augment["pair_size"], config.augment["entropy"]) == (
        1.0,
        64,
        0.02,
    )
    assert config.embed is not None
    assert config.embed["name"] == "pca"


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"epoch": 3}, "'epoch' is unknown; did you mean 'epochs'"),
        (
            {"augment": "geodesic", "augment.rato": 2},
            "'augment.rato' is unknown; did you mean 'augment.ratio'",
        ),
        ({"optimizer.lrr": 0.1}, "'optimizer.lrr' is unknown; did you mean 'optimizer.lr'"),
        ({"method": "gausian"}, "method 'gausian' is unknown; did you mean 'gaussian'"),
        ({"model": "lenett"}, "model 'lenett' is unknown; did you mean 'lenet'"),
        ({"epochs": 0}, "'epochs'.*greater than or equal to 1; got 0"),
        ({"epochs": "many"}, "'epochs'.*got 'many'"),
        ({"budget": "600000"}, "expected passes:N"),
        ({"schedule.drops": [30, 60]}, "shares of the training"),
        ({"method.name": 3}, "'method' has no name"),
        ({"method": "no_such_package:Method"}, "method 'no_such_package:Method' cannot be imported"),
    ],
)
def test_a_wrong_word_is_answered_with_a_sentence(overrides: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        build_config(DEMO, overrides)


def test_naming_another_component_drops_the_options_of_the_old_one() -> None:
    config = build_config({**DEMO, "method": {"name": "gaussian", "sigma": 0.7}}, {"method": "erm"})
    assert config.method["name"] == "erm"
    assert config.sigma == 0.0


def test_naming_the_same_component_keeps_its_options() -> None:
    config = build_config({**DEMO, "method": {"name": "gaussian", "sigma": 0.7}}, {"method": "gaussian"})
    assert config.sigma == 0.7


def test_none_switches_a_component_off() -> None:
    assert build_config({**DEMO, "augment": {"name": "geodesic"}}, {"augment": None}).augment is None
    assert build_config({**DEMO, "augment": {"name": "geodesic"}}, {"augment": "none"}).augment is None


def test_sigma_at_the_top_is_the_methods() -> None:
    assert build_config(DEMO, {"sigma": 0.125}).method["sigma"] == 0.125


def test_sigma_for_a_method_without_noise_is_refused() -> None:
    with pytest.raises(InputError, match=r"'method\.sigma' is unknown"):
        build_config(DEMO, {"method": "erm", "sigma": 0.5})


def test_the_hash_follows_what_matters_and_nothing_else() -> None:
    base = config_hash(build_config(DEMO))
    assert config_hash(build_config(DEMO, {"seed": 1})) != base
    assert config_hash(build_config(DEMO, {"workers": 2})) == base


@pytest.mark.parametrize(
    ("text", "value"),
    [("8/255", 8 / 255), ("3", 3), ("0.5", 0.5), ("true", True), ("null", None), ("a/b", "a/b")],
)
def test_values_of_the_command_line_are_read_as_meant(text: str, value: object) -> None:
    assert parse_value(text) == value


def test_configs_and_registries_are_known_without_torch() -> None:
    code = (
        "import sys, wassermix.engine.settings as s\n"
        "print(len(s.FAMILIES), s.FAMILIES['method'].names()[:1], 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "6 ['erm'] False"


@pytest.mark.parametrize("length", [{"epochs": 3}, {"updates": 7}, {"budget": "passes:90"}])
def test_a_length_that_is_given_replaces_the_recipes_own(length: dict[str, Any]) -> None:
    config = build_config(load_recipe("best"), length)
    given = {key: getattr(config, key) for key in LENGTHS}
    assert {key: value for key, value in given.items() if value is not None} == length


def test_two_lengths_at_once_are_refused() -> None:
    with pytest.raises(InputError, match="updates=9 and epochs=3 both say how long"):
        build_config(load_recipe("best"), {"epochs": 3, "updates": 9})


def test_an_option_counts_wherever_it_stands_beside_its_components_name() -> None:
    words = {"method.sigma": 0.77, "method": "smoothmix"}
    for given in (words, dict(reversed(words.items()))):
        assert build_config(DEMO, given).method["sigma"] == 0.77


def test_sigma_by_both_of_its_names_is_refused() -> None:
    with pytest.raises(InputError, match="one option"):
        build_config(DEMO, {"sigma": 0.1, "method.sigma": 0.9})
