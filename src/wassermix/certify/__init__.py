"""Certification by randomised smoothing: bounds on counts, noise votes, fixed and sequential certifiers."""

from __future__ import annotations

from wassermix.certify.certificates import Certificate, Certificates, CertifiedAccuracy
from wassermix.certify.certifier import certify, predict
from wassermix.certify.cost import CostEstimate, estimate_cost
from wassermix.certify.files import certify_to_files
from wassermix.certify.logs import read_log
from wassermix.certify.pa import ShareAbove, crossing, distribution
from wassermix.certify.settings import CertifySettings, default_radii
from wassermix.certify.verify import Verification, find_certifications, verify_file
from wassermix.core.intervals import PairedComparison, compare_paired, exact_interval, wilson_interval
from wassermix.core.lazy import callable_package
from wassermix.core.samples import evenly_spaced

__all__ = [
    "Certificate",
    "Certificates",
    "CertifiedAccuracy",
    "CertifySettings",
    "CostEstimate",
    "PairedComparison",
    "ShareAbove",
    "Verification",
    "certify",
    "certify_to_files",
    "compare_paired",
    "crossing",
    "default_radii",
    "distribution",
    "estimate_cost",
    "evenly_spaced",
    "exact_interval",
    "find_certifications",
    "predict",
    "read_log",
    "verify_file",
    "wilson_interval",
]

callable_package(__name__, "certify")
