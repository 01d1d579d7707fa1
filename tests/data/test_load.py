"""Names, paths and options: what is meant is found, what is not known is named."""

from __future__ import annotations

import pytest
import torch

from wassermix.core.errors import InputError
from wassermix.data import Dataset, TensorSplit, cache_folder, data_folders, load_data
from wassermix.data.load import data_options, own_units

SYSTEM = "/usr/share/datasets"


def test_a_misspelt_name_gets_the_nearest_one():
    with pytest.raises(InputError, match="did you mean 'mnist'"):
        load_data("minst")
    with pytest.raises(InputError, match="did you mean 'cifar100'"):
        load_data("CIFAR-100")


def test_a_path_that_does_not_exist_is_told_with_the_places_searched(tmp_path):
    with pytest.raises(InputError, match=str(tmp_path)):
        load_data("nothing.npz", root=tmp_path)


def test_a_file_of_another_kind_is_refused(tmp_path):
    (tmp_path / "a.parquet").write_text("")
    with pytest.raises(InputError, match="no known type"):
        load_data(tmp_path / "a.parquet")
    with pytest.raises(InputError, match="unknown"):
        load_data("")


def test_an_option_of_other_data_is_refused():
    with pytest.raises(InputError, match="data 'mnist5k' takes no option 'dim'; it takes none"):
        load_data("mnist5k", dim=3)
    with pytest.raises(InputError, match="it takes classes, dim"):
        load_data("gaussians", layout="nchw")


def own_loader(*, size: int = 6) -> Dataset:
    split = TensorSplit(torch.rand(size, 2), torch.arange(size) % 2)
    return Dataset("own", split, split, 2, "vector")


def test_a_loader_of_ones_own_is_named_by_module_and_function():
    data = load_data(f"{__name__}:own_loader", size=8, holdout=0.25)
    assert (len(data.train), len(data.holdout)) == (6, 2)
    assert data_options(f"{__name__}:own_loader")["size"] == (int, 6)
    with pytest.raises(InputError, match="takes no option 'sise'; it takes size"):
        load_data(f"{__name__}:own_loader", sise=8)
    with pytest.raises(InputError, match=r"expected a wassermix\.data\.Dataset"):
        load_data("builtins:dict")


def test_a_table_in_its_own_units_is_as_it_is_stored(tmp_path):
    rows = "".join(f"{100 * n},{n % 2}\n" for n in range(20))
    (tmp_path / "t.csv").write_text("a,label\n" + rows)
    assert load_data(tmp_path / "t.csv", **own_units(tmp_path / "t.csv")).scale is None
    assert own_units("mnist") == {}


def test_data_lives_where_the_environment_says(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("WASSERMIX_DATA", "~/data")
    monkeypatch.setenv("HOME", "/home/someone")
    assert cache_folder() == tmp_path / "wassermix"
    assert [str(folder) for folder in data_folders()] == [
        "/home/someone/data",
        SYSTEM,
        str(tmp_path / "wassermix"),
    ]
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.delenv("WASSERMIX_DATA")
    assert [str(folder) for folder in data_folders()] == [SYSTEM, "/home/someone/.cache/wassermix"]
    assert data_folders(tmp_path) == [tmp_path]
