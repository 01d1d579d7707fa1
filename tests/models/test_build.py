"""Building models: seeds, options, and factories of the user's own."""

from __future__ import annotations

import sys

import pytest
import torch

from wassermix.core.errors import InputError
from wassermix.models import build_model

OWN = """
from torch import nn

def by_keywords(*, shape, num_classes, width=3):
    return nn.Sequential(nn.Flatten(), nn.Linear(shape[0], width), nn.Linear(width, num_classes))

def by_count(classes):
    return nn.Linear(4, classes)

def by_nothing():
    return nn.Linear(4, 3)

class Net(nn.Linear):
    def __init__(self, num_classes, mean=None):
        super().__init__(4, num_classes)
        self.given = mean

def any_options(**options):
    return nn.Linear(options["shape"][0], options["num_classes"])

def wants_more(shape, num_classes, secret): ...
def fails(num_classes): raise RuntimeError("no luck")
def returns_text(): return "text"
number = 3
"""


@pytest.fixture
def own(tmp_path, monkeypatch):
    (tmp_path / "own_models.py").write_text(OWN)
    (tmp_path / "broken_models.py").write_text("import nothing_of_this_name")
    monkeypatch.chdir(tmp_path)
    yield
    sys.modules.pop("own_models", None)


def make(name, **options):
    return build_model(name, shape=(4,), num_classes=3, **options)


def weights(model):
    return torch.cat([parameter.flatten() for parameter in model.parameters()])


def test_the_seed_fixes_the_weights_and_the_global_stream_is_left_alone():
    state = torch.random.get_rng_state()
    first, again, other = (make("mlp", seed=seed) for seed in (0, 0, 1))
    assert torch.equal(torch.random.get_rng_state(), state)
    assert torch.equal(weights(first), weights(again))
    assert not torch.equal(weights(first), weights(other))


def test_an_unknown_name_or_option_gets_the_nearest_one():
    with pytest.raises(InputError, match="did you mean 'lenet'"):
        make("leenet")
    with pytest.raises(InputError, match="did you mean 'hidden'"):
        make("mlp", hiden=(3,))
    with pytest.raises(InputError, match="takes no option 'width'; it takes none"):
        build_model("lenet", shape=(1, 28, 28), num_classes=10, width=3)


@pytest.mark.parametrize("name", ["by_keywords", "by_count", "by_nothing", "Net", "any_options"])
def test_a_factory_of_the_users_own_is_called_as_it_wants(own, name):
    model = make(f"own_models:{name}", mean=(0.5,))
    assert model(torch.zeros(2, 4)).shape == (2, 3)
    if name == "Net":
        assert model.given == (0.5,)


def test_options_reach_the_users_factory(own):
    assert make("own_models:by_keywords", width=7)[1].out_features == 7
    with pytest.raises(InputError, match="takes no option 'depth'"):
        make("own_models:by_keywords", depth=7)


def test_the_users_weights_follow_the_seed_too(own):
    first, again, other = (make("own_models:by_nothing", seed=seed) for seed in (0, 0, 1))
    assert torch.equal(weights(first), weights(again))
    assert not torch.equal(weights(first), weights(other))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("own_models:absent", "cannot be imported: AttributeError"),
        ("no_such_module_here:net", "cannot be imported: ModuleNotFoundError"),
        ("broken_models:net", "nothing_of_this_name"),
        ("own_models:number", "is a int; expected a class or function"),
        ("own_models:wants_more", "wants the arguments secret"),
        ("own_models:fails", "failed to build: RuntimeError: no luck"),
        ("own_models:returns_text", r"returned a str; expected a torch.nn.Module"),
    ],
)
def test_a_factory_that_is_of_no_use_is_told_as_a_sentence(own, name, message):
    with pytest.raises(InputError, match=message):
        make(name)
