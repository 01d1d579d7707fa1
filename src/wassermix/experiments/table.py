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
    Field,
    PlainSerializer,
    PlainValidator,
    ValidationError,
    model_validator,
)

from wassermix.attacks.settings import AttackSettings
from wassermix.audit.settings import AuditSettings
from wassermix.certify import CertifySettings
from wassermix.core.errors import InputError
from wassermix.core.settings import as_record, nearest, options_of, settings_from
from wassermix.core.yaml_file import read_mapping
from wassermix.engine.settings import LENGTHS, Config, build_config
from wassermix.experiments.sigmas import at_each_sigma, at_sigma, sigma_of
from wassermix.recipes import read_recipe

__all__ = ["CertifyPlan", "ClaimTest", "Published", "Table", "load_table", "row_folder", "table_names"]


LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The compiled loader where PyYAML has one; it reads the largest table ten times as fast."""


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
    """What others published for the same data and sigma, accuracies in per cent, as far as they tell.

    ``certified`` is at radius 0, 0.25, 0.5, ...; ``attacked`` has one number for each attack of the table,
    None where there is none; ``remark`` says where numbers come from that are not the publication's own.
    """

    passes: int | None = None
    acr: float | None = None
    certified: tuple[float, ...] = ()
    clean: float | None = None
    attacked: tuple[float | None, ...] = ()
    remark: str = ""


Measure = Literal["radius", "certified", "attacked", "clean", "variation"]


class ClaimTest(_Strict):
    """How a table tests a claim: ``row`` against ``control`` in one ``measure``, by at least ``margin``.

    Measures: the average certified ``radius``; accuracy ``certified`` at radius ``at``; accuracy ``attacked``
    by the table's attack number ``at`` (from 0); ``clean`` accuracy; total ``variation`` along geodesics. The
    claim ``expects`` the row to be higher, lower, or the same. Differences smaller than ``margin`` do not
    matter in practice; ``stated`` says whether it was written down before or after the measurement. A
    ``premise`` is what the claim presupposes of its rows: it is judged, but does not answer the claim.
    """

    claim: str
    row: str
    control: str
    measure: Measure = "radius"
    at: float | None = None
    expects: Literal["higher", "lower", "same"] = "higher"
    margin: float = Field(gt=0)
    stated: Literal["before", "after"] = "before"
    premise: bool = False


class Table(_Strict):
    """Rows of overrides over one recipe, the same seeds and the same judgement for all.

    ``control`` names the row that the others are compared with, image by image; ``against`` compares a row
    with one more. ``split`` is ``holdout`` where the table chooses settings, so that no test image ever does.
    ``longer`` says how many times longer than here a row trains at paper scale; where it is not given, as
    much as the recipe at paper scale has more epochs than the reduced one; ``at_paper`` replaces keys of
    ``common`` there, such as the data.

    With ``sigmas`` a file's rows stand for one row at each noise (:func:`at_each_sigma`), compared with the
    control at the same noise. ``group`` says whether the table is the paper's or one of ours, ``takes`` how
    long it runs on two cores at reduced scale, ``figure`` which picture belongs to it, and ``tests`` which
    claims it is about; ``measured_as`` says in what an earlier measurement differs from today's defaults. A
    row ``{ensemble: NAME}`` is not trained: it averages the networks of row NAME at all of that row's seeds.
    """

    title: str
    group: Literal["paper", "ours"] = "ours"
    takes: str = ""
    recipe: str
    sigmas: tuple[float, ...] = ()
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
    longer: float | None = Field(default=None, gt=0)
    at_paper: dict[str, Any] = {}
    published: dict[str, Published] = {}
    published_by: str = "published"
    published_note: str = ""
    figure: Literal["geodesics", "certified"] | None = None
    tests: tuple[ClaimTest, ...] = ()
    measured_as: str = ""

    def config(self, row: str, seed: int) -> Config:
        """The training of one row at one seed; of an ensemble, that of its first member."""
        if (members := self.members_of(row)) is not None:
            return self.config(members, self.seeds_of(members)[0])
        try:
            return build_config(read_recipe(self.recipe_of(row)), {**self.changes_of(row), "seed": seed})
        except InputError as error:
            raise InputError(f"row '{row}': {error}") from error

    def changes_of(self, row: str) -> dict[str, Any]:
        """What a row changes in its recipe: the table's common keys, and its own.

        A row's own length replaces the common one, and where it names another component the common options of
        the old one are none of its.
        """
        own = {key: value for key, value in self.rows[row].items() if key != "recipe"}
        replaced = set(LENGTHS) if any(own.get(key) is not None for key in LENGTHS) else set()
        replaced |= {key for key in self.common if "." in key and key.partition(".")[0] in own}
        return {**{key: value for key, value in self.common.items() if key not in replaced}, **own}

    def recipe_of(self, row: str) -> str:
        """The recipe that a row starts from: its own, or the table's."""
        members = self.members_of(row)
        return str(self.rows[row].get("recipe", self.recipe)) if members is None else self.recipe_of(members)

    def members_of(self, row: str) -> str | None:
        """The row whose networks are averaged in this one; None for a row that is trained."""
        return self.rows[row].get("ensemble")

    def attack_settings(self, config: Config) -> list[AttackSettings]:
        """The attacks on a row's run; the noise is the training's own where the table does not say it."""
        return [replace(one, sigma=config.sigma) if one.sigma is None else one for one in self.attacks]

    def audit_settings(self, config: Config) -> AuditSettings | None:
        """The audit of a row's run."""
        return None if self.audit is None else self.audit.of_run(config.sigma)

    def seeds_of(self, row: str) -> tuple[int, ...]:
        """The seeds that a row is trained with; an ensemble has one, whose members have their own."""
        usual = self.seeds if self.members_of(row) is None else self.seeds[:1]
        return self.more_seeds.get(row, usual)

    def control_of(self, row: str) -> str:
        """The row that a row is compared with: the control, at the same noise where there are several."""
        return at_sigma(self.control, sigma_of(row)) if self.sigmas else self.control

    @property
    def data_names(self) -> tuple[str, ...]:
        """The data sets that the rows are trained on, each once."""
        return tuple(dict.fromkeys(map(self._data, self.rows)))

    def _data(self, row: str) -> str:
        given = {**self.common, **self.rows[self.members_of(row) or row]}
        data = given["data"] if "data" in given else read_recipe(self.recipe_of(row))["data"]
        return str(data["name"]) if isinstance(data, dict) else str(data)


