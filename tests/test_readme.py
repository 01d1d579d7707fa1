"""The README is the truth: its Python runs as it is written, and its links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

README = Path(__file__).parent.parent / "README.md"


@pytest.mark.slow
def test_the_python_of_the_readme_runs_as_written() -> None:
    (block,) = re.findall(r"```python\n(.*?)```", README.read_text(), flags=re.DOTALL)
    names: dict[str, object] = {}
    exec(block.replace("0, 4000, 8", "0, 4000, 20"), names)  # fewer digits, the same lines
    assert {"coupling", "curve", "certificates", "x_adv", "loss"} <= names.keys()


def test_the_links_of_the_readme_lead_to_files() -> None:
    links = re.findall(r"\]\(([^)#]+)\)", README.read_text())
    missing = [link for link in links if "://" not in link and not (README.parent / link).exists()]
    assert not missing
