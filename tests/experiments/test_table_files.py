"""Tables in files of users: mistakes are told in a sentence, and rows are paired on the same samples only."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from experiments.small_table import SMALL
from wassermix.core.errors import InputError
from wassermix.experiments import gather, load_table, run_table


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("certify: {n: 200, images: 20}", "certify: {imags: 20}", "certify: .*imags"),
        ("seeds: [0, 1]", "seeds: 3", "seeds: .*got 3"),
        ("control: plain", "contrl: plain", "key 'contrl' is unknown; did you mean 'control'"),
        ("title:", "\ttitle:", "line 2 is not valid YAML: "),
    ],
)
def test_a_mistake_is_one_line_that_names_its_key(before: str, after: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(SMALL.replace(before, after))
    with pytest.raises(InputError, match=said) as refused:
        load_table(str(file))
    assert "\n" not in str(refused.value)
    assert "pydantic" not in str(refused.value)


def test_an_empty_file_is_told_what_a_table_has(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("")
    with pytest.raises(InputError, match="is empty; expected keys such as title, recipe, rows"):
        load_table(str(file))


def test_a_row_without_changes_may_be_empty(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(SMALL.replace("plain: {}", "plain:"))
    assert load_table(str(file)).rows["plain"] == {}


def test_rows_of_two_versions_of_a_data_file_are_not_compared(tmp_path: Path) -> None:
    """Filled row by row, a table would pair images that have nothing in common."""
    file, data = tmp_path / "mine.yaml", tmp_path / "mine.npz"
    text = SMALL.replace("data: gaussians, data.classes: 3, data.dim: 3", f"data: '{data}'")
    file.write_text(text.replace("seeds: [0, 1]", "seeds: [0]"))
    for seed, row in enumerate(("plain", "mixed")):
        rng = np.random.default_rng(seed)
        x, y = rng.normal(size=(80, 3)).astype(np.float32), rng.integers(0, 2, 80)
        np.savez(data, x_train=x[30:], y_train=y[30:], x_test=x[:30], y_test=y[:30])
        run_table(load_table(str(file)), tmp_path / "runs", rows=[row])
    with pytest.raises(InputError, match="trained on different data of one name"):
        gather(load_table(str(file)), tmp_path / "runs", name="mine")
