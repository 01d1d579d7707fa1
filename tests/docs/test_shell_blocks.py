"""Every `wassermix ...` line of the README and the docs is a command that exists, with options that exist."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest
import typer
import yaml

from wassermix.cli.app import app

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
COMMAND = typer.main.get_command(app)


LAUNCHED = re.compile(r"^(?:.* -m -- )?(wassermix .*)")


def blocks(page: Path, *languages: str) -> list[str]:
    """The contents of a page's blocks in these languages."""
    text, names = page.read_text(encoding="utf-8"), "|".join(languages)
    return re.findall(rf"^```(?:{names})\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def container_scripts(page: Path) -> list[str]:
    """What the containers of Kubernetes jobs give to their shell."""
    jobs = [yaml.safe_load(block) for block in blocks(page, "yaml")]
    pods = [job["spec"]["template"]["spec"] for job in jobs if job.get("kind") == "Job"]
    containers = [one for pod in pods for one in pod["containers"]]
    assert all(one["command"] == ["/bin/sh", "-c"] for one in containers)
    return [script for one in containers for script in one["args"]]


def command_lines(page: Path) -> list[str]:
    """Lines of shell blocks and of container scripts that call wassermix, by torchrun too."""
    scripts = [*blocks(page, "sh", "bash", "console", ""), *container_scripts(page)]
    lines = [line.strip() for script in scripts for line in script.replace("\\\n", " ").splitlines()]
    found = [LAUNCHED.match(line) for line in lines]
    return [match[1].split("#")[0].strip() for match in found if match is not None]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_scripts_on_a_page_are_shell(page: Path) -> None:
    for script in (*blocks(page, "sh", "bash"), *container_scripts(page)):
        checked = subprocess.run(["bash", "-n"], input=script, capture_output=True, text=True, check=False)
        assert checked.returncode == 0, f"{page.name}: {checked.stderr}"


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
