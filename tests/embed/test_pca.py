"""Principal components against scikit-learn, and their laws."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.decomposition import PCA as SklearnPCA

from wassermix.core.errors import InputError
from wassermix.embed import PCA, VAE, Embedding, reconstruction_error
from wassermix.embed.pca import DENSE_LIMIT


def low_rank(n: int, shape: tuple[int, ...], rank: int, seed: int = 0) -> torch.Tensor:
    rng = np.random.default_rng(seed)
    strength = 1.5 ** -np.arange(rank)
    flat = (rng.normal(size=(n, rank)) * strength) @ rng.normal(size=(rank, int(np.prod(shape))))
    return torch.tensor(flat, dtype=torch.float32).reshape(n, *shape)


@pytest.mark.parametrize("width", [20, DENSE_LIMIT + 100])
def test_agrees_with_scikit_learn_below_and_above_the_dense_limit(width: int) -> None:
    x = low_rank(80, (width,), 12)
    ours = PCA(5).fit(x)
    theirs = SklearnPCA(5, svd_solver="full").fit(x.numpy())
    cosines = (ours.components * torch.tensor(theirs.components_)).sum(dim=1).abs()
    assert torch.allclose(cosines, torch.ones(5), atol=1e-3)
    expected = theirs.inverse_transform(theirs.transform(x.numpy()))
    assert torch.allclose(ours.reconstruct(x), torch.tensor(expected, dtype=torch.float32), atol=1e-3)


def test_whitened_latents_have_unit_variance_and_decode_alike() -> None:
    x = low_rank(200, (30,), 10)
    plain, white = PCA(6).fit(x), PCA(6, whiten=True).fit(x)
    assert torch.allclose(white.encode(x).var(dim=0, correction=0), torch.ones(6), atol=1e-3)
    assert torch.allclose(plain.reconstruct(x), white.reconstruct(x), atol=1e-4)


def test_images_are_clipped_to_their_range_and_vectors_are_not() -> None:
    images = torch.rand(50, 1, 6, 6, generator=torch.Generator().manual_seed(0)).round()
    decoded = PCA(3).fit(images).reconstruct(images)
    assert decoded.min() >= 0
    assert decoded.max() <= 1
    vectors = images.reshape(50, 36) * 5
    assert PCA(3).fit(vectors).reconstruct(vectors).min() < 0


def test_more_components_than_the_data_carry_reconstruct_exactly() -> None:
    x = low_rank(10, (8,), 8)
    assert reconstruction_error(PCA(64).fit(x), x) < 1e-10


def test_decode_is_differentiable() -> None:
    x = low_rank(30, (8,), 8)
    embed = PCA(4).fit(x)
    z = embed.encode(x).requires_grad_()
    embed.decode(z).sum().backward()
    assert z.grad is not None
    assert torch.allclose(z.grad, embed.components.sum(dim=1).expand(30, 4), atol=1e-5)


def test_fit_does_not_touch_the_global_random_state() -> None:
    before = torch.random.get_rng_state()
    PCA(5).fit(low_rank(40, (DENSE_LIMIT + 1,), 8))
    assert torch.equal(before, torch.random.get_rng_state())


@pytest.mark.parametrize("bad", [torch.zeros(0, 4), torch.full((3, 4), torch.nan), torch.ones(3, 4).long()])
def test_bad_samples_are_refused_with_a_sentence(bad: torch.Tensor) -> None:
    with pytest.raises(InputError, match="fitted on"):
        PCA(2).fit(bad)


def test_use_before_fit_is_refused() -> None:
    with pytest.raises(InputError, match="not fitted"):
        PCA(2).encode(torch.zeros(1, 3))


@pytest.mark.parametrize("embed", [PCA(2), VAE(2, epochs=1, width=2)], ids=["pca", "vae"])
def test_standardised_images_are_refused_for_they_would_be_clipped(embed: Embedding) -> None:
    x = torch.randn(8, 1, 8, 8, generator=torch.Generator().manual_seed(0))
    with pytest.raises(InputError, match=r"the scale \[0, 1\]"):
        embed.fit(x)
    PCA(2).fit(x.flatten(1))  # vectors have no scale


@pytest.mark.parametrize("unit", [1e-20, 1e18])
def test_components_do_not_depend_on_the_unit(unit: float) -> None:
    x = low_rank(60, (20,), 8)
    plain, scaled = PCA(4, whiten=True).fit(x), PCA(4, whiten=True).fit(unit * x)
    torch.testing.assert_close(scaled.components, plain.components, atol=1e-4, rtol=1e-3)
    torch.testing.assert_close(scaled.encode(unit * x), plain.encode(x), atol=1e-3, rtol=1e-3)
