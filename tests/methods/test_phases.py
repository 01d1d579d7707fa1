"""One method after another: each phase is its method, from its own beginning to its own end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from wassermix.core.classifier import Classifier
from wassermix.core.errors import InputError
from wassermix.engine import train
from wassermix.engine.objective import Extras, Objective, conditions_of
from wassermix.engine.settings import build_config
from wassermix.methods import Batch, Consistency, Gaussian, PGDTraining, Phases, SmoothAdv
from wassermix.methods.protocol import Counting, counting_of, passes_at

SECTIONS: list[dict[str, Any]] = [
    {"name": "gaussian"},
    {"name": "consistency", "weight": 3.0},
    {"name": "smoothadv", "noises": 2, "steps": 1, "warm_up": 1.0},
]


GAUSSIANS: dict[str, Any] = {
    "data": {"name": "gaussians", "dim": 4, "train_size": 200, "test_size": 20},
    "model": {"name": "mlp", "hidden": [8]},
    "batch_size": 20,
}


class NoiseAsTerm:
    """A regulariser whose term is the noise that it is told."""

    def batch_passes(self, size: int, /) -> float:
        return 0.0

    def loss(self, model: Classifier, x: Tensor, y: Tensor, *, sigma: float = 0.0, **others: Any) -> Tensor:
        return torch.tensor(sigma)


def _batch(progress: float) -> Batch:
    generator = torch.Generator().manual_seed(0)
    x = torch.rand(6, 5, generator=generator)
    return Batch(x, torch.arange(6) % 3, progress=progress, generator=generator)


@pytest.mark.parametrize(
    ("progress", "method", "within"),
    [
        (0.1, Gaussian(sigma=0.3), 0.5),
        (0.2, Consistency(sigma=0.3, weight=3.0), 0.0),
        (0.8, SmoothAdv(sigma=0.3, noises=2, steps=1, warm_up=1.0), 0.6),
    ],
)
def test_each_phase_is_its_method_with_its_own_progress(
    progress: float, method: Gaussian | Consistency | SmoothAdv, within: float
) -> None:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        net = nn.Linear(5, 3)
    phases = Phases(sigma=0.3, sections=SECTIONS, until=[0.2, 0.5])
    got, expected = phases.loss(net, _batch(progress)), method.loss(net, _batch(within))
    assert {k: v.item() for k, v in got.items()} == pytest.approx({k: v.item() for k, v in expected.items()})
    assert passes_at(phases, progress) == method.passes


def test_a_budget_of_passes_is_shared_out_as_the_phases_say(tmp_path: Path) -> None:
    method = {"name": "phases", "sections": SECTIONS[:2], "until": [0.5]}
    recipe = {**GAUSSIANS, "method": method, "budget": "passes:4000"}
    state = train(build_config(recipe), tmp_path / "run")
    assert state.updates == 100 + 50  # 2000 passes at 1 for each image, 2000 at 2
    assert state.passes == 4000


def test_phases_train_without_any_option_by_the_defaults_that_their_config_then_says(tmp_path: Path) -> None:
    config = build_config({**GAUSSIANS, "method": "phases", "updates": 20})
    assert config.method["sections"] == [{"name": "gaussian"}, {"name": "consistency"}]
    state = train(config, tmp_path / "run")
    assert state.passes == 20 * (6 * 1 + 14 * 2)  # 30% of updates at 1, the rest at 2


@pytest.mark.parametrize(("progress", "sigma"), [(0.1, 0.3), (0.9, 0.7)])
def test_augmenter_and_regulariser_work_under_the_noise_of_the_phase(progress: float, sigma: float) -> None:
    phases = Phases(sigma=0.3, sections=[{"name": "gaussian"}, {"name": "gaussian", "sigma": 0.7}])
    assert conditions_of(phases, progress).sigma == sigma
    objective = Objective(nn.Linear(5, 3), phases, num_classes=3, extras=Extras(regularizer=NoiseAsTerm()))
    assert objective(_batch(progress))["smoothness"].item() == pytest.approx(sigma)


def test_a_section_may_write_a_number_as_a_fraction() -> None:
    attacked = {"name": "pgd", "norm": "linf", "eps": "8/255", "steps": 1}
    assert Phases(sections=[{"name": "gaussian"}, attacked]).methods[1] == PGDTraining(
        norm="linf", eps=8 / 255, steps=1
    )


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"until": [0.5, 0.6]}, "until is"),
        ({"until": [1.0]}, "until is"),
        ({"sections": [{"name": "gaussian"}, {"name": "none"}]}, "'none'"),
        ({"sections": [{"name": "gaussian"}, {"name": "pgd", "eps": "much"}]}, "option eps is 'much'"),
        ({"sections": [{"name": "gaussian"}, {"name": "consistency", "wieght": 1}]}, "did you mean 'weight'"),
        ({"sections": [{"name": "gaussian"}, {"name": "phases"}]}, "'phases'"),
        ({"sections": [{"name": "gaussian"}, {"name": "consistency", "sgma": 1}]}, "did you mean 'sigma'"),
        (
            {"sigma": 0.25, "sections": [{"name": "gaussian", "sigma": 1.0}], "until": []},
            "train at 1; expected",
        ),
        ({"sections": [{"name": "erm"}, {"name": "pgd"}]}, "train at 0; expected sigma"),
    ],
)
def test_phases_that_make_no_sense_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        Phases(**options)


def test_the_teacher_of_a_phase_votes_under_the_noise_of_its_section() -> None:
    late = {"name": "catrs", "teacher": "a-run", "draws": 30, "sigma": 0.2}
    phases = Phases(sigma=0.3, sections=[{"name": "gaussian"}, late])
    assert counting_of(phases) == Counting(0.2, 30)
    assert counting_of(Phases()) is None


def test_a_teacher_that_would_vote_in_two_ways_is_refused() -> None:
    sections = [{"name": "catrs", "teacher": "a-run", "draws": draws} for draws in (30, 60)]
    with pytest.raises(InputError, match="same sigma and draws"):
        counting_of(Phases(sections=sections))
