"""A user's YAML is read as plain values, or refused with a sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from wassermix.core.errors import InputError
from wassermix.core.yaml_file import read_mapping

LAUGHS = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{new}: &{new} [{', '.join(['*' + old] * 10)}]\n" for old, new in zip("abcdefgh", "bcdefghi")
)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (LAUGHS.encode(), "more than 100,000 values"),
        (b"a: &a [*a]", "more than 100,000 values"),
        (b"method: \xff\xfe", "UTF-8"),
        (b"a: [1, 2", "not valid YAML"),
        (b"a: " + b"[" * 5000, "not valid YAML"),
        (b"- one\n- two", "holds list"),
        (b"", "is empty; expected keys such as"),
        (b"a: !!python/object/apply:os.system [true]", "not valid YAML"),
    ],
    ids=["billion laughs", "itself", "bytes", "half", "deep", "list", "empty", "code"],
)
def test_what_is_off_is_refused(tmp_path: Path, text: bytes, said: str) -> None:
    file = tmp_path / "mine.yaml"
    file.write_bytes(text)
    with pytest.raises(InputError, match=said):
        read_mapping(file, "recipe")


def test_aliases_as_people_use_them_are_fine(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("base: &base {lr: 0.1}\nother: {<<: *base, momentum: 0}\n")
    assert read_mapping(file, "recipe")["other"] == {"lr": 0.1, "momentum": 0}


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"recipe '.*no\.yaml' cannot be read"):
        read_mapping(tmp_path / "no.yaml", "recipe")
