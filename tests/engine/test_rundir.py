"""A run directory is one training's own: locked, cleared with care, taken up only by what began it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml

from wassermix.core.errors import InputError
from wassermix.core.lock import locked
from wassermix.engine import RunDir, load_dataset, train
from wassermix.engine.settings import Config, build_config, config_hash

SMALL: dict[str, Any] = {
    "data": {"name": "gaussians", "dim": 3, "train_size": 40, "test_size": 10},
    "model": {"name": "mlp", "hidden": [4]},
    "method": {"name": "gaussian", "sigma": 0.5},
    "epochs": 1,
    "batch_size": 20,
}


def config(**overrides: Any) -> Config:
    return build_config(SMALL, {key.replace("__", "."): value for key, value in overrides.items()})


@pytest.fixture
def trained(tmp_path: Path) -> Path:
    train(config(), tmp_path / "run")
    return tmp_path / "run"


def test_a_second_training_is_refused_and_names_the_first(tmp_path: Path) -> None:
    with (
        locked(tmp_path / "run" / "train.lock", "the run"),
        pytest.raises(InputError, match=r"being written by process \d+"),
    ):
        train(config(), tmp_path / "run")
    train(config(), tmp_path / "run")  # the lock is gone with its holder


def test_equal_trainings_write_equal_files(tmp_path: Path, trained: Path) -> None:
    train(config(), tmp_path / "again")
    for name in ("config.yaml", "model.safetensors"):
        assert (trained / name).read_bytes() == (tmp_path / "again" / name).read_bytes()
    assert (trained / "model.safetensors").stat().st_mode & 0o777 == (
        trained / "config.yaml"
    ).stat().st_mode & 0o777


def test_overwriting_removes_what_runs_write_and_nothing_else(trained: Path) -> None:
    (trained / "certify" / "b.shards").mkdir(parents=True)
    removed = ("certify/a.tsv", "certify/a.json", "certify/b.shards/1-of-2.tsv")
    for name in (*removed, "certify/notes.txt", "mine.csv"):
        (trained / name).write_text("x")
    train(config(seed=1), trained, overwrite=True)
    left = {str(path.relative_to(trained)) for path in trained.rglob("*") if path.is_file()}
    assert left == {
        "certify/notes.txt", "mine.csv", "config.yaml", "data.json", "model.safetensors", "state.pt",
        "metrics.jsonl",
    }  # fmt: skip
    assert not (trained / "certify" / "b.shards").exists()


@pytest.mark.parametrize("content", ["theme: dark\n", "[1, 2]\n"])
def test_a_strangers_config_is_never_overwritten(tmp_path: Path, content: str) -> None:
    (tmp_path / "config.yaml").write_text(content)
    (tmp_path / "state.pt").write_text("theirs")
    with pytest.raises(InputError, match=r"config\.yaml"):
        train(config(), tmp_path, overwrite=True)
    assert (tmp_path / "config.yaml").read_text() == content
    assert (tmp_path / "state.pt").read_text() == "theirs"


def test_a_mistake_in_the_config_clears_nothing(trained: Path) -> None:
    before = (trained / "model.safetensors").read_bytes()
    with pytest.raises(InputError, match="is no trained run"):
        train(config(method="catrs", method__teacher="no-such-run"), trained, overwrite=True)
    with pytest.raises(InputError, match="images"):
        train(config(method="augmix"), trained, overwrite=True)
    assert (trained / "model.safetensors").exists()
    assert (trained / "model.safetensors").read_bytes() == before


def test_resume_and_overwrite_exclude_each_other(trained: Path) -> None:
    with pytest.raises(InputError, match="give one of them"):
        train(config(), trained, resume=True, overwrite=True)


def test_the_current_folder_is_no_place_for_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("", "."):
        with pytest.raises(InputError, match="current folder"):
            train(config(), Path(name), overwrite=True)


@pytest.mark.parametrize("content", [b"", b"not a checkpoint", None])
def test_a_state_that_is_none_is_told(trained: Path, content: bytes | None) -> None:
    if content is None:
        torch.save({"something": 1}, trained / "state.pt")
    else:
        (trained / "state.pt").write_bytes(content)
    with pytest.raises(InputError, match="is not the training state of this run"):
        train(config(), trained, resume=True)


def test_a_finished_run_without_its_state_is_not_begun_anew_by_resume(tmp_path: Path) -> None:
    run = tmp_path / "run"
    train(config(epochs=2), run)
    before = (run / "model.safetensors").read_bytes()
    (run / "state.pt").unlink()
    with pytest.raises(InputError, match=r"weights but no state\.pt to go on from"):
        train(config(epochs=2), run, resume=True)
    assert (run / "model.safetensors").read_bytes() == before


def test_a_training_killed_between_its_first_weights_and_its_first_state_goes_on(trained: Path) -> None:
    before = (trained / "model.safetensors").read_bytes()
    (trained / "state.pt").unlink()
    train(config(), trained, resume=True)
    assert (trained / "model.safetensors").read_bytes() == before
    assert (trained / "metrics.jsonl").read_text().count("\n") == 1


def test_a_state_of_other_settings_is_refused(tmp_path: Path, trained: Path) -> None:
    train(config(seed=5), tmp_path / "other")
    (tmp_path / "other" / "state.pt").replace(trained / "state.pt")
    with pytest.raises(InputError, match=r"other settings than config\.yaml"):
        train(config(), trained, resume=True)


def test_a_run_from_before_an_option_is_resumed_as_often_as_it_is_stopped(tmp_path: Path) -> None:
    whole, run = tmp_path / "whole", tmp_path / "run"
    train(config(epochs=3), whole)
    _begin_before_smoothing(run, config(epochs=3))
    for share in (0.6, 0.9):
        _stop_past(share, config(epochs=3), run)
    train(config(epochs=3), run, resume=True)
    assert "smoothing" not in RunDir(run).stored()["method"]
    assert (run / "model.safetensors").read_bytes() == (whole / "model.safetensors").read_bytes()


def test_a_state_that_an_earlier_version_named_by_todays_defaults_is_its_runs(tmp_path: Path) -> None:
    run = tmp_path / "run"
    _begin_before_smoothing(run, config(epochs=2))
    _stop_past(0.9, config(epochs=2), run)
    state = torch.load(run / "state.pt", weights_only=True)
    torch.save({**state, "config": config_hash(config(epochs=2))}, run / "state.pt")
    assert train(config(epochs=2), run, resume=True).epoch == 2


def _begin_before_smoothing(run: Path, wanted: Config) -> None:
    """Begin a run as it was begun before noise training had the option ``smoothing``."""
    stored = wanted.model_dump(mode="json")
    del stored["method"]["smoothing"]
    run.mkdir()
    (run / "config.yaml").write_text(yaml.safe_dump(stored))


def _stop_past(share: float, wanted: Config, run: Path) -> None:
    """Resume a training and stop it beyond this share, in the middle of an epoch or before its checkpoint."""

    class Stop(Exception):
        pass

    def stop(done: float, _: str) -> None:
        if done > share:
            raise Stop

    with pytest.raises(Stop):
        train(wanted, run, resume=True, progress=stop)


def test_a_state_without_its_config_is_not_continued(trained: Path) -> None:
    (trained / "config.yaml").unlink()
    with pytest.raises(InputError, match=r"without the config\.yaml"):
        train(config(), trained)


def test_leftovers_of_a_killed_process_go(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    (run / ".model.safetensors.999999999.part").write_text("half")
    train(config(), run)
    assert not list(run.glob(".*.part"))


def test_a_refused_training_leaves_no_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        train(config(method="augmix"), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_weights_that_are_no_numbers_end_the_training_and_are_not_written(tmp_path: Path) -> None:
    with pytest.raises(ArithmeticError, match=r"became NaN or infinite by update 1; lower optimizer\.lr"):
        train(config(optimizer__lr=1e38, optimizer__weight_decay=100.0, updates=1), tmp_path / "run")
    assert not (tmp_path / "run" / "model.safetensors").exists()
    with pytest.raises(InputError, match="finite"):
        config(optimizer__lr=float("inf"))


def test_a_full_disk_is_told_in_a_sentence(trained: Path) -> None:
    model = torch.nn.Linear(2, 2)
    with pytest.raises(InputError, match="has space"):
        RunDir(trained).save_weights(model, config(), trained=1.0, file=Path("/dev/full/x"))


def test_only_the_key_that_counts_says_how_long_training_lasts() -> None:
    assert (config(updates=7).epochs, config(updates=7).updates) == (None, 7)
    spent = config(budget="passes:50")
    assert (spent.epochs, spent.updates, spent.budget) == (None, None, "passes:50")
    with pytest.raises(InputError, match="give one"):
        config(budget="passes:50", updates=7)
    with pytest.raises(InputError, match="set one"):
        config(epochs=None)


def test_the_hash_of_a_config_is_that_of_its_file(trained: Path) -> None:
    stored = yaml.safe_load((trained / "config.yaml").read_text())
    assert config_hash(stored) == config_hash(config())


MARK = """
from pathlib import Path
Path(__file__).with_name("imported").touch()
def make(num_classes): ...
"""


@pytest.mark.parametrize(
    ("section", "value"),
    [
        ("model", {"name": "trap:make"}),
        ("model", {"name": "ensemble", "members": [{"name": "trap:make"}]}),
        ("method", {"name": "trap:make"}),
        ("method", {"name": "phases", "sections": [{"name": "gaussian"}, {"name": "trap:make"}]}),
        ("augment", "trap:make"),
        ("regularizer", {"name": "trap:make"}),
        ("embed", {"name": "trap:make"}),
        ("data", {"name": "trap:make"}),
    ],
)
def test_a_run_from_someone_else_imports_nothing_without_trust(
    trained: Path, monkeypatch: pytest.MonkeyPatch, section: str, value: Any
) -> None:
    monkeypatch.chdir(trained)
    (trained / "trap.py").write_text(MARK)
    stored = yaml.safe_load((trained / "config.yaml").read_text())
    (trained / "config.yaml").write_text(json.dumps({**stored, section: value}))
    with pytest.raises(InputError, match=f"names {section}=trap:make: .*--trust"):
        RunDir(trained).config()
    assert not (trained / "imported").exists()
    assert "trap" not in sys.modules


def test_shipped_components_need_no_trust(trained: Path) -> None:
    assert RunDir(trained).config().method["name"] == "gaussian"


def table(path: Path) -> Path:
    rows = "".join(f"{1000 * n},{n / 1000},{n % 2}\n" for n in range(40))
    path.write_text("a,b,label\n" + rows)
    return path


def test_a_run_finds_its_files_from_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table(tmp_path / "train.csv")
    table(tmp_path / "test.csv")
    monkeypatch.chdir(tmp_path)
    data = {"name": "train.csv", "test": "test.csv"}
    RunDir(tmp_path / "run").begin(build_config({**SMALL, "data": data}))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert len(load_dataset(RunDir(tmp_path / "run").config()).test) == 40


def test_a_table_is_standardised_for_new_runs_and_not_for_old_ones(tmp_path: Path) -> None:
    data = {"name": str(table(tmp_path / "t.csv"))}
    run = RunDir(tmp_path / "run")
    run.begin(build_config({**SMALL, "data": data}))
    assert load_dataset(run.config()).scale is not None
    stored = yaml.safe_load(run.config_file.read_text())
    del stored["data"]["standardize"]  # as it was written before tables were standardised
    run.config_file.write_text(yaml.safe_dump(stored))
    assert load_dataset(run.config()).scale is None
