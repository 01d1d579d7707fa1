"""Folders of images: layouts, sizes, colours, and files that are not what they seem."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from PIL import Image

from wassermix.core.errors import InputError
from wassermix.data import batches, load_data

RNG = np.random.default_rng(0)


def picture(path, shape=(6, 5, 3), value=None):
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = RNG.integers(0, 256, shape, dtype=np.uint8) if value is None else np.full(shape, value, np.uint8)
    Image.fromarray(pixels).save(path)
    return pixels


def classes(folder, count=5, **options):
    return {
        name: [picture(folder / name / f"{number}.png", **options) for number in range(count)]
        for name in ("cat", "ant", "bee")
    }


def test_train_and_test_folders_give_sorted_classes_and_exact_pixels(tmp_path):
    written = classes(tmp_path / "train")
    classes(tmp_path / "test", count=2)
    data = load_data(tmp_path)
    assert data.class_names == ("ant", "bee", "cat")
    assert (data.shape, len(data.train), len(data.test)) == ((3, 6, 5), 15, 6)
    expected = np.stack(written["ant"] + written["bee"] + written["cat"]).transpose(0, 3, 1, 2)
    np.testing.assert_array_equal((data.train.get(torch.arange(15)) * 255).round().numpy(), expected)


def test_class_folders_alone_are_split_in_proportion_by_the_seed(tmp_path):
    classes(tmp_path, count=10)
    data, again, other = (load_data(tmp_path, test_share=0.3, seed=seed) for seed in (0, 0, 1))
    assert torch.bincount(data.test.y).tolist() == [3, 3, 3]
    every = torch.arange(9)
    assert torch.equal(data.test.get(every), again.test.get(every))
    assert not torch.equal(data.test.get(every), other.test.get(every))


def test_pictures_are_scaled_on_demand_only(tmp_path):
    classes(tmp_path / "train", value=100)
    classes(tmp_path / "val", count=1, value=100)
    picture(tmp_path / "train" / "ant" / "odd.png", shape=(9, 9, 3), value=100)
    data = load_data(tmp_path, size=4)
    x = data.train.get(torch.arange(len(data.train)))
    assert x.shape == (16, 3, 4, 4)
    assert torch.allclose(x, torch.tensor(100 / 255))
    unscaled = load_data(tmp_path)
    with pytest.raises(InputError, match=r"odd.png' has 9x9 pixels.*data.size"):
        unscaled.train.get(torch.arange(len(unscaled.train)))


def test_grey_pictures_have_one_channel_unless_three_are_asked_for(tmp_path):
    classes(tmp_path, shape=(6, 5))
    assert load_data(tmp_path).shape == (1, 6, 5)
    data = load_data(tmp_path, channels=3)
    x = data.train.get(torch.arange(2))
    assert torch.equal(x[:, 0], x[:, 2])


def test_held_out_pictures_stream_through_workers(tmp_path):
    classes(tmp_path, count=8)
    data = load_data(tmp_path, holdout=0.25, train_size=6)
    assert data.holdout is not None
    order = torch.arange(len(data.train))
    streamed = torch.cat([x for _, x, _ in batches(data.train, order, batch_size=4, workers=1)])
    assert torch.equal(streamed, data.train.get(order))


def test_pictures_of_sixteen_bits_are_refused_rather_than_cut_off(tmp_path):
    classes(tmp_path, shape=(6, 5))
    Image.fromarray(np.full((6, 5), 40_000, np.uint16)).save(tmp_path / "ant" / "0.png")
    data = load_data(tmp_path)
    with pytest.raises(InputError, match="more than 8 bits"):
        torch.cat(
            [data.train.get(torch.arange(len(data.train))), data.test.get(torch.arange(len(data.test)))]
        )


def test_other_files_are_passed_over(tmp_path):
    classes(tmp_path)
    (tmp_path / "ant" / "notes.txt").write_text("hello")
    (tmp_path / ".git").mkdir()
    data = load_data(tmp_path)
    assert len(data.train) + len(data.test) == 15
    assert data.class_names == ("ant", "bee", "cat")


def test_folders_without_use_are_refused(tmp_path):
    with pytest.raises(InputError, match="has no folders"):
        load_data(tmp_path)
    (tmp_path / "ant").mkdir()
    with pytest.raises(InputError, match="holds no images"):
        load_data(tmp_path)
    picture(tmp_path / "ant" / "0.png")
    picture(tmp_path / "ant" / "1.png")
    with pytest.raises(InputError, match="at least two classes"):
        load_data(tmp_path, test_share=0.5)


def test_a_class_without_training_pictures_is_refused(tmp_path):
    classes(tmp_path / "train")
    classes(tmp_path / "test")
    picture(tmp_path / "test" / "dog" / "0.png")
    with pytest.raises(InputError, match="class 'dog'"):
        load_data(tmp_path)


def test_a_first_picture_that_is_none_is_named(tmp_path):
    classes(tmp_path)
    (tmp_path / "ant" / "0.png").write_bytes(b"not a picture")
    with pytest.raises(InputError, match=r"0.png' cannot be read"):
        load_data(tmp_path)


def test_a_class_folder_without_images_is_refused(tmp_path):
    classes(tmp_path)
    (tmp_path / "zebra").mkdir()
    with pytest.raises(InputError, match="zebra' holds no images"):
        load_data(tmp_path)


def test_a_share_is_said_in_the_note_and_refused_beside_a_test_folder(tmp_path):
    classes(tmp_path / "train")
    assert "3 of 15 samples (20%" in load_data(tmp_path).note
    classes(tmp_path / "test", count=2)
    assert load_data(tmp_path).note == ""
    with pytest.raises(InputError, match=r"data.test_share is 0.5, but .*test' is there"):
        load_data(tmp_path, test_share=0.5)


def test_a_picture_that_would_fill_the_memory_is_refused(tmp_path, monkeypatch):
    classes(tmp_path)
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 4)  # as a few bytes that announce a billion pixels
    with pytest.raises(InputError, match="cannot be read"):
        load_data(tmp_path)


@pytest.mark.parametrize("name", ["valid", "validation", "testing"])
def test_the_folder_to_test_on_has_many_names(tmp_path, name):
    classes(tmp_path / "train")
    classes(tmp_path / name, count=2)
    data = load_data(tmp_path)
    assert (len(data.train), len(data.test)) == (15, 6)


def test_splits_are_not_taken_for_classes(tmp_path):
    for name in ("training", "validation"):
        classes(tmp_path / "images" / name, count=1)
    assert load_data(tmp_path / "images").class_names == ("ant", "bee", "cat")
    for name in ("test", "dev"):
        classes(tmp_path / "odd" / name, count=1)
    with pytest.raises(InputError, match="look like splits"):
        load_data(tmp_path / "odd")


def test_a_grey_first_picture_does_not_take_the_colours_of_the_others(tmp_path):
    classes(tmp_path)
    picture(tmp_path / "ant" / "0.png", shape=(6, 5))
    with pytest.raises(InputError, match="has colours, the first one none"):
        load_data(tmp_path).train.get(torch.arange(12))
    assert load_data(tmp_path, channels=1).train.get(torch.arange(12)).shape == (12, 1, 6, 5)
