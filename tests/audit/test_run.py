"""Audits on disk: resumed to the same files, kept only for the same task, readable from earlier versions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from wassermix.audit import AuditSettings, PerformanceGeodesic, PerformanceSimplex, run_audit
from wassermix.core.errors import InputError
from wassermix.core.job import Output
from wassermix.core.samples import TensorSamples
from wassermix.embed import PCA

FILES = Path(__file__).with_name("files")


def split(shape: tuple[int, ...] = (1, 6, 6)) -> TensorSamples:
    """Held-out images of three classes."""
    return TensorSamples(
        torch.rand(60, *shape, generator=torch.Generator().manual_seed(0)), torch.arange(60) % 3
    )


def model(x: Tensor) -> Tensor:
    return x.reshape(len(x), -1)[:, :3]


def net(seed: int) -> torch.nn.Module:
    made = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(36, 3, bias=False))
    with torch.no_grad():
        made[1].weight.copy_(torch.randn(3, 36, generator=torch.Generator().manual_seed(seed)))
    return made


def audit(
    out: Path, *, judged: Any = model, samples: Any = None, more: dict[str, Any] | None = None, **asked: Any
) -> Any:
    """Settings by name; what goes to the output by its own name."""
    output = {key: asked.pop(key) for key in ("name", "resume", "overwrite") if key in asked}
    settings = AuditSettings(**{"points": 3, **asked})
    return run_audit(judged, samples or split(), settings, output=Output(out, **output), **(more or {}))


def test_curves_and_frames_are_written_with_every_parameter(tmp_path: Path) -> None:
    made = audit(tmp_path / "audit", name="plain", points=5)
    stored = json.loads((tmp_path / "audit" / "plain.json").read_text())
    assert stored["parameters"]["points"] == 5
    keys = (
        "source target t loss kl accuracy as_source as_target as_other total_variation worst_t flip_t images"
    )
    assert set(keys.split()) <= set(stored["pairs"][0])
    with np.load(tmp_path / "audit" / "plain.npz") as file:
        assert file["frames"].shape == made.frames.images.shape == (3, 4, 11, 1, 6, 6)
        assert file["frames"].dtype == np.uint8
        assert file["pairs"].tolist() == made.frames.pairs.tolist()
        assert file["t"].tolist() == pytest.approx([k / 10 for k in range(11)])
    assert sorted(path.name for path in (tmp_path / "audit").iterdir()) == ["plain.json", "plain.npz"]


def test_the_first_and_last_frames_are_images_of_the_classes(tmp_path: Path) -> None:
    samples, frames = split(), audit(tmp_path).frames
    known = samples.x.mul(255).round().to(torch.uint8).numpy()
    for pictures, (source, target) in zip(frames.images, frames.pairs):
        for sample in pictures:
            assert any((known[i] == sample[0]).all() for i in range(60) if samples.y[i] == source)
            assert any((known[i] == sample[-1]).all() for i in range(60) if samples.y[i] == target)


def test_frames_show_the_entropic_paths_that_were_audited(tmp_path: Path) -> None:
    """With much entropy every sample goes to the mean of the other class."""
    samples, frames = split(), audit(tmp_path, judged=net(0), pairing="entropic", entropy=100.0).frames
    for pictures, (_, target) in zip(frames.images, frames.pairs):
        mean = samples.x[samples.y == target].mean(dim=0).mul(255).numpy()
        assert np.abs(pictures[:, -1] - mean).max() < 2


def test_pairings_get_files_of_their_own(tmp_path: Path) -> None:
    for pairing in ("exact", "random"):
        audit(tmp_path, pairing=pairing)
    assert sorted(path.name for path in tmp_path.glob("*.json")) == [
        "geodesic-random-s0-p3.json",
        "geodesic-s0-p3.json",
    ]


def test_what_exists_is_refused_kept_or_replaced(tmp_path: Path) -> None:
    first = audit(tmp_path)
    with pytest.raises(InputError, match="--resume"):
        audit(tmp_path)
    assert audit(tmp_path, judged=lambda x: -model(x), resume=True).pairs == first.pairs
    assert audit(tmp_path, judged=lambda x: -model(x), overwrite=True).pairs != first.pairs


def test_vectors_have_curves_but_no_frames(tmp_path: Path) -> None:
    assert audit(tmp_path, samples=split((9,)), name="v").frames is None
    assert [path.name for path in tmp_path.iterdir()] == ["v.json"]


@pytest.mark.parametrize("name", ["../../X", "a/b", "..", ""])
def test_a_name_that_leaves_the_folder_is_refused(tmp_path: Path, name: str) -> None:
    if name:
        with pytest.raises(InputError, match="plain word"):
            audit(tmp_path / "a" / "b", name=name)
    assert not list(tmp_path.rglob("*.json"))


COMMON = {"pairs": "0-1"}
ABOUT = {"about": {"data": "mnist", "split": "test"}, "class_names": "abc"}


@pytest.mark.parametrize(
    ("asked", "more", "words"),
    [
        ({"pairs": ((0, 2),)}, {}, "pairs '0-1', now it is '0-2'"),
        ({"pairs": "all"}, {}, "pairs '0-1', now it is '0-1,0-2,1-2'"),
        ({"points": 5}, {}, "points 3, now it is 5"),
        ({"per_class": 9}, {}, "per_class"),
        ({"seed": 1}, {}, "seed"),
        ({"pairing": "entropic"}, {}, "entropy None"),
        ({"pairing": "random"}, {}, "transport 'exact', now it is 'random'"),
        ({"sigma": 0.1}, {}, "sigma"),
        ({}, {"embed": PCA(3).fit(split().x)}, "(embed 'pixel', now it is 'pca'|embedding None)"),
        ({}, {"about": {"data": "cifar10", "split": "test"}}, "data 'mnist', now it is 'cifar10'"),
        ({}, {"about": {"data": "mnist", "split": "holdout"}}, "split"),
        ({}, {"class_names": "xyz"}, "class_names"),
        ({"judged": 1}, {}, "fingerprint"),
    ],
    ids=str,
)
def test_only_the_same_audit_is_kept(
    tmp_path: Path, asked: dict[str, Any], more: dict[str, Any], words: str
) -> None:
    first = audit(tmp_path, judged=net(0), name="a", more=ABOUT, **COMMON)
    again = audit(tmp_path, judged=net(0), name="a", more=ABOUT, resume=True, **COMMON)
    assert again.pairs == first.pairs
    assert (again.parameters, again.about) == (first.parameters, first.about)
    assert again.class_name(1) == "b"
    judged = net(asked.get("judged", 0))
    changed = {**COMMON, **{key: value for key, value in asked.items() if key != "judged"}}
    with pytest.raises(InputError, match=f"a.json' was made with {words}.*--overwrite"):
        audit(tmp_path, judged=judged, name="a", more={**ABOUT, **more}, resume=True, **changed)


def without_running(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.parametrize("asked", [{}, {"classes": "0-2-1"}], ids=["pairs", "classes"])
@pytest.mark.parametrize("pieces", [0, 1, 2])
def test_killed_after_any_piece_and_resumed_it_ends_as_if_undisturbed(
    tmp_path: Path, asked: dict[str, Any], pieces: int
) -> None:
    def stop(done: int, total: int) -> None:
        if done >= pieces:
            raise KeyboardInterrupt

    audit(tmp_path / "whole", **asked)
    with pytest.raises(KeyboardInterrupt):
        audit(tmp_path / "cut", more={"progress": stop}, **asked)
    audit(tmp_path / "cut", resume=True, **asked)
    whole, cut = (without_running(tmp_path / name) for name in ("whole", "cut"))
    assert whole.keys() == cut.keys()
    assert all(whole[name] == cut[name] for name in whole if name.endswith(".json"))


def test_killed_between_the_file_and_its_figure_it_is_finished_by_resuming(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    def killed(self: PerformanceSimplex) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(PerformanceSimplex, "plot", killed)
        with pytest.raises(Killed):
            audit(tmp_path, classes=(0, 1, 2))
    folder = tmp_path / "simplex"
    assert (folder / "0-1-2-s0-p3.json").exists()
    assert not (folder / "0-1-2-s0-p3.svg").exists()
    audit(tmp_path, classes=(0, 1, 2), resume=True)
    assert (folder / "0-1-2-s0-p3.svg").read_text().count("</svg>") == 1
    assert sorted(path.suffix for path in folder.iterdir()) == [".json", ".svg"]


def test_three_classes_are_kept_only_for_the_same_task(tmp_path: Path) -> None:
    asked: dict[str, Any] = {"classes": (0, 2, 1), "more": {"about": {"data": "mine"}}}
    made = audit(tmp_path, **asked)
    file = tmp_path / "simplex" / "0-2-1-s0-p3.json"
    assert json.loads(file.read_text())["data"] == "mine"
    kept = audit(tmp_path, resume=True, **asked)
    assert kept.record() == made.record() == PerformanceSimplex.read(file).record()
    with pytest.raises(InputError, match="exists"):
        audit(tmp_path, **asked)
    embed, other = (PCA(2).fit(split().x[:count]) for count in (30, 20))
    with pytest.raises(InputError, match="embed"):
        audit(tmp_path, resume=True, classes=(0, 2, 1), more={**asked["more"], "embed": embed})
    with_embed = {"classes": (0, 2, 1), "more": {**asked["more"], "embed": embed}}
    assert audit(tmp_path, overwrite=True, **with_embed).parameters["embed"] == "pca"
    with pytest.raises(InputError, match="embedding"):
        audit(tmp_path, resume=True, classes=(0, 2, 1), more={**asked["more"], "embed": other})


def test_files_of_the_version_before_are_read_and_resumed(tmp_path: Path) -> None:
    """Made by version 0.1.0 with the samples and the network of these tests."""
    old = PerformanceGeodesic.read(FILES / "pairs-0.1.0.json")
    assert old.about["data"] == "noise"
    assert old.frames is not None
    assert len(old.pairs) == 3
    fresh = audit(tmp_path / "new", judged=net(0), more={"about": {"data": "noise"}})
    for before, now in zip(old.pairs, fresh.pairs):
        assert before.kl == pytest.approx(now.kl, abs=1e-4)
    assert old.identity == fresh.identity
    for suffix in (".json", ".npz"):
        (tmp_path / f"a{suffix}").write_bytes((FILES / f"pairs-0.1.0{suffix}").read_bytes())
    kept = audit(tmp_path, judged=net(0), name="a", resume=True, more={"about": {"data": "noise"}})
    assert kept.pairs == old.pairs
    assert PerformanceSimplex.read(FILES / "classes-0.1.0.json").classes == (0, 2, 1)


def test_what_is_no_audit_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{}")
    (tmp_path / "a.npz").write_text("no archive")
    for read in (PerformanceGeodesic.read, PerformanceSimplex.read):
        with pytest.raises(InputError, match="not such an audit's file"):
            read(tmp_path / "a.json")
    (tmp_path / "a.json").write_bytes((FILES / "pairs-0.1.0.json").read_bytes())
    with pytest.raises(InputError, match="no pictures"):
        PerformanceGeodesic.read(tmp_path / "a.json")


def test_the_noise_is_the_runs_own_unless_another_is_asked_for() -> None:
    assert AuditSettings().of_run(0.5).noise == 0.5
    assert AuditSettings(sigma="run").of_run(0.5).noise == 0.5
    assert AuditSettings(sigma=0.0).of_run(0.5).noise == 0.0
    assert AuditSettings().noise == 0.0  # a model without a run


def test_both_pairings_are_two_audits(tmp_path: Path) -> None:
    exact, random = AuditSettings(points=3, pairing="both").each_pairing()
    assert (exact.pairing, random.pairing) == ("exact", "random")
    assert exact.name != random.name
    with pytest.raises(InputError, match="two audits"):
        audit(tmp_path / "audit", pairing="both")