def table_names() -> list[str]:
    """The tables that ship with the package."""
    folder = files(__package__).joinpath("tables")
    return sorted(one.name.removesuffix(".yaml") for one in folder.iterdir() if one.name.endswith(".yaml"))


def load_table(name: str) -> Table:
    """A shipped table by name, or one from a YAML file."""
    if name in table_names():
        text = files(__package__).joinpath(f"tables/{name}.yaml").read_text(encoding="utf-8")
        raw = yaml.load(text, Loader=LOADER)
    elif Path(name).is_file() and name.endswith((".yaml", ".yml")):
        raw = _with_recipes_beside(read_mapping(Path(name), "table", keys=TABLE_KEYS), Path(name).parent)
    else:
        raise InputError(
            f"table '{name}' is unknown; expected one of {', '.join(table_names())}, or a YAML file"
        )
    try:
        table = Table.model_validate(at_each_sigma(raw))
    except ValidationError as error:
        told = "; ".join(_sentence(item) for item in error.errors())
        raise InputError(f"table '{name}' is not well formed: {told}") from error
    except (AttributeError, KeyError, TypeError) as error:  # while its rows were repeated for each sigma
        raise InputError(
            f"table '{name}' is not well formed ({type(error).__name__}: {error}); with 'sigmas' it needs a "
            "recipe, rows that are mappings (plain: {}), and published numbers by sigma"
        ) from error
    if reason := _malformed(table):
        raise InputError(f"table '{name}': {reason}")
    return table


