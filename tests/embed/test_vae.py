"""The variational autoencoder: shapes, learning, repeatability."""

from __future__ import annotations

import pytest
import torch

from wassermix.core.errors import InputError
from wassermix.embed import VAE, reconstruction_error


def blobs(n: int, side: int, channels: int = 1) -> torch.Tensor:
    """Bright discs at random places: a two-dimensional family of images."""
    places = torch.rand(n, 2, 1, 1, generator=torch.Generator().manual_seed(0)) * 0.6 + 0.2
    rows, columns = torch.linspace(0, 1, side)[:, None], torch.linspace(0, 1, side)[None, :]
    far = (rows - places[:, 0]) ** 2 + (columns - places[:, 1]) ** 2
    return torch.exp(-far / 0.02)[:, None].expand(n, channels, side, side).contiguous()


@pytest.mark.parametrize(("side", "channels"), [(28, 1), (32, 3), (64, 3), (8, 1)])
def test_decoded_images_have_the_shape_and_range_of_the_samples(side: int, channels: int) -> None:
    x = blobs(8, side, channels)
    embed = VAE(4, epochs=1, width=4).fit(x)
    assert embed.encode(x).shape == (8, 4)
    decoded = embed.reconstruct(x)
    assert decoded.shape == x.shape
    assert decoded.min() >= 0
    assert decoded.max() <= 1


def test_training_halves_the_error_of_the_mean_image_and_reports_epochs() -> None:
    x = blobs(256, 28)
    seen: list[tuple[int, int]] = []
    embed = VAE(4, epochs=12, width=8, batch_size=16, learning_rate=3e-3).fit(
        x, progress=lambda done, total: seen.append((done, total))
    )
    assert seen[-1] == (12, 12)
    assert reconstruction_error(embed, x) < 0.5 * float((x - x.mean(dim=0)).square().mean())


def test_the_same_seed_gives_the_same_weights_and_no_global_state_moves() -> None:
    x, before = blobs(32, 8), torch.random.get_rng_state()
    first, second = (VAE(2, epochs=1, width=4).fit(x).encode(x) for _ in range(2))
    assert torch.equal(first, second)
    assert not torch.equal(first, VAE(2, epochs=1, width=4, seed=1).fit(x).encode(x))
    assert torch.equal(before, torch.random.get_rng_state())


def test_decode_passes_gradients_to_the_latents() -> None:
    x = blobs(4, 8)
    embed = VAE(2, epochs=1, width=4).fit(x)
    z = embed.encode(x).requires_grad_()
    embed.decode(z).sum().backward()
    assert z.grad is not None
    assert float(z.grad.abs().sum()) > 0


def test_sides_that_cannot_be_halved_are_refused() -> None:
    with pytest.raises(InputError, match="divisible by 4"):
        VAE().fit(torch.rand(4, 1, 30, 30))


def test_a_vae_trained_on_mirrored_images_reconstructs_mirror_images_it_has_not_seen() -> None:
    half = blobs(256, 28)
    half[..., 14:] = 0.0  # discs on the left side alone
    kept = half[half.sum(dim=(1, 2, 3)) > 10]
    options = {"epochs": 12, "width": 8, "batch_size": 16, "learning_rate": 3e-3}
    plain, varied = VAE(4, **options).fit(kept), VAE(4, flip=True, **options).fit(kept)
    mirrored = kept.flip(3)
    assert reconstruction_error(varied, mirrored) < 0.5 * reconstruction_error(plain, mirrored)


def test_crop_and_flip_are_options_that_a_stored_vae_keeps() -> None:
    embed = VAE(2, epochs=1, width=4, crop=2, flip=True).fit(blobs(16, 8))
    assert (embed.options()["crop"], embed.options()["flip"]) == (2, True)
    with pytest.raises(InputError, match="crop at least 0"):
        VAE(crop=-1)
