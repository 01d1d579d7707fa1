"""Labels, hard and soft, against torch and against each other."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from wassermix.core import labels
from wassermix.core.errors import InputError


def test_soft_labels_of_hard_ones_lose_nothing() -> None:
    y = torch.tensor([2, 0, 1])
    assert torch.equal(labels.hard(labels.soft(y, 3)), y)


def test_cross_entropy_is_the_same_for_a_class_and_its_one_hot_label() -> None:
    logits = torch.randn(5, 3, generator=torch.Generator().manual_seed(0))
    y = torch.tensor([0, 1, 2, 1, 0])
    torch.testing.assert_close(
        labels.cross_entropy(logits, y), labels.cross_entropy(logits, labels.soft(y, 3))
    )


def test_kl_score_is_torchs_divergence_for_a_mixed_label() -> None:
    logits = torch.randn(4, 3, generator=torch.Generator().manual_seed(1))
    y = torch.tensor([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0], [0.2, 0.3, 0.5], [1 / 3, 1 / 3, 1 / 3]])
    expected = F.kl_div(logits.log_softmax(1), y, reduction="none").sum(1)
    torch.testing.assert_close(labels.kl_score(logits, y), expected)


def test_kl_score_is_zero_where_the_model_says_the_label() -> None:
    y = torch.tensor([[0.7, 0.3]])
    torch.testing.assert_close(labels.kl_score(y.log(), y), torch.zeros(1), atol=1e-6, rtol=0)


def test_a_column_of_classes_is_read_as_classes() -> None:
    column = torch.tensor([[2], [0], [1]])
    assert torch.equal(labels.soft(column, 3), torch.eye(3)[[2, 0, 1]])
    assert labels.hard(column).tolist() == [2, 0, 1]
    logits = torch.randn(3, 3, generator=torch.Generator().manual_seed(2))
    for loss in (labels.cross_entropy, labels.kl_score):
        expected = loss(logits, column[:, 0])
        assert torch.equal(loss(logits, column), expected)
        assert torch.equal(loss(logits, column[:, 0].int()), expected)  # any kind of whole number


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (torch.tensor([[0.0], [1.0]]), "soft labels as floats"),
        (torch.tensor([0.0, 1.0]), "whole numbers"),
        (torch.tensor([[0, 1], [1, 0]]), "soft labels as floats"),
        (torch.rand(2, 4), r"shape \(2, 4\)"),
        (torch.tensor([0, 3]), "run from 0 to 3"),
        (torch.tensor([-1, 2]), "run from -1 to 2"),
    ],
)
def test_labels_that_would_be_misread_are_refused(y: torch.Tensor, message: str) -> None:
    with pytest.raises(InputError, match=message):
        labels.soft(y, 3)


def test_one_label_for_each_sample_is_demanded() -> None:
    with pytest.raises(InputError, match="got 3 for 4 samples"):
        labels.checked(torch.tensor([0, 1, 2]), 3, count=4)
