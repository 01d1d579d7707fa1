"""Attack files: cut off anywhere and resumed they end as if undisturbed; nothing is overwritten unasked."""

from __future__ import annotations

import copy
import json
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from wassermix.attacks import (
    PGD,
    AttackResult,
    AttackSettings,
    AttackTask,
    GeodesicAttack,
    attack_to_files,
    evaluate_attack,
    run_attack,
)
from wassermix.core.errors import InputError
from wassermix.core.job import Output
from wassermix.core.samples import TensorSamples

ATTACK = PGD(eps=0.05, steps=3, seed=5)
FILES = Path(__file__).with_name("files")


class Images(TensorSamples):
    """Samples in memory that count how often they are asked."""

    asked = 0

    def get(self, indices):
        self.asked += 1
        return super().get(indices)


def run(digits, out, *, attack=ATTACK, images=40, about=None, check=False, progress=None, **output):
    indices = list(range(0, 500, 500 // images))
    samples = Images(digits.x, digits.y)
    task = AttackTask(digits.net, samples, indices, attack, batch_size=16, about=about, checks=check)
    result = attack_to_files(task, Output(out, **output), progress=progress)
    return result, samples.asked


def without_seconds(path):
    record = json.loads(path.read_text())
    assert record.pop("seconds") >= 0
    return record


def test_the_file_holds_what_the_evaluation_in_memory_gives(digits, tmp_path):
    result, _ = run(digits, tmp_path, check=True, about={"data": "digits", "split": "test"})
    record = without_seconds(tmp_path / "pgd-linf-0.05-3.json")
    rows = torch.arange(0, 500, 12)
    memory = evaluate_attack(digits.net, digits.x[rows], digits.y[rows], attack=ATTACK, batch_size=16)
    for key, share in (("robust", memory.robust), ("clean", memory.clean)):
        assert record[key] == {**asdict(share), "count": share.count}
    assert record["per_image"]["index"] == rows.tolist()
    assert record["per_image"]["robust_correct"] == memory.robust_correct.int().tolist()
    assert record["indices"] == {"first": 0, "every": 12, "count": 42}
    assert (record["data"], record["seed"], record["batch_size"]) == ("digits", 5, 16)
    assert record["version"]
    assert [check["name"] for check in record["checks"]] == [check.name for check in memory.checks]
    assert torch.equal(result.robust_correct, memory.robust_correct)
    assert list(tmp_path.iterdir()) == [tmp_path / "pgd-linf-0.05-3.json"]


def test_a_result_is_read_back_as_it_was(digits, tmp_path):
    result, _ = run(digits, tmp_path)
    again = AttackResult.read(tmp_path / "pgd-linf-0.05-3.json")
    assert again.robust == result.robust
    assert again.checks == result.checks
    assert torch.equal(again.index, result.index)
    assert again.identity == result.identity
    assert (again.title, again.parameters) == (result.title, result.parameters)
    again.write(tmp_path / "copy.json")
    assert (tmp_path / "copy.json").read_text() == (tmp_path / "pgd-linf-0.05-3.json").read_text()


@pytest.mark.parametrize("keep", [0, 1, 0.3, 0.5, 0.8, 0.95, 1.0])
def test_cut_off_anywhere_and_resumed_it_ends_as_if_undisturbed(digits, tmp_path, keep):
    class Killed(Exception):
        pass

    def stop(done, total):
        if done >= 32:
            raise Killed

    run(digits, tmp_path / "whole")
    with pytest.raises(Killed):
        run(digits, tmp_path / "cut", progress=stop)
    part = tmp_path / "cut" / "pgd-linf-0.05-3.log"
    written = part.read_bytes()
    part.write_bytes(written[: keep if isinstance(keep, int) else int(keep * len(written))])
    run(digits, tmp_path / "cut", resume=True)
    name = "pgd-linf-0.05-3.json"
    assert without_seconds(tmp_path / "cut" / name) == without_seconds(tmp_path / "whole" / name)
    assert [path.name for path in (tmp_path / "cut").iterdir()] == [name]


def test_finished_blocks_are_not_done_again(digits, tmp_path):
    def stop(done, total):
        if done >= 32:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(digits, tmp_path, progress=stop)
    _, asked = run(digits, tmp_path, resume=True)
    assert asked == 2  # the last block, and one image to see its shape


def test_an_output_that_exists_is_refused_kept_or_overwritten_as_asked(digits, tmp_path):
    run(digits, tmp_path)
    path = tmp_path / "pgd-linf-0.05-3.json"
    before = path.read_text()
    with pytest.raises(InputError, match=r"exists; go on with --resume"):
        run(digits, tmp_path)
    assert run(digits, tmp_path, resume=True)[0].robust == AttackResult.read(path).robust
    assert path.read_text() == before
    run(digits, tmp_path, overwrite=True, images=20)
    assert json.loads(path.read_text())["images"] == 20
    run(digits, tmp_path, name="other")
    assert (tmp_path / "other.json").exists()


def test_an_unfinished_output_is_refused_too(digits, tmp_path):
    (tmp_path / "a.running").write_text("{}\n")
    with pytest.raises(InputError, match="go on with --resume"):
        run(digits, tmp_path, name="a")


def test_unfinished_work_of_the_version_before_is_not_mistaken_for_ones_own(digits, tmp_path):
    (tmp_path / "a.part").write_text('{"attack": "pgd"}\n')
    with pytest.raises(InputError, match="begin anew with --overwrite"):
        run(digits, tmp_path, name="a", resume=True)
    run(digits, tmp_path, name="a", overwrite=True)
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]


@pytest.mark.parametrize("what", ["seed", "images", "net"])
def test_resuming_with_something_else_is_refused_by_name(digits, tmp_path, what):
    run(digits, tmp_path, name="a")
    net = copy.deepcopy(digits.net)
    changed = {"attack": PGD(eps=0.05, steps=3, seed=6)} if what == "seed" else {}
    if what == "images":
        changed = {"images": 20}
    if what == "net":
        net[0].weight.data.add_(1)
    key = {"seed": "seed 5", "images": "indices", "net": "fingerprint"}[what]
    other = SimpleNamespace(net=net, x=digits.x, y=digits.y)
    with pytest.raises(InputError, match=f"was made with {key}"):
        run(other, tmp_path, name="a", resume=True, **changed)


def test_a_damaged_log_is_an_error_that_says_so(digits, tmp_path):
    def stop(done, total):
        if done >= 16:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(digits, tmp_path, name="a", progress=stop)
    (tmp_path / "a.log").write_text("no json\n")
    with pytest.raises(InputError, match="damaged"):
        run(digits, tmp_path, name="a", resume=True)


@pytest.mark.parametrize("name", ["../a", "a/b", ".."])
def test_a_name_that_leaves_the_folder_is_refused(digits, tmp_path, name):
    with pytest.raises(InputError, match="plain word"):
        run(digits, tmp_path, name=name)


def test_a_folder_that_cannot_be_written_is_an_error(digits, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot write"):
        run(digits, tmp_path / "file" / "attack")


def test_a_stronger_attack_beside_lifts_the_upper_bound(digits, tmp_path):
    def strength(**options):
        return run(digits, tmp_path, check=True, **options)[0].checks[-1]

    assert strength(name="alone", images=5).message.startswith("this accuracy is an upper bound")
    strong = PGD(eps=0.05, steps=3, restarts=5)
    assert strength(name="strong", images=5, attack=strong).passed
    assert "5 restarts was run beside it" in strength(name="beside", images=5).message
    assert not strength(name="other images", images=6).passed
    assert not strength(name="other radius", images=5, attack=ATTACK.with_eps(0.04)).passed
    record = json.loads((tmp_path / "strong.json").read_text())
    for name in ("strong", "beside"):
        (tmp_path / f"{name}.json").write_text(json.dumps(record | {"fingerprint": "of other weights"}))
    assert not strength(name="other weights", images=5).passed


def test_what_is_no_result_is_not_read(tmp_path):
    (tmp_path / "a.json").write_text("{}")
    with pytest.raises(InputError, match="not an attack's result"):
        AttackResult.read(tmp_path / "a.json")


def test_the_geodesic_attack_keeps_its_curve(digits, tmp_path):
    attack = GeodesicAttack(times=3, targets=2, pair_size=16).fit(digits.x[1::5], digits.y[1::5])
    result, _ = run(digits, tmp_path, attack=attack, images=20)
    again = AttackResult.read(tmp_path / "geodesic-t0.5.json")
    assert again.summary == result.summary
    assert [point["t"] for point in again.summary["curve"]] == pytest.approx([0, 1 / 6, 1 / 3, 1 / 2])


def test_a_file_of_the_version_before_is_read_with_its_title_and_identity(digits):
    """Made by version 0.1.0, before results knew their title and identity."""
    old = {name: AttackResult.read(FILES / f"{name}-0.1.0.json") for name in ("pgd", "fgsm", "geodesic")}
    assert old["pgd"].title == "PGD ℓ2 ε=1.5 4 steps 2 restarts"
    assert old["fgsm"].title == "FGSM ℓ∞ ε=51/255 1 step"
    assert old["geodesic"].title == "the geodesic attack t ≤ 0.5"
    assert old["geodesic"].summary["curve"][-1]["count"] == old["geodesic"].robust.count
    attack = PGD(eps=1.5, norm="l2", steps=4, restarts=2, loss="margin")
    new = evaluate_attack(digits.net, digits.x[:5], digits.y[:5], attack=attack, check=False)
    assert old["pgd"].identity == new.identity
    assert old["fgsm"].identity != new.identity
    for one in old.values():
        assert one.robust.count == int(one.robust_correct.sum()) <= one.clean.count
        assert one.parameters["data"]


def test_settings_lead_to_the_same_file_and_radii_go_up_from_one_to_the_next(digits, tmp_path):
    samples, out = TensorSamples(digits.x, digits.y), Output(tmp_path)
    common = {"steps": 3, "images": 30, "checks": False, "batch_size": 16}
    near = run_attack(digits.net, samples, AttackSettings(eps=0.03, **common), output=out)
    far = run_attack(digits.net, samples, AttackSettings(eps=0.06, **common), output=out, after=near)
    assert far.parameters["smaller_eps"] == [0.03]
    assert bool((far.robust_correct <= near.robust_correct).all())
    assert AttackResult.read(tmp_path / "pgd-linf-0.06-3.json").identity == far.identity
    less = AttackSettings(eps=0.09, **{**common, "images": 10})
    with pytest.raises(InputError, match="other images"):
        run_attack(digits.net, samples, less, output=out, after=near)


def test_an_attack_that_learns_is_fitted_to_the_training_samples(digits, tmp_path):
    samples = TensorSamples(digits.x, digits.y)
    settings = AttackSettings(attack="geodesic", options={"times": 2, "pair_size": 8}, images=10)
    result = run_attack(digits.net, samples, settings, output=Output(tmp_path), train=samples)
    assert result.parameters["embed"] == "pixel"
    with pytest.raises(InputError, match="no maps yet"):
        run_attack(digits.net, samples, settings, output=Output(tmp_path, name="unfitted"))
