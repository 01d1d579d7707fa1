"""Robust learning on Wasserstein geodesics: train, attack, certify, audit, report.

Names are imported when they are first used: ``import wassermix`` alone does not import torch.
"""

from typing import TYPE_CHECKING

from wassermix.core.lazy import lazy_names

__version__ = "0.2.0"

if TYPE_CHECKING:
    from wassermix.attacks import (
        FGSM,
        PGD,
        AutoAttack,
        GeodesicAttack,
        SmoothedPGD,
        attack_curve,
        evaluate_attack,
    )
    from wassermix.audit import performance_geodesic
    from wassermix.augment import (
        CutMix,
        GeodesicAugmenter,
        GeodesicSampler,
        KMixup,
        ManifoldMixup,
        Mixup,
        PuzzleMix,
        SimplexAugmenter,
    )
    from wassermix.certify import certify, predict
    from wassermix.core.errors import InputError
    from wassermix.data import load_data
    from wassermix.drift import DriftMonitor
    from wassermix.embed import PCA, VAE, EncoderDecoder, Pixel, Standard
    from wassermix.engine.estimator import RobustClassifier
    from wassermix.engine.run import Run, load_run
    from wassermix.engine.run import train_run as train
    from wassermix.geodesic.path import Geodesic, PathPoint
    from wassermix.geodesic.smoothness import GeodesicSmoothness, geodesic_smoothness
    from wassermix.models import build_model
    from wassermix.report import report
    from wassermix.transport import (
        BarycentricMap,
        Coupling,
        EntropicMap,
        GaussianMap,
        PairMap,
        solve_coupling,
        solve_exact,
    )

__all__ = [
    "FGSM",
    "PCA",
    "PGD",
    "VAE",
    "AutoAttack",
    "BarycentricMap",
    "Coupling",
    "CutMix",
    "DriftMonitor",
    "EncoderDecoder",
    "EntropicMap",
    "GaussianMap",
    "Geodesic",
    "GeodesicAttack",
    "GeodesicAugmenter",
    "GeodesicSampler",
    "GeodesicSmoothness",
    "InputError",
    "KMixup",
    "ManifoldMixup",
    "Mixup",
    "PairMap",
    "PathPoint",
    "Pixel",
    "PuzzleMix",
    "RobustClassifier",
    "Run",
    "SimplexAugmenter",
    "SmoothedPGD",
    "Standard",
    "attack_curve",
    "build_model",
    "certify",
    "evaluate_attack",
    "geodesic_smoothness",
    "load_data",
    "load_run",
    "performance_geodesic",
    "predict",
    "report",
    "solve_coupling",
    "solve_exact",
    "train",
]

__getattr__ = lazy_names(__name__)
