"""Options of the commands that judge a run, as a user would give them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.words import run


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("judging") / "run"
    words = ("data=gaussians", "data.dim=3", "model=mlp", "epochs=1", "sigma=0.5")
    with pytest.MonkeyPatch.context() as patch:
        assert run(patch, "train", "vectors", *words, "--out", folder) == 0
    return folder


def test_the_papers_pgd_lies_beside_the_usual_one(trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("attack", trained, "--norm", "l2", "--eps", 2, "--steps", 4, "--images", 10)
    assert run(monkeypatch, *words) == 0
    assert run(monkeypatch, *words, "--step-size", 1, "--no-random-start") == 0
    files = ("pgd-l2-2-4", "pgd-l2-2-4-step-1-from-x")
    usual, paper = (json.loads((trained / "attack" / f"{name}.json").read_text()) for name in files)
    assert (usual["step_size"], usual["random_start"]) == (1.25, True)
    assert (paper["step_size"], paper["random_start"]) == (1.0, False)
    assert paper["title"] == "PGD ℓ2 ε=2 4 steps, step 1, from x"


def test_both_pairings_are_two_audits_and_one_table(
    trained: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "audit", trained, "--pairing", "both", "--points", 3, "--per-class", 10) == 0
    assert "by random" in " ".join(capsys.readouterr().out.split())
    found = [json.loads(path.read_text()) for path in (trained / "audit").glob("*.json")]
    assert {one["parameters"]["transport"] for one in found} == {"exact", "random"}


def test_two_audits_of_one_name_are_told_apart(trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("audit", trained, "--pairing", "both", "--points", 2, "--per-class", 5, "--name", "mine")
    assert run(monkeypatch, *words) == 0
    assert {path.stem for path in (trained / "audit").glob("mine*.json")} == {"mine-exact", "mine-random"}


def test_a_radius_that_the_draws_cannot_reach_is_a_dash_on_the_terminal(
    trained: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "certify", trained, "--n", 100, "--images", 5, "--radii", "0.5,1.5") == 0
    shown = capsys.readouterr().out
    lines = {cells[0]: cells[1:] for line in shown.splitlines() if (cells := _cells(line))}
    assert lines["1.5"] == ["-", "-"]
    assert all("%" in cell for cell in lines["0.5"])
    assert "can be proved with this many draws for any image" in " ".join(shown.split())


@pytest.mark.parametrize(
    "given", [("--data", "gaussians"), ("--weights", "w.safetensors"), ("--mean", "0.5"), ("--std", "0.5")]
)
@pytest.mark.parametrize("command", ["certify", "attack", "audit"])
def test_what_goes_with_a_model_of_ones_own_is_refused_without_it(
    trained: Path, command: str, given: tuple[str, str], monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    assert run(monkeypatch, command, trained, *given, "--name", "never") == 2
    assert f"{given[0]} goes with --model" in capsys.readouterr().err
    assert not (trained / command / "never.json").exists()


def test_several_folders_for_one_model_are_refused(
    trained: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("certify", trained, trained, "--model", "mine:net", "--data", "gaussians")
    assert run(monkeypatch, *words) == 2
    assert "2 folders were given" in capsys.readouterr().err


def test_an_option_that_cannot_be_read_is_a_sentence(
    trained: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "attack", trained, "--option", "queries=[") == 2
    assert "'queries=[' cannot be read" in capsys.readouterr().err


def _cells(line: str) -> list[str]:
    """The cells of a line of a table, or nothing."""
    return [cell.strip() for cell in line.strip("│ ").split("│")] if "│" in line else []
