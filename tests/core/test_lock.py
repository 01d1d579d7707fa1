"""A lock: one command at a time, also where two find the lock of a dead one at the same moment."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from wassermix.core import lock
from wassermix.core.errors import InputError
from wassermix.core.lock import locked


@pytest.fixture
def stale(tmp_path: Path) -> Path:
    """The lock of a process that was killed."""
    path = tmp_path / "out.lock"
    code = (
        "import os, sys; from pathlib import Path; from wassermix.core.lock import locked\n"
        "with locked(Path(sys.argv[1]), 'out'): os._exit(9)"
    )
    subprocess.run([sys.executable, "-c", code, str(path)], check=False)
    assert path.exists()
    return path


def living(path: Path) -> None:
    """Replace a lock by that of a process that lives: our parent, as another command would."""
    parent = os.getppid()
    token = f"{parent}-{lock._started(parent)}"
    told = {**json.loads(path.read_text()), "pid": parent, "token": token, "command": "the faster"}
    path.unlink()
    path.write_text(json.dumps(told))


@pytest.mark.parametrize("moment", ["_refuse_if_alive", "_is_of"])
def test_a_stale_lock_that_another_has_taken_over_is_the_others(
    moment: str, stale: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other command takes it over just after ours has found it stale, or has looked once more."""
    usual, taken = getattr(lock, moment), []

    def beaten(path: Path, other: Any) -> Any:
        found = usual(path, other)
        if not taken:
            taken.append(living(stale))
        return found

    monkeypatch.setattr(lock, moment, beaten)
    with pytest.raises(InputError, match="the faster"), locked(stale, "out"):
        pass
    assert json.loads(stale.read_text())["command"] == "the faster"
    assert [path.name for path in stale.parent.iterdir()] == ["out.lock"]


def test_a_stale_lock_is_taken_over_and_given_up(stale: Path) -> None:
    with locked(stale, "out"):
        assert json.loads(stale.read_text())["pid"] == os.getpid()
    assert list(stale.parent.iterdir()) == []


def test_a_lock_whose_owner_leaves_while_we_look_is_free(
    stale: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    living(stale)
    usual = lock._owner

    def leaves(path: Path) -> dict[str, Any]:
        monkeypatch.setattr(lock, "_owner", usual)
        stale.unlink()
        return usual(path)

    monkeypatch.setattr(lock, "_owner", leaves)
    with locked(stale, "out"):
        assert json.loads(stale.read_text())["pid"] == os.getpid()
