"""Certification by randomised smoothing: bounds on counts, noise votes, fixed and sequential certifiers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wassermix.core.lazy import callable_package, lazy_names

if TYPE_CHECKING:
    from wassermix.certify.certifier import certify, predict
    from wassermix.certify.cost import CostEstimate, estimate_cost
    from wassermix.certify.crossings import Standing, crossing
    from wassermix.certify.merge import find_shards, merge_shards
    from wassermix.certify.pa import ShareAbove, distribution
    from wassermix.certify.prior import learn_prior
    from wassermix.certify.replay import Replay, replay_images
    from wassermix.certify.result import Certificate, Certificates, CertifiedAccuracy
    from wassermix.certify.run import certify_to_files
    from wassermix.certify.settings import CertifySettings, default_radii
    from wassermix.certify.verify import Verification, find_certifications, read_verifiable, verify_file

__all__ = [
    "Certificate",
    "Certificates",
    "CertifiedAccuracy",
    "CertifySettings",
    "CostEstimate",
    "Replay",
    "ShareAbove",
    "Standing",
    "Verification",
    "certify",
    "certify_to_files",
    "crossing",
    "default_radii",
    "distribution",
    "estimate_cost",
    "find_certifications",
    "find_shards",
    "learn_prior",
    "merge_shards",
    "predict",
    "read_verifiable",
    "replay_images",
    "verify_file",
]

__getattr__ = lazy_names(__name__)
callable_package(__name__, "certify")
