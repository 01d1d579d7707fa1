"""Certification by randomised smoothing: bounds on counts, noise votes, fixed and sequential certifiers."""

from __future__ import annotations

from wassermix.certify.certificates import Certificate, Certificates, CertifiedAccuracy
from wassermix.certify.certifier import certify, predict
from wassermix.certify.settings import CertifySettings, default_radii

__all__ = [
    "Certificate",
    "Certificates",
    "CertifiedAccuracy",
    "CertifySettings",
    "certify",
    "default_radii",
    "predict",
]
