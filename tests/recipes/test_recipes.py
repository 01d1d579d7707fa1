"""Every shipped recipe is a whole, valid run, and costs what its table says."""

from __future__ import annotations

import inspect

import pytest

from wassermix.augment import AUGMENTERS
from wassermix.core.errors import InputError
from wassermix.engine.settings import build_config
from wassermix.experiments import load_table
from wassermix.methods import METHODS, compatible
from wassermix.recipes import load_recipe, recipe_names, recipe_passes

PLAIN = ["best", "cifar10", "cifar100", "demo", "mnist", "tiny-imagenet", "vectors"]
PRESETS = [name for name in recipe_names() if "/" in name]


def parts(recipe: dict) -> tuple[object, object | None]:
    options = dict(recipe["method"])
    method = METHODS.find(options.pop("name"))(**options)
    if recipe.get("augment") is None:
        return method, None
    options = dict(recipe["augment"])
    factory = AUGMENTERS.find(options.pop("name"))
    return method, factory(num_classes=10, **options)


def test_the_plain_recipes_are_there() -> None:
    assert [name for name in recipe_names() if "/" not in name] == PLAIN


@pytest.mark.parametrize("name", recipe_names())
def test_a_recipe_is_a_valid_run(name: str) -> None:
    config = build_config(load_recipe(name))
    assert config.budget is not None or config.epochs is not None


@pytest.mark.parametrize("name", recipe_names())
def test_a_recipe_builds_parts_that_go_together(name: str) -> None:
    assert compatible(*parts(load_recipe(name))) is None


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_costs_what_its_table_says(name: str) -> None:
    method, augment = parts(load_recipe(name))
    new = getattr(augment, "ratio", 1.0) if augment is not None else 0.0
    trained = 1 + new if getattr(augment, "adds", False) else 1
    cost = method.passes * trained + (augment.passes * new if augment is not None else 0)
    assert recipe_passes(name) == pytest.approx(cost, abs=0.05)


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_is_named_after_its_sigma_where_it_has_one(name: str) -> None:
    method = load_recipe(name)["method"]
    takes_sigma = "sigma" in inspect.signature(METHODS.find(method["name"])).parameters
    assert takes_sigma == ("sigma" in method)
    if takes_sigma:
        assert name.endswith(f"-{method['sigma']}")


@pytest.mark.parametrize("name", [one for one in PRESETS if one.startswith("mnist/reduced/")])
def test_a_reduced_preset_takes_at_most_eight_passes(name: str) -> None:
    assert recipe_passes(name) <= 8


@pytest.mark.parametrize(("sigma", "weight"), [("0.25", 0.5), ("0.5", 1.0), ("1.0", 2.0)])
def test_catrs_is_taught_by_the_average_that_its_preset_keeps(sigma: str, weight: float) -> None:
    literature, reduced = (load_recipe(f"mnist/{scale}catrs-{sigma}") for scale in ("", "reduced/"))
    settings = {"eps": 1.0, "weight": weight, "teacher": "average", "sigma": float(sigma), "name": "catrs"}
    assert literature["method"] == {**settings, "noises": 4, "steps": 4, "draws": 8}
    assert reduced["method"] == {**settings, "noises": 2, "steps": 1, "draws": 4}
    assert literature["average"] == reduced["average"] == 0.999
    assert recipe_passes(f"mnist/catrs-{sigma}") == pytest.approx(4 * (4 + 2) + 8 / 3, abs=0.01)
    assert recipe_passes(f"mnist/reduced/catrs-{sigma}") == pytest.approx(2 * (1 + 2) + 4 / 3, abs=0.01)


def test_a_preset_has_the_settings_of_the_literature() -> None:
    method = load_recipe("mnist/smoothmix-0.5")["method"]
    assert method == {
        "name": "smoothmix",
        "sigma": 0.5,
        "noises": 4,
        "steps": 4,
        "step_size": 1.0,
        "weight": 5.0,
        "warm_up": 0.111,
    }
    assert load_recipe("cifar100/mixup")["method"] == {"name": "erm", "criterion": "bce"}
    assert load_recipe("cifar10/smoothadv-1.0")["method"]["eps"] == 2.0


PAPER = [name for name in PRESETS if "/paper/" in name]


@pytest.mark.parametrize("name", PAPER)
def test_a_preset_of_the_paper_has_the_papers_own_settings(name: str) -> None:
    config = build_config(load_recipe(name))
    assert config.embed is not None
    assert config.embed["name"] == "vae"
    if config.augment is not None:
        told = {key: config.augment[key] for key in ("score", "t_max", "pairing", "choice")}
        assert told == {"score": "ce", "t_max": 1.0, "pairing": "entropic", "choice": "worst"}
        assert config.augment["ratio"] == (2.0 if name.startswith("mnist") and "geodesic" in name else 1.0)
    if config.regularizer is not None:
        assert (config.regularizer["weight"], config.regularizer["score"]) == (5.0, "ce")
    assert ("smooth" in name or "ours" in name) == (config.regularizer is not None)


ROWS = {
    "mnist/reduced/paper/erm+ours": ("paper-table-1", "erm + ours"),
    "tiny-imagenet/reduced/paper/ours": ("paper-table-2", "ours"),
    "cifar100/reduced/paper/ours": ("paper-table-3", "ours"),
    "cifar10/reduced/paper/geodesic-0.5": ("paper-table-4", "ours at 0.5"),
    "mnist/reduced/paper/geodesic-0.5": ("paper-table-5", "ours at 0.5"),
}
"""The row of a table that each preset of the paper trains."""


@pytest.mark.parametrize("name", ROWS)
def test_a_preset_of_the_paper_trains_as_its_table_says(name: str) -> None:
    table, row = ROWS[name]
    asked, own = load_table(table).config(row, 0), build_config(load_recipe(name))
    for part in ("model", "method", "augment", "regularizer", "optimizer", "schedule", "batch_size"):
        assert getattr(own, part) == getattr(asked, part), part
    fitted = {**own.embed, "epochs": asked.embed["epochs"]}  # a table may fit its embedding for longer
    assert fitted == asked.embed


def test_the_paper_has_a_preset_for_each_noise_with_and_without_the_regulariser() -> None:
    full = {name for name in PAPER if name.startswith("mnist/paper/")}
    methods = ("geodesic", "geodesic+smooth")
    assert {f"mnist/paper/{one}-{sigma}" for one in methods for sigma in ("0.25", "0.5", "1.0")} <= full


def test_a_loaded_recipe_is_the_callers_own() -> None:
    load_recipe("demo")["method"]["sigma"] = 9.0
    load_recipe("mnist/erm")["data"]["name"] = "other"
    assert load_recipe("demo")["method"]["sigma"] == 0.5
    assert load_recipe("mnist/erm")["data"]["name"] == "mnist"


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(InputError, match=r"mnist/smoothmix-0\.5"):
        load_recipe("mnist/smothmix-0.5")
