"""``backend="auto"``: measured where it pays, remembered, and never a change of the noise."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from certify import certified_job as job
from wassermix.certify import CertifySettings, certify, choice, merge_shards, verify_file
from wassermix.certify.choice import Speeds, choose_backend, decide, expected_draws
from wassermix.certify.votes import NoiseBlock, voting
from wassermix.core.shard import Shard

MUCH = CertifySettings(sigma=0.5, n=100_000, sampler="gaussian")
X = torch.rand(1, 8, 8, generator=torch.Generator().manual_seed(1))


def network(seed: int = 0) -> nn.Module:
    torch.manual_seed(seed)
    layers = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 5))
    return layers.to(memory_format=torch.channels_last)  # type: ignore[call-overload, no-any-return]


def test_little_work_is_not_measured(tmp_path: Path) -> None:
    found = choose_backend(network(), X, MUCH, images=9, folder=tmp_path)
    assert found == choice.Choice(replace(MUCH, backend="eager"))
    assert not list(tmp_path.iterdir())


def test_what_was_asked_for_is_taken(tmp_path: Path) -> None:
    asked = replace(MUCH, backend="eager", batch_size=384, layout="contiguous")
    assert choose_backend(network(), X, asked, images=500, folder=tmp_path).settings == asked


def test_much_work_is_measured_once_for_each_model(tmp_path: Path) -> None:
    first = choose_backend(network(), X, MUCH, images=20, folder=tmp_path, seconds=0.1)
    again = choose_backend(network(), X, MUCH, images=20, folder=tmp_path, seconds=0.1)
    assert first.settings == again.settings
    assert first.settings.backend in ("eager", "compile")
    assert first.settings.batch_size in (128, 256, 512, 1024)
    assert replace(first.settings, backend="auto", batch_size=256, layout="channels_last") == MUCH
    assert "draws/s measured here" in first.sentence
    (file,) = tmp_path.iterdir()
    file.write_text(json.dumps({"layout": "contiguous", "batch_size": 384, "eager": 2e9, "usual": 1e9}))
    remembered = choose_backend(network(), X, MUCH, images=20, folder=tmp_path).settings
    assert (remembered.layout, remembered.batch_size) == ("contiguous", 384)
    choose_backend(network(seed=1), X, MUCH, images=20, folder=tmp_path, seconds=0.1)
    assert len(list(tmp_path.iterdir())) == 2


def test_a_damaged_memory_is_made_anew_and_one_that_cannot_be_written_does_no_harm(tmp_path: Path) -> None:
    choose_backend(network(), X, MUCH, images=20, folder=tmp_path, seconds=0.1)
    (file,) = tmp_path.iterdir()
    for text in ("{", '{"speed": 1}'):
        file.write_text(text)
        choose_backend(network(), X, MUCH, images=20, folder=tmp_path, seconds=0.1)
        assert json.loads(file.read_text())["eager"] > 0
    found = choose_backend(network(), X, MUCH, images=20, folder=file / "below", seconds=0.1)
    assert found.settings.backend == "eager"


def test_a_model_too_slow_to_be_measured_keeps_the_usual_setting(tmp_path: Path) -> None:
    found = choose_backend(network(), X, MUCH, images=20, folder=tmp_path, seconds=0.0)
    assert found.settings == replace(MUCH, backend="eager")


def test_a_function_is_measured_and_not_remembered(tmp_path: Path) -> None:
    vectors = torch.zeros(2)
    found = choose_backend(job.model, vectors, MUCH, images=20, folder=tmp_path, seconds=0.1)
    assert found.settings.layout == "channels_last"
    assert not list(tmp_path.iterdir())


def test_compiling_is_chosen_where_it_saves_more_than_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "compiler_exists", lambda: True)
    speeds = Speeds("contiguous", 512, eager=1000.0, usual=900.0, compiled=2000.0, compile_seconds=30.0)
    # n draws take n/1000 s, or 30 s + n/2000 s: equal at 60,000
    assert decide(MUCH, speeds, 59_000).backend == "eager"
    found = decide(MUCH, speeds, 61_000)
    assert (found.backend, found.layout, found.batch_size) == ("compile", "contiguous", 512)
    for useless in (
        replace(speeds, compiled=0.0),
        replace(speeds, compiled=None),
        replace(speeds, compiled=900.0),
    ):
        assert decide(MUCH, useless, 1e9).backend == "eager"
    monkeypatch.setattr(choice, "compiler_exists", lambda: False)
    assert decide(MUCH, speeds, 1e9).backend == "eager"


@pytest.fixture
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize(("single", "said"), [(90.0, True), (55.0, False), (None, False)])
def test_processes_are_recommended_where_they_would_be_faster_than_threads(
    single: float | None, said: bool, two_threads: None, tmp_path: Path
) -> None:
    choose_backend(network(), X, MUCH, images=20, folder=tmp_path, seconds=0.0)
    (file,) = tmp_path.iterdir()
    speeds = {"layout": "contiguous", "batch_size": 256, "eager": 100.0, "usual": 100.0, "single": single}
    file.write_text(json.dumps({**speeds, "compiled": 0.0}))
    sentence = choose_backend(network(), X, MUCH, images=20, folder=tmp_path).sentence
    assert ("--processes 2 certify ...` would be up to 1.8 times as fast" in sentence) == said


def test_one_thread_is_timed_beside_several_and_the_number_of_threads_restored(
    two_threads: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def speed(*_: object) -> float:  # so that a busy machine has time for it too
        return 1e6 * torch.get_num_threads()

    monkeypatch.setattr(choice, "_speed", speed)
    speeds = choice.measure(network(), X, replace(MUCH, backend="eager"), seconds=60.0)
    assert (speeds.eager, speeds.single) == (2e6, 1e6)
    assert torch.get_num_threads() == 2


def test_one_thread_is_not_timed_where_torchs_threads_do_not_run_the_model(two_threads: None) -> None:
    asked = replace(MUCH, backend="eager")  # a function may hold a session of another library
    assert choice.measure(job.model, torch.zeros(2), asked, seconds=2.0).single is None


def test_rules_that_stop_early_are_expected_to_draw_less() -> None:
    assert expected_draws(MUCH, 10) == 10 * 100_100
    assert expected_draws(replace(MUCH, mode="grid"), 10) == 10 * (100 + 10_000)


@pytest.mark.parametrize("sampler", ["exact", "gaussian"])
def test_neither_layout_nor_batch_changes_the_noise(sampler: str) -> None:
    x = (X * 255).round() / 255
    blocks = [NoiseBlock(x, 3, "count", block) for block in range(4)]
    seen: list[Tensor] = []

    def model(batch: Tensor) -> Tensor:
        seen.append(batch.contiguous().clone())
        return batch.flatten(1)[:, :2]

    settings = CertifySettings(sigma=0.5, sampler=sampler, grid=255 if sampler == "exact" else 0)
    inputs = []
    for layout in ("channels_last", "contiguous"):
        for batch_size in (128, 512):
            seen.clear()
            asked = replace(settings, layout=layout, batch_size=batch_size)  # type: ignore[arg-type]
            with voting(model, (1, 8, 8), asked) as votes:
                for start in range(0, 4, votes.blocks):
                    votes(blocks[start : start + votes.blocks])
            inputs.append(torch.cat(seen))
    assert all(torch.equal(one, inputs[0]) for one in inputs[1:])


def test_layouts_vote_alike_and_leave_the_model_as_it_was() -> None:
    model, x = network(), torch.rand(4, 1, 8, 8, generator=torch.Generator().manual_seed(2))
    hits = []
    for layout in ("channels_last", "contiguous"):
        got = certify(model, x, sigma=0.5, n=2000, layout=layout)
        assert got.hits is not None
        hits.append(got.hits)
    assert model[0].weight.is_contiguous(memory_format=torch.channels_last)  # type: ignore[operator, union-attr]
    assert int((hits[0] - hits[1]).abs().max()) <= 1  # one draw in 2,000 may lie at a tie


def test_a_resumed_certification_goes_on_with_the_backend_it_was_begun_with(tmp_path: Path) -> None:
    begun = replace(job.SETTINGS, backend="eager", batch_size=512, layout="contiguous")
    job.run(tmp_path, settings=begun)
    before = [(tmp_path / name).read_text() for name in ("job.tsv", "job.json")]
    lines = before[0].splitlines(keepends=True)
    (tmp_path / "job.json").rename(tmp_path / "job.running")
    (tmp_path / "job.tsv").write_text("".join(lines[:8]))
    assert job.SETTINGS.backend == "auto"
    job.run(tmp_path, resume=True)
    summary = json.loads((tmp_path / "job.json").read_text())
    assert {**summary, "seconds": 0} == {**json.loads(before[1]), "seconds": 0}
    assert (summary["backend"], summary["batch_size"], summary["layout"]) == ("eager", 512, "contiguous")


def test_parts_with_different_choices_are_merged_and_the_result_names_none(tmp_path: Path) -> None:
    whole = job.run(tmp_path / "whole")
    for number, batch_size in ((1, 256), (2, 512)):
        asked = replace(job.SETTINGS, backend="eager", batch_size=batch_size)
        job.run(tmp_path / "parts", shard=Shard(number, 2), settings=asked)
    merged = merge_shards(tmp_path / "parts", "job")
    assert torch.equal(merged.radius, whole.radius)
    assert torch.equal(merged.hits, whole.hits)  # type: ignore[arg-type]
    assert json.loads((tmp_path / "parts" / "job.json").read_text())["backend"] == "auto"
    assert verify_file(tmp_path / "parts" / "job.tsv").holds
