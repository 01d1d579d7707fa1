"""docs/paper.md names the file and the function of each equation as they are."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "wassermix"
NAME = re.compile(r"`([A-Za-z_]+(?:\.[a-z_]+)?)`")


def equations() -> list[list[str]]:
    """The rows of the first table: what the paper has, what it says, the file, the names."""
    page = (ROOT / "docs" / "paper.md").read_text(encoding="utf-8")
    table = page.split("## Equations")[1].split("## Names")[0].replace("|dR/dt|", "")
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines() if "`" in line]


def defined(path: Path) -> set[str]:
    """Functions and classes of a file, and methods as ``Class.method``."""
    classes = [node for node in ast.parse(path.read_text()).body if isinstance(node, ast.ClassDef)]
    functions = [node for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef)]
    methods = {f"{c.name}.{f.name}" for c in classes for f in c.body if isinstance(f, ast.FunctionDef)}
    return {node.name for node in (*classes, *functions)} | methods


def test_each_equation_names_a_file_and_something_in_it() -> None:
    rows = equations()
    assert len(rows) > 15
    for what, _, file, names in rows:
        path = SOURCE / file.strip("`")
        assert path.is_file(), f"{what}: {file}"
        assert any(name in defined(path) for name in NAME.findall(names)), f"{what}: {names} in {file}"


def test_every_class_and_function_that_it_names_exists() -> None:
    everything = {name for path in SOURCE.rglob("*.py") for name in defined(path)}
    named = {name for *_, names in equations() for name in NAME.findall(names)}
    options = {"labels", "search", "candidates", "score", "augment.refresh"}
    assert named - options - everything == set()
