"""What cannot be combined is said before training."""

from __future__ import annotations

import pytest

from wassermix.augment import CutMix, Jitter, ManifoldMixup, Mixup, PuzzleMix
from wassermix.geodesic import GeodesicSmoothness
from wassermix.methods import CATRS, METHODS, AugMix, Gaussian, PGDTraining, Phases, compatible

IMAGE = (3, 32, 32)


@pytest.mark.parametrize("name", sorted(METHODS.shipped))
def test_every_method_goes_with_mixup_and_a_regulariser(name: str) -> None:
    assert compatible(METHODS.find(name)(), Mixup(), GeodesicSmoothness(), shape=IMAGE) is None


@pytest.mark.parametrize("name", sorted(METHODS.shipped))
def test_mixing_inside_the_network_needs_a_method_of_one_view(name: str) -> None:
    reason = compatible(METHODS.find(name)(), ManifoldMixup(), shape=IMAGE)
    assert (reason is None) == (name in {"erm", "gaussian"})


@pytest.mark.parametrize("augment", [CutMix(), PuzzleMix()])
def test_rectangles_need_images(augment: object) -> None:
    assert compatible(Gaussian(), augment, shape=IMAGE) is None
    assert "images" in str(compatible(Gaussian(), augment, shape=(20,)))


def test_augmix_needs_images() -> None:
    assert "images" in str(compatible(AugMix(), shape=(20,)))


def test_a_ball_that_holds_every_image_is_refused_for_images_only() -> None:
    wide = PGDTraining(norm="linf", eps=2.0)
    assert "8/255" in str(compatible(wide, shape=IMAGE))
    assert compatible(wide, shape=(20,)) is None
    assert compatible(PGDTraining(norm="l2", eps=2.0), shape=IMAGE) is None


def test_a_ball_that_holds_every_image_is_refused_inside_phases_too() -> None:
    def phases(norm: str) -> Phases:
        return Phases(sections=[{"name": "gaussian"}, {"name": "pgd", "norm": norm, "eps": 2.0}])

    assert "8/255" in str(compatible(phases("linf"), shape=IMAGE))
    assert compatible(phases("l2"), shape=IMAGE) is None


def test_a_teacher_that_votes_beforehand_needs_the_samples_as_they_are() -> None:
    assert "teacher 'a-run' votes" in str(compatible(CATRS(teacher="a-run"), Mixup()))
    assert compatible(CATRS(teacher="a-run"), Jitter()) is None
    assert compatible(CATRS(teacher="average"), Mixup()) is None
