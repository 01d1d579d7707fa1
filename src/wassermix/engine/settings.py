"""A training run as data: every key checked, every default filled in, unknown keys named with the nearest.

A component (model, method, augmenter, ...) is configured by its constructor: the keys of its section are
the constructor's own keyword arguments, so a key, an argument and a label in a report are one word.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import re
import typing
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, Field, ValidationError, create_model, field_validator

from wassermix.augment.registry import AUGMENTERS
from wassermix.core.errors import InputError
from wassermix.core.registry import Registry
from wassermix.core.settings import nearest, parse_number
from wassermix.data.registry import DATA
from wassermix.embed.registry import EMBEDDINGS
from wassermix.engine.sections import Optimizer, Options, Schedule, Transform
from wassermix.geodesic.registry import REGULARIZERS
from wassermix.methods.registry import METHODS
from wassermix.models.registry import MODELS

__all__ = [
    "LENGTHS",
    "Config",
    "Precision",
    "Section",
    "apply_overrides",
    "build_config",
    "config_hash",
    "dump_config",
    "imported_code",
    "parse_value",
]

M = typing.TypeVar("M", bound=BaseModel)

CONTEXT = frozenset(
    {"num_classes", "shape", "embed", "generator", "device", "mean", "std", "root", "progress"}
)
"""Arguments that the engine supplies; they are never keys of a config."""

FAMILIES: dict[str, Registry] = {
    registry.family: registry for registry in (DATA, MODELS, METHODS, AUGMENTERS, REGULARIZERS, EMBEDDINGS)
}
"""Sections that configure a component by its constructor."""

LENGTHS = ("budget", "updates", "epochs")
"""Keys that say how long a training lasts; of several in one recipe the first counts."""
UNHASHED = {"device", "tensorboard", "workers"}
"""Keys that do not change what is trained."""
LATER = {"precision": "float32"}
"""Keys that are newer than some runs, with the value that those were trained by."""

SHORTHANDS = (*FAMILIES, "schedule")
"""Sections for which ``key=value`` means ``key.name=value``."""

Precision = Literal["float32", "bfloat16"]
"""What a network's products are computed in while it trains."""
Section = dict[str, Any]
"""``{"name": ..., option: value, ...}``: one component, fully resolved."""


class Config(Options):
    """A whole training run; :func:`build_config` makes one from a recipe and overrides.

    Training lasts for ``budget`` (``passes:N``), else so many ``updates``, else ``epochs``; of the three only
    the one that counts is set. ``average`` is the decay of the weights' moving average, such as 0.999, which
    is then what is evaluated and certified; 0 for none. ``precision=bfloat16`` lets the network compute in it
    while it trains, for speed where the processor or graphics card has it; weights and losses stay float32.
    """

    data: Section
    model: Section
    method: Section
    augment: Section | None = None
    regularizer: Section | None = None
    embed: Section | None = None
    epochs: int | None = Field(default=10, ge=1)
    updates: int | None = Field(default=None, ge=1)
    budget: str | None = None
    batch_size: int = Field(default=256, ge=1)
    updates_per_batch: int = Field(default=1, ge=1)
    optimizer: Optimizer = Optimizer()
    schedule: Schedule = Schedule()
    transform: Transform = Transform()
    average: float = Field(default=0.0, ge=0, lt=1)
    precision: Precision = "float32"
    seed: int = 0
    device: str = "auto"
    workers: int = Field(default=0, ge=0)
    tensorboard: bool = False

    @field_validator("budget", mode="before")
    @classmethod
    def _passes(cls, budget: Any) -> Any:
        if budget is not None and not re.fullmatch(r"passes:0*[1-9]\d{0,15}", str(budget)):
            raise ValueError("expected passes:N with N at least 1, such as passes:600000")
        return budget

    @property
    def sigma(self) -> float:
        """The noise that the method trains with; 0 where it has none."""
        return float(self.method.get("sigma", 0.0))


