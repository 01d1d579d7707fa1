"""Several runs certified as one, with averaged weights or the last ones; and the last weights elsewhere."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cli.words import run
from wassermix.core.errors import InputError
from wassermix.core.fingerprint import fingerprint
from wassermix.engine.ensemble import save_ensemble
from wassermix.engine.target import run_target
from wassermix.models import Ensemble

DATA = ("data=gaussians", "data.dim=4", "data.train_size=90", "data.test_size=30")
NAMES = ("a", "b", "c")
CERTIFY = ("--n", 200, "--n0", 20, "--images", 6)
FILE = "fixed-s0.5-n200"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Three runs with averaged weights, which are not yet near the last ones."""
    folder = tmp_path_factory.mktemp("runs")
    with pytest.MonkeyPatch.context() as patch:
        for seed, name in enumerate(NAMES):
            more = ("method=gaussian", "sigma=0.5", "updates=6", "average=0.99", f"seed={seed}")
            assert run(patch, "train", "vectors", *DATA, *more, "--out", folder / name) == 0
    return [folder / name for name in NAMES]


def judged(folder: Path, kind: str, name: str) -> dict[str, Any]:
    """The record of a result."""
    found: dict[str, Any] = json.loads((folder / kind / f"{name}.json").read_text())
    return found


def certify(monkeypatch: pytest.MonkeyPatch, *words: object) -> int:
    """The exit code of ``wassermix certify WORDS``, with few draws."""
    return run(monkeypatch, "certify", *words, *CERTIFY)


