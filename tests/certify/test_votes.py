"""Noise votes: what runs the model may not change what it says."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from wassermix.certify import votes
from wassermix.certify.noise import NoiseKey, gaussian
from wassermix.certify.settings import CertifySettings
from wassermix.certify.votes import NoiseBlock, compiler_exists, resolve_backend, voting
from wassermix.core.errors import InputError


@pytest.fixture(scope="module")
def network() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(1, 20, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(20, 50, 5), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(800, 10),
    )  # fmt: skip


def blocks(count: int) -> list[NoiseBlock]:
    x = torch.rand(count, 1, 28, 28, generator=torch.Generator().manual_seed(0))
    return [NoiseBlock(x[i], i, "count", 7) for i in range(count)]


def test_a_blocks_votes_do_not_depend_on_its_neighbours(network: nn.Module) -> None:
    with voting(network, (1, 28, 28), CertifySettings(sigma=0.5, sampler="gaussian", batch_size=512)) as vote:
        together = vote(blocks(4))
        alone = np.concatenate([vote([block]) for block in blocks(4)])
        turned = vote(blocks(4)[::-1])[::-1]
    assert np.array_equal(together, alone)
    assert np.array_equal(together, turned)


def test_channels_last_votes_as_the_plain_model_does(network: nn.Module) -> None:
    with voting(network, (1, 28, 28), CertifySettings(sigma=0.5, sampler="gaussian")) as vote:
        fast = np.concatenate([vote([block]) for block in blocks(16)])
    plain = []
    for block in blocks(16):
        noise = gaussian(NoiseKey(0, "count", block.index, 7), torch.empty(128, 1, 28, 28))
        with torch.no_grad():
            plain.append(network((block.x + 0.5 * noise).contiguous()).argmax(dim=1))
    assert np.mean(fast == torch.stack(plain).numpy()) >= 0.9999


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch.compile uses what torch itself deprecates
@pytest.mark.skipif(not compiler_exists(), reason="torch.compile needs a C++ compiler")
def test_a_compiled_model_votes_as_the_plain_one_does() -> None:
    torch.manual_seed(0)
    network = nn.Sequential(nn.Conv2d(1, 8, 5, stride=3), nn.ReLU(), nn.Flatten(), nn.Linear(512, 10))
    for _ in range(2):  # the second time with other weights, which must not be missed
        said = {}
        for backend in ("eager", "compile"):
            with voting(
                network, (1, 28, 28), CertifySettings(sigma=0.5, sampler="gaussian", backend=backend)
            ) as vote:
                said[backend] = np.concatenate([vote([block]) for block in blocks(16)])
        assert np.mean(said["eager"] == said["compile"]) >= 0.9995  # one draw in 2,048 may lie at a tie
        network[0].weight.data.mul_(-1)


def test_without_a_compiler_auto_is_eager_and_compile_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(votes.shutil, "which", lambda name: None)
    assert resolve_backend("auto") == "eager"
    with pytest.raises(InputError, match="compiler"):
        resolve_backend("compile")
