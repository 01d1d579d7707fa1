"""What the package says of itself: one version, a citation that tools can read, addresses that exist."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

import wassermix

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
SOFTWARE = (
    "cff-version",
    "message",
    "title",
    "type",
    "version",
    "license",
    "authors",
    "abstract",
    "keywords",
)
PAPER = (
    "type",
    "title",
    "authors",
    "collection-title",
    "conference",
    "volume",
    "start",
    "end",
    "year",
    "url",
)


@pytest.fixture(scope="module")
def citation() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    return found


def test_the_citation_has_what_its_format_requires(citation: dict[str, Any]) -> None:
    assert [key for key in SOFTWARE if not citation.get(key)] == []
    assert (citation["cff-version"], citation["type"]) == ("1.2.0", "software")
    assert all(person.get("name") or person.get("family-names") for person in citation["authors"])


def test_the_citation_names_the_paper_as_published(citation: dict[str, Any]) -> None:
    paper = citation["preferred-citation"]
    assert [key for key in PAPER if not paper.get(key)] == []
    assert [person["family-names"] for person in paper["authors"]] == [
        "Zhu", "Qiu", "Guha", "Yang", "Nguyen", "Li", "Zhao",
    ]  # fmt: skip
    assert paper["title"] in " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    assert (paper["volume"], paper["start"], paper["end"], paper["year"]) == (202, 43129, 43157, 2023)


def test_there_is_one_version(citation: dict[str, Any]) -> None:
    newest = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").split("\n## ")[1].split()[0]
    assert PROJECT["version"] == citation["version"] == newest == wassermix.__version__
    assert PROJECT["license"] == citation["license"]


def test_every_address_of_the_package_leads_to_the_paper(citation: dict[str, Any]) -> None:
    # a repository's address is added by who publishes it; one that does not exist would mislead
    assert set(PROJECT["urls"].values()) == {citation["preferred-citation"]["url"]}
