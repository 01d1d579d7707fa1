"""Evidence: a bundle that another person can check without trusting the one who made it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wassermix.core.lazy import lazy_names

if TYPE_CHECKING:
    from wassermix.evidence.bundle import write_evidence
    from wassermix.evidence.check import BundleCheck, check_bundle, is_bundle, read_manifest
    from wassermix.evidence.samples import SAMPLES, SampleFile
    from wassermix.evidence.selection import left_out

__all__ = [
    "SAMPLES",
    "BundleCheck",
    "SampleFile",
    "check_bundle",
    "is_bundle",
    "left_out",
    "read_manifest",
    "write_evidence",
]

__getattr__ = lazy_names(__name__)
