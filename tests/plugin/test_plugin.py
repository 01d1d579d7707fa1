"""A package that extends everything, installed by entry points, walks through every command unchanged."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

PACKAGE = Path(__file__).parent
TRAIN = (
    "data=rings", "data.samples=300", "model=ring-net", "method=sign-noise", "augment=outward", "embed=polar",
    "regularizer=small-logits", "epochs=4", "optimizer.lr=0.05", "batch_size=64",
)  # fmt: skip


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a process that has the package installed."""
    target = tmp_path_factory.mktemp("site")
    source = tmp_path_factory.mktemp("source") / "package"
    subprocess.run(["cp", "-r", str(PACKAGE), str(source)], check=True)  # the build writes beside the sources
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    options = ["--no-build-isolation", "--disable-pip-version-check", "--target", str(target)]
    subprocess.run([*pip, *options, str(source)], check=True, capture_output=True)
    path = os.pathsep.join(filter(None, [str(target), os.environ.get("PYTHONPATH")]))
    return {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}


@pytest.fixture(scope="module")
def wassermix(installed: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    """``wassermix(words...)``: run a command with the package installed, and return what it prints."""
    home = tmp_path_factory.mktemp("work")

    def run(*words: object) -> str:
        command = [sys.executable, "-m", "wassermix", *map(str, words)]
        done = subprocess.run(command, cwd=home, env=installed, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    run.home = home  # type: ignore[attr-defined]
    return run


@pytest.fixture(scope="module")
def trained(wassermix: Callable[..., str]) -> Path:
    wassermix("train", "vectors", *TRAIN, "--out", "run")
    return Path(wassermix.home / "run")  # type: ignore[attr-defined]


def test_components_of_the_package_are_listed_with_their_options(wassermix: Callable[..., str]) -> None:
    shown = wassermix("methods")
    assert "method=sign-noise" in shown
    assert "augment=outward" in shown


def test_a_training_is_made_of_the_packages_parts(trained: Path) -> None:
    config = yaml.safe_load((trained / "config.yaml").read_text())
    assert config["method"] == {"name": "sign-noise", "sigma": 0.3, "eps": 0.1}
    last = json.loads((trained / "metrics.jsonl").read_text().splitlines()[-1])
    assert last["accuracy"] > 0.6  # three rings, a third by chance


def test_a_killed_training_resumes_to_the_same_weights(
    trained: Path, installed: dict[str, str], wassermix: Callable[..., str]
) -> None:
    folder = trained.parent / "killed"
    words = [sys.executable, "-m", "wassermix", "train", "vectors", *TRAIN, "--out", "killed"]
    process = subprocess.Popen(words, cwd=trained.parent, env=installed, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 300
    while not (folder / "state.pt").exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.wait()
    wassermix("train", "vectors", *TRAIN, "--out", "killed", "--resume")
    assert (folder / "model.safetensors").read_bytes() == (trained / "model.safetensors").read_bytes()


def test_its_rule_certifies_is_verified_and_its_attack_attacks(
    trained: Path, wassermix: Callable[..., str]
) -> None:
    wassermix("certify", "run", "--mode", "hoeffding", "--n", 400, "--images", 20)
    assert "all hold" in wassermix("verify", "run")
    wassermix(
        "attack",
        "run",
        "--attack",
        "shell",
        "--norm",
        "l2",
        "--eps",
        0.4,
        "--images",
        60,
        "--option",
        "tries=30",
    )
    (attacked,) = (trained / "attack").glob("*.json")
    result = json.loads(attacked.read_text())
    assert result["tries"] == 30
    assert result["robust"]["accuracy"] <= result["clean"]["accuracy"]
    wassermix("audit", "run", "--points", 5, "--per-class", 30)
    wassermix("report", "run", "--out", "page.html")
    page = (trained.parent / "page.html").read_text()
    assert "the shell attack" in page
    assert "hoeffding" in page


def test_a_table_compares_its_components(trained: Path, wassermix: Callable[..., str]) -> None:
    table = {
        "title": "The package's parts", "recipe": "vectors", "control": "plain",
        "common": {
            "data": "rings", "data.samples": 300, "model": "ring-net", "method": "sign-noise", "updates": 20,
        },
        "certify": {"mode": "hoeffding", "n": 200, "images": 10},
        "attacks": [{"attack": "shell", "norm": "l2", "eps": 0.4, "images": 20}],
        "rows": {"plain": {}, "outward": {"augment": "outward", "embed": "polar"}},
    }  # fmt: skip
    (trained.parent / "mine.yaml").write_text(yaml.safe_dump(table))
    wassermix("reproduce", "mine.yaml")
    found = json.loads((trained.parent / "results" / "mine.json").read_text())
    assert set(found["results"]) == {"plain", "outward"}
