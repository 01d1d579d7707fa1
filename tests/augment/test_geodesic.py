"""The geodesic augmenter: its numbers, its worst case, its controls, its laws."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from torch import Tensor, nn

from wassermix.augment import GeodesicAugmenter
from wassermix.core.errors import InputError
from wassermix.embed import PCA, Pixel, Standard


class Rows:
    """A training split in memory that remembers which rows were read."""

    def __init__(self, x: Tensor, y: Tensor) -> None:
        self.x, self.y, self.shape = x, y, tuple(x.shape[1:])
        self.read: set[int] = set()

    def __len__(self) -> int:
        return len(self.y)

    def get(self, indices: Tensor, /) -> Tensor:
        self.read |= set(indices.tolist())
        return self.x[indices]


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def images(counts: tuple[int, ...] = (30, 40, 25), seed: int = 0) -> Rows:
    """Images of 8 x 8 with a bright quarter that tells the class."""
    y = torch.cat([torch.full((n,), c) for c, n in enumerate(counts)])
    x = 0.3 * torch.rand(len(y), 1, 8, 8, generator=seeded(seed))
    for c in range(len(counts)):
        x[y == c, :, 4 * (c // 2 % 2) : 4 * (c // 2 % 2) + 4, 4 * (c % 2) : 4 * (c % 2) + 4] += 0.6
    return Rows(x, y)


def vectors(counts: tuple[int, ...] = (30, 40, 25), d: int = 20) -> Rows:
    y = torch.cat([torch.full((n,), c) for c, n in enumerate(counts)])
    return Rows(torch.randn(len(y), d, generator=seeded()) + 3.0 * y[:, None], y)


def linear(inputs: int, classes: int = 3) -> nn.Module:
    net = nn.Sequential(nn.Flatten(), nn.Linear(inputs, classes))
    with torch.no_grad():
        net[1].weight.copy_(torch.randn(classes, inputs, generator=seeded(7)))
    return net


OPTIONS: list[dict[str, object]] = [
    {},
    {"search": "grid"},
    {"search": "golden"},
    {"search": "gradient"},
    {"score": "ce"},
    {"scope": "pair"},
    {"scope": "sample"},
    {"labels": "side"},
    {"labels": "hard"},
    {"both": False},
    {"pairs": "confusion"},
    {"pairs": "near"},
    {"max_distance": 0.5},
    {"target_classes": 2},
    {"target_classes": 2, "scope": "sample"},
    {"choice": "random"},
    {"choice": "fixed", "time": 0.2},
    {"pairing": "random"},
    {"maps": "class"},
    {"search_share": 1.0, "candidates": 1},
]


@pytest.mark.parametrize("kind", ["images", "vectors"])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_every_setting_gives_the_promised_number_and_proper_labels(
    kind: str, options: dict[str, object]
) -> None:
    source = images() if kind == "images" else vectors()
    embed = (PCA(6) if kind == "images" else Standard()).fit(source.x)
    net = linear(source.x[0].numel())
    augment = GeodesicAugmenter(3, embed, ratio=1.5, pair_size=16, **options)  # type: ignore[arg-type]
    made = augment.make_set(source, model=net, generator=seeded(), sigma=0.1)
    assert len(made) == round(1.5 * len(source))
    assert made.shape == source.shape
    y = made.labels(torch.arange(len(made)))
    assert torch.allclose(y.sum(dim=1), torch.ones(len(made)))
    assert bool((made.class0 != made.class1).all())
    assert float(made.t.min()) >= 0
    assert float(made.t.max()) <= 0.5
    assert net.training  # the mode it was found in
    assert all(p.grad is None and p.requires_grad for p in net.parameters())


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_the_same_seed_gives_the_same_set_and_another_a_different_one(options: dict[str, object]) -> None:
    source, net = images(), linear(64)
    embed = PCA(6).fit(source.x)

    def made(seed: int) -> Tensor:
        augment = GeodesicAugmenter(3, embed, pair_size=16, **options)  # type: ignore[arg-type]
        return augment.make_set(source, model=net, generator=seeded(seed), sigma=0.1).x

    state = torch.random.get_rng_state()
    assert torch.equal(made(0), made(0))
    assert not torch.equal(made(0), made(1))
    assert torch.equal(state, torch.random.get_rng_state())


@pytest.mark.parametrize("options", [{"pairs": "near"}, {"maps": "class"}, {}], ids=str)
def test_a_set_does_not_depend_on_the_sets_made_before(options: dict[str, object]) -> None:
    """A training that is resumed at a later epoch must go on as an undisturbed one does."""
    source, net = images(), linear(64)
    embed = PCA(6).fit(source.x)

    def last(*seeds: int) -> Tensor:
        augment = GeodesicAugmenter(3, embed, pair_size=16, **options)  # type: ignore[arg-type]
        return [augment.make_set(source, model=net, generator=seeded(seed)).x for seed in seeds][-1]

    assert torch.equal(last(0, 1, 2), last(2))


def test_a_reservoir_is_forgotten_when_an_epoch_begins() -> None:
    source, net = vectors(), linear(20)
    resumed, undisturbed = (GeodesicAugmenter(3, mode="online", reservoir=8) for _ in range(2))
    undisturbed(source.x[30:60], source.y[30:60], model=net, generator=seeded())
    undisturbed.begin_epoch()
    batch = source.x[20:50], source.y[20:50]
    new = [augment(*batch, model=net, generator=seeded(1))[0] for augment in (resumed, undisturbed)]
    assert torch.equal(*new)


def test_batches_that_lack_classes_are_paired_by_nearness_one_by_one() -> None:
    source, net = vectors((30, 30, 30)), linear(20)
    augment = GeodesicAugmenter(3, pairs="near", pair_size=8)
    for kinds in ((0, 1, 2), (0, 1), (1, 2)):
        rows = torch.isin(source.y, torch.tensor(kinds))
        _, y = augment(source.x[rows], source.y[rows], model=net, generator=seeded())
        assert set(y.nonzero()[:, 1].tolist()) == set(kinds)


def test_an_image_set_takes_little_more_than_a_byte_a_pixel() -> None:
    source = Rows(torch.rand(60, 1, 28, 28, generator=seeded()), torch.arange(60) % 3)
    made = GeodesicAugmenter(3, PCA(6).fit(source.x), choice="random").make_set(source, generator=seeded())
    assert made.x.dtype == torch.uint8
    assert made.nbytes() <= 1.1 * made.x.numel()


def test_time_zero_is_the_reconstruction_of_training_samples() -> None:
    source = images()
    embed = PCA(5).fit(source.x)
    augment = GeodesicAugmenter(3, embed, choice="fixed", time=0.0)
    made = augment.make_set(source, generator=seeded())
    exact = embed.reconstruct(source.x).reshape(len(source), -1)
    gap = torch.cdist(made.get(torch.arange(len(made))).reshape(len(made), -1), exact).min(dim=1).values
    assert float(gap.max()) < 8 * 0.5 / 255 + 1e-4  # 64 pixels rounded to bytes
    y = made.labels(torch.arange(len(made)))
    assert torch.equal(y.argmax(dim=1), made.class0.long())


def test_samples_lie_on_the_segments_between_their_classes() -> None:
    source = vectors(d=3)
    augment = GeodesicAugmenter(3, Pixel().fit(source.x), pairing="random", choice="fixed", time=0.5)
    made = augment.make_set(source, generator=seeded())
    for x, c0, c1 in zip(made.x[:20], made.class0[:20], made.class1[:20]):
        middles = (source.x[source.y == c0][:, None] + source.x[source.y == c1][None]) / 2
        assert float((middles - x).norm(dim=2).min()) < 1e-4


def test_the_worst_time_scores_at_least_as_high_as_a_drawn_one() -> None:
    source, net = images(), linear(64)
    embed = PCA(6).fit(source.x)

    def mean_score(choice: str) -> float:
        augment = GeodesicAugmenter(3, embed, choice=choice, search_share=1.0, pair_size=16)  # type: ignore[arg-type]
        made = augment.make_set(source, model=net, generator=seeded())
        rows = torch.arange(len(made))
        with torch.no_grad():
            p = net(made.get(rows)).log_softmax(dim=1)
        y = made.labels(rows)
        return float((torch.xlogy(y, y) - y * p).sum(dim=1).mean())

    assert mean_score("worst") > mean_score("random")


def test_no_sample_moves_further_than_allowed() -> None:
    source = vectors(d=5)
    augment = GeodesicAugmenter(3, Pixel().fit(source.x), max_distance=0.7, pair_size=16)
    made = augment.make_set(source, model=linear(5), generator=seeded())
    nearest = torch.cdist(made.x, source.x).min(dim=1).values
    assert float(nearest.max()) <= 0.7 + 1e-4
    assert float(made.t.max()) < 0.5  # the label moves as little as the sample


def test_with_several_targets_the_worst_one_is_kept() -> None:
    """A model that is only wrong towards class 2 makes all sources of classes 0 and 1 go there."""
    source = vectors((40, 40, 40), d=2)

    def net(x: Tensor) -> Tensor:
        return torch.stack([x[:, 0] * 0 + 3, x[:, 0] * 0 + 3, x[:, 0] * 0 - 50], dim=1)

    augment = GeodesicAugmenter(3, Pixel().fit(source.x), target_classes=2, pair_size=16)
    made = augment.make_set(source, model=net, generator=seeded())
    assert set(made.class1[made.class0 != 2].tolist()) == {2}
    one_way = GeodesicAugmenter(3, augment.embed, target_classes=2, pair_size=16, both=False)
    assert torch.equal(one_way.make_set(source, model=net, generator=seeded()).x, made.x)


def test_pairs_by_confusion_follow_the_model_and_pairs_by_nearness_the_classes() -> None:
    source = vectors((60, 60, 60), d=2)  # classes at 0, 3, 6: neighbours are near

    def net(x: Tensor) -> Tensor:
        """Confuses 0 with 2, and is sure of 1."""
        middle = (x[:, 0] - 3).abs() < 1.5
        return torch.stack([3 - 6.0 * middle, -3 + 9.0 * middle, 3 - 6.0 * middle], dim=1)

    def share_of(a: int, b: int, pairs: str) -> float:
        augment = GeodesicAugmenter(3, Pixel().fit(source.x), pairs=pairs, ratio=20.0, pair_size=16)  # type: ignore
        made = augment.make_set(source, model=net, generator=seeded())
        hit = ((made.class0 == a) & (made.class1 == b)) | ((made.class0 == b) & (made.class1 == a))
        return float(hit.float().mean())

    assert share_of(0, 2, "confusion") > 0.6
    assert share_of(0, 2, "near") < 0.1
    assert 0.25 < share_of(0, 2, "uniform") < 0.4


def test_uneven_classes_take_part_evenly_and_one_sample_is_enough() -> None:
    source = vectors((200, 1, 30))
    augment = GeodesicAugmenter(3, Standard().fit(source.x), ratio=2.0, pair_size=16, choice="random")
    made = augment.make_set(source, generator=seeded())
    assert set(made.class0.tolist()) == {0, 1, 2}


def test_a_hundred_classes_work() -> None:
    y = torch.arange(300) % 100
    source = Rows(torch.randn(300, 4, generator=seeded()) + y[:, None], y)
    augment = GeodesicAugmenter(100, Pixel().fit(source.x), ratio=3.0)
    made = augment.make_set(source, model=linear(4, 100), generator=seeded())
    assert len(made.class0.unique()) > 80


def test_a_class_without_samples_is_never_used_and_one_class_alone_is_refused() -> None:
    source = vectors((30, 0, 30))
    augment = GeodesicAugmenter(3, Standard().fit(source.x), choice="random")
    made = augment.make_set(source, generator=seeded())
    assert 1 not in set(made.class0.tolist()) | set(made.class1.tolist())
    with pytest.raises(InputError, match="two"):
        augment.make_set(Rows(source.x, torch.zeros(60).long()))


def test_nothing_but_the_source_is_read_and_latents_are_encoded_once() -> None:
    source = images()
    held_out = Rows(source.x.clone(), source.y)
    embed = PCA(5).fit(source.x)
    augment = GeodesicAugmenter(3, embed, choice="random")
    augment.make_set(source, generator=seeded())
    assert held_out.read == set()
    source.read.clear()
    augment.make_set(source, generator=seeded(1))
    assert source.read == set()
    other = images(seed=5)
    a, b = (
        GeodesicAugmenter(3, embed, choice="random").make_set(other, generator=seeded()),
        augment.make_set(other, generator=seeded()),
    )
    assert torch.equal(a.x, b.x)  # nothing of the first source stays


def test_online_gives_new_samples_beside_the_batch() -> None:
    source, net = images(), linear(64)
    embed, order = PCA(6).fit(source.x), torch.randperm(95, generator=seeded())
    augment = GeodesicAugmenter(3, embed, ratio=0.5, mode="online")
    for x, y in zip(source.x[order].split(37), source.y[order].split(37)):
        new, labels = augment(x, y, model=net, generator=seeded())
        assert new.shape == (round(0.5 * len(x)), 1, 8, 8)
        assert labels.shape == (len(new), 3)
        assert torch.allclose(labels.sum(dim=1), torch.ones(len(new)))
        assert not new.requires_grad
        float(nn.functional.cross_entropy(net(new), labels).detach())


def test_online_in_double_and_with_soft_labels_gives_the_same() -> None:
    source = vectors()
    x, augment = source.x.double(), GeodesicAugmenter(3, mode="online", choice="random")
    hard = augment(x, source.y, generator=seeded())
    soft = augment(x, nn.functional.one_hot(source.y, 3).double(), generator=seeded())
    assert hard[0].dtype == torch.float64
    assert torch.equal(hard[0], soft[0])


def test_online_with_one_class_in_the_batch_gives_it_back_unless_others_are_remembered() -> None:
    source = vectors()
    augment = GeodesicAugmenter(3, mode="online", choice="random", ratio=1.4)
    x, y = augment(source.x[:5], source.y[:5])
    assert torch.equal(x, source.x[[0, 1, 2, 3, 4, 0, 1]])
    assert torch.equal(y, torch.eye(3)[source.y[:1]].expand(7, 3))
    loss = torch.nn.functional.cross_entropy(torch.zeros(7, 3), y)  # an empty batch would give NaN
    assert float(loss) == pytest.approx(math.log(3))
    keeping = GeodesicAugmenter(3, mode="online", reservoir=8, choice="random", labels="hard", ratio=3.0)
    keeping(source.x[30:60], source.y[30:60], generator=seeded())
    new, y = keeping(source.x[:5], source.y[:5], generator=seeded())
    assert len(new) == 15
    assert set(y.argmax(dim=1).tolist()) == {0, 1}  # what is remembered is a source as well as a target


def test_both_directions_leave_the_linear_estimators_direction_unchanged() -> None:
    """Barycentric projections both ways with side labels: sum y x shrinks by 1 - 2t, and turns nowhere."""
    generator = seeded()
    mu = torch.tensor([1.0, 2.0, -1.0]).double()
    x0, x1 = (torch.randn(64, 3, generator=generator).double() + sign * mu for sign in (-1, 1))
    source = Rows(torch.cat([x0, x1]), torch.arange(128) // 64)
    augment = GeodesicAugmenter(2, Pixel().fit(source.x), choice="fixed", time=0.3, labels="side")
    made = augment.make_set(source, generator=seeded())
    sign = 2.0 * made.class0 - 1
    estimate = (sign[:, None] * made.x).mean(dim=0)
    plain = ((2.0 * source.y - 1)[:, None] * source.x).mean(dim=0).float()
    assert torch.allclose(estimate, 0.4 * plain, atol=2e-3)


@pytest.mark.parametrize(
    ("options", "passes"),
    [
        ({"search": "random"}, 5 / 12), ({"search": "grid", "candidates": 9}, 9 / 12),
        ({"search": "golden"}, 13 / 12), ({"search": "gradient"}, 6 / 4),
        ({"search": "gradient", "target_classes": 3}, 18 / 4), ({"scope": "sample"}, 5 / 3),
        ({"choice": "random", "search": "golden"}, 0),
    ],
    ids=str,
)  # fmt: skip
def test_a_new_sample_costs_what_its_search_does(options: dict[str, object], passes: float) -> None:
    assert GeodesicAugmenter(3, **options).passes == pytest.approx(passes)  # type: ignore[arg-type]


@pytest.mark.parametrize("source", [images(), vectors()])
def test_a_ratio_of_zero_gives_an_empty_set_of_the_right_shape(source: Rows) -> None:
    made = GeodesicAugmenter(3, ratio=0.0, choice="random").make_set(source)
    assert made.get(torch.arange(0)).shape == (0, *source.shape)
    assert made.labels(torch.arange(0)).shape == (0, 3)


def test_progress_reaches_the_total() -> None:
    source, seen = vectors(), []
    augment = GeodesicAugmenter(3, Standard().fit(source.x), ratio=3, choice="random")
    augment.make_set(source, progress=lambda *at: seen.append(at))
    assert seen[-1] == (285, 285)


@pytest.mark.parametrize(
    "options",
    [
        {"num_classes": 1}, {"ratio": -1.0}, {"pair_size": 0}, {"candidates": 0}, {"t_max": 0.0},
        {"t_max": 1.5},
        {"time": 2.0}, {"search_share": 0.0}, {"refresh": 0}, {"target_classes": 0},
        {"target_classes": 2, "choice": "random"}, {"max_distance": -1.0},
        {"maps": "class", "mode": "online"}, {"max_distance": 0.0}, {"reservoir": -1},
        {"maps": "class", "pairing": "nearest"},
    ],
    ids=str,
)  # fmt: skip
def test_settings_that_cannot_mean_anything_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(InputError, match="augment: "):
        GeodesicAugmenter(**{"num_classes": 3, **options})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "words"),
    [({}, "choice='random'"), ({"choice": "random", "pairs": "confusion"}, "pairs='uniform'")],
    ids=str,
)
def test_what_asks_a_model_is_refused_without_one(options: dict[str, object], words: str) -> None:
    source = vectors()
    augment = GeodesicAugmenter(3, Standard().fit(source.x), **options)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=f"give a model, or use {words}"):
        augment.make_set(source, generator=seeded())
    with pytest.raises(InputError, match=f"give a model, or use {words}"):
        augment(source.x, source.y, generator=seeded())


def test_a_batch_has_no_whole_classes_to_fit_maps_on() -> None:
    source = vectors()
    with pytest.raises(InputError, match="make_set"):
        GeodesicAugmenter(3, maps="class")(source.x, source.y, model=linear(20), generator=seeded())


@pytest.mark.parametrize(
    ("name", "right"),
    [
        ("search", "gradient"), ("score", "kl"), ("scope", "batch"), ("labels", "mix"), ("pairs", "near"),
        ("choice", "worst"), ("pairing", "transport"), ("maps", "class"), ("mode", "online"),
    ],
)  # fmt: skip
def test_a_misspelt_word_is_refused_with_those_that_are_meant(name: str, right: str) -> None:
    with pytest.raises(InputError, match=f"augment: {name} is '{right}s'; expected one of .*{right}"):
        GeodesicAugmenter(3, **{name: f"{right}s"})  # type: ignore[arg-type]


def test_all_pairs_of_classes_come_before_any_comes_again() -> None:
    source = vectors((50, 50, 50))
    embed = Standard().fit(source.x)
    augment = GeodesicAugmenter(3, embed, both=False, pair_size=10, ratio=60 / 150, choice="random")
    made = augment.make_set(source, generator=seeded())
    found = set(zip(made.class0.tolist(), made.class1.tolist()))
    assert found == set(itertools.permutations(range(3), 2))


def test_samples_that_fill_a_class_all_leave_it() -> None:
    source, wanted = vectors((20, 30, 25, 9)), torch.tensor([0, 30, 7, 0])
    found = GeodesicAugmenter(num_classes=4, pair_size=8).fill_classes(source, wanted)
    assert torch.bincount(found.class0, minlength=4).tolist() == wanted.tolist()


def test_a_class_without_samples_cannot_be_filled() -> None:
    source = vectors((20, 30, 25, 9))
    with pytest.raises(InputError, match="class 4 has no samples"):
        GeodesicAugmenter(num_classes=5).fill_classes(source, torch.tensor([0, 0, 0, 0, 3]))
