"""What ``wassermix certify`` prints of p_A: the shares, and how far they may be off."""

from __future__ import annotations

import pytest

from wassermix.certify import Certificate, Certificates, CertifySettings
from wassermix.cli.certify import _print


def certified(hits: list[int]) -> Certificates:
    """Images of class 0 with so many of 1,000 votes for it."""
    rows = [
        Certificate(i, 0, 0 if count > 600 else -1, 0.1, 1000, count, "fixed") for i, count in enumerate(hits)
    ]
    return Certificates.of(rows, CertifySettings(sigma=0.5, n=1000))


def said_of(certificates: Certificates, capsys: pytest.CaptureFixture[str]) -> str:
    _print(certificates)
    return " ".join("".join(capsys.readouterr()).split())


def test_the_shares_of_p_a_are_told_with_their_band(capsys: pytest.CaptureFixture[str]) -> None:
    said = said_of(certified([1000] * 50 + [920] * 25 + [520] * 25), capsys)
    assert "probability p_A under noise of at least 0.5: 75.0%, 0.7: 75.0%, 0.9: 75.0%, 0.95: 50.0%" in said
    # at 0.995, more than 1,000 draws can show: from 0 to 50% and sqrt(log(40) / 200) + alpha for 100 images
    assert "(band: 31.8% or less)" in said
