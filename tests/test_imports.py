"""Imports point one way, so that each part can be used and read alone."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import wassermix

ROOT = Path(wassermix.__file__).parent
GROUND = {"core"}
ALLOWED: dict[str, set[str]] = {
    "core": set(),
    "transport": set(),
    "embed": set(),
    "data": set(),
    "models": set(),
    "recipes": set(),
    "geodesic": {"transport", "embed"},
    "theory": {"transport"},
    "augment": {"transport", "embed", "geodesic"},
    "certify": set(),
    "attacks": {"transport", "embed", "geodesic", "certify"},
    "methods": {"attacks", "augment", "geodesic"},
    "audit": {"transport", "embed", "geodesic", "certify"},
    "engine": {"transport", "data", "models", "methods", "augment", "geodesic", "embed"},
    "experiments": {"attacks", "audit", "certify", "data", "engine", "recipes"},
    "report": {"certify", "audit"},
}
"""Package part -> the parts it may import, beside the ground that all stand on."""


def _imported(file: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("wassermix"):
            parts = node.module.split(".")
            found |= {parts[1]} if len(parts) > 1 else {alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith("wassermix.")}
    return found - {"__version__"}


@pytest.mark.parametrize("part", sorted(ALLOWED))
def test_a_part_imports_only_what_lies_below_it(part: str) -> None:
    folder = ROOT / part
    files = list(folder.rglob("*.py")) if folder.is_dir() else [ROOT / f"{part}.py"]
    for file in files:
        beyond = _imported(file) - GROUND - ALLOWED[part] - {part}
        assert not beyond, f"{file.relative_to(ROOT)} imports {sorted(beyond)}"


def test_every_part_is_covered() -> None:
    parts = {path.stem for path in ROOT.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert parts - GROUND - set(ALLOWED) == {"__init__", "__main__", "cli"}