def build_config(
    recipe: Mapping[str, Any],
    overrides: Mapping[str, Any] | None = None,
    *,
    trust: bool = True,
    where: str = "the config",
) -> Config:
    """Check a recipe with its overrides and fill in every default.

    Components that are ``package.module:object`` are imported to read their options. Where the recipe comes
    from someone else, ``trust=False`` refuses such names before anything is imported; ``where`` says in the
    error which file it was.
    """
    if overrides and {"sigma", "method.sigma"} <= overrides.keys():
        raise InputError("sigma and method.sigma are one option; give one of them")
    raw = _with_names(apply_overrides(_without_length(recipe, overrides or {}), overrides or {}))
    if not trust and (named := list(imported_code(raw))):
        raise InputError(
            f"{where} names {', '.join(named)}: using it would import and run that code; add --trust "
            "(trust=True in Python) if you trust where it comes from"
        )
    if "sigma" in raw and isinstance(raw.get("method"), Mapping | None):  # the one option with a short name
        raw["method"] = {**(raw.get("method") or {}), "sigma": raw.pop("sigma")}
    for family in FAMILIES:
        if raw.get(family) is not None:
            raw[family] = resolve_section(family, raw[family])
    if raw.get("embed") is None and _wants_embedding(raw):
        raw["embed"] = resolve_section("embed", {"name": "pca"})
    return _of_one_length(_validated(Config, raw, where=""))


def imported_code(raw: Mapping[str, Any]) -> Iterator[str]:
    """``model=package.module:object`` and the like: what building this config would import."""
    for family, registry in FAMILIES.items():
        for name in _names_in(raw.get(family)):
            if registry.is_own(name):
                yield f"{family}={name}"


