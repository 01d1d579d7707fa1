"""A package that extends everything, installed by entry points, walks through every command unchanged."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from cli.words import kill_when, lines, run

PACKAGE = Path(__file__).parent
TRAIN = (
    "train", "vectors", "data=rings", "data.samples=300", "model=ring-net", "method=sign-noise",
    "augment=outward", "embed=polar", "regularizer=small-logits", "epochs=30", "optimizer.lr=0.05",
)  # fmt: skip


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[pytest.MonkeyPatch]:
    """The package installed for this process and those that it starts, in an empty current folder."""
    target, source = tmp_path_factory.mktemp("site"), tmp_path_factory.mktemp("source") / "package"
    subprocess.run(["cp", "-r", str(PACKAGE), str(source)], check=True)  # the build writes beside the sources
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    options = ["--no-build-isolation", "--disable-pip-version-check", "--target", str(target)]
    subprocess.run([*pip, *options, str(source)], check=True, capture_output=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("work"))
        patch.syspath_prepend(str(target))
        paths = [str(target), os.environ.get("PYTHONPATH", "")]
        patch.setenv("PYTHONPATH", os.pathsep.join(path for path in paths if path))
        yield patch


@pytest.fixture(scope="module")
def trained(installed: pytest.MonkeyPatch) -> Path:
    assert run(installed, *TRAIN, "--out", "run") == 0
    return Path("run").absolute()


def test_its_components_are_listed_with_cost_and_options(
    installed: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(installed, "methods") == 0
    shown = capsys.readouterr().out
    assert "method=sign-noise  (2 passes" in shown
    assert "augment=outward  (1 pass " in shown
    assert "options: step=0.2  candidates=3" in shown
    assert "embed=polar" in shown
    assert "regularizer=small-logits" in shown


def test_a_training_is_made_of_its_parts_and_pays_for_them(trained: Path) -> None:
    config = yaml.safe_load((trained / "config.yaml").read_text())
    assert config["method"] == {"name": "sign-noise", "sigma": 0.3, "eps": 0.1}
    last = json.loads((trained / "metrics.jsonl").read_text().splitlines()[-1])
    assert last["accuracy"] > 0.6  # three rings: a third by chance
    assert {"ce", "smoothness"} <= last["loss"].keys()
    # Each sample: 2 passes for it and 2 for the new one, 1 for the term; 3 candidates' forwards, attacked.
    assert last["passes"] == 30 * 300 * (2 + 2 + 1 + 3 * (1 / 3 + 1))


def test_a_killed_training_resumes_to_the_same_weights(trained: Path, installed: pytest.MonkeyPatch) -> None:
    killed = trained.parent / "killed"
    kill_when(lambda: lines(killed / "metrics.jsonl") >= 2, *TRAIN, "--out", killed)
    assert lines(killed / "metrics.jsonl") < 30
    assert run(installed, *TRAIN, "--out", killed, "--resume") == 0
    assert (killed / "model.safetensors").read_bytes() == (trained / "model.safetensors").read_bytes()


def test_its_rule_certifies_and_the_certificates_are_verified(
    trained: Path, installed: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(installed, "certify", trained, "--mode", "hoeffding", "--n", 400, "--images", 20) == 0
    assert run(installed, "verify", trained) == 0
    assert "all hold" in capsys.readouterr().out


def test_its_attack_takes_its_own_options_and_only_lowers_the_accuracy(
    trained: Path, installed: pytest.MonkeyPatch
) -> None:
    ball = ("--attack", "shell", "--norm", "l2", "--eps", 0.4, "--images", 60)
    assert run(installed, "attack", trained, *ball, "--option", "tries=30") == 0
    (attacked,) = (trained / "attack").glob("*.json")
    result = json.loads(attacked.read_text())
    assert result["tries"] == 30
    assert result["robust"]["accuracy"] < result["clean"]["accuracy"]


def test_the_page_shows_its_certificates_its_attack_and_its_embeddings_audit(
    trained: Path, installed: pytest.MonkeyPatch
) -> None:
    assert run(installed, "audit", trained, "--points", 5, "--per-class", 30) == 0
    assert run(installed, "report", trained, "--out", "page.html") == 0
    page = Path("page.html").read_text()
    assert "the shell attack" in page
    assert "hoeffding" in page
    assert "polar" in page


def test_a_table_compares_its_components(installed: pytest.MonkeyPatch) -> None:
    table = {
        "title": "The package's parts", "recipe": "vectors", "control": "plain",
        "common": {
            "data": "rings", "data.samples": 300, "model": "ring-net", "method": "sign-noise", "updates": 20,
        },
        "certify": {"mode": "hoeffding", "n": 200, "images": 10},
        "attacks": [{"attack": "shell", "norm": "l2", "eps": 0.4, "images": 20}],
        "rows": {"plain": {}, "outward": {"augment": "outward", "embed": "polar"}},
    }  # fmt: skip
    Path("mine.yaml").write_text(yaml.safe_dump(table))
    assert run(installed, "reproduce", "mine.yaml") == 0
    found = json.loads(Path("results/mine.json").read_text())
    assert set(found["results"]) == {"plain", "outward"}
