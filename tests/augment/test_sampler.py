"""Augmentation once, for numpy users and to a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.datasets import load_wine

from wassermix.augment import GeodesicAugmenter, GeodesicSampler, augment_to_file
from wassermix.core.errors import InputError
from wassermix.embed import Standard


def wine() -> tuple[np.ndarray, np.ndarray]:
    table, kinds = load_wine(return_X_y=True)
    return table, np.array(["barolo", "grignolino", "barbera"])[kinds]


def test_the_given_rows_come_first_and_new_ones_follow() -> None:
    table, kinds = wine()
    x, y = GeodesicSampler(ratio=0.5).fit_resample(table, kinds)
    assert np.array_equal(x[: len(table)], table)
    assert np.array_equal(y[: len(table)], kinds)
    assert x.shape == (len(table) + 89, 13)
    assert x.dtype == table.dtype
    assert set(y) == set(kinds)


def test_new_rows_stay_inside_the_range_of_every_column() -> None:
    table, kinds = wine()
    x, _ = GeodesicSampler().fit_resample(table, kinds)
    assert (x.min(axis=0) >= table.min(axis=0) - 1e-3 * np.abs(table).max(axis=0)).all()
    assert (x.max(axis=0) <= table.max(axis=0) + 1e-3 * np.abs(table).max(axis=0)).all()


def test_balance_fills_every_class_up_to_the_largest() -> None:
    table, kinds = wine()
    _, y = GeodesicSampler(balance=True).fit_resample(table, kinds)
    assert set(np.unique(y, return_counts=True)[1]) == {71}


def test_soft_labels_have_a_column_for_each_class() -> None:
    table, kinds = wine()
    sampler = GeodesicSampler(labels="mix")
    _, y = sampler.fit_resample(table, kinds)
    assert y.shape == (2 * len(table), 3)
    assert np.allclose(y.sum(axis=1), 1)
    assert np.array_equal(sampler.classes_[y[: len(table)].argmax(axis=1)], kinds)


def test_the_pairing_decides_where_new_rows_lie() -> None:
    table, kinds = wine()
    exact, random, blurred, more_blurred = (
        GeodesicSampler(**options).fit_resample(table, kinds)[0][len(table) :]  # type: ignore[arg-type]
        for options in (
            {},
            {"pairing": "random"},
            {"pairing": "entropic"},
            {"pairing": "entropic", "entropy": 1.0},
        )
    )
    assert exact.std(axis=0).mean() > random.std(axis=0).mean()  # random ways cross the middle
    assert blurred.std(axis=0).mean() > more_blurred.std(axis=0).mean()


def test_the_seed_decides_alone() -> None:
    table, kinds = wine()
    first, second, other = (GeodesicSampler(seed=s).fit_resample(table, kinds)[0] for s in (0, 0, 1))
    assert np.array_equal(first, second)
    assert not np.array_equal(first, other)


def test_rows_without_labels_and_one_class_are_refused() -> None:
    table, kinds = wine()
    with pytest.raises(InputError, match="one class per row"):
        GeodesicSampler().fit_resample(table, kinds[:-1])
    with pytest.raises(InputError, match="at least two"):
        GeodesicSampler().fit_resample(table, np.zeros(len(table)))
    with pytest.raises(InputError, match="no rows"):
        GeodesicSampler().fit_resample(np.zeros((0, 3)), np.zeros(0))


def test_a_file_for_other_trainers_is_written_once(tmp_path: Path) -> None:
    class Rows:
        x, y = torch.randn(30, 4, generator=torch.Generator().manual_seed(0)), torch.arange(30) % 3

        def __len__(self) -> int:
            return 30

        def get(self, indices: torch.Tensor, /) -> torch.Tensor:
            return self.x[indices]

    augment = GeodesicAugmenter(3, Standard().fit(Rows.x), choice="random")
    augment_to_file(augment, Rows(), tmp_path / "new.npz")
    with np.load(tmp_path / "new.npz") as file:
        assert file["x"].shape == (30, 4)
        assert np.allclose(file["y"].sum(axis=1), 1)
    with pytest.raises(InputError, match="exists"):
        augment_to_file(augment, Rows(), tmp_path / "new.npz")


def test_a_large_offset_costs_no_digits() -> None:
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 20)
    x = rng.normal(size=(40, 2)) * 50 + 1.7e9  # seconds since 1970
    new, _ = GeodesicSampler(ratio=1.0).fit_resample(x, y)
    assert len(np.unique(new[40:, 0])) == len(new) - 40


def test_words_among_the_numbers_are_refused() -> None:
    with pytest.raises(InputError, match="encode them first"):
        GeodesicSampler().fit_resample(np.array([["a", 1.0], ["b", 2.0]], dtype=object), [0, 1])
