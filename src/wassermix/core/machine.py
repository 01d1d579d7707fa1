"""Which processor this is, and what it can do: a speed means nothing without it."""

from __future__ import annotations

import platform
from pathlib import Path

__all__ = ["has_bfloat16", "processor_name"]

CPUINFO = Path("/proc/cpuinfo")
BFLOAT16 = {"avx512_bf16", "amx_bf16", "bf16"}
"""What Linux calls products in bfloat16: AMD's and Intel's, Intel's by tiles, Arm's."""


def processor_name() -> str:
    """The processor's name where the system tells it, else its architecture."""
    names = _told("model name")
    return names[0] if names else platform.processor() or platform.machine()


def has_bfloat16() -> bool | None:
    """Whether the processor itself multiplies in bfloat16; None where the system does not tell.

    One that does not takes many times as long for such products as for those in float32.
    """
    features = _told("flags") or _told("Features")
    return bool(BFLOAT16 & set(features[0].split())) if features else None


def _told(key: str) -> list[str]:
    """What Linux says of each core under ``key``; nothing elsewhere."""
    try:
        lines = CPUINFO.read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
    pairs = (line.partition(":") for line in lines)
    return [value.strip() for name, _, value in pairs if name.strip() == key]
