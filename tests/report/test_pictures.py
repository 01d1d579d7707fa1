"""Pictures on the page: sheets of frames as PNG."""

from __future__ import annotations

import base64
from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from wassermix.report.pictures import sheet


@pytest.mark.parametrize(("channels", "mode"), [(1, "L"), (2, "L"), (3, "RGB"), (4, "RGB"), (13, "RGB")])
def test_a_sheet_shows_every_frame_in_its_place_whatever_the_channels(channels: int, mode: str) -> None:
    frames = np.random.default_rng(0).integers(0, 256, (2, 3, channels, 5, 4), dtype=np.uint8)
    picture = Image.open(BytesIO(base64.b64decode(sheet(frames).split(",")[1])))
    assert (picture.mode, picture.size) == (mode, (3 * 4, 2 * 5))
    pixels = np.asarray(picture).reshape(2, 5, 3, 4, -1)
    shown = 1 if mode == "L" else 3
    assert np.array_equal(pixels.transpose(0, 2, 4, 1, 3), frames[:, :, :shown])
