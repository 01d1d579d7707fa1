"""The attack along geodesics against closed forms: one point a class, and shifted clouds."""

from __future__ import annotations

import pytest
import torch

from wassermix.attacks import GeodesicAttack, evaluate_attack
from wassermix.core.errors import InputError
from wassermix.core.streams import stream
from wassermix.embed import PCA


def by_first_entry(x):
    """Class 0 left of zero, class 1 right of it."""
    return torch.stack([-x[:, 0], x[:, 0]], dim=1)


def test_towards_a_class_of_one_point_samples_flip_where_the_line_crosses_the_boundary():
    ends = torch.tensor([[-1.0, 0.0], [2.0, 1.0]])
    attack = GeodesicAttack(t_max=1.0, times=100, bounds=None, pairing="entropic").fit(
        ends, torch.tensor([0, 1])
    )
    x = torch.randn(30, 2, generator=stream(0, "x"))
    y = (x[:, 0] > 0).long()
    far = torch.where(y == 0, 2.0, -1.0)
    crossing = x[:, 0] / (x[:, 0] - far)  # x + t (far - x) = 0
    result = evaluate_attack(by_first_entry, x, y, attack=attack, check=False)
    flips = torch.tensor(result.summary["flip_t"])
    assert torch.all(flips >= crossing - 1e-6)
    assert torch.all(flips <= crossing + 0.01 + 1e-6)
    x_adv = attack(by_first_entry, x, y)
    target = torch.where(y[:, None] == 0, ends[1], ends[0])
    torch.testing.assert_close(x_adv, torch.lerp(x, target, flips[:, None]))


def test_labels_that_the_model_has_no_output_for_are_refused():
    three = torch.tensor([[-1.0, 0.0], [2.0, 1.0], [0.0, 3.0]])
    attack = GeodesicAttack(bounds=None).fit(three, torch.arange(3))
    with pytest.raises(InputError, match="expected classes 0 to 1"):
        attack.judge(by_first_entry, three, torch.arange(3), generator=stream(0, "labels"))


def test_between_shifted_clouds_samples_move_along_the_shift():
    shift = torch.tensor([10.0, 0.0, 0.0])
    z = torch.randn(60, 3, generator=stream(0, "z")) * 0.5 - shift / 2
    x, y = torch.cat([z, z + shift]), torch.arange(120) // 60
    attack = GeodesicAttack(t_max=0.5, times=5, bounds=None, entropy=0.001).fit(x, y)
    x_adv = attack(by_first_entry, z, y[:60])
    moved = x_adv - z
    torch.testing.assert_close(moved.mean(0), shift / 2, atol=0.2, rtol=0)
    assert moved[:, 1:].abs().mean() < 0.2


def test_accuracy_falls_along_t_and_starts_at_the_clean_one(digits):
    embed = PCA(20).fit(digits.x[1::2])
    attack = GeodesicAttack(t_max=0.6, times=6, targets=3, pair_size=32)
    attack = attack.fit(digits.x[1::2], digits.y[1::2], embed=embed)
    result = evaluate_attack(digits.net, digits.x[::10], digits.y[::10], attack=attack)
    curve = result.summary["curve"]
    assert curve[0]["count"] == result.clean.count
    assert curve[-1]["count"] == result.robust.count < curve[0]["count"]
    counts = [point["count"] for point in curve]
    assert counts == sorted(counts, reverse=True)
    assert all(point["mean_accuracy"] >= point["accuracy"] - 1e-6 for point in curve)
    assert result.parameters["embed"] == "pca"
    assert {"eval mode", "input scale", "logits", "strength"} <= {check.name for check in result.checks}


def test_what_the_embedding_loses_stays_with_the_image(digits):
    embed = PCA(2).fit(digits.x)
    attack = GeodesicAttack(t_max=1e-6, times=1, targets=1).fit(digits.x, digits.y, embed=embed)
    moved = attack(digits.net, digits.x[:5], digits.y[:5]) - digits.x[:5]
    assert moved.abs().max() < 1e-4


def test_images_stay_in_the_box_and_the_nearest_classes_come_first(digits):
    attack = GeodesicAttack(times=2, targets=1, pair_size=16).fit(digits.x, digits.y)
    x_adv = attack(digits.net, digits.x[:20], digits.y[:20])
    assert 0 <= x_adv.min() <= x_adv.max() <= 1
    means = {c: cloud.mean(0) for c, cloud in attack.paths.clouds.items()}
    for source, order in attack.paths.neighbours.items():
        distances = [float((means[source] - means[other]).norm()) for other in order]
        assert distances == sorted(distances)
        assert len(order) == 9


