"""The shape of the source: files that can be read in one sitting, functions with few parameters."""

from __future__ import annotations

import ast
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "wassermix"
TEXTS = {str(path.relative_to(SOURCE)): path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py")}
KERNELS = {"transport/kernels.py"}  # compiled by Numba, which takes arrays and numbers alone
TREES = {name: ast.parse(text) for name, text in TEXTS.items()}


def decorators(function: ast.FunctionDef) -> list[str]:
    return [ast.unparse(item) for item in function.decorator_list]


def makes_a_component(function: ast.FunctionDef) -> bool:
    """Whether the parameters are the options of a component or of a command, which a user sets by name."""
    named = decorators(function)
    return function.name == "__init__" or any("command" in one for one in named)


def parameters(function: ast.FunctionDef) -> int:
    """How many arguments the function itself has; typed options that it passes on belong to another."""
    taken = function.args
    names = [item.arg for item in (*taken.posonlyargs, *taken.args, *taken.kwonlyargs)]
    return len([name for name in names if name not in ("self", "cls")])


def test_no_file_is_longer_than_350_lines_but_the_compiled_kernels() -> None:
    lengths = {name: len(text.splitlines()) for name, text in TEXTS.items()}
    assert {name: n for name, n in lengths.items() if n > 350}.keys() <= KERNELS


def test_every_file_says_what_it_is_about() -> None:
    assert [name for name, tree in TREES.items() if not ast.get_docstring(tree)] == []


def test_no_function_takes_more_than_nine_parameters() -> None:
    crowded = [
        f"{name}: {node.name}"
        for name, tree in TREES.items()
        if name not in KERNELS
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and not makes_a_component(node) and parameters(node) > 9
    ]
    assert crowded == []
