"""Which samples are judged, and a warning where they lack a class."""

from __future__ import annotations

import warnings

import pytest
import torch

from wassermix.core.samples import evenly_spaced, warn_of_missing_classes


def test_evenly_spaced_samples_of_alternating_classes_lack_one_and_that_is_said() -> None:
    labels = torch.arange(2000) % 2
    with pytest.warns(UserWarning, match="none of class 1, to which 1000 of the 2000 belong"):
        warn_of_missing_classes(labels, evenly_spaced(2000, 100))


@pytest.mark.parametrize("images", [5, 2000])
def test_few_samples_or_all_of_them_are_judged_without_a_warning(images: int) -> None:
    labels = torch.arange(2000) % 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_missing_classes(labels, evenly_spaced(2000, images))


def test_a_class_of_few_samples_may_lack() -> None:
    labels = torch.zeros(1000, dtype=torch.int64)
    labels[1] = 7
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_missing_classes(labels, evenly_spaced(1000, 100))
