"""Maps: agreement between them, storage, and maps between all classes."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from scipy.optimize import linear_sum_assignment

from generators.transport_problems import cloud
from wassermix.core.errors import InputError
from wassermix.transport import (
    BarycentricMap,
    ClassMaps,
    EntropicMap,
    ExactMap,
    GaussianMap,
    PairMap,
    Sinkhorn,
    load_map,
    solve_coupling,
)

Z0, Z1 = cloud(20, 3, 0).float(), cloud(15, 3, 1).float() + 1


def test_barycentric_map_is_the_projected_plan() -> None:
    plan = solve_coupling(Z0, Z1, tolerance=1e-7).plan
    expected = plan @ Z1 / plan.sum(-1, keepdim=True)
    found = BarycentricMap(tolerance=1e-7).fit(Z0, Z1).map(Z0)
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)


def test_barycentric_map_never_holds_the_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = BarycentricMap().fit(Z0, Z1).map(Z0)
    monkeypatch.setattr("wassermix.transport.coupling.BLOCK_ENTRIES", 30)  # two rows at a time
    torch.testing.assert_close(BarycentricMap().fit(Z0, Z1).map(Z0), expected)


def test_entropic_map_equals_the_barycentric_one_on_fitted_points() -> None:
    expected = BarycentricMap(tolerance=1e-7).fit(Z0, Z1).map(Z0)
    found = EntropicMap(tolerance=1e-7).fit(Z0, Z1).map(Z0)
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)


def test_maps_work_in_batches_of_problems() -> None:
    z0, z1 = cloud(2 * 10, 3, 0).reshape(2, 10, 3), cloud(2 * 8, 3, 1).reshape(2, 8, 3)
    tight = {"tolerance": 1e-9}  # a batch and a single problem may stop at different iterations
    for kind, options in ((BarycentricMap, tight), (EntropicMap, tight), (GaussianMap, {}), (PairMap, {})):
        together = kind(**options).fit(z0, z1).map(z0)
        for k in range(2):
            alone = kind(**options).fit(z0[k], z1[k]).map(z0[k])
            torch.testing.assert_close(together[k], alone, atol=1e-6, rtol=1e-6)


def test_gaussian_map_carries_mean_and_covariance() -> None:
    z0, z1 = cloud(200, 3, 0), cloud(100, 3, 1) @ cloud(3, 3, 2)
    image = GaussianMap().fit(z0, z1).map(z0)
    torch.testing.assert_close(image.mean(0), z1.mean(0))
    torch.testing.assert_close(image.T.cov(correction=0), z1.T.cov(correction=0))


def test_the_exact_map_gives_each_point_the_partner_of_the_cheapest_assignment() -> None:
    matrix = torch.cdist(Z0[:15].double(), Z1.double()).square()
    columns = torch.from_numpy(linear_sum_assignment(matrix.numpy())[1])
    fitted = ExactMap().fit(Z0[:15], Z1)
    torch.testing.assert_close(fitted.map(Z0[:15]), Z1[columns])
    assert torch.equal(fitted.carry(torch.eye(15)).argmax(1), columns)


def test_values_of_targets_are_carried_as_the_targets_are() -> None:
    for fitted in (BarycentricMap(), EntropicMap(), ExactMap(), PairMap()):
        fitted.fit(Z0, Z1)
        torch.testing.assert_close(fitted.carry(Z1), fitted.map(Z0), atol=1e-4, rtol=1e-4)
    for unfitted in (BarycentricMap(), PairMap()):
        with pytest.raises(InputError, match="fit"):
            unfitted.carry(Z1)


def test_pair_map_pairs_in_order() -> None:
    assert torch.equal(PairMap().fit(Z0[:6], Z1[:4]).map(Z0[:6]), Z1[[0, 1, 2, 3, 0, 1]])


def test_maps_of_fitted_points_refuse_others() -> None:
    for kind in (BarycentricMap, PairMap):
        with pytest.raises(InputError, match="EntropicMap"):
            kind().fit(Z0, Z1).map(Z0 + 1)
        with pytest.raises(InputError, match="fit"):
            kind().map(Z0)


@pytest.mark.parametrize(
    "fitted", [BarycentricMap(), EntropicMap(debiased=True), ExactMap(), GaussianMap(), PairMap()]
)
def test_a_stored_map_maps_as_before(fitted: EntropicMap, tmp_path: Path) -> None:
    expected = fitted.fit(Z0, Z1).map(Z0)
    fitted.save(tmp_path / "map.safetensors")
    assert torch.equal(load_map(tmp_path / "map.safetensors").map(Z0), expected)


def test_a_broken_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "broken").write_bytes(b"no tensors here")
    for load in (load_map, ClassMaps.load):
        with pytest.raises(InputError, match="broken"):
            load(tmp_path / "broken")
        with pytest.raises(InputError, match="missing"):
            load(tmp_path / "missing")


def test_class_maps_serve_every_ordered_pair(tmp_path: Path) -> None:
    z, y = cloud(60, 3, 0).float(), torch.tensor([0] * 30 + [2] * 20 + [5] * 10)
    ClassMaps.fit(z, y, Sinkhorn(entropy=0.05, tolerance=1e-7), data="three clouds").save(
        tmp_path / "maps.safetensors"
    )
    maps = ClassMaps.load(tmp_path / "maps.safetensors")
    assert len(maps.log_weights) == 6
    assert maps.about["data"] == "three clouds"
    for source, target in ((0, 2), (2, 0), (5, 2)):
        fitted = EntropicMap(entropy=0.05, tolerance=1e-7).fit(z[y == source], z[y == target])
        expected, image = fitted.map(z[y == source]), maps.map(z[y == source], source, target)
        torch.testing.assert_close(image, expected, atol=1e-3, rtol=1e-3)
    maps.check(z, y)
    with pytest.raises(InputError, match="other data"):
        maps.check(z + 1, y)
    with pytest.raises(InputError, match="no map"):
        maps.map(z, 0, 1)
