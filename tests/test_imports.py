"""Imports point one way, so that each part can be used and read alone."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import wassermix
from layers import GROUND, LAYERS

ROOT = Path(wassermix.__file__).parent


def _imported(file: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("wassermix"):
            parts = node.module.split(".")
            found |= {parts[1]} if len(parts) > 1 else {alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith("wassermix.")}
    return found - {"__version__"}


@pytest.mark.parametrize("part", sorted(LAYERS))
def test_a_part_imports_only_what_lies_below_it(part: str) -> None:
    for file in (ROOT / part).rglob("*.py"):
        beyond = _imported(file) - {GROUND, part} - LAYERS[part][1]
        assert not beyond, f"{file.relative_to(ROOT)} imports {sorted(beyond)}"


def test_every_part_is_covered() -> None:
    parts = {path.stem for path in ROOT.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert parts - set(LAYERS) == {"__init__", "__main__", "cli"}


def test_layers_stand_in_order_so_that_no_circle_is_allowed() -> None:
    order = list(LAYERS)
    for part, (_, below) in LAYERS.items():
        assert {name for name in below if order.index(name) >= order.index(part)} == set()
