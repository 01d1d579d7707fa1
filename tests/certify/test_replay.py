"""Replay: honest files pass count for count, and whatever was altered is found by verify or by replay."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from shutil import copytree

import pytest
import torch
from scipy import stats
from torch import Tensor, nn

from certify import certified_job as job
from wassermix.certify import Certificates, CertifySettings, certify_to_files, replay_images, verify_file
from wassermix.certify.replay import Replay, altered_at_most
from wassermix.certify.result import digest
from wassermix.certify.rule import rule_for
from wassermix.core.job import Output


class Line(nn.Module):
    """The job's model with weights, so that it has a fingerprint."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(2))

    def forward(self, x: Tensor) -> Tensor:
        score = x @ self.weight
        return torch.stack([-score, score], dim=1)


@dataclass
class Published:
    """A certification with the model and the data to draw it again."""

    path: Path
    model: nn.Module
    split: job.Points

    def found(self) -> bool:
        """Whether verify or a replay of all images sees something wrong."""
        verification = verify_file(self.path)
        again = replay_images(self.model, self.split, Certificates.read(self.path), images=20, seed=0)
        return not (verification.holds and again.holds)

    def change(self, row: Callable[[list[str]], bool], **cells: object) -> None:
        """Change cells of the first row that fits."""
        lines = [line.split("\t") for line in self.path.read_text().splitlines()]
        chosen = next(line for line in lines[1:] if row(line))
        for name, value in cells.items():
            chosen[lines[0].index(name)] = str(value)
        self.path.write_text("".join("\t".join(line) + "\n" for line in lines))

    def tell(self, **values: object) -> None:
        """Change values of the summary."""
        beside = self.path.with_suffix(".json")
        beside.write_text(json.dumps({**json.loads(beside.read_text()), **values}))

    def forge(self) -> None:
        """Make radii, flags, summary and digest fit whatever stands in the table: all that can be forged."""
        beside = self.path.with_suffix(".json")
        record, read = json.loads(beside.read_text()), Certificates.read(self.path)
        assert read.settings is not None
        rows = []
        for row in read:
            radius = float(rule_for(read.settings).radius(row.draws, row.hits, row.uniform))
            proved = not math.isnan(radius)
            predicted = -1 if not proved else (row.label if row.predicted < 0 else row.predicted)
            rows.append(replace(row, predicted=predicted, radius=radius if proved else 0.0))
        forged = Certificates.of(rows, read.settings, record)
        told = {**record, **forged.summary()}
        told["digest"] = digest(told, forged)
        forged.writers()[".tsv"](self.path)
        beside.write_text(json.dumps(told))


@pytest.fixture(scope="module", params=["fixed", "grid"])
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certification by each rule, made once: the tests tamper with copies of it."""
    settings = CertifySettings(sigma=0.5, mode=request.param, n=1500)
    return published_of(Line(), tmp_path_factory.mktemp("made"), settings).path.parent


@pytest.fixture
def published(made: Path, tmp_path: Path) -> Published:
    return Published(Path(copytree(made, tmp_path / "certify")) / "job.tsv", Line(), job.Points())


def proved(cells: list[str]) -> bool:
    return cells[2] != "-1" and cells[3] != "0.0"


def test_an_honest_file_passes_and_says_what_that_shows(published: Published) -> None:
    assert verify_file(published.path).holds
    again = replay_images(published.model, published.split, Certificates.read(published.path), images=5)
    assert again.holds
    assert not again.ties
    assert len(set(again.replayed)) == 5
    assert again.statement.startswith("5 of 20 images drawn again, count for count: with 95% confidence")
    assert again.statement.endswith(f"fewer than {altered_at_most(20, 5) + 1} of 20 were altered")


TAMPERS: dict[str, Callable[[Published], object]] = {
    "radius": lambda p: p.change(proved, radius=9.5),
    "counts": lambda p: p.change(proved, hits=1499, draws=1500),
    "class": lambda p: p.change(lambda c: c[2] == "1", predict=0),
    "label and class": lambda p: p.change(lambda c: c[1] == "1" and proved(c), predict=0, label=0),
    "u": lambda p: p.change(proved, u=0.05),
    "sigma": lambda p: p.tell(sigma=0.6),
    "alpha": lambda p: p.tell(alpha=0.01),
    "seed": lambda p: p.tell(seed=1),
    "n0": lambda p: p.tell(n0=200),
    "precision": lambda p: p.tell(precision="bfloat16"),
    "data": lambda p: p.tell(data="mnist"),
    "split": lambda p: p.tell(split="holdout"),
    "fingerprint": lambda p: p.tell(model="0123456789abcdef"),
    "digest removed": lambda p: p.tell(digest=None),
    "duplicate row": lambda p: p.path.write_text(
        p.path.read_text() + p.path.read_text().splitlines()[3] + "\n"
    ),
    "hard image removed": lambda p: p.path.write_text(
        "".join(line + "\n" for line in p.path.read_text().splitlines() if line.split("\t")[2] != "-1")
    ),
    "another index": lambda p: p.change(proved, idx=1),
    "weights": lambda p: p.model.weight.data.add_(0.01),  # type: ignore[operator, union-attr]
    "images": lambda p: p.split.x.add_(0.01),
    "labels": lambda p: p.split.y.copy_(1 - p.split.y),
}  # fmt: skip


@pytest.mark.parametrize("tamper", TAMPERS)
def test_every_tamper_is_found(published: Published, tamper: str) -> None:
    TAMPERS[tamper](published)
    assert published.found()


FORGERIES: dict[str, Callable[[Published], object]] = {
    "counts": lambda p: p.change(lambda c: c[6] == "1500" and c[7] != "1500", hits=1500),
    "hard image counted right": lambda p: p.change(lambda c: c[2] == "-1", hits=1500, draws=1500),
    "sigma": lambda p: p.tell(sigma=0.7),
    "seed": lambda p: p.tell(seed=3, bound="plain"),
    "label and class": lambda p: p.change(lambda c: c[1] == "1" and proved(c), predict=0, label=0),
    "fingerprint": lambda p: p.tell(model="0123456789abcdef"),
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_forger_who_makes_everything_fit_is_found_by_drawing_again(
    published: Published, forgery: str
) -> None:
    FORGERIES[forgery](published)
    if forgery == "seed":  # the plain bound has no number u that the seed would betray
        text = published.path.read_text().splitlines()
        rows = [line.rsplit("\t", 1)[0] + "\t1.0" for line in text[1:]]
        published.path.write_text("\n".join([text[0], *rows]) + "\n")
    published.forge()
    again = replay_images(published.model, published.split, Certificates.read(published.path), images=20)
    assert not again.holds


class Narrow(Line):
    """A model that cannot decide in a narrow strip, so that a few of an image's votes are close."""

    def forward(self, x: Tensor) -> Tensor:
        score = x @ self.weight
        score = torch.where(score.abs() < 0.001, 1e-7 * score, score)
        return torch.stack([1 - score, 1 + score], dim=1)


