"""Normalisation as a layer: right, free when there is nothing to do, and stored with the weights."""

from __future__ import annotations

import pytest
import torch

from wassermix.core.errors import InputError
from wassermix.models import Normalize, build_model


@pytest.mark.parametrize("shape", [(3, 4, 5), (3,)])
def test_each_channel_is_shifted_and_scaled(shape):
    x = torch.rand(6, *shape, generator=torch.Generator().manual_seed(0))
    got = Normalize(shape, (0.1, 0.2, 0.3), (1.0, 2.0, 4.0))(x)
    for channel, (mean, std) in enumerate([(0.1, 1.0), (0.2, 2.0), (0.3, 4.0)]):
        assert torch.allclose(got[:, channel], (x[:, channel] - mean) / std)


def test_nothing_to_do_costs_nothing():
    x = torch.rand(2, 1, 3, 3)
    assert Normalize((1, 3, 3))(x) is x


def test_the_values_travel_with_the_weights():
    taught = build_model("mlp", shape=(2,), num_classes=2, mean=(1.0, 2.0), std=(3.0, 4.0))
    fresh = build_model("mlp", shape=(2,), num_classes=2, seed=1)
    fresh.load_state_dict(taught.state_dict())
    x = torch.rand(5, 2)
    assert torch.equal(fresh(x), taught(x))
    taught.load_state_dict(build_model("mlp", shape=(2,), num_classes=2).state_dict())
    assert taught.get_submodule("normalize")(x) is x


@pytest.mark.parametrize(("mean", "std"), [((0.0, 0.0), (1.0,)), ((0.0,), (0.0,)), ((float("nan"),), (1.0,))])
def test_values_that_cannot_be_meant_are_refused(mean, std):
    with pytest.raises(InputError):
        Normalize((3, 4, 4), mean, std)
