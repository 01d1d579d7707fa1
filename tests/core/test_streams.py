"""Random streams: repeatable, distinct by purpose, and apart from the global one."""

from __future__ import annotations

import torch

from wassermix.core.streams import stream, stream_seed


def test_a_stream_repeats_itself() -> None:
    first, second = (torch.randn(5, generator=stream(3, "noise", 1)) for _ in range(2))
    assert torch.equal(first, second)


def test_streams_differ_by_seed_purpose_and_order() -> None:
    seeds = {
        stream_seed(0, "noise", 1, 23),
        stream_seed(0, "noise", 12, 3),
        stream_seed(0, "order", 1, 23),
        stream_seed(1, "noise", 1, 23),
        stream_seed(0, "noise", 23, 1),
        stream_seed(0, "noise", "1", 23),
    }
    assert len(seeds) == 6


def test_drawing_from_a_stream_leaves_the_global_state_alone() -> None:
    before = torch.random.get_rng_state()
    torch.randn(5, generator=stream(0, "noise"))
    assert torch.equal(before, torch.random.get_rng_state())