class Offset(Line):
    """A model whose logits all lie at 1e5: every vote is close, as their absolute size counts."""

    def forward(self, x: Tensor) -> Tensor:
        return 1e5 + super().forward(x)


def published_of(model: nn.Module, folder: Path, settings: CertifySettings) -> Published:
    split = job.Points()
    certify_to_files(model, split, job.INDICES, settings=settings, output=Output(folder, "job"))
    return Published(folder / "job.tsv", model, split)


def drawn_again(published: Published) -> Replay:
    return replay_images(published.model, published.split, Certificates.read(published.path), images=20)


def move_hits(published: Published, by: int) -> None:
    """Change the hits of the first image that misses at least ten votes."""
    spare = next(row for row in Certificates.read(published.path) if row.hits <= row.draws - 10)
    published.change(lambda cells: cells[0] == str(spare.index), hits=spare.hits + by)
    published.forge()


def test_a_vote_that_is_too_close_to_call_is_named_and_not_held_against_the_file(tmp_path: Path) -> None:
    published = published_of(Narrow(), tmp_path, CertifySettings(sigma=0.5, n=2000, bound="plain"))
    move_hits(published, 1)
    again = drawn_again(published)
    assert again.holds
    assert len(again.ties) == 1
    assert "too close to call" in again.ties[0][1]
    assert "count for count" not in again.statement
    assert again.statement.endswith("fewer than 2 of 20 were altered")


def test_more_votes_than_were_too_close_to_call_are_a_difference(tmp_path: Path) -> None:
    published = published_of(Narrow(), tmp_path, CertifySettings(sigma=0.5, n=2000, bound="plain"))
    move_hits(published, 9)
    assert not drawn_again(published).holds


@pytest.mark.parametrize("mode", ["fixed", "grid"])
def test_a_model_whose_votes_are_all_close_excuses_no_forgery(tmp_path: Path, mode: str) -> None:
    settings = CertifySettings(sigma=0.5, mode=mode, n=1500, bound="plain")
    published = published_of(Offset(), tmp_path, settings)
    assert drawn_again(published).holds  # the same machine: the honest file has the same counts
    for index in job.INDICES:
        published.change(lambda cells, wanted=str(index): cells[0] == wanted, hits=1500, draws=1500)
    published.forge()
    assert verify_file(published.path).holds
    assert not drawn_again(published).holds


def test_images_that_are_not_confirmed_show_nothing_of_the_file() -> None:
    again = Replay((1, 2), 20, (), ((1, "close"), (2, "close")))
    assert again.holds
    assert "too few are confirmed" in again.statement


def test_draws_that_no_rule_stops_at_are_a_difference_and_no_crash(published: Published) -> None:
    published.change(proved, draws=0, hits=0)
    again = drawn_again(published)
    assert any("0 draws cannot be" in problem for _, problem in again.failures)


def test_the_number_of_altered_images_follows_the_hypergeometric_law() -> None:
    assert altered_at_most(500, 20) + 1 == 69
    assert altered_at_most(20, 20) == 0
    for total, drawn in ((100, 5), (500, 20), (30, 29)):
        most = altered_at_most(total, drawn)
        missed = [math.comb(total - k, drawn) / math.comb(total, drawn) for k in (most, most + 1)]
        assert missed[0] >= 0.05 > missed[1]


def test_images_that_may_be_altered_count_as_such_by_the_hypergeometric_law() -> None:
    for total, drawn, unsure in ((100, 5, 1), (500, 20, 3), (30, 29, 2)):
        most = altered_at_most(total, drawn, unsure=unsure)
        few = stats.hypergeom.cdf(unsure, total, [most, most + 1], drawn)
        assert few[0] >= 0.05 > few[1]
