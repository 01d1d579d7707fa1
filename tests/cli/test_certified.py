"""What ``wassermix certify`` prints of p_A: the shares, and how far they may be off."""

from __future__ import annotations

import re

import pytest

from wassermix.certify import Certificate, Certificates, CertifySettings
from wassermix.cli.certify import _print

HEADING = "images by p_A, the probability of their label under noise, with a 95% band:"
LEVEL = "p_A at least"


def certified(hits: list[int]) -> Certificates:
    """Images of class 0 with so many of 1,000 votes for it."""
    rows = [
        Certificate(i, 0, 0 if count > 600 else -1, 0.1, 1000, count, "fixed") for i, count in enumerate(hits)
    ]
    return Certificates.of(rows, CertifySettings(sigma=0.5, n=1000))


def rows_said(certificates: Certificates, capsys: pytest.CaptureFixture[str]) -> dict[str, list[str]]:
    """The cells of the table of p_A by the words that a line begins with."""
    _print(certificates)
    printed = "".join(capsys.readouterr()).splitlines()
    assert max(map(len, printed[printed.index(HEADING) :][:5])) <= 80
    cells = [re.fullmatch(r" *([a-zA-Z_ ]+?) +([\d.% ]+)", line) for line in printed]
    return {found[1]: found[2].split() for found in cells if found}


def test_each_share_of_p_a_is_told_with_its_own_band(capsys: pytest.CaptureFixture[str]) -> None:
    said = rows_said(certified([1000] * 50 + [920] * 25 + [520] * 25), capsys)
    told = {p: (said["images"][i], said["band from"][i], said["to"][i]) for i, p in enumerate(said[LEVEL])}
    # for 100 images the band is sqrt(log(40) / 200) + alpha = 13.7% beyond what the counts leave open:
    assert told["0.5"] == ("75.0%", "61.3%", "100.0%")  # an abstention may have counted the label or another
    assert told["0.95"] == ("50.0%", "36.3%", "63.7%")  # the counts leave nothing open
    assert told["0.999"] == ("50.0%", "0.0%", "63.7%")  # more than 1,000 draws can show
