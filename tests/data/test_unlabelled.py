"""New data in every format; what does not fit the model is a sentence."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from wassermix.core.errors import InputError
from wassermix.data.unlabelled import load_unlabelled


def saved(path: Path, **arrays: np.ndarray) -> Path:
    np.savez(path, **arrays)
    return path


def test_an_archive_needs_no_labels_and_keeps_those_it_has(tmp_path: Path) -> None:
    x = np.random.default_rng(0).random((6, 3)).astype(np.float32)
    assert load_unlabelled(saved(tmp_path / "a.npz", x=x), shape=(3,)).labels is None
    with_labels = load_unlabelled(saved(tmp_path / "b.npz", x_test=x, y_test=np.arange(6)), shape=(3,))
    assert with_labels.labels is not None
    assert with_labels.labels.tolist() == list(range(6))


def test_images_come_in_any_order_of_channels(tmp_path: Path) -> None:
    x = np.random.default_rng(0).integers(0, 256, (5, 3, 8, 8), dtype=np.uint8)
    first = load_unlabelled(saved(tmp_path / "a.npz", x=x), shape=(3, 8, 8)).samples
    last = load_unlabelled(saved(tmp_path / "b.npz", x=x.transpose(0, 2, 3, 1)), shape=(3, 8, 8)).samples
    assert first.x.equal(last.x)


def test_a_table_may_have_a_label_column(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b,label\n1,2,0\n3,4,1\n")
    found = load_unlabelled(tmp_path / "t.csv", shape=(2,))
    assert found.columns == ("a", "b")
    assert found.samples.x.tolist() == [[1, 2], [3, 4]]
    (tmp_path / "u.csv").write_text("a,b\n1,2\n3,4\n")
    assert load_unlabelled(tmp_path / "u.csv", shape=(2,)).labels is None


def test_columns_are_found_by_name_in_any_order(tmp_path: Path) -> None:
    (tmp_path / "new.csv").write_text("day,b,species,a\n1,2.0,x,0.5\n2,3.0,y,0.25\n")
    new = load_unlabelled(tmp_path / "new.csv", shape=(2,), columns=("a", "b"))
    assert new.columns == ("a", "b")
    assert new.samples.get(torch.arange(2)).tolist() == [[0.5, 2.0], [0.25, 3.0]]
    with pytest.raises(InputError, match="the training file has a, c"):
        load_unlabelled(tmp_path / "new.csv", shape=(2,), columns=("a", "c"))


def test_a_folder_of_pictures_without_classes(tmp_path: Path) -> None:
    for number in range(3):
        Image.fromarray(np.full((8, 8), 40 * number, np.uint8)).save(tmp_path / f"{number}.png")
    assert len(load_unlabelled(tmp_path, shape=(1, 8, 8))) == 3


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"x": np.zeros((4, 5), np.float32)}, r"shape \(5,\)"),
        ({"x": np.full((4, 3), np.nan)}, "NaN"),
        ({"x": np.zeros((0, 3), np.float32)}, "no samples"),
        ({"z": np.zeros((4, 3))}, "as 'x'"),
        ({"x": np.zeros((4, 3)), "y": np.zeros(3)}, "4 samples but 3 labels"),
        ({"x": np.zeros((4, 3, 3, 3))}, "array"),
    ],
)
def test_what_does_not_fit_is_a_sentence(tmp_path: Path, arrays: dict[str, np.ndarray], words: str) -> None:
    with pytest.raises(InputError, match=words):
        load_unlabelled(saved(tmp_path / "x.npz", **arrays), shape=(3,))


def test_images_of_another_scale_or_colour_are_a_sentence(tmp_path: Path) -> None:
    large = saved(tmp_path / "a.npz", x=np.full((2, 1, 8, 8), 200.0))
    with pytest.raises(InputError, match="uint8"):
        load_unlabelled(large, shape=(1, 8, 8))
    grey = saved(tmp_path / "b.npz", x=np.zeros((2, 1, 8, 8), np.uint8))
    with pytest.raises(InputError, match="colour to grey"):
        load_unlabelled(grey, shape=(3, 8, 8))


def test_a_missing_or_foreign_file_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="do not exist"):
        load_unlabelled(tmp_path / "none.npz", shape=(3,))
    (tmp_path / "a.txt").write_text("hello")
    with pytest.raises(InputError, match="no known kind"):
        load_unlabelled(tmp_path / "a.txt", shape=(3,))
    (tmp_path / "b.npz").write_text("hello")
    with pytest.raises(InputError, match="cannot be read"):
        load_unlabelled(tmp_path / "b.npz", shape=(3,))


def test_black_and_white_images_are_read_as_training_data_are(tmp_path: Path) -> None:
    x = np.random.default_rng(0).integers(0, 2, (5, 1, 8, 8), dtype=np.uint8)
    found = load_unlabelled(saved(tmp_path / "a.npz", x=x), shape=(1, 8, 8)).samples
    np.testing.assert_array_equal(found.get(torch.arange(5)).numpy(), x)
