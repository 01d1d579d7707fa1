"""Rare classes in a real table: breast-cancer measurements with five malignant cases known to forty benign.

New rows on the geodesic from the rare class to the other one, beside two controls: nothing, and copies of the
rare rows. Run with ``python examples/vectors.py``; needs scikit-learn.
"""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import wassermix as wm

Table = tuple[np.ndarray, np.ndarray]


def rare(known: Table, rng: np.random.Generator) -> Table:
    """Five rows of class 0, forty of class 1."""
    x, y = known
    kept = [rng.permutation(np.flatnonzero(y == kind))[:count] for kind, count in ((0, 5), (1, 40))]
    rows = np.concatenate(kept)
    return x[rows], y[rows]


def copied(known: Table, rng: np.random.Generator) -> Table:
    """The rare rows repeated until the classes are even."""
    x, y = known
    rows = np.concatenate([np.arange(len(y)), rng.choice(np.flatnonzero(y == 0), 35)])
    return x[rows], y[rows]


def score(train: Table, test: Table) -> float:
    """Balanced accuracy of a support vector machine."""
    model = make_pipeline(StandardScaler(), SVC()).fit(*train)
    return float(balanced_accuracy_score(test[1], model.predict(test[0])))


def main(splits: int = 10) -> dict[str, float]:
    """Mean balanced accuracy over random splits."""
    table, kinds = load_breast_cancer(return_X_y=True)
    scores: dict[str, list[float]] = {"as it is": [], "copies": [], "geodesic": []}
    for seed in range(splits):
        rng = np.random.default_rng(seed)
        x, x_test, y, y_test = train_test_split(table, kinds, stratify=kinds, random_state=seed)
        known, test = rare((x, y), rng), (x_test, y_test)
        new = wm.GeodesicSampler(balance=True, seed=seed).fit_resample(*known)
        scores["as it is"].append(score(known, test))
        scores["copies"].append(score(copied(known, rng), test))
        scores["geodesic"].append(score(new, test))
    return {name: float(np.mean(values)) for name, values in scores.items()}


if __name__ == "__main__":
    for name, value in main().items():
        print(f"{name:10} {value:.3f}")
