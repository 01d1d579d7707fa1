"""The recommended recipe on any data, as long as the time allows; and what is said of it beforehand."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cli.words import begun, run
from wassermix.cli.best import expectation, say_plan
from wassermix.cli.train import run_train
from wassermix.core.errors import InputError
from wassermix.engine import RunDir
from wassermix.engine.cost import TrainingCost
from wassermix.engine.plan import Plan
from wassermix.engine.settings import Config, build_config
from wassermix.recipes import load_recipe

MINUTES = 0.005
KEPT: dict[str, Any] = {"resume": False, "overwrite": False}


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A file of small images in the folder where commands are run; the machine is measured but briefly."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("wassermix.engine.plan.MEASURED", 0.1)
    rng, arrays = np.random.default_rng(0), {}
    for split in ("train", "test"):
        arrays[f"x_{split}"] = rng.integers(0, 256, (24, 1, 8, 8)).astype(np.uint8)
        arrays[f"y_{split}"] = np.arange(24) % 3
    np.savez("own.npz", **arrays)
    return "own.npz"


def budget(run: Path) -> int:
    """The passes that a run may spend."""
    found = RunDir(run).config().budget
    assert found is not None
    return int(found.removeprefix("passes:"))


def test_minutes_make_a_run_of_about_their_length_with_the_noise_asked_for(
    own: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    run_train(own, [], out=out, **KEPT, minutes=MINUTES, sigma=0.25)
    config, last = RunDir(out).config(), json.loads(RunDir(out).metrics_file.read_text().splitlines()[-1])
    assert (config.sigma, config.model["name"]) == (0.25, "mlp")
    an_update = config.batch_size * 4  # two noises, each with a step of the search
    assert budget(out) <= last["passes"] < budget(out) + an_update
    assert f"{budget(out):,} of them" in capsys.readouterr().out


def test_twice_the_minutes_are_twice_the_passes(
    own: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pace = paced(monkeypatch, passes_per_second=1000.0)
    for minutes in (MINUTES, 2 * MINUTES):
        run_train(own, [], out=tmp_path / f"{minutes}", **KEPT, minutes=minutes)
        assert budget(tmp_path / f"{minutes}") == 60 * minutes * pace


@pytest.mark.parametrize(("epochs", "told"), [(0.5, True), (0.9, True), (1.5, False), (30, False)])
def test_minutes_that_give_less_than_an_epoch_are_warned_of_with_what_one_takes(
    own: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    epochs: float,
    told: bool,
) -> None:
    an_epoch = 24 * 4  # samples, two noises, each with a step of the search
    paced(monkeypatch, passes_per_second=an_epoch / (60 * 2))  # one takes two minutes
    run_train(own, [], out=tmp_path / "run", **KEPT, minutes=2 * epochs, dry_run=True)
    said = " ".join(capsys.readouterr().out.split())
    sentence = (
        f"{2 * epochs:g} minutes are less than one epoch: not every sample will be seen; one epoch takes"
    )
    assert (f"warning: {sentence} about 2 minutes" in said) == told


def paced(monkeypatch: pytest.MonkeyPatch, *, passes_per_second: float) -> float:
    """Let every measurement come out as told."""
    monkeypatch.setattr("wassermix.engine.cost._pace", lambda state: passes_per_second)
    return passes_per_second


@pytest.mark.parametrize("out", [[], ["--out", "mine"]], ids=["by default", "with --out"])
def test_the_same_command_with_resume_goes_on(
    own: str, monkeypatch: pytest.MonkeyPatch, out: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["train", own, "--minutes", MINUTES, "--sigma", 0.25, *out]
    assert run(monkeypatch, *command) == 0
    folder = Path("mine" if out else "runs/own-smoothadv-s0.25-seed0")
    begun, weights = RunDir(folder).config(), RunDir(folder).weights_file.read_bytes()
    paced(monkeypatch, passes_per_second=1e9)  # another measurement would come out otherwise
    assert run(monkeypatch, *command, "--resume") == 0
    assert "keeps its budget" in capsys.readouterr().out
    assert RunDir(folder).config() == begun
    assert RunDir(folder).weights_file.read_bytes() == weights


@pytest.mark.parametrize(
    ("change", "told"),
    [(["--sigma", "0.5"], "method"), (["--sigma", "0.25", "batch_size=8"], "batch_size")],
    ids=["noise", "batches"],
)
def test_a_resumed_run_with_other_settings_is_refused_before_the_machine_is_measured(
    own: str,
    monkeypatch: pytest.MonkeyPatch,
    change: list[str],
    told: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    command = ["train", own, "--minutes", MINUTES, "--out", "run"]
    assert run(monkeypatch, *command, "--sigma", 0.25) == 0
    monkeypatch.setattr("wassermix.engine.plan.estimate_training", None)
    assert run(monkeypatch, *command, *change, "--resume") == 2
    assert f"begun with other settings ({told})" in capsys.readouterr().err
    assert run(monkeypatch, *command, "--sigma", 0.25) == 2
    assert "add --resume" in capsys.readouterr().err


def test_a_run_with_a_model_of_ones_own_is_resumed_without_being_told_to_trust_it(
    own: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("my_net.py").write_text(
        "from torch import nn\n\ndef net(*, shape, num_classes):\n"
        "    return nn.Sequential(nn.Flatten(), nn.Linear(64, num_classes))\n"
    )
    monkeypatch.syspath_prepend(".")
    command = ["train", own, "model=my_net:net", "--minutes", MINUTES, "--out", "run"]
    assert run(monkeypatch, *command) == 0
    assert run(monkeypatch, *command, "--resume") == 0


@pytest.mark.long
def test_two_processes_measure_together_and_train_to_one_budget(own: str, tmp_path: Path) -> None:
    words = ("--processes", 2, "train", own, "batch_size=4", "--minutes", 0.02, "--out", "two")
    with begun(*words) as both:
        said = both.communicate()[1]
    assert both.returncode == 0, said
    last = json.loads((tmp_path / "two" / "metrics.jsonl").read_text().splitlines()[-1])
    assert budget(tmp_path / "two") <= last["passes"] < budget(tmp_path / "two") + 2 * 4 * 4


def test_no_time_is_refused(own: str) -> None:
    with pytest.raises(InputError, match="--minutes is 0"):
        run_train(own, [], out=None, **KEPT, minutes=0.0)


@pytest.mark.parametrize("length", ["epochs=3", "updates=10", "budget=passes:9"])
def test_minutes_and_another_length_are_refused(own: str, length: str) -> None:
    with pytest.raises(InputError, match=f"the minutes and {length} both say how long"):
        run_train(own, [length], out=None, **KEPT, minutes=1.0)


def test_noise_that_is_given_twice_is_refused(own: str) -> None:
    with pytest.raises(InputError, match="--sigma and sigma= both"):
        run_train(own, ["sigma=0.5"], out=None, **KEPT, sigma=0.25)


RECORD: dict[str, Any] = {
    "data": "mnist",
    "sigma": 1.0,
    "certify": {"mode": "fixed", "n": 2000, "images": 500},
    "rows": [
        {
            "passes": passes,
            "certified": [
                {"radius": r / 4, "accuracy": best - r / 40, "low": best - r / 40 - 0.02, "high": 0.99}
                for r in range(5)
            ],
        }
        for passes, best in ((600_000, 0.9), (9_600_000, 0.95))
    ],
}


@pytest.fixture
def record(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two lengths were measured."""
    monkeypatch.setattr("wassermix.cli.best._measured", lambda: [RECORD])


