"""The performance geodesic on models and clouds whose answer is known."""

from __future__ import annotations

import json
import math

import pytest
import torch
from torch import Tensor, nn

from wassermix.audit import PerformanceGeodesic, class_path, performance_geodesic
from wassermix.audit.paths import random_plan
from wassermix.core.errors import InputError
from wassermix.embed import PCA, Pixel


def line(n: int = 40, classes: int = 2, d: int = 2) -> tuple[Tensor, Tensor]:
    """Class ``c`` at ``c`` on the first axis, spread on the others: geodesics run along the first axis."""
    y = torch.arange(n * classes) % classes
    x = torch.rand(n, d, generator=torch.Generator().manual_seed(0)).repeat_interleave(classes, dim=0)
    x[:, 0] = y.float()
    return x, y


def calibrated(x: Tensor) -> Tensor:
    """Gives class 1 the probability ``x_0``: exactly the mixed label on the way."""
    p = x[:, 0].clamp(1e-6, 1 - 1e-6)
    return torch.stack([1 - p, p], dim=1).log()


def test_a_calibrated_model_has_no_kl_and_the_labels_entropy_as_loss() -> None:
    curve = performance_geodesic(calibrated, *line(), points=11).pairs[0]
    for t, loss, kl in zip(curve.t, curve.loss, curve.kl):
        entropy = -sum(p * math.log(p) for p in (t, 1 - t) if p > 0)
        assert loss == pytest.approx(entropy, abs=1e-4)
        assert kl == pytest.approx(0, abs=1e-4)
    assert curve.total_variation == pytest.approx(0, abs=1e-3)
    assert curve.total_variation_loss == pytest.approx(2 * math.log(2), rel=1e-3)


def test_a_threshold_model_flips_where_its_threshold_is() -> None:
    def model(x: Tensor) -> Tensor:
        return torch.stack([torch.zeros(len(x)), 1000 * (x[:, 0] - 0.7)], dim=1)

    curve = performance_geodesic(model, *line(), points=21).pairs[0]
    assert curve.flip_t == pytest.approx(0.7, abs=0.05)
    assert curve.accuracy[:10] == [1.0] * 10
    assert curve.accuracy[10] == 1.0  # the middle: either class counts
    assert curve.accuracy[11:14] == [0.0] * 3
    assert curve.accuracy[16:] == [1.0] * 5
    assert curve.as_source == pytest.approx([1 - b for b in curve.as_target])
    assert curve.worst_t == pytest.approx(0.35)  # the top of 1000 t (0.7 - t)


def test_decisions_for_other_classes_are_counted_and_never_flip() -> None:
    def other(x: Tensor) -> Tensor:
        return torch.tensor([0.0, 0.0, 5.0]).expand(len(x), 3)

    curve = performance_geodesic(other, *line()).pairs[0]
    assert curve.as_other == [1.0] * 21
    assert curve.flip_t is None


def test_all_pairs_are_audited_once_and_the_weakest_is_named() -> None:
    x, y = line(30, classes=3)

    def model(x: Tensor) -> Tensor:
        """Sure of 0 against the rest, undecided between 1 and 2."""
        low = x[:, 0] < 0.5
        return torch.stack([10.0 * low, 0 * x[:, 0], 0 * x[:, 0]], dim=1)

    audit = performance_geodesic(model, x, y)
    assert [(p.source, p.target) for p in audit.pairs] == [(0, 1), (0, 2), (1, 2)]
    matrix = audit.matrix("total_variation")
    assert torch.equal(matrix.isnan(), torch.eye(3).bool())
    assert torch.equal(matrix.nan_to_num(), matrix.T.nan_to_num())
    assert {p.target for p in audit.weakest(2)} | {p.source for p in audit.weakest(2)} >= {0}


def test_two_models_are_compared_on_the_same_paths_whatever_else_is_drawn() -> None:
    x, y = torch.rand(90, 1, 4, 4), torch.arange(90) % 3
    seen: dict[str, list[Tensor]] = {"a": [], "b": []}

    def watched(name: str) -> object:
        def model(x: Tensor) -> Tensor:
            seen[name].append(x.clone())
            return x.reshape(len(x), -1)[:, :3] * (1 if name == "a" else -1)

        return model

    for name in seen:
        torch.rand(5)
        performance_geodesic(watched(name), x, y, sigma=0.5, per_class=20, draws=2)  # type: ignore[arg-type]
    assert all(torch.equal(a, b) for a, b in zip(seen["a"], seen["b"]))


