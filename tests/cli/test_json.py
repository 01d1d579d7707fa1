"""``--json``: one document on the standard output with the numbers of the table, all else beside it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cli.words import run
from wassermix.cli.answer import plain
from wassermix.recipes import recipe_names

Call = Any
"""A function of a command's words: its exit code, the document, and what was said beside it."""


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    monkeypatch.setenv("COLUMNS", "200")

    def asked(*words: object) -> tuple[int, dict[str, Any], str]:
        capsys.readouterr()
        code = run(monkeypatch, *words, "--json")
        shown = capsys.readouterr()
        assert shown.out, shown.err
        return code, json.loads(shown.out), shown.err

    return asked


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("json") / "run"
    with pytest.MonkeyPatch.context() as patch:
        assert run(patch, "train", "vectors", "data=gaussians", "epochs=1", "sigma=0.5", "--out", folder) == 0
    return folder


def test_certify_gives_the_table_and_its_file(trained: Path, ask: Call) -> None:
    code, found, beside = ask("certify", trained, "--n", 300, "--images", 20, "--name", "a")
    stored = json.loads((trained / "certify" / "a.json").read_text())
    assert code == 0
    assert found["command"] == "certify"
    assert all(found[key] == stored[key] for key in ("sigma", "mode", "n", "images", "acr", "statement"))
    for row in found["certified"]:
        assert f"{row['accuracy']:.1%}" in beside
        assert row in stored["certified"]
        assert row["radius"] <= found["reach"]
    assert "certified accuracy" in beside


def test_verify_names_what_does_not_hold_and_fails(trained: Path, tmp_path: Path, ask: Call) -> None:
    assert ask("certify", trained, "--n", 300, "--images", 4, "--name", "b")[0] == 0
    code, found, _ = ask("verify", trained / "certify" / "b.tsv")
    assert (code, found["holds"], found["files"][0]["certificates"]) == (0, True, 4)
    header, first, *rest = (trained / "certify" / "b.tsv").read_text().splitlines()
    cells = first.split("\t")
    cells[3] = "2.5"
    (tmp_path / "forged.tsv").write_text("\n".join([header, "\t".join(cells), *rest]) + "\n")
    (tmp_path / "forged.json").write_text((trained / "certify" / "b.json").read_text())
    code, found, beside = ask("verify", tmp_path / "forged.tsv")
    assert (code, found["holds"]) == (1, False)
    assert found["files"][0]["failures"][0]["image"] == int(cells[0])
    assert "do NOT hold" in beside


def test_attack_gives_a_result_for_each_radius(trained: Path, ask: Call) -> None:
    words = ("--norm", "l2", "--eps", "0.5,1.0", "--steps", 2, "--images", 30)
    code, found, beside = ask("attack", trained, *words)
    assert code == 0
    assert [one["eps"] for one in found["results"]] == [0.5, 1.0]
    assert all(f"{one['robust']['accuracy']:.1%}" in beside for one in found["results"])


def test_a_dry_run_answers_with_the_cost(trained: Path, ask: Call) -> None:
    _, found, beside = ask("certify", trained, "--n", 200, "--images", 3, "--dry-run", "--name", "dry")
    assert f"{found['passes']:,} forward passes" in beside
    assert found["minutes"] == pytest.approx(found["passes"] / found["passes_per_second"] / 60)


def test_audit_gives_every_pair(trained: Path, ask: Call) -> None:
    code, found, beside = ask("audit", trained, "--points", 3, "--per-class", 20)
    assert code == 0
    assert all(f"{pair['total_variation']:.3f}" in beside for pair in found["pairs"])


def test_drift_gives_the_estimate_and_the_alarm(trained: Path, tmp_path: Path, ask: Call) -> None:
    shape = ask("geometry", "gaussians", "--problems", 2, "--pair-size", "8")[1]["shape"]
    np.savez(tmp_path / "new.npz", x=np.random.default_rng(0).normal(size=(80, *shape)).astype("float32"))
    fast = ("--permutations", 39, "--resamples", 5, "--points", 0)
    code, found, beside = ask("drift", trained, "--data", tmp_path / "new.npz", *fast)
    assert (code, found["alarm"]) == (0, False)
    assert f"{found['estimate']['estimate']:.1%}" in beside
    code, found, beside = ask("drift", trained, "--stream", tmp_path / "new.npz", "--every", 40)
    assert code == (3 if found["alarm"] else 0)
    assert [line["batch"] for line in found["batches"]] == [0, 1]
    assert f"accuracy {found['last']['estimate']:.1%}" in beside


def test_report_gives_the_numbers_of_its_table(trained: Path, tmp_path: Path, ask: Call) -> None:
    assert ask("certify", trained, "--n", 300, "--images", 20, "--name", "page")[0] == 0
    code, found, beside = ask("report", trained, "--out", tmp_path / "page.html")
    assert (code, found["runs"]) == (0, ["run"])
    assert Path(found["report"]).is_file()
    rows = [row["runs"]["run"] for row in found["measures"] if row["measure"].startswith("certified at")]
    shares = [share for share in rows if share is not None]  # None: a radius that no image could reach
    assert shares
    assert all(f"{share['accuracy']:.1%}" in beside for share in shares)


def test_listings_are_documents_too(ask: Call) -> None:
    assert ask("recipes")[1]["recipes"] == recipe_names()
    assert ask("recipes", "best")[1]["recipe"]["model"]
    components = ask("methods")[1]["components"]
    assert {"method", "augment", "regularizer", "embed"} == {one["family"] for one in components}
    assert ask("reproduce")[1]["tables"]
    assert ask("doctor")[1]["versions"]["torch"]


def test_a_mistake_leaves_the_standard_output_empty(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "certify", "nowhere", "--json") == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("wassermix: ")
    assert run(monkeypatch, "recipes") == 0  # and the next command answers where it used to
    assert "best" in capsys.readouterr().out


def test_numbers_that_json_does_not_have_are_null() -> None:
    assert plain({"a": float("inf"), "b": (1.5, float("nan")), "c": Path("x/y")}) == {
        "a": None,
        "b": [1.5, None],
        "c": "x/y",
    }


def test_what_a_model_prints_is_no_part_of_the_document(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ask: Call
) -> None:
    (tmp_path / "talking.py").write_text(
        "import torch\n"
        "class Net(torch.nn.Linear):\n"
        "    def forward(self, x):\n"
        "        print('hello from forward')\n"
        "        return super().forward(x)\n"
        "def make():\n"
        "    net = Net(2, 2)\n"
        "    torch.nn.init.eye_(net.weight)\n"
        "    torch.nn.init.zeros_(net.bias)\n"
        "    return net\n"
    )
    x = np.random.default_rng(0).normal(size=(20, 2)).astype(np.float32)
    np.savez(tmp_path / "mine.npz", x_train=x, y_train=x[:, 0] > 0, x_test=x, y_test=x[:, 0] > 0)
    monkeypatch.syspath_prepend(tmp_path)
    words = ("--model", "talking:make", "--data", tmp_path / "mine.npz", "--sigma", 0.5, "--images", 2)
    code, answer, said = ask("certify", tmp_path / "judged", *words, "--n", 200, "--n0", 10)
    assert (code, answer["command"]) == (0, "certify")
    assert "hello from forward" in said
