"""The embeddings that keep every coordinate."""

from __future__ import annotations

import torch

from wassermix.embed import EncoderDecoder, Pixel, Standard


def test_pixel_is_the_identity_in_any_memory_layout() -> None:
    x = torch.rand(4, 3, 5, 5).contiguous(memory_format=torch.channels_last)
    assert torch.equal(Pixel().fit(x).reconstruct(x), x)


def test_standard_columns_have_mean_zero_and_variance_one_and_come_back() -> None:
    x = torch.randn(100, 4) * torch.tensor([1.0, 100.0, 0.01, 0.0]) + 7
    embed = Standard().fit(x)
    z = embed.encode(x)
    assert torch.allclose(z.mean(dim=0), torch.zeros(4), atol=1e-3)
    assert torch.allclose(z[:, :3].var(dim=0, correction=0), torch.ones(3), atol=1e-3)
    assert torch.allclose(embed.decode(z), x, atol=1e-4)


def test_a_pair_of_the_users_own_is_used_as_it_is() -> None:
    layer = torch.nn.Linear(6, 2)
    embed = EncoderDecoder(layer, lambda z: torch.cat([z, z, z], dim=1)).fit(torch.rand(5, 2, 3))
    x = torch.rand(5, 2, 3)
    assert embed.encode(x.reshape(5, 6)).shape == (5, 2)
    assert embed.decode(torch.rand(5, 2)).shape == (5, 2, 3)
    assert not layer.training
