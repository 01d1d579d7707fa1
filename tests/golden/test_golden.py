"""What a user gets stays what it was: commands repeated as typed, results beside those recorded.

The record was made with the code before its modules were moved; ``golden/record.py`` says how single entries
are renewed where a change is meant, ``golden/compare.py`` how far a repetition may be off and why.
"""

from __future__ import annotations

import pytest

from golden.compare import compare
from golden.record import ENTRIES, load
from golden.workspace import Workspace

RECORDED = load()


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return Workspace(tmp_path_factory.mktemp("golden"))


@pytest.mark.parametrize("name", ENTRIES)
def test_the_commands_still_do_what_was_recorded(name: str, work: Workspace) -> None:
    assert name in RECORDED, f"'{name}' is not recorded yet"
    differences = compare(RECORDED[name], ENTRIES[name](work))
    assert not differences, "\n".join(differences[:20])


def test_the_record_holds_no_entry_that_nobody_repeats() -> None:
    assert set(RECORDED) == set(ENTRIES)