def test_three_runs_are_certified_as_their_mean(runs: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    assert certify(monkeypatch, *runs) == 0
    folder = runs[0].parent / "ensemble-a+b+c"
    model = run_target(folder).model
    assert isinstance(model, Ensemble)
    for one, member in zip(runs, model.members, strict=True):
        assert fingerprint(member) == fingerprint(run_target(one).model)
    assert judged(folder, "certify", FILE)["model"] == fingerprint(model)


def test_a_consensus_goes_into_a_folder_of_its_own(runs: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    assert certify(monkeypatch, *runs, "--overwrite") == 0
    assert certify(monkeypatch, *runs, "--consensus", 2) == 0
    asked = run_target(runs[0].parent / "ensemble-a+b+c-k2").model
    assert isinstance(asked, Ensemble)
    assert asked.consensus == 2
    assert (runs[0].parent / "ensemble-a+b+c-k2" / "certify" / f"{FILE}.tsv").exists()


def test_the_last_weights_of_an_ensemble_are_those_of_its_members(
    runs: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert certify(monkeypatch, *runs, "--consensus", 2, "--last") == 0
    folder = runs[0].parent / "ensemble-a+b+c-k2-last"
    model = run_target(folder).model
    assert isinstance(model, Ensemble)
    for one, member in zip(runs, model.members, strict=True):
        assert fingerprint(member) == fingerprint(run_target(one, last=True).model)
        assert fingerprint(member) != fingerprint(run_target(one).model)
    assert judged(folder, "certify", f"{FILE}-last")["model"] == fingerprint(model)
    assert run(monkeypatch, "verify", folder, "--replay", 3) == 0


def test_members_of_one_name_are_told_apart_by_their_folders(
    runs: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place, one in zip(("x", "y", "z"), runs):
        shutil.copytree(one, tmp_path / place / "run")
    assert certify(monkeypatch, tmp_path / "x" / "run", tmp_path / "y" / "run") == 0
    assert certify(monkeypatch, tmp_path / "x" / "run", tmp_path / "z" / "run") == 0
    made = {path.name for path in (tmp_path / "x").glob("ensemble-*")}
    assert made == {"ensemble-x.run+y.run", "ensemble-x.run+z.run"}


def test_an_ensemble_whose_members_were_trained_anew_is_replaced_only_where_asked(
    runs: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = (Path(shutil.copytree(one, tmp_path / one.name)) for one in runs[:2])
    assert certify(monkeypatch, first, second) == 0
    for name in ("model.safetensors", "last.safetensors"):
        shutil.copy(runs[2] / name, second / name)
    assert certify(monkeypatch, first, second) == 2
    assert "its members were trained anew; --overwrite" in capsys.readouterr().err
    assert certify(monkeypatch, first, second, "--overwrite") == 0


@pytest.mark.parametrize("words", [(), ("--overwrite",)])
def test_a_dry_run_writes_nothing_and_says_the_cost_and_the_folder(
    runs: list[Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
) -> None:
    copies = [Path(shutil.copytree(one, tmp_path / one.name)) for one in runs]
    before = sorted(tmp_path.rglob("*"))
    assert certify(monkeypatch, *copies, "--consensus", 2, "--dry-run", *words) == 0
    said = "".join(capsys.readouterr())
    assert "forward passes" in said
    assert "would be saved as" in said
    assert "ensemble-a+b+c-k2" in said
    assert sorted(tmp_path.rglob("*")) == before


def test_many_runs_with_long_names_go_into_a_folder_with_a_short_one(
    runs: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def copies(last: str) -> list[Path]:
        names = [f"gaussians-mlp-gaussian-of-a-long-name-seed{seed}" for seed in (*range(8), last)]
        return [Path(shutil.copytree(runs[0], tmp_path / last / name)) for name in names]

    made = set()
    for last in ("8", "9"):
        assert certify(monkeypatch, *copies(last)) == 0
        (folder,) = (tmp_path / last).glob("ensemble-9-runs-*")
        assert (folder / "certify" / f"{FILE}.tsv").exists()
        made.add(folder.name)
    assert len(made) == 2  # other members, another name


def test_the_same_run_twice_is_no_ensemble(
    runs: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "link").symlink_to(runs[0])
    for again in (runs[0], runs[0] / ".." / "a", tmp_path / "link"):
        for more in ((), ("--dry-run",)):
            assert certify(monkeypatch, runs[0], runs[1], again, *more) == 2
            assert "is given twice; expected different runs" in capsys.readouterr().err
    with pytest.raises(InputError, match="is given twice"):
        save_ensemble([runs[0], runs[0]], tmp_path / "both")


def test_a_consensus_of_one_run_is_refused(
    runs: list[Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert certify(monkeypatch, runs[0], "--consensus", 2) == 2
    assert "give several runs" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (("certify", *CERTIFY), "certify"),
        (("attack", "--norm", "l2", "--eps", 0.3, "--steps", 2, "--images", 6), "attack"),
        (("audit", "--points", 3), "audit"),
    ],
    ids=["certify", "attack", "audit"],
)
def test_every_evaluation_judges_the_last_weights_where_asked(
    runs: list[Path], monkeypatch: pytest.MonkeyPatch, words: tuple[object, ...], kind: str
) -> None:
    command, *options = words
    marks = {last: str(fingerprint(run_target(runs[1], last=last).model)) for last in (True, False)}
    for last in (True, False):
        before = set((runs[1] / kind).glob("*.json"))
        assert run(monkeypatch, command, runs[1], *options, *(["--last"] if last else [])) == 0
        (new,) = set((runs[1] / kind).glob("*.json")) - before
        assert new.stem.endswith("-last") == last
        assert marks[last] in new.read_text()
        assert marks[not last] not in new.read_text()


def test_a_result_by_another_name_still_says_that_it_judged_the_last_weights(
    runs: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert certify(monkeypatch, runs[2], "--last", "--name", "mine") == 0
    assert judged(runs[2], "certify", "mine")["weights"] == "last"
    assert run(monkeypatch, "verify", runs[2] / "certify" / "mine.tsv", "--replay", 3) == 0


def test_drift_is_told_of_the_last_weights_too(
    runs: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    new = tmp_path / "new.npz"
    np.savez(new, x=np.random.default_rng(0).normal(size=(40, 4)).astype(np.float32))
    few = ("--permutations", 39, "--points", 3, "--estimator", "joint")
    assert run(monkeypatch, "drift", runs[2], "--data", new, "--last", *few) == 0
    (found,) = (runs[2] / "drift").glob("*-last.json")
    record = found.read_text()
    assert str(fingerprint(run_target(runs[2], last=True).model)) in record


def test_a_model_of_ones_own_has_no_last_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("attack", tmp_path / "out", "--model", "net.pt2", "--data", "gaussians", "--last")
    assert run(monkeypatch, *words) == 2
    assert "with --model leave it out" in capsys.readouterr().err
