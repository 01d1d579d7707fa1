"""Embeddings survive the disk, and are fitted on a split."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from wassermix.core.errors import InputError
from wassermix.embed import (
    EMBEDDINGS,
    PCA,
    VAE,
    Embedding,
    EncoderDecoder,
    Standard,
    encode_rows,
    fit_cached,
    fit_rows,
    load_embedding,
    save_embedding,
)


class Rows:
    """Samples by index that count how many were read."""

    def __init__(self, x: torch.Tensor) -> None:
        self.x, self.read = x, 0

    def __len__(self) -> int:
        return len(self.x)

    def get(self, indices: torch.Tensor, /) -> torch.Tensor:
        self.read += len(indices)
        return self.x[indices]


def small(name: str) -> Embedding:
    return VAE(3, epochs=1, width=4) if name == "vae" else EMBEDDINGS.find(name)()


@pytest.mark.parametrize("name", list(EMBEDDINGS.shipped))
def test_every_embedding_comes_back_from_the_disk(name: str, tmp_path: Path) -> None:
    x = torch.rand(20, 1, 8, 8)
    embed = small(name).fit(x)
    save_embedding(embed, tmp_path / "embedding.safetensors")
    back = load_embedding(tmp_path / "embedding.safetensors")
    assert type(back) is type(embed)
    assert back.options() == embed.options()
    assert torch.equal(back.encode(x), embed.encode(x))
    assert torch.equal(back.reconstruct(x), embed.reconstruct(x))


def test_an_embedding_of_the_users_own_is_loaded_into_their_object(tmp_path: Path) -> None:
    def build() -> EncoderDecoder:
        return EncoderDecoder(torch.nn.Linear(4, 2), torch.nn.Linear(2, 4))

    embed, x = build().fit(torch.rand(3, 4)), torch.rand(3, 4)
    embed.save(tmp_path / "own.safetensors")
    with pytest.raises(InputError, match="embed="):
        load_embedding(tmp_path / "own.safetensors")
    back = load_embedding(tmp_path / "own.safetensors", embed=build())
    assert torch.equal(back.encode(x), embed.encode(x))


def test_a_broken_file_is_an_input_error(tmp_path: Path) -> None:
    (tmp_path / "x.safetensors").write_bytes(b"not this")
    for name in ("x.safetensors", "missing.safetensors"):
        with pytest.raises(InputError, match="cannot be read"):
            load_embedding(tmp_path / name)


def test_fitting_reads_no_more_than_the_limit() -> None:
    rows = Rows(torch.rand(100, 5))
    fit_rows(PCA(2), rows, limit=30)
    assert rows.read == 30


def test_an_embedding_that_is_slow_to_fit_sees_all_samples(tmp_path: Path) -> None:
    rows = Rows(torch.rand(25_000, 3))
    assert torch.equal(
        fit_cached(Standard(), rows, cache=tmp_path).encode(rows.x), Standard().fit(rows.x).encode(rows.x)
    )


def test_all_rows_are_encoded_in_order() -> None:
    rows = Rows(torch.rand(50, 5))
    embed = PCA(2).fit(rows.x)
    assert torch.allclose(encode_rows(embed, rows, batch_size=7), embed.encode(rows.x), atol=1e-6)


def test_the_cache_answers_for_the_same_data_and_settings_only(tmp_path: Path) -> None:
    rows = Rows(torch.rand(40, 6))
    first = fit_cached(PCA(2), rows, cache=tmp_path)
    again = fit_cached(PCA(2), rows, cache=tmp_path)
    assert torch.equal(first.encode(rows.x), again.encode(rows.x))
    assert len(list(tmp_path.iterdir())) == 1
    fit_cached(PCA(3), rows, cache=tmp_path)
    fit_cached(PCA(2), Rows(rows.x + 1e-3), cache=tmp_path)
    assert len(list(tmp_path.iterdir())) == 3