def test_many_draws_approach_the_smoothed_classifier() -> None:
    """A threshold at 0 under noise s gives Phi(x/s): the smoothed classifier's probability of class 1."""
    x, y = line(50)
    x[:, 0] = x[:, 0] - 0.5

    def model(x: Tensor) -> Tensor:
        return torch.stack([torch.zeros(len(x)), 1e4 * x[:, 0].sign()], dim=1)

    curve = performance_geodesic(model, x, y, sigma=0.5, draws=400, points=3).pairs[0]
    p = 0.5 * (1 + math.erf(0.5 / 0.5 / 2**0.5))
    assert curve.loss[0] == pytest.approx(-math.log(p), rel=0.1)
    assert curve.loss[1] == pytest.approx(math.log(2), rel=0.05)


def test_sizes_may_differ_and_at_most_so_many_images_a_class_are_used() -> None:
    x, y = torch.rand(70, 5), torch.cat([torch.zeros(60), torch.ones(10)]).long()
    curve = performance_geodesic(lambda x: x[:, :2], x, y, per_class=15).pairs[0]
    assert 15 <= curve.images <= 24  # a vertex of the polytope: at most n + m - 1 entries


def test_an_embedding_and_an_entropy_are_stated_in_the_parameters() -> None:
    x, y = torch.rand(40, 1, 4, 4), torch.arange(40) % 2
    net = nn.Sequential(nn.Flatten(), nn.Linear(16, 2), nn.Dropout(0.9)).train()
    audit = performance_geodesic(net, x, y, embed=PCA(3).fit(x), pairing="entropic", entropy=0.05)
    assert audit.parameters["embed"] == "pca"
    assert audit.parameters["transport"] == "entropic"
    assert audit.parameters["entropy"] == 0.05
    assert net.training


def test_the_dictionary_comes_back_and_the_figure_draws() -> None:
    audit = performance_geodesic(calibrated, *line())
    back = PerformanceGeodesic.from_record(json.loads(json.dumps(audit.record())))
    assert back.pairs == audit.pairs
    assert len(audit.plot().axes) == 4


def test_progress_and_pairs_of_the_users_choice() -> None:
    x, y = line(20, classes=3)
    seen: list[tuple[int, int]] = []
    audit = performance_geodesic(
        lambda x: x.repeat(1, 2)[:, :3], x, y, pairs=[(2, 0)], progress=lambda *at: seen.append(at)
    )
    assert (audit.pairs[0].source, audit.pairs[0].target) == (2, 0)
    assert seen == [(1, 1)]


@pytest.mark.parametrize(
    "options", [{"pairs": []}, {"pairs": [(0, 0)]}, {"pairs": [(0, 7)]}, {"pairs": "some"}, {"points": 1}]
)
def test_pairs_that_do_not_exist_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(InputError, match="audit"):
        performance_geodesic(calibrated, *line(), **options)  # type: ignore[arg-type]


def test_infinite_logits_give_finite_numbers() -> None:
    def sure(x: Tensor) -> Tensor:
        return torch.tensor([0.0, -torch.inf]).expand(len(x), 2)

    curve = performance_geodesic(sure, *line(), points=3).pairs[0]
    assert all(math.isfinite(value) for value in curve.loss + curve.kl)


def test_one_class_alone_is_refused() -> None:
    with pytest.raises(InputError, match="two classes"):
        performance_geodesic(calibrated, torch.rand(5, 2), torch.zeros(5).long())


def test_a_model_without_an_output_for_each_class_is_refused() -> None:
    x, y = line()
    with pytest.raises(InputError, match="2 outputs, but there are samples of class 2"):
        performance_geodesic(calibrated, x, y + 1, points=2)  # classes counted from 1


def test_the_matrix_of_two_points_is_their_mean() -> None:
    audit = performance_geodesic(calibrated, *line(), points=2)
    assert audit.matrix("accuracy")[0, 1] == sum(audit.pairs[0].accuracy) / 2


