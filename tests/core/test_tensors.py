"""Tensors on disk: equal content gives equal files, which safetensors reads back."""

from __future__ import annotations

import os
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import load_file

from wassermix.core.tensors import write_tensors

TENSORS = {
    "b": torch.arange(5),
    "a": torch.rand(2, 3, generator=torch.Generator().manual_seed(0)),
    "c": torch.ones(()),
}
ABOUT = {f"key{number}": "ä value" * number for number in range(9)}


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    write_tensors(tmp_path / "x.safetensors", TENSORS, ABOUT)
    back = load_file(tmp_path / "x.safetensors")
    assert back.keys() == TENSORS.keys()
    assert all(torch.equal(back[name], tensor) for name, tensor in TENSORS.items())
    with safe_open(tmp_path / "x.safetensors", framework="pt") as file:
        assert file.metadata() == ABOUT


def test_equal_content_gives_equal_bytes(tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    write_tensors(first, TENSORS, ABOUT)
    turned = dict(reversed(TENSORS.items())), dict(reversed(ABOUT.items()))
    write_tensors(second, *turned)
    assert first.read_bytes() == second.read_bytes()


def test_the_file_has_the_permissions_of_any_new_file(tmp_path: Path) -> None:
    write_tensors(tmp_path / "x.safetensors", TENSORS, ABOUT)
    (tmp_path / "text").write_text("")
    modes = {os.stat(tmp_path / name).st_mode for name in ("x.safetensors", "text")}
    assert len(modes) == 1


def test_tied_weights_are_written_twice(tmp_path: Path) -> None:
    one = torch.arange(6.0).reshape(2, 3)
    write_tensors(tmp_path / "tied.safetensors", {"a": one, "b": one, "part": one[1]}, {})
    found = load_file(tmp_path / "tied.safetensors")
    assert found["a"].equal(one)
    assert found["b"].equal(one)
    assert found["part"].equal(one[1])
