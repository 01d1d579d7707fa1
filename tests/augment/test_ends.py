"""Who goes where: exact pairs against scipy, the others against brute force, and what entropy blurs."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from wassermix.augment.bundle import Problem
from wassermix.augment.ends import Ends, Pairing
from wassermix.augment.geodesic import GeodesicAugmenter
from wassermix.augment.pool import Pool, near_weights, nearest_weights
from wassermix.core.errors import InputError
from wassermix.core.samples import TensorSamples


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def clouds(n: int = 12, m: int = 12, *, problems: int = 3) -> tuple[Pool, Tensor, Tensor, list[Problem]]:
    generator = seeded(1)
    z0 = torch.randn(problems, n, 4, generator=generator)
    z1 = torch.randn(problems, m, 4, generator=generator) + 3
    rows = torch.arange(n), torch.arange(n, n + m)
    pool = Pool(torch.cat([z0[0], z1[0]]), torch.tensor([0] * n + [1] * m), 2, seeded(2))
    return pool, z0, z1, [Problem(*rows, 0, 1)] * problems


def found(pairing: Pairing, pool: Pool, z0: Tensor, z1: Tensor, problems: list[Problem]) -> list[Tensor]:
    there, back = Ends(pairing, 0.02, "batch").find(pool, z0, z1, problems, both=True)
    assert back is not None
    return [there, back]


def test_exact_pairs_are_those_of_scipy_and_lead_back() -> None:
    pool, z0, z1, problems = clouds()
    there, back = found("exact", pool, z0, z1, problems)
    for start, targets, image, way_back in zip(z0, z1, there, back):
        cost = torch.cdist(start.double(), targets.double()).square()
        rows, columns = linear_sum_assignment(cost.numpy())
        best = float(cost[rows, columns].sum())
        assert float((image - start).square().sum()) == pytest.approx(best, rel=1e-5)
        partner = torch.cdist(image, targets).argmin(dim=1)
        assert torch.equal(way_back[partner], start)


def test_exact_pairs_of_unequal_classes_are_samples_of_the_other_class() -> None:
    pool, z0, z1, problems = clouds(5, 9)
    there, back = found("exact", pool, z0, z1, problems)
    assert there.shape == z0.shape
    assert back.shape == z1.shape
    assert float(torch.cdist(there, z1).amin(dim=2).max()) == 0
    assert float(torch.cdist(back, z0).amin(dim=2).max()) == 0


def test_nearest_partners_are_the_nearest() -> None:
    pool, z0, z1, problems = clouds(5, 9)
    there, back = found("nearest", pool, z0, z1, problems)
    assert torch.allclose((there - z0).norm(dim=2), torch.cdist(z0, z1).amin(dim=2), atol=1e-5)
    assert torch.allclose((back - z1).norm(dim=2), torch.cdist(z0, z1).amin(dim=1), atol=1e-5)


def test_entropy_contracts_the_image_and_exact_pairs_do_not() -> None:
    pool, z0, z1, problems = clouds(48, 48)
    spread = {
        pairing: float(found(pairing, pool, z0, z1, problems)[0].var(dim=1).sum() / z1.var(dim=1).sum())
        for pairing in ("exact", "entropic", "transport", "random")
    }
    assert spread["exact"] == pytest.approx(1, abs=1e-5)
    assert spread["random"] == pytest.approx(1, abs=1e-5)
    assert spread["entropic"] < 0.9
    assert spread["transport"] == spread["entropic"]  # its earlier name


def test_at_half_time_exact_pairs_stay_wider_than_random_ones() -> None:
    pool, z0, z1, problems = clouds(64, 64)
    exact, random = (found(pairing, pool, z0, z1, problems)[0] for pairing in ("exact", "random"))
    wide, narrow = (float(((z0 + end) / 2).var(dim=1).sum()) for end in (exact, random))
    assert wide > 1.3 * narrow


def test_a_map_for_whole_classes_is_debiased_where_exact_pairs_are_asked() -> None:
    pool, z0, z1, problems = clouds(40, 40, problems=1)
    plain, _ = Ends("entropic", 0.05, "class").find(pool, z0, z1, problems, both=False)
    exact, _ = Ends("exact", 0.05, "class").find(pool, z0, z1, problems, both=False)
    assert float(exact.var(dim=1).sum()) > float(plain.var(dim=1).sum())


def test_each_class_goes_to_its_nearest_alone() -> None:
    centres = torch.tensor([[0.0, 0.0], [1.0, 0.0], [5.0, 0.0]])
    y = torch.arange(60) % 3
    z = centres[y] + 0.1 * torch.randn(60, 2, generator=seeded())
    weights = nearest_weights(Pool(z, y, 3, seeded()), 0.02)
    assert torch.equal(weights > 0, torch.tensor([[0, 1, 0], [1, 0, 0], [0, 1, 0]]).bool())
    assert torch.equal(weights.argmax(dim=1), near_weights(Pool(z, y, 3, seeded()), 0.02).argmax(dim=1))


def test_while_training_warms_up_times_are_drawn_and_nothing_is_spent() -> None:
    generator = seeded()
    source = TensorSamples(torch.randn(40, 3, generator=generator), torch.arange(40) % 2)
    asked: list[int] = []

    def model(x: Tensor) -> Tensor:
        asked.append(len(x))
        return x[:, :2]

    worst = GeodesicAugmenter(2, warm_up=0.2, pair_size=8)
    drawn = GeodesicAugmenter(2, choice="random", pair_size=8).make_set(source, generator=seeded(4))
    early = worst.make_set(source, model=model, generator=seeded(4), trained=0.1)
    assert asked == []
    assert torch.equal(early.t, drawn.t)
    assert [worst.passes_at(share) for share in (0.0, 0.19)] == [0.0, 0.0]
    assert worst.passes_at(0.2) == worst.passes
    late = worst.make_set(source, model=model, generator=seeded(4), trained=0.2)
    assert asked
    assert not torch.equal(late.t, drawn.t)
    assert all(a >= 0 for a, _ in pairwise(sorted(late.t.tolist())))


@pytest.mark.parametrize("options", [{"warm_up": 1.5}, {"pairing": "best"}, {"pairs": "far"}])
def test_words_and_shares_that_mean_nothing_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(InputError):
        GeodesicAugmenter(2, **options)  # type: ignore[arg-type]
