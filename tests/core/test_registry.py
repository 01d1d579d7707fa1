"""Components by name: shipped, of the user's own, or of an installed package."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint

import pytest

from wassermix.core import registry as module
from wassermix.core.errors import InputError
from wassermix.core.registry import Registry, keyword_options

KNOWN = Registry("method", "wassermix.tests", {"count": "collections:Counter"})


def component(num_classes: int, *, sigma: float = 0.5, name: str) -> tuple[int, float, str]:
    return num_classes, sigma, name


@dataclass(kw_only=True)
class Listing:
    """A component whose default is a list, which a dataclass makes anew for each one."""

    ends: list[float] = field(default_factory=lambda: [0.3])


class LongListing(Listing):
    """One that inherits its options."""


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    points = [
        EntryPoint("ordered", "collections:OrderedDict", "wassermix.tests"),
        EntryPoint("broken", "no_such_module:Class", "wassermix.tests"),
    ]
    monkeypatch.setattr(module, "entry_points", lambda group: points if group == "wassermix.tests" else [])
    module._announced.cache_clear()
    yield
    module._announced.cache_clear()


def test_names_are_listed_without_importing(installed: None) -> None:
    assert KNOWN.names() == ["count", "broken", "ordered"]


def test_a_component_is_found_by_name_by_path_and_by_entry_point(installed: None) -> None:
    assert KNOWN.find("count") is Counter
    assert KNOWN.find("collections:OrderedDict") is OrderedDict
    assert KNOWN.find("ordered") is OrderedDict


def test_unknown_and_broken_names_are_explained(installed: None) -> None:
    with pytest.raises(InputError, match="did you mean 'count'"):
        KNOWN.find("cuont")
    with pytest.raises(InputError, match="installed package"):
        KNOWN.find("broken")
    with pytest.raises(InputError, match="cannot be imported"):
        KNOWN.find("no_such_module:Class")
    with pytest.raises(InputError, match="expected a class or function"):
        KNOWN.find("string:digits")


def test_only_a_path_of_the_users_own_imports_what_a_file_names(installed: None) -> None:
    assert [KNOWN.is_own(name) for name in ("count", "ordered", "subprocess:getoutput")] == [
        False,
        False,
        True,
    ]


def test_options_are_the_keyword_arguments_without_the_context() -> None:
    assert keyword_options(component, context=frozenset({"name"})) == {"sigma": (float, 0.5)}
    assert keyword_options(component)["name"] == (str, ...)


@pytest.mark.parametrize("listing", [Listing, LongListing])
def test_a_default_that_a_dataclass_makes_is_told_as_its_value_and_is_nobody_elses(
    listing: type[Listing],
) -> None:
    assert keyword_options(listing) == {"ends": (list[float], [0.3])}
    keyword_options(listing)["ends"][1].append(0.6)
    assert keyword_options(listing)["ends"][1] == listing().ends == [0.3]


def test_context_is_given_only_to_those_that_ask_for_it() -> None:
    own = Registry("method", "wassermix.tests", {"one": f"{__name__}:component"})
    made = module.call_with(component, {"name": "x"}, {"num_classes": 3, "shape": (1,)}, what="it")
    assert made == (3, 0.5, "x")
    with pytest.raises(InputError, match="no option 'sigm'; did you mean 'sigma'"):
        module.call_with(component, {"sigm": 1}, {"num_classes": 3}, what=f"{own.family} 'one'")
