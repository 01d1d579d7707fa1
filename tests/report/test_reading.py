"""Reading runs: whatever is broken is named in a sentence, and files of the real writers are understood."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from report.synthetic_runs import write_config, write_run
from wassermix.attacks import PGD, evaluate_attack
from wassermix.certify import CertifySettings, certify_to_files
from wassermix.core.errors import InputError
from wassermix.core.files import write_json
from wassermix.core.job import Output
from wassermix.report import load_run, load_runs


def change(part: str, edit: Callable[[dict], object]) -> Callable[[Path], None]:
    def apply(run: Path) -> None:
        (path,) = (run / part).glob("*.json")
        value = json.loads(path.read_text())
        edit(value)
        path.write_text(json.dumps(value))

    return apply


def overwrite(name: str, text: str | bytes) -> Callable[[Path], None]:
    def apply(run: Path) -> None:
        (path,) = run.glob(name)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())

    return apply


def other_frames(run: Path) -> None:
    ends, times = np.zeros((3, 2)), np.zeros(4)
    np.savez(run / "audit" / "pairs.npz", frames=np.zeros((3, 4, 5)), pairs=ends, t=times)


LOG = "idx\tlabel\tpredict\tradius\tcorrect\n0\t1\t1\tfar\t1\n"
BROKEN = {
    "config is not YAML": (overwrite("config.yaml", "a: [1"), "not valid YAML"),
    "config is a list": (overwrite("config.yaml", "- 1\n"), "expected named values"),
    "metrics line": (overwrite("metrics.jsonl", '{"epoch": 1}\n{nonsense}\n'), "line 2 is not valid JSON"),
    "certify is not JSON": (overwrite("certify/*.json", "{"), "not valid JSON"),
    "no parameters": (change("certify", lambda v: v.pop("alpha")), "alpha"),
    "log without columns": (overwrite("certify/*.tsv", "a\tb\n1\t2\n"), "idx"),
    "log with words": (overwrite("certify/*.tsv", LOG), "radius"),
    "flags": (change("attack", lambda v: v["per_image"]["label"].pop()), "flags differ in length"),
    "check": (change("attack", lambda v: v["checks"][0].pop("message")), "message"),
    "short curve": (change("audit", lambda v: v["pairs"][2]["kl"].pop()), r"pairs\[2\].*'kl'"),
    "curve with a hole": (change("audit", lambda v: v["pairs"][0]["loss"].__setitem__(3, None)), "'loss'"),
    "pictures are no archive": (overwrite("audit/pairs.npz", b"PK\x03\x04broken"), "no pictures of an audit"),
    "pictures of another shape": (other_frames, "frames are float64 of shape"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_broken_files_are_named_in_a_sentence(case: str, tmp_path: Path) -> None:
    breaks, message = BROKEN[case]
    run = write_run(tmp_path / "run", images=40)
    breaks(run)
    with pytest.raises(InputError, match=message) as caught:
        load_run(run)
    assert str(run) in str(caught.value)


@pytest.mark.parametrize("name", ["absent", "absent.tsv"])
def test_a_run_that_is_not_there_is_named(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not there"):
        load_run(tmp_path / name)


def test_a_file_that_is_no_log_is_not_called_absent(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    with pytest.raises(InputError, match="is a file; expected a run directory"):
        load_runs([tmp_path / "model.safetensors"])


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="expected a run directory"):
        load_run(tmp_path)
    with pytest.raises(InputError, match="no run was given"):
        load_runs([])


def test_an_unfinished_certification_is_left_out_and_said(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", images=40)
    (run / "certify" / "fixed-s0.25-n1000.json").unlink()
    record = load_run(run)
    assert record.certified == ()
    assert "--resume" in record.warnings[0]


def test_half_a_metrics_line_is_passed_over(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", images=40)
    with (run / "metrics.jsonl").open("a") as file:
        file.write('{"epoch": 9, "acc')
    assert len(load_run(run).metrics) == 8


def test_class_names_replace_numbers(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", images=40)
    change("audit", lambda v: v["parameters"].update(class_names=["cat", "dog", "owl", "fox"]))(run)
    assert load_run(run).audited[0].pairs[0].label == "cat → dog"


class Points:
    """A linear problem in four dimensions as a split."""

    def __init__(self) -> None:
        self.x = torch.rand(60, 4, generator=torch.Generator().manual_seed(0))
        self.y = (self.x.sum(1) > 2).long()

    def __len__(self) -> int:
        return len(self.y)

    def get(self, indices: torch.Tensor) -> torch.Tensor:
        return self.x[indices]


def test_files_of_the_real_writers_are_understood(tmp_path: Path) -> None:
    split, run = Points(), tmp_path / "run"

    def model(x: torch.Tensor) -> torch.Tensor:
        margin = 3 * (x.sum(1) - 2)
        return torch.stack([-margin, margin], 1)

    run.mkdir()
    write_config(run)
    settings = CertifySettings(sigma=0.25, n0=64, n=256)
    stored = certify_to_files(
        model, split, range(0, 60, 3), output=Output(run / "certify"), settings=settings
    )
    found = evaluate_attack(model, split.x, split.y, attack=PGD(eps=0.1, norm="l2", steps=5))
    write_json(run / "attack" / "pgd.json", found.record())
    record = load_run(run)
    (certified,), (attacked,) = record.certified, record.attacked
    assert certified.acr == pytest.approx(stored.acr)
    assert {r: s.accuracy for r, s in certified.table.items()} == {
        row.radius: row.accuracy for row in stored.certified_accuracy() if row.radius <= stored.reach
    }
    assert attacked.robust.accuracy == found.robust_correct.double().mean().item()
    assert dict(attacked.protocol)["eps"] == 0.1