def apply_overrides(recipe: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Put dotted ``key: value`` pairs into a recipe: ``augment.ratio=2``, ``data=mnist``.

    A shorthand such as ``method=pgd`` that names another component drops the options of the old one; options
    are put in after names, in whichever order they are given.
    """
    raw = {key: dict(value) if isinstance(value, Mapping) else value for key, value in recipe.items()}
    for key, value in sorted(overrides.items(), key=lambda item: "." in item[0]):
        head, _, rest = key.partition(".")
        section = raw.get(head)
        if not rest and head in SHORTHANDS and not isinstance(value, Mapping):
            raw[head] = _renamed(section, value)
        elif not rest:
            raw[head] = value
        else:
            raw[head] = {**(section if isinstance(section, dict) else _named(section)), rest: value}
    return raw


def parse_value(text: str) -> Any:
    """A value from the command line: YAML, and fractions such as ``8/255``."""
    number = parse_number(text)
    return yaml.safe_load(text) if number is text else number


def dump_config(config: Config) -> str:
    """The config as YAML, every key in it: enough to run it again."""
    return yaml.safe_dump(config.model_dump(mode="json"), sort_keys=False)


def config_hash(config: Config | Mapping[str, Any]) -> str:
    """Twelve hex digits that change whenever a key that matters to the result does.

    Of a config, or of what its file holds: :func:`dump_config` read back has the same hash.
    """
    record = config.model_dump(mode="json") if isinstance(config, Config) else config
    kept = {key: value for key, value in record.items() if key not in UNHASHED and LATER.get(key) != value}
    return hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest()[:12]


def resolve_section(family: str, section: Mapping[str, Any]) -> Section:
    """One component's section with its name checked and its defaults filled in."""
    if not isinstance(section, Mapping):
        raise InputError(
            f"config section '{family}' is a {type(section).__name__}; expected a name, or name and options"
        )
    options = {key: parse_number(value) if key != "name" else value for key, value in section.items()}
    name = options.pop("name", None)
    registry = FAMILIES[family]
    if not isinstance(name, str):
        raise InputError(
            f"config section '{family}' has no name, such as {family}={next(iter(registry.shipped))}"
        )
    if family == "model" and name not in MODELS.shipped:
        MODELS.find(name)  # its options are its own business
        return {"name": name, **options}
    schema = create_model(f"{family}-{name}", __base__=Options, **_fields(family, name))
    resolved = _validated(schema, options, where=f"{family}.").model_dump(mode="json")
    if family == "data":  # an option that is not set belongs to another kind of file, or is found out
        from wassermix.data.load import located

        return located({"name": name, **{key: v for key, v in resolved.items() if v is not None}})
    if family == "method" and resolved.get("teacher"):
        resolved["teacher"] = _located_teacher(resolved["teacher"])
    return {"name": name, **resolved}


def _located_teacher(teacher: str) -> str:
    """A teacher's folder with an absolute path where it is found here: a run finds it from anywhere."""
    from wassermix.methods.teacher import AVERAGE, OWN

    is_folder = teacher not in (OWN, AVERAGE) and Path(teacher).is_dir()
    return str(Path(teacher).resolve()) if is_folder else teacher


def _fields(family: str, name: str) -> dict[str, Any]:
    if family == "data":
        from wassermix.data.load import data_options

        return data_options(name)
    return FAMILIES[family].options(name, context=CONTEXT)


def _wants_embedding(raw: Mapping[str, Any]) -> bool:
    """Whether the augmenter or the regulariser says that it wants an embedding."""
    sections = [(AUGMENTERS, raw.get("augment")), (REGULARIZERS, raw.get("regularizer"))]
    return any(
        section is not None and registry.declares(section["name"], "wants_embedding")
        for registry, section in sections
    )


def _without_length(recipe: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """The recipe without its own length where the overrides say another: ``epochs=3`` means three epochs."""
    given = [key for key in LENGTHS if overrides.get(key) is not None]
    if len(given) > 1:
        both = " and ".join(f"{key}={overrides[key]}" for key in given)
        raise InputError(f"{both} both say how long to train; give one")
    return {key: value for key, value in recipe.items() if not given or key not in LENGTHS}


def _of_one_length(config: Config) -> Config:
    """Without the keys of a shorter say: ``budget`` comes before ``updates`` before ``epochs``."""
    if config.budget is None and config.updates is None and config.epochs is None:
        raise InputError("config: epochs, updates and budget are all none; set one, such as epochs=10")
    if config.budget is not None:
        return config.model_copy(update={"updates": None, "epochs": None})
    return config.model_copy(update={"epochs": None}) if config.updates is not None else config


def _names_in(section: object) -> Iterator[str]:
    """Every component name in a section, nested sections included."""
    if isinstance(section, str):
        yield section
    elif isinstance(section, Mapping):
        yield from _names_in(section.get("name"))
        yield from (name for value in section.values() for name in _nested_names(value))


def _nested_names(value: object) -> Iterator[str]:
    if isinstance(value, Mapping):
        yield from _names_in(value)
    elif isinstance(value, list | tuple):
        yield from (name for item in value for name in _nested_names(item))


def _validated(schema: type[M], values: Mapping[str, Any], *, where: str) -> M:
    try:
        return schema.model_validate(values)
    except ValidationError as error:
        raise InputError("; ".join(_sentence(item, schema, where) for item in error.errors())) from error


def _sentence(item: Any, schema: type[BaseModel], where: str) -> str:
    *above, last = [str(part) for part in item["loc"]] or [""]
    key = where + ".".join([*above, last])
    if item["type"] != "extra_forbidden":
        return f"config key '{key}': {item['msg']}; got {item['input']!r}"
    known = _known_keys(schema, above)
    if schema is Config and not above:
        known = sorted([*known, "sigma"])  # short for method.sigma
    return f"config key '{key}' is unknown; {nearest(last, known, where + ''.join(p + '.' for p in above))}"


def _known_keys(schema: type[BaseModel], path: list[str]) -> list[str]:
    for part in path:
        inner = schema.model_fields[part].annotation
        if not (inspect.isclass(inner) and issubclass(inner, BaseModel)):
            return []
        schema = inner
    return list(schema.model_fields)


def _with_names(raw: dict[str, Any]) -> dict[str, Any]:
    return {
        key: _named(value) if key in SHORTHANDS and isinstance(value, str) else value
        for key, value in raw.items()
    }


def _named(section: object) -> dict[str, Any]:
    return {} if section is None else {"name": section}


def _renamed(section: object, name: object) -> dict[str, Any] | None:
    if name is None or name in ("none", False):
        return None
    same = isinstance(section, Mapping) and section.get("name") == name
    return dict(typing.cast(Mapping[str, Any], section)) if same else {"name": name}
