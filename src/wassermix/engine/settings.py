"""A training run as data: every key checked, every default filled in, unknown keys named with the nearest.

A component (model, method, augmenter, ...) is configured by its constructor: the keys of its section are
the constructor's own keyword arguments, so a key, an argument and a label in a report are one word.
"""

from __future__ import annotations

import difflib
import hashlib
import inspect
import json
import re
import typing
from collections.abc import Callable, Mapping
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model, field_validator

from wassermix.core.errors import InputError
from wassermix.core.registry import import_object

__all__ = [
    "Config",
    "Section",
    "apply_overrides",
    "build_config",
    "config_hash",
    "dump_config",
    "parse_value",
]

M = typing.TypeVar("M", bound=BaseModel)

CONTEXT = {"self", "num_classes", "shape", "embed", "generator", "device", "mean", "std", "root", "progress"}
"""Arguments that the engine supplies; they are never keys of a config."""

FAMILIES = ("data", "model", "method", "augment", "regularizer", "embed")
"""Sections that configure a component by its constructor."""

FRACTION = re.compile(r"\s*\d+(\.\d+)?\s*/\s*\d+(\.\d+)?\s*")

SHORTHANDS = (*FAMILIES, "schedule")
"""Sections for which ``key=value`` means ``key.name=value``."""

Section = dict[str, Any]
"""``{"name": ..., option: value, ...}``: one component, fully resolved."""


class Options(BaseModel):
    """The part of a config that refuses keys it does not know."""

    model_config = ConfigDict(extra="forbid", protected_namespaces=())


class Optimizer(Options):
    """Stochastic gradient descent with momentum; ``clip`` is the gradient's largest l2 norm, 0 for none."""

    lr: float = Field(default=0.01, gt=0)
    momentum: float = Field(default=0.9, ge=0, lt=1)
    weight_decay: float = Field(default=1e-4, ge=0)
    nesterov: bool = False
    clip: float = Field(default=0.0, ge=0)


class Schedule(Options):
    """How the learning rate moves; all times are shares of the training."""

    name: Literal["step", "onecycle", "cosine", "constant"] = "step"
    drops: tuple[float, ...] = (1 / 3, 2 / 3)
    factor: float = Field(default=0.1, gt=0, le=1)
    warm_up: float = Field(default=0.3, gt=0, lt=1)

    @field_validator("drops")
    @classmethod
    def _shares(cls, drops: tuple[float, ...]) -> tuple[float, ...]:
        if any(not 0 < drop < 1 for drop in drops):
            raise ValueError(f"drops are shares of the training, between 0 and 1; got {list(drops)}")
        return drops


class Transform(Options):
    """Random crops (padding in pixels) and left-right flips of training images."""

    crop: int = Field(default=0, ge=0)
    flip: bool = False


class Config(Options):
    """A whole training run; :func:`build_config` makes one from a recipe and overrides.

    ``average`` is the decay of the weights' moving average, such as 0.999, which is then what is evaluated
    and certified; 0 for none.
    """

    data: Section
    model: Section
    method: Section
    augment: Section | None = None
    regularizer: Section | None = None
    embed: Section | None = None
    epochs: int = Field(default=10, ge=1)
    updates: int | None = Field(default=None, ge=1)
    budget: str | None = None
    batch_size: int = Field(default=256, ge=1)
    updates_per_batch: int = Field(default=1, ge=1)
    optimizer: Optimizer = Optimizer()
    schedule: Schedule = Schedule()
    transform: Transform = Transform()
    average: float = Field(default=0.0, ge=0, lt=1)
    seed: int = 0
    device: str = "auto"
    workers: int = Field(default=0, ge=0)
    tensorboard: bool = False

    @field_validator("budget")
    @classmethod
    def _passes(cls, budget: str | None) -> str | None:
        if budget is not None and not re.fullmatch(r"passes:\d+", budget):
            raise ValueError(f"expected passes:N, such as passes:600000; got {budget!r}")
        return budget

    @property
    def sigma(self) -> float:
        """The noise that the method trains with; 0 where it has none."""
        return float(self.method.get("sigma", 0.0))


def build_config(recipe: Mapping[str, Any], overrides: Mapping[str, Any] | None = None) -> Config:
    """Check a recipe with its overrides and fill in every default."""
    raw = _with_names(apply_overrides(recipe, overrides or {}))
    if "sigma" in raw:  # the one option that has a short name at the top
        sigma = raw.pop("sigma")
        raw["method"] = {**(raw.get("method") or {}), "sigma": sigma}
    if raw.get("embed") is None and _interpolates(raw):
        raw["embed"] = {"name": "pca"}
    for family in FAMILIES:
        if raw.get(family) is not None:
            raw[family] = resolve_section(family, raw[family])
    return _validated(Config, raw, where="")