def measured(**changes: Any) -> Config:
    """The recommended recipe as it was measured at 0.6 million passes, with changes."""
    told = {"sigma": 1.0, "budget": "passes:600000", **changes}
    return build_config(load_recipe("best"), {key.replace("__", "."): value for key, value in told.items()})


@pytest.mark.usefixtures("record")
def test_what_was_measured_is_told_with_how_it_was_measured() -> None:
    told = expectation(measured())
    assert "on mnist at sigma 1 after 0.6 million passes (mode fixed, n = 2000, 500 test images" in told
    assert "certified 90% (88% to 99%) at radius 0, 85% (83% to 99%) at radius 0.5, 80% (" in told
    assert expectation(measured(seed=7, device="cpu")) == told


@pytest.mark.usefixtures("record")
@pytest.mark.parametrize(
    "change",
    [
        {"sigma": 0.25},
        {"data": "mnist5k"},
        {"data__train_size": 1000},
        {"model": "mlp"},
        {"method": "gaussian"},
        {"method__noises": 4},
        {"batch_size": 64},
        {"augment": "mixup"},
        {"budget": "passes:18000"},
        {"budget": "passes:900000000"},
    ],
    ids=lambda change: ",".join(f"{key}={value}" for key, value in change.items()),
)
def test_of_any_other_training_nothing_is_promised(change: dict[str, Any]) -> None:
    told = expectation(measured(**change))
    assert "was not measured" in told
    assert "%" not in told


@pytest.mark.usefixtures("record")
def test_a_length_is_told_up_to_three_times_a_measured_one() -> None:
    for passes in (200_000, 1_800_000):
        assert "after 0.6 million" in expectation(measured(budget=f"passes:{passes}"))
    assert "after 9.6 million" in expectation(measured(budget="passes:3200000"))
    for passes in (199_000, 1_900_000, 3_100_000):
        assert "was not measured" in expectation(measured(budget=f"passes:{passes}"))


def test_what_ships_is_told_of_the_recipe_that_it_was_measured_on() -> None:
    shipped = json.loads(files("wassermix.recipes").joinpath("measured.json").read_text(encoding="utf-8"))
    for known, row in ((one, row) for one in shipped for row in one["rows"]):
        config = measured(data=known["data"], sigma=known["sigma"], budget=f"passes:{row['passes']}")
        assert f"certified {row['certified'][0]['accuracy']:.0%} (" in expectation(config)


@pytest.mark.parametrize(
    ("change", "warned"),
    [
        ({"model": "resnet20", "transform.flip": True}, True),
        ({"model": "resnet20"}, False),  # grey images, which are not flipped
        ({}, False),
        ({"model": "resnet20", "transform.flip": True, "method": "gaussian"}, False),
    ],
)
def test_on_colour_images_the_recipe_says_who_was_ahead(
    change: dict[str, Any], warned: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    cost = TrainingCost(updates=10, passes=1000, passes_per_second=100.0, epochs=2.0)
    say_plan(Plan(measured(**change), cost), 1.0)
    assert ("method=consistency was ahead" in capsys.readouterr().out) is warned


def test_the_warning_about_colour_is_what_the_table_says() -> None:
    table = Path(__file__).parents[2] / "results" / "scaling-colour.json"
    rows = json.loads(table.read_text())["results"]
    assert rows["consistency"]["acr"] > rows["recipe"]["acr"]
