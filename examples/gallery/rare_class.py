"""More rows of a rare class, by scikit-learn's words.

``GeodesicSampler.fit_resample`` takes numpy arrays and returns them with new rows between the classes,
close to the rare one.
"""

import numpy as np
from matplotlib.figure import Figure

import wassermix as wm


def main() -> Figure:
    """Ten rare rows, balanced."""
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(0, 1, (200, 2)), rng.normal([3, 2], 0.4, (10, 2))])
    y = np.array([0] * 200 + [1] * 10)
    new_x, new_y = wm.GeodesicSampler(balance=True, seed=0).fit_resample(x, y)
    figure = Figure(figsize=(6, 3.8), layout="constrained")
    axes = figure.subplots()
    axes.scatter(*x.T, c=y, cmap="coolwarm", s=12, alpha=0.5)
    added = slice(len(x), None)
    axes.scatter(*new_x[added].T, color="none", edgecolors="black", s=18, linewidths=0.5)
    axes.set(title=f"{int((new_y[added] == 1).sum())} new rows of the rare class (ringed)")
    return figure