def apply_overrides(recipe: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Put dotted ``key: value`` pairs into a recipe: ``augment.ratio=2``, ``data=mnist``.

    A shorthand such as ``method=pgd`` that names another component drops the options of the old one.
    """
    raw = {key: dict(value) if isinstance(value, Mapping) else value for key, value in recipe.items()}
    for key, value in overrides.items():
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
    if FRACTION.fullmatch(text):
        above, below = text.split("/")
        return float(above) / float(below)
    return yaml.safe_load(text)


def dump_config(config: Config) -> str:
    """The config as YAML, every key in it: enough to run it again."""
    return yaml.safe_dump(config.model_dump(mode="json"), sort_keys=False)


def config_hash(config: Config) -> str:
    """Twelve hex digits that change whenever a key that matters to the result does."""
    text = json.dumps(
        config.model_dump(mode="json", exclude={"device", "tensorboard", "workers"}), sort_keys=True
    )
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def resolve_section(family: str, section: Mapping[str, Any]) -> Section:
    """One component's section with its name checked and its defaults filled in."""
    options = {key: _fraction(value) if key != "name" else value for key, value in section.items()}
    name = options.pop("name", None)
    if not isinstance(name, str):
        raise InputError(
            f"config section '{family}' has no name, such as {family}={next(iter(registry(family)))}"
        )
    if family == "model" and ":" in name:  # its options are its own business
        return {"name": name, **options}
    schema = create_model(f"{family}-{name}", __base__=Options, **option_fields(component(family, name)))
    resolved = _validated(schema, options, where=f"{family}.").model_dump(mode="json")
    if family == "data":  # most options belong to other kinds of data
        resolved = {key: value for key, value in resolved.items() if value is not None}
    return {"name": name, **resolved}


def component(family: str, name: str) -> Callable[..., Any]:
    """The class or function behind a section's name; ``package.module:object`` is the user's own."""
    known = registry(family)
    if family == "data":  # one function reads them all, and judges the name itself
        return known["data"]
    if name in known:
        return known[name]
    if ":" in name:
        found: Callable[..., Any] = import_object(name, what=family)
        return found
    raise InputError(
        f"{family} '{name}' is unknown; {_nearest(name, known)}, or your own package.module:object"
    )


def registry(family: str) -> Mapping[str, Callable[..., Any]]:
    """The shipped components of a family by name; imported late, for ``--help`` to answer at once."""
    from wassermix.augment import AUGMENTERS
    from wassermix.data import load_data
    from wassermix.embed import EMBEDDINGS
    from wassermix.geodesic.smoothness import REGULARIZERS
    from wassermix.methods import METHODS
    from wassermix.models import MODELS

    families: dict[str, Mapping[str, Callable[..., Any]]] = {
        "data": {"data": load_data},
        "model": MODELS,
        "method": METHODS,
        "augment": AUGMENTERS,
        "regularizer": REGULARIZERS,
        "embed": EMBEDDINGS,
    }
    return families[family]


def option_fields(factory: Callable[..., Any]) -> dict[str, Any]:
    """The options of a component: ``{argument: (type, default)}`` read from its constructor."""
    signed = factory.__init__ if inspect.isclass(factory) else factory
    hints = typing.get_type_hints(signed)
    return {
        name: (hints.get(name, Any), ... if parameter.default is parameter.empty else parameter.default)
        for name, parameter in inspect.signature(signed).parameters.items()
        if name not in CONTEXT and parameter.kind is parameter.KEYWORD_ONLY
    }


def _interpolates(raw: Mapping[str, Any]) -> bool:
    """Whether anything in the config wants an embedding."""
    name = (raw.get("augment") or {}).get("name")
    return name in ("geodesic", "simplex") or raw.get("regularizer") is not None


def _fraction(value: Any) -> Any:
    return parse_value(value) if isinstance(value, str) and FRACTION.fullmatch(value) else value


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
    return f"config key '{key}' is unknown; {_nearest(last, known, where + ''.join(p + '.' for p in above))}"


def _known_keys(schema: type[BaseModel], path: list[str]) -> list[str]:
    for part in path:
        inner = schema.model_fields[part].annotation
        if not (inspect.isclass(inner) and issubclass(inner, BaseModel)):
            return []
        schema = inner
    return list(schema.model_fields)


def _nearest(word: str, known: typing.Iterable[str], prefix: str = "") -> str:
    names = sorted(known)
    close = difflib.get_close_matches(word, names, n=1, cutoff=0.5)
    hint = f"did you mean '{prefix}{close[0]}'? " if close else ""
    return f"{hint}expected one of {', '.join(names)}"


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