def test_mistakes_get_a_sentence(digits):
    attack = GeodesicAttack()
    with pytest.raises(InputError, match="no maps yet"):
        attack(digits.net, digits.x[:1], digits.y[:1])
    with pytest.raises(InputError, match="one class only"):
        attack.fit(digits.x[:3], digits.y[:3])
    with pytest.raises(InputError, match="class 9 has no training samples"):
        attack.fit(digits.x[:400], digits.y[:400])(digits.net, digits.x[-1:], digits.y[-1:])
    with pytest.raises(InputError, match="t_max is 0"):
        GeodesicAttack(t_max=0)
    with pytest.raises(InputError, match="times=0"):
        GeodesicAttack(times=0)


def test_an_image_that_is_lost_only_at_the_last_time_has_that_time():
    """0.3 as a float32 is a little more than 0.3."""
    attack = GeodesicAttack(t_max=0.3, times=3, bounds=None)
    attack = attack.fit(torch.tensor([[-1.0], [2.0]]), torch.tensor([0, 1]))
    x = torch.tensor([[-0.8], [-0.4], [-1.5]])  # at t = 0.3 they are at 0.04, 0.32 and -0.45
    result = evaluate_attack(by_first_entry, x, torch.zeros(3).long(), attack=attack, check=False)
    assert result.summary["flip_t"] == [0.3, 0.2, None]
    assert result.robust.count == 1


def test_exact_pairing_carries_a_class_onto_its_translated_self_and_entropic_contracts_it() -> None:
    cloud = torch.randn(64, 4, generator=torch.Generator().manual_seed(0))
    x, y = torch.cat([cloud, cloud + 3.0]), torch.arange(2).repeat_interleave(64)
    spreads = {}
    for pairing in ("exact", "entropic"):
        attack = GeodesicAttack(bounds=None, entropy=0.2, pair_size=64, pairing=pairing).fit(x, y)
        assert attack.paths is not None
        image = attack.paths.image(cloud, 0, 1)
        spreads[pairing] = float(image.var(dim=0).sum() / cloud.var(dim=0).sum())
        if pairing == "exact":
            assert torch.allclose(image, cloud + 3.0, atol=0.02)
    assert spreads["entropic"] < 0.8


def test_random_pairing_moves_each_sample_towards_a_random_sample_of_the_other_class() -> None:
    cloud = torch.randn(64, 4, generator=stream(0, "cloud"))
    other = torch.randn(64, 4, generator=stream(0, "other")) + 3.0
    x, y = torch.cat([cloud, other]), torch.arange(2).repeat_interleave(64)
    attack = GeodesicAttack(bounds=None, t_max=1.0, times=1, pair_size=64, pairing="random").fit(x, y)
    ends = attack(by_first_entry, cloud, y[:64])
    apart = torch.cdist(ends, other, compute_mode="donot_use_mm_for_euclid_dist")
    assert apart.min(dim=1).values.max() < 1e-5  # every end is a sample, none a blend of several
    assert 30 < len(apart.argmin(dim=1).unique()) < 52  # of 64 draws among 64, 40.6 differ on average
    cost, of_any = (ends - cloud).square().sum(dim=1).mean(), torch.cdist(cloud, other).square().mean()
    torch.testing.assert_close(cost, of_any, rtol=0.15, atol=0)  # no nearer than any two samples are
    torch.testing.assert_close(attack(by_first_entry, cloud, y[:64]), ends)
    torch.testing.assert_close(attack(by_first_entry, cloud, y[:64], generator=stream(0, "attack")), ends)
    assert not torch.equal(attack(by_first_entry, cloud, y[:64], generator=stream(1, "attack")), ends)


def test_the_pairing_is_told_in_title_and_file_name_where_it_is_not_exact() -> None:
    told = {one: GeodesicAttack(pairing=one) for one in ("exact", "entropic", "random")}  # type: ignore[arg-type]
    assert {one: attack.title for one, attack in told.items()} == {
        "exact": "the geodesic attack t ≤ 0.5",
        "entropic": "the geodesic attack t ≤ 0.5 along entropic pairs",
        "random": "the geodesic attack t ≤ 0.5 along random pairs",
    }
    assert len({attack.label for attack in told.values()}) == 3
    with pytest.raises(InputError, match="pairing is 'nearest'; expected one of exact, entropic, random"):
        GeodesicAttack(pairing="nearest")  # type: ignore[arg-type]