def test_printing_is_one_short_line() -> None:
    audit = performance_geodesic(calibrated, *line(classes=2), class_names=["cat", "dog"])
    assert "1 class pairs, 21 points" in str(audit)
    assert "weakest cat-dog" in str(audit)
    assert len(str(audit)) < 150
    assert len(str(audit.pairs[0])) < 100


def test_pairs_may_be_named_by_numbers_or_by_names_that_hold_dashes() -> None:
    x, y = line(20, classes=3)
    names = ["T-shirt", "Coat", "Sandal"]
    model = lambda x: x.repeat(1, 2)[:, :3]  # noqa: E731
    audit = performance_geodesic(model, x, y, pairs="T-shirt-Coat, Coat-Sandal,2-0", class_names=names)
    assert [(pair.source, pair.target) for pair in audit.pairs] == [(0, 1), (1, 2), (2, 0)]
    with pytest.raises(InputError, match="'Coat-Sandals'; expected 2 classes joined by '-', of 0, 1, 2, T-"):
        performance_geodesic(model, x, y, pairs="Coat-Sandals", class_names=names)


def test_random_pairs_contract_where_the_optimal_path_of_a_translation_does_not() -> None:
    """Var x_t = (1-t)^2 Var x0 + t^2 Var x1 for random pairs: half at the middle, whole on the geodesic."""
    generator = torch.Generator().manual_seed(0)
    x0 = torch.randn(400, 3, generator=generator, dtype=torch.float64)
    embed = Pixel().fit(x0[:1])
    spread = {}
    for pairing in ("exact", "random"):
        path = class_path(x0, x0 + 5, embed=embed, pairing=pairing, generator=generator)
        spread[pairing] = float(path.at(0.5).x.var(dim=0).sum() / x0.var(dim=0).sum())
    assert spread["exact"] == pytest.approx(1, abs=1e-6)
    assert spread["random"] == pytest.approx(0.5, abs=0.08)


@pytest.mark.parametrize(("n", "m"), [(5, 5), (6, 10), (7, 4), (1, 3)])
def test_a_random_plan_keeps_both_marginals(n: int, m: int) -> None:
    source, target, mass = random_plan(n, m, generator=torch.Generator().manual_seed(1))
    assert len(mass) <= n + m - 1
    for index, count in ((source, n), (target, m)):
        total = torch.zeros(count).index_add(0, index, mass)
        torch.testing.assert_close(total, torch.full((count,), 1 / count))


def test_random_pairs_are_the_same_for_every_model_and_told_in_the_parameters() -> None:
    x, y = torch.rand(60, 4, generator=torch.Generator().manual_seed(0)), torch.arange(60) % 2
    model = lambda x: 9 * x[:, :2]  # noqa: E731
    first, again, exact = (
        performance_geodesic(model, x, y, pairing=pairing) for pairing in ("random", "random", "exact")
    )
    assert first.pairs == again.pairs != exact.pairs
    assert first.parameters["transport"] == "random"
    assert first.identity != exact.identity


def test_what_is_no_sample_or_no_answer_is_refused_with_what_to_do() -> None:
    x, y = line()
    with pytest.raises(InputError, match=r"ndarray; expected a tensor"):
        performance_geodesic(calibrated, x.numpy(), y)  # type: ignore[arg-type]
    assert (
        performance_geodesic(calibrated, x, y[:, None]).pairs == performance_geodesic(calibrated, x, y).pairs
    )
    with pytest.raises(InputError, match="labels: got 79 for 80 samples"):
        performance_geodesic(calibrated, x, y[1:])
    with pytest.raises(InputError, match="answers NaN"):
        performance_geodesic(lambda x: calibrated(x) * torch.nan, x, y)
    with pytest.raises(InputError, match="answers a dict"):
        performance_geodesic(lambda x: {"logits": calibrated(x)}, x, y)  # type: ignore[arg-type,return-value]
    with pytest.raises(InputError, match="did you mean 'points'"):
        performance_geodesic(calibrated, x, y, point=3)
    with pytest.raises(InputError, match="sigma is 'run'"):
        performance_geodesic(calibrated, x, y, sigma="run")