TABLE_KEYS = "title, recipe, rows, seeds, certify"


def _sentence(item: Any) -> str:
    """What pydantic found, with the key that it found it in."""
    place = [str(part) for part in item["loc"] if part != "[key]"]
    if item["type"] == "extra_forbidden":
        known = f"; {nearest(place[-1], Table.model_fields)}" if len(place) == 1 else ""
        return f"key '{'.'.join(place)}' is unknown{known}"
    return f"{'.'.join(place)}: {item['msg'].removeprefix('Value error, ')}; got {item['input']!r:.60}"


def _with_recipes_beside(raw: dict[str, Any], folder: Path) -> dict[str, Any]:
    """A table whose recipe files are found beside it, from whichever folder the command is called."""
    rows = raw.get("rows")
    if isinstance(rows, dict):  # an empty row is one without changes
        rows = {str(row): {} if own is None else own for row, own in rows.items()}
        rows = {row: _beside(own, folder) if isinstance(own, dict) else own for row, own in rows.items()}
    return {**_beside(raw, folder), **({} if rows is None else {"rows": rows})}


def _beside(values: dict[str, Any], folder: Path) -> dict[str, Any]:
    recipe = values.get("recipe")
    is_file = isinstance(recipe, str) and recipe.endswith((".yaml", ".yml"))
    if not is_file or not (folder / str(recipe)).is_file():
        return values
    return {**values, "recipe": str((folder / str(recipe)).resolve())}


def _malformed(table: Table) -> str | None:
    """Why a table cannot be run, or None."""
    if table.certify is None and not table.attacks and table.audit is None:
        return "nothing is asked of its rows; give it certify, attacks or audit"
    for figure, needs in (("geodesics", "audit"), ("certified", "certify")):
        if table.figure == figure and getattr(table, needs) is None:
            return (
                f"figure is '{figure}', which shows what '{needs}' finds; give it that, or leave figure out"
            )
    trained = [row for row, own in table.rows.items() if "ensemble" not in own]
    for row, members in ((row, table.members_of(row)) for row in table.rows):
        if members is not None and members not in trained:
            return f"row '{row}' is an ensemble of '{members}'; expected a row that is trained"
        if members is not None and (table.rows[row].keys() != {"ensemble"} or len(table.seeds_of(row)) != 1):
            return (
                f"row '{row}' is an ensemble; expected no other key and one seed: its members have their own"
            )
    controls = {table.control_of(row) for row in table.rows}
    tested = {name for test in table.tests for name in (test.row, test.control)}
    named = {*controls, *table.against, *table.against.values(), *table.more_seeds, *tested}
    if unknown := ", ".join(sorted(named - set(table.rows))):
        return f"control, against, more_seeds or tests name no row of it: {unknown}"
    if any("," in row for row in table.rows):
        return "a row's name holds a comma, but --rows splits names at commas"
    for row in table.rows:
        if not row.strip() or row.startswith(".") or not row.isprintable():
            return f"row '{row}' cannot be the name of a folder; give it a name that begins with a letter"
        seeds = table.seeds_of(row)
        if not seeds or len(set(seeds)) < len(seeds):
            return f"row '{row}' has the seeds {list(seeds)}; expected at least one, each once"
    folders = [row_folder(row) for row in table.rows]
    twice = [row for row in table.rows if folders.count(row_folder(row)) > 1]
    return f"rows {' and '.join(map(repr, twice))} would share a folder; rename one" if twice else None


def row_folder(row: str) -> str:
    """The name of the folder that holds a row's runs."""
    return row.replace(" ", "-").replace("/", "-").replace("\\", "-")
