"""A table as data: what all rows share, what each row changes, and how they are judged."""

from __future__ import annotations

from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import (
    BaseModel,
    ConfigDict,
    PlainSerializer,
    PlainValidator,
    ValidationError,
    model_validator,
)

from wassermix.attacks.settings import AttackSettings
from wassermix.audit.settings import AuditSettings
from wassermix.certify import CertifySettings
from wassermix.core.errors import InputError
from wassermix.core.settings import as_record, options_of, settings_from
from wassermix.engine.settings import Config, build_config
from wassermix.recipes import load_recipe

__all__ = ["CertifyPlan", "Published", "Table", "load_table", "table_names"]


LENGTHS = ("batch_size", "epochs", "updates", "budget")
"""What a reduced table overrides to be short; at paper scale the recipes say it."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class CertifyPlan(BaseModel):
    """The certification that each row gets: any of :class:`CertifySettings`, and how many images.

    :meth:`settings` is the same for running and for reading it.
    """

    model_config = ConfigDict(extra="allow")
    images: int = 500

    @model_validator(mode="before")
    @classmethod
    def _complete(cls, values: Any) -> Any:
        """Every setting with its default, so that a gathered table says them all."""
        defaults = {o.name: o.default for o in options_of(CertifySettings) if o.name != "sigma"}
        return {**defaults, **values} if isinstance(values, dict) else values

    @model_validator(mode="after")
    def _check(self) -> CertifyPlan:
        self.settings(1.0)
        return self

    def settings(self, sigma: float) -> CertifySettings:
        """How to certify a model that was trained with noise ``sigma``."""
        values = {**(self.model_extra or {}), "sigma": sigma}
        return settings_from(CertifySettings, values, where="certify")


def _reader(kind: type[Any], where: str) -> PlainValidator:
    """From a table's keys to settings."""
    return PlainValidator(lambda v: v if isinstance(v, kind) else settings_from(kind, v, where=where))


AttackPlan = Annotated[AttackSettings, _reader(AttackSettings, "attacks"), PlainSerializer(as_record)]
"""One attack that each row gets: the keys are those of :class:`AttackSettings`."""
AuditPlan = Annotated[AuditSettings, _reader(AuditSettings, "audit"), PlainSerializer(as_record)]
"""The audit that each row gets, on the same paths: the keys are those of :class:`AuditSettings`."""


class Published(_Strict):
    """What others published for the same data and sigma: its cost, and certified accuracies in per cent."""

    passes: int
    acr: float
    certified: tuple[float, ...]


class Table(_Strict):
    """Rows of overrides over one recipe, the same seeds and the same judgement for all.

    ``control`` names the row that the others are compared with, image by image; ``against`` compares a row
    with one more. ``split`` is ``holdout`` where the table chooses settings, so that no test image ever does.
    """

    title: str
    recipe: str
    common: dict[str, Any] = {}
    seeds: tuple[int, ...] = (0,)
    split: Literal["test", "holdout"] = "test"
    certify: CertifyPlan | None = None
    attacks: tuple[AttackPlan, ...] = ()
    audit: AuditPlan | None = None
    control: str
    against: dict[str, str] = {}
    rows: dict[str, dict[str, Any]]
    more_seeds: dict[str, tuple[int, ...]] = {}
    published: dict[str, Published] = {}
    published_note: str = ""

    def config(self, row: str, seed: int) -> Config:
        """The training of one row at one seed."""
        recipe = self.rows[row].get("recipe", self.recipe)
        own = {key: value for key, value in self.rows[row].items() if key != "recipe"}
        return build_config(load_recipe(recipe), {**self.common, **own, "seed": seed})

    def attack_settings(self, config: Config) -> list[AttackSettings]:
        """The attacks on a row's run; the noise is the training's own where the table does not say it."""
        return [one if one.sigma else replace(one, sigma=config.sigma) for one in self.attacks]

    def audit_settings(self, config: Config) -> AuditSettings | None:
        """The audit of a row's run."""
        if self.audit is None or self.audit.sigma != "run":
            return self.audit
        return replace(self.audit, sigma=config.sigma)

    def at_paper_scale(self) -> Table:
        """The same rows by the recipes at paper scale, to their full length, certified with n = 100,000."""
        if "/reduced/" not in self.recipe:
            raise InputError(f"recipe '{self.recipe}' has one scale only; leave --scale out")
        rows = {row: _full_length(own) for row, own in self.rows.items()}
        certify = None if self.certify is None else self.certify.model_copy(update={"n": 100_000})
        changed = {"recipe": _full_recipe(self.recipe), "common": _full_length(self.common)}
        return self.model_copy(update={**changed, "rows": rows, "certify": certify})

    def seeds_of(self, row: str) -> tuple[int, ...]:
        """The seeds that a row is trained with."""
        return self.more_seeds.get(row, self.seeds)


def _full_recipe(name: str) -> str:
    return name.replace("/reduced/", "/")


def _full_length(overrides: dict[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in overrides.items() if key not in LENGTHS}
    return {**kept, "recipe": _full_recipe(kept["recipe"])} if "recipe" in kept else kept


def table_names() -> list[str]:
    """The tables that ship with the package."""
    folder = files(__package__).joinpath("tables")
    return sorted(one.name.removesuffix(".yaml") for one in folder.iterdir() if one.name.endswith(".yaml"))


def load_table(name: str) -> Table:
    """A shipped table by name, or one from a YAML file."""
    if name in table_names():
        text = files(__package__).joinpath(f"tables/{name}.yaml").read_text(encoding="utf-8")
    elif Path(name).is_file() and name.endswith((".yaml", ".yml")):
        text = Path(name).read_text(encoding="utf-8")
    else:
        raise InputError(
            f"table '{name}' is unknown; expected one of {', '.join(table_names())}, or a YAML file"
        )
    try:
        table = Table.model_validate(yaml.safe_load(text))
    except (ValidationError, yaml.YAMLError) as error:
        raise InputError(f"table '{name}' is not well formed: {error}") from error
    named = {table.control, *table.against, *table.against.values(), *table.more_seeds}
    if unknown := ", ".join(sorted(named - set(table.rows))):
        raise InputError(f"table '{name}': control, against or more_seeds name no row of it: {unknown}")
    if any("," in row for row in table.rows):
        raise InputError(f"table '{name}': a row's name holds a comma, but --rows splits names at commas")
    return table
