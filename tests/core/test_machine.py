"""What the system tells about its processor."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest

from wassermix.core import machine

INTEL = "processor\t: 0\nmodel name\t: A Processor\nflags\t\t: fpu sse2 avx512_bf16 avx2\n"
ARM = "processor\t: 0\nBogoMIPS\t: 50.0\nFeatures\t: fp asimd bf16 i8mm\n"


def _system(text: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "cpuinfo").write_text(text)
    monkeypatch.setattr(machine, "CPUINFO", folder / "cpuinfo")


@pytest.mark.parametrize(
    ("text", "expected"),
    [(INTEL, True), (ARM, True), (INTEL.replace("avx512_bf16 ", ""), False), ("processor\t: 0\n", None)],
)
def test_products_in_bfloat16_are_a_feature_of_the_processor(
    text: str, expected: bool | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _system(text, tmp_path, monkeypatch)
    assert machine.has_bfloat16() is expected


def test_the_name_is_the_systems_or_else_the_architecture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _system(INTEL, tmp_path, monkeypatch)
    assert machine.processor_name() == "A Processor"
    monkeypatch.setattr(machine, "CPUINFO", tmp_path / "absent")
    assert machine.processor_name() == (platform.processor() or platform.machine())
    assert machine.has_bfloat16() is None
