"""Pickles: arrays and containers come through in every protocol, code does not."""

from __future__ import annotations

import os
import pickle
from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest

from wassermix.core.errors import InputError
from wassermix.data.unpickle import read_pickle

# A table as Python 2 wrote it (protocol 0): {'data': uint8 [[1, 2], [3, 4]], 'labels': [0, 1]}.
PYTHON_2 = (
    b"(dp0\nS'data'\np1\ncnumpy.core.multiarray\n_reconstruct\np2\n(cnumpy\nndarray\np3\n(I0\ntp4\nS'b'\np5\ntp6\nRp7\n"
    b"(I1\n(I2\nI2\ntp8\ncnumpy\ndtype\np9\n(S'u1'\np10\nI0\nI1\ntp11\nRp12\n"
    b"(I3\nS'|'\np13\nNNNI-1\nI-1\nI0\ntp14\nbI00\nS'\\x01\\x02\\x03\\x04'\np15\ntp16\nbsS'labels'\np17\n(lp18\n"
    b"I0\naI1\nas."
)


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("kind", ["u1", "<i4", ">f8", "S3", "?"])
def test_arrays_come_through_every_protocol(protocol, kind):
    array = np.arange(12).reshape(3, 4).astype(kind)
    got = read_pickle(pickle.dumps({"a": array, "f": np.asfortranarray(array)}, protocol), "it")
    for key in ("a", "f"):
        found = got[key if key in got else key.encode()]
        np.testing.assert_array_equal(found, array)


def test_plain_containers_come_through():
    value = [
        1,
        2.5,
        None,
        True,
        (b"a", {3: [4]}),
        {5},
        frozenset([6]),
        OrderedDict([(7, 8)]),
        np.float32(1.5),
    ]
    assert read_pickle(pickle.dumps(value, 4), "it") == value


def test_a_table_of_python_2_is_read():
    table = read_pickle(PYTHON_2, "it")
    np.testing.assert_array_equal(table[b"data"], [[1, 2], [3, 4]])
    assert table[b"data"].dtype == np.uint8
    assert table[b"labels"] == [0, 1]


class Evil:
    def __init__(self, function, *arguments):
        self.call = (function, arguments)

    def __reduce__(self):
        return self.call


@pytest.mark.parametrize("protocol", [0, 2, 4])
@pytest.mark.parametrize(
    "inside", [lambda evil: evil, lambda evil: {"data": evil}, lambda evil: [np.zeros(2), evil]]
)
def test_code_is_refused_and_not_run(tmp_path, protocol, inside):
    marker = tmp_path / "ran"
    for evil in (
        Evil(os.system, f"touch {marker}"),
        Evil(eval, f"open({str(marker)!r}, 'w').close()"),
        Evil(Path.touch, marker),
        Evil(getattr, "text", "join"),
    ):
        with pytest.raises(InputError, match="refused"):
            read_pickle(pickle.dumps(inside(evil), protocol), "it")
    assert not marker.exists()


def test_arrays_of_objects_and_structures_are_refused():
    for array in (np.array([{}], dtype=object), np.zeros(2, dtype=[("a", "i4")])):
        with pytest.raises(InputError, match="refused"):
            read_pickle(pickle.dumps(array), "it")


def test_an_array_whose_bytes_do_not_fit_its_shape_is_refused():
    with pytest.raises(InputError, match="damaged"):
        read_pickle(PYTHON_2.replace(b"(I2\nI2\n", b"(I9\nI2\n"), "it")


def test_a_cut_off_pickle_is_refused_at_every_length():
    whole = pickle.dumps({"data": np.zeros((2, 3), np.uint8), "labels": [0, 1]}, 2)
    for length in range(len(whole)):
        with pytest.raises(InputError, match="it is"):
            read_pickle(whole[:length], "it")


def test_lists_that_hold_each_other_twice_are_read_at_once():
    nested = [0]
    for _ in range(200):
        nested = [nested, nested]
    got = read_pickle(pickle.dumps(nested), "it")
    for _ in range(200):
        assert got[0] is got[1]
        got = got[0]
    assert got == [0]
