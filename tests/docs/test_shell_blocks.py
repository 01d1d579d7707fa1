"""Every `wassermix ...` line of the README and the docs is a command that exists, with options that exist."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import typer

from wassermix.cli.app import app

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
COMMAND = typer.main.get_command(app)


def command_lines(page: Path) -> list[str]:
    """Lines of shell blocks, and inline code, that call wassermix."""
    text = page.read_text(encoding="utf-8")
    blocks = re.findall(r"^```(?:sh|bash|console)?\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    lines = [line.strip() for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    return [line.split("#")[0].strip() for line in lines if line.startswith("wassermix ")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_on_a_page_can_be_parsed(page: Path) -> None:
    for line in command_lines(page):
        words = shlex.split(line.replace("$run", "runs/a"))[1:]
        name, rest = words[0], words[1:]
        with COMMAND.make_context("wassermix", [name], resilient_parsing=True) as context:
            found = COMMAND.get_command(context, name)  # type: ignore[attr-defined]
            assert found is not None, f"{page.name}: there is no command '{name}' ({line})"
            if "--help" not in rest:
                found.make_context(name, list(rest), parent=context)
