"""Tables: columns, labels, delimiters and everything that can be wrong with them."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
import torch

from wassermix.core.errors import InputError
from wassermix.data import load_data

ROWS = [(0.5 * n, -2.0 * n, "abc"[n % 3]) for n in range(30)]


def table(path, header="a,b,label", rows=ROWS, delimiter=","):
    lines = [header, *(delimiter.join(str(cell) for cell in row) for row in rows)]
    path.write_text("\n".join(lines) + "\n")
    return path


def everything(data):
    x = torch.cat(
        [data.train.get(torch.arange(len(data.train))), data.test.get(torch.arange(len(data.test)))]
    )
    order = x[:, 0].argsort()
    return x[order].numpy(), torch.cat([data.train.y, data.test.y])[order].tolist()


def test_columns_become_vectors_and_names_become_sorted_classes(tmp_path):
    data = load_data(table(tmp_path / "t.csv"), standardize=False)
    x, y = everything(data)
    np.testing.assert_array_equal(x, [[row[0], row[1]] for row in ROWS])
    assert y == [n % 3 for n in range(30)]
    assert (data.kind, data.shape, data.class_names) == ("vector", (2,), ("a", "b", "c"))
    assert torch.bincount(data.test.y).tolist() == [2, 2, 2]


@pytest.mark.parametrize(("name", "delimiter"), [("t.csv", ";"), ("t.tsv", "\t"), ("t.csv", ",")])
def test_delimiters_are_recognised(tmp_path, name, delimiter):
    path = table(tmp_path / name, header=f"a{delimiter}b{delimiter}class", delimiter=delimiter)
    assert load_data(path).shape == (2,)


def test_packed_files_quotes_marks_and_windows_line_ends_are_read(tmp_path):
    text = '"a","b, c","label"\r\n' + "".join(f'{n},{n + 1},"class {n % 2}"\r\n' for n in range(20))
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"\xef\xbb\xbf" + text.encode()))
    data = load_data(tmp_path / "t.csv.gz", standardize=False)
    assert data.class_names == ("class 0", "class 1")
    assert everything(data)[0][3].tolist() == [3, 4]


def test_the_label_column_may_be_named_and_may_stand_anywhere(tmp_path):
    rows = [(kind, a, b) for a, b, kind in ROWS]
    path = table(tmp_path / "t.csv", header="species,a,y", rows=rows)
    assert load_data(path, label="species").class_names == ("a", "b", "c")
    with pytest.raises(InputError, match="could not convert string 'a'"):
        load_data(path)


@pytest.mark.parametrize(
    ("header", "options"),
    [("a,b,kind", {}), ("y,b,label", {}), ("a,b,label", {"label": "species"}), ("", {})],
)
def test_an_unclear_label_column_is_refused(tmp_path, header, options):
    with pytest.raises(InputError, match=r"expected one label column .*data.label"):
        load_data(table(tmp_path / "t.csv", header=header), **options)


def test_a_second_file_is_the_test_set_with_its_columns_in_any_order(tmp_path):
    train = table(tmp_path / "train.csv")
    test = table(tmp_path / "test.csv", header="label,b,a", rows=[("c", 1.0, 2.0), ("a", 3.0, 4.0)])
    data = load_data(train, test=str(test), standardize=False)
    assert (len(data.train), len(data.test)) == (30, 2)
    assert data.test.get(torch.arange(2)).tolist() == [[2.0, 1.0], [4.0, 3.0]]
    assert data.test.y.tolist() == [2, 0]


@pytest.mark.parametrize(
    ("header", "rows", "message"),
    [
        ("a,x,label", [(1, 2, "a")], "the training file has a, b"),
        ("a,b,c,label", [(1, 2, 3, "a")], "the training file has a, b"),
        ("a,b,label", [(1, 2, "d")], "has the label 'd'"),
    ],
)
def test_a_test_file_that_does_not_fit_is_refused(tmp_path, header, rows, message):
    test = table(tmp_path / "test.csv", header=header, rows=rows)
    with pytest.raises(InputError, match=message):
        load_data(table(tmp_path / "train.csv"), test=str(test))


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([(1, "x", "a"), (2, 3, "b")], "could not convert string 'x' to float64 on line 2"),
        ([(1, "", "a"), (2, 3, "b")], "could not convert string ''"),
        ([(1, 2, "a"), (2, "b")], "row"),
        ([(1, "nan", "a"), (2, 3, "b")] * 4, "NaN or infinite"),
        ([(1, 2, ""), (2, 3, "b")] * 4, "empty labels"),
        ([(1, 2, n % 2 + 1) for n in range(9)], "labels run from 1 to 2"),
        ([(1, 2, n % 2 + 0.5) for n in range(9)], "not whole numbers"),
        ([(1, 2, "a") for n in range(9)], "all training labels are 'a'"),
        ([], "no rows"),
    ],
)
def test_bad_rows_are_refused(tmp_path, rows, message):
    with pytest.raises(InputError, match=message):
        load_data(table(tmp_path / "t.csv", rows=rows))


def test_numbers_as_labels_stay_what_they_are(tmp_path):
    data = load_data(table(tmp_path / "t.csv", rows=[(n, -n, 10 - n % 11) for n in range(44)]))
    assert data.num_classes == 11
    assert everything(data)[1] == [10 - n % 11 for n in range(44)]


def test_columns_are_in_standard_deviations_of_the_training_split_and_the_note_says_so(tmp_path):
    rows = [(1e-3 * n, 5e4 - 700 * n, 7, n % 2) for n in range(40)]
    path = table(tmp_path / "t.csv", header="a,b,constant,label", rows=rows)
    data, raw = load_data(path), load_data(path, standardize=False)
    x = raw.train.get(torch.arange(len(raw.train))).double()
    mean, std = x.mean(0), x.std(0, correction=0)
    std[2] = 1  # a constant column keeps its scale
    for made, given in ((data.train, raw.train), (data.test, raw.test)):
        every = torch.arange(len(given))
        torch.testing.assert_close(made.get(every), ((given.get(every) - mean) / std).float())
    assert "standard deviations" in data.note
    assert data.scale is not None
    np.testing.assert_allclose(data.scale, (mean.tolist(), std.tolist()))
    assert data.statistics() == ((0.0,) * 3, (1.0,) * 3)  # the model's first layer has nothing left to do
    assert "data.standardize=true" in raw.note


def test_the_unit_does_not_change_with_the_holdout_or_the_size_of_the_training_set(tmp_path):
    path = table(tmp_path / "t.csv", rows=[(n, n * n, n % 2) for n in range(60)])
    scales = {load_data(path, **options).scale for options in ({}, {"holdout": 0.2}, {"train_size": 20})}
    assert len(scales) == 1


def test_a_share_set_apart_to_test_on_is_said(tmp_path):
    path = table(tmp_path / "t.csv")
    assert "6 of 30 samples (20%" in load_data(path).note
    assert "set apart" not in load_data(path, test=str(table(tmp_path / "test.csv"))).note


def test_a_share_beside_a_test_file_is_refused(tmp_path):
    path, test = table(tmp_path / "t.csv"), table(tmp_path / "test.csv")
    with pytest.raises(InputError, match="leave one of them out"):
        load_data(path, test=str(test), test_share=0.3)


def test_columns_of_one_name_keep_their_order_or_are_refused(tmp_path):
    rows = [(n, -n, n % 2) for n in range(20)]
    train = table(tmp_path / "t.csv", header="a,a,label", rows=rows)
    test = table(tmp_path / "test.csv", header="a,a,label", rows=rows[:4])
    data = load_data(train, test=str(test), standardize=False)
    assert data.test.get(torch.arange(4)).tolist() == [[n, -n] for n in range(4)]
    turned = table(tmp_path / "turned.csv", header="label,a,a", rows=[(0, 1, 2), (1, 2, 3)])
    with pytest.raises(InputError, match="two are called 'a'"):
        load_data(train, test=str(table(tmp_path / "b.csv", header="b,a,label", rows=rows)))  # other columns
    assert load_data(train, test=str(turned), standardize=False).test.get(torch.tensor([0])).tolist() == [
        [1, 2]
    ]


def test_rows_longer_than_the_header_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"line 3 has 4 cells, the header 3"):
        load_data(table(tmp_path / "t.csv", rows=[(1, 2, 0), (1, 2, 3, 1)]))


def test_a_huge_label_is_refused_before_room_is_made_for_it(tmp_path):
    rows = [(n, n, 400_000_000 if n == 3 else n % 2) for n in range(10)]
    with pytest.raises(InputError, match="labels run from 0 to 400000000"):
        load_data(table(tmp_path / "t.csv", rows=rows))


def test_old_line_ends_and_endless_cells_are_understood_or_refused(tmp_path):
    (tmp_path / "old.csv").write_bytes(b"a,b,label\r" + b"1,2,0\r3,4,1\r" * 10)
    assert load_data(tmp_path / "old.csv").shape == (2,)
    (tmp_path / "huge.csv").write_text("a" * 200_000 + ",label\n1,0\n2,1\n")
    with pytest.raises(InputError, match="no table"):
        load_data(tmp_path / "huge.csv")


def test_damaged_files_are_refused(tmp_path):
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"a,b,label\n1,2,x\n" * 50)[:-9])
    with pytest.raises(InputError, match="damaged"):
        load_data(tmp_path / "t.csv.gz")
    (tmp_path / "t.csv").write_bytes(b"a,label\n\xff\xfe,1\n")
    with pytest.raises(InputError, match="not UTF-8"):
        load_data(tmp_path / "t.csv")


def test_rows_on_both_sides_of_the_split_are_told(tmp_path: Path) -> None:
    rows = [f"{number},{number % 7},{number % 2}" for number in range(40)]
    (tmp_path / "once.csv").write_text("\n".join(["a,b,label", *rows]))
    (tmp_path / "twice.csv").write_text("\n".join(["a,b,label", *rows, *rows]))
    assert "among the training rows" not in load_data(tmp_path / "once.csv").note
    assert "of 16 rows to test on are among the training rows" in load_data(tmp_path / "twice.csv").note
