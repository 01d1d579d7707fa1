"""Geodesic augmentation of a real table: breast-cancer measurements, few of them known, in scikit-learn.

Run with ``python examples/vectors.py``; needs scikit-learn.
"""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import wassermix as wm


def accuracy(x: np.ndarray, y: np.ndarray, test: tuple[np.ndarray, np.ndarray]) -> float:
    """A plain classifier, trained on ``x, y``."""
    model = make_pipeline(StandardScaler(), LogisticRegression(C=100.0, max_iter=2000)).fit(x, y)
    return float(model.score(*test))


def main() -> dict[str, float]:
    """Mean test accuracy of ten splits with 40 known rows each, plain and with rows between the classes."""
    table, kinds = load_breast_cancer(return_X_y=True)
    scores: dict[str, list[float]] = {"plain": [], "geodesic": []}
    for seed in range(10):
        x, x_test, y, y_test = train_test_split(
            table, kinds, train_size=40, stratify=kinds, random_state=seed
        )
        more, labels = wm.GeodesicSampler(ratio=2.0, t_max=0.3, seed=seed).fit_resample(x, y)
        scores["plain"].append(accuracy(x, y, (x_test, y_test)))
        scores["geodesic"].append(accuracy(more, labels, (x_test, y_test)))
    return {name: float(np.mean(values)) for name, values in scores.items()}


if __name__ == "__main__":
    for name, value in main().items():
        print(f"{name:10} {value:.3f}")
