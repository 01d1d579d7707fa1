"""Attack files: cut off anywhere and resumed they end as if undisturbed; nothing is overwritten unasked."""

from __future__ import annotations

import json

import pytest
import torch

from wassermix.attacks import PGD, GeodesicAttack, attack_to_files, evaluate_attack, read_attack
from wassermix.core.errors import InputError

ATTACK = PGD(eps=0.05, steps=3, seed=5)


class Images:
    """A split in memory that counts how often it is asked."""

    def __init__(self, digits):
        self.x, self.y, self.asked = digits.x, digits.y, 0

    def get(self, indices):
        self.asked += 1
        return self.x[indices]


def run(digits, out, *, attack=ATTACK, images=40, **options):
    indices = range(0, 500, 500 // images)
    return attack_to_files(
        digits.net, Images(digits), list(indices), attack=attack, out=out, batch_size=16, **options
    )


def without_seconds(path):
    record = json.loads(path.read_text())
    assert record.pop("seconds") >= 0
    return record


def test_the_file_holds_what_the_evaluation_in_memory_gives(digits, tmp_path):
    result = run(digits, tmp_path, about={"data": "digits", "split": "test"})
    record = without_seconds(tmp_path / "pgd-linf-0.05-3.json")
    rows = torch.arange(0, 500, 12)
    memory = evaluate_attack(digits.net, digits.x[rows], digits.y[rows], attack=ATTACK, batch_size=16)
    assert record["robust"] == memory.robust
    assert record["clean"] == memory.clean
    assert record["per_image"]["index"] == rows.tolist()
    assert record["per_image"]["robust_correct"] == memory.robust_correct.int().tolist()
    assert record["indices"] == {"first": 0, "every": 12, "count": 42}
    assert (record["data"], record["seed"], record["batch_size"]) == ("digits", 5, 16)
    assert record["version"]
    assert [check["name"] for check in record["checks"]] == [check.name for check in memory.checks]
    assert torch.equal(result.robust_correct, memory.robust_correct)
    assert list(tmp_path.iterdir()) == [tmp_path / "pgd-linf-0.05-3.json"]


def test_a_result_is_read_back_as_it_was(digits, tmp_path):
    result = run(digits, tmp_path, check=False)
    again = read_attack(tmp_path / "pgd-linf-0.05-3.json")
    assert again.robust == result.robust
    assert again.checks == result.checks
    assert torch.equal(again.index, result.index)


@pytest.mark.parametrize("keep", [0, 1, 0.3, 0.5, 0.8, 0.95, 1.0])
def test_cut_off_anywhere_and_resumed_it_ends_as_if_undisturbed(digits, tmp_path, keep):
    class Killed(Exception):
        pass

    def stop(done, total):
        if done >= 32:
            raise Killed

    run(digits, tmp_path / "whole", check=False)
    with pytest.raises(Killed):
        run(digits, tmp_path / "cut", check=False, progress=stop)
    part = tmp_path / "cut" / "pgd-linf-0.05-3.part"
    written = part.read_bytes()
    part.write_bytes(written[: keep if isinstance(keep, int) else int(keep * len(written))])
    run(digits, tmp_path / "cut", check=False, resume=True)
    name = "pgd-linf-0.05-3.json"
    assert without_seconds(tmp_path / "cut" / name) == without_seconds(tmp_path / "whole" / name)
    assert not part.exists()


def test_finished_blocks_are_not_done_again(digits, tmp_path):
    def stop(done, total):
        if done >= 32:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(digits, tmp_path, check=False, progress=stop)
    images = Images(digits)
    attack_to_files(
        digits.net,
        images,
        list(range(0, 500, 12)),
        attack=ATTACK,
        out=tmp_path,
        batch_size=16,
        check=False,
        resume=True,
    )
    assert images.asked == 2  # the last block, and one image to see its shape


def test_an_output_that_exists_is_refused_kept_or_overwritten_as_asked(digits, tmp_path):
    run(digits, tmp_path, check=False)
    path = tmp_path / "pgd-linf-0.05-3.json"
    before = path.read_text()
    with pytest.raises(InputError, match=r"exists; go on with --resume"):
        run(digits, tmp_path, check=False)
    assert run(digits, tmp_path, check=False, resume=True).robust == read_attack(path).robust
    assert path.read_text() == before
    run(digits, tmp_path, check=False, overwrite=True, images=20)
    assert json.loads(path.read_text())["images"] == 20
    run(digits, tmp_path, check=False, name="other")
    assert (tmp_path / "other.json").exists()


def test_an_unfinished_output_is_refused_too(digits, tmp_path):
    (tmp_path / "a.part").write_text("{}\n")
    with pytest.raises(InputError, match="unfinished"):
        run(digits, tmp_path, name="a")


@pytest.mark.parametrize("what", ["seed", "images", "net"])
def test_resuming_with_something_else_is_refused_by_name(digits, tmp_path, what):
    import copy
    from types import SimpleNamespace

    run(digits, tmp_path, name="a", check=False)
    net = copy.deepcopy(digits.net)
    changed = {"attack": PGD(eps=0.05, steps=3, seed=6)} if what == "seed" else {}
    if what == "images":
        changed = {"images": 20}
    if what == "net":
        net[0].weight.data.add_(1)
    key = {"seed": "seed=5", "images": "indices=", "net": "fingerprint="}[what]
    other = SimpleNamespace(net=net, x=digits.x, y=digits.y)
    with pytest.raises(InputError, match=f"begun with {key}"):
        run(other, tmp_path, name="a", check=False, resume=True, **changed)


def test_a_damaged_part_file_is_an_error_that_says_so(digits, tmp_path):
    (tmp_path / "a.part").write_text("no json\n")
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


def test_autoattack_beside_lifts_the_upper_bound(digits, tmp_path):
    weak = run(digits, tmp_path, name="alone", images=5)
    assert weak.checks[-1].message.startswith("this accuracy is an upper bound")
    record = json.loads((tmp_path / "alone.json").read_text()) | {"attack": "autoattack"}
    (tmp_path / "aa.json").write_text(json.dumps(record))
    assert run(digits, tmp_path, name="beside", images=5).checks[-1].passed
    assert not run(digits, tmp_path, name="other images", images=6).checks[-1].passed
    (tmp_path / "aa.json").write_text(json.dumps(record | {"fingerprint": "of other weights"}))
    assert not run(digits, tmp_path, name="other weights", images=5).checks[-1].passed


def test_what_is_no_result_is_not_read(tmp_path):
    (tmp_path / "a.json").write_text("{}")
    with pytest.raises(InputError, match="not an attack's result"):
        read_attack(tmp_path / "a.json")


def test_the_geodesic_attack_keeps_its_curve(digits, tmp_path):
    attack = GeodesicAttack(times=3, targets=2, pair_size=16).fit(digits.x[1::5], digits.y[1::5])
    result = run(digits, tmp_path, attack=attack, images=20)
    again = read_attack(tmp_path / "geodesic-t0.5.json")
    assert again.summary == result.summary
    assert [point["t"] for point in again.summary["curve"]] == pytest.approx([0, 1 / 6, 1 / 3, 1 / 2])
