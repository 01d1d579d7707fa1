"""How bumpy is the loss on the way? The geodesic regulariser.

The total variation of the loss along the path between two classes, for classifiers of growing steepness: the
surer a classifier is, the harder it falls between the classes.
"""

import torch
from matplotlib.figure import Figure

import wassermix as wm


def main() -> Figure:
    """The regulariser's value over the steepness of a linear classifier."""
    g = torch.Generator().manual_seed(0)
    x0 = torch.randn(128, 2, generator=g) * 0.5 - torch.tensor([1.0, 0.0])
    x1 = torch.randn(128, 2, generator=g) * 0.5 + torch.tensor([1.0, 0.0])
    path = wm.Geodesic.fit(x0, x1, y0=0, y1=1, embed=wm.Pixel().fit(x0))
    steep = torch.logspace(-1, 1.3, 25)
    values = []
    for k in steep.tolist():
        values.append(
            float(wm.geodesic_smoothness(lambda x, k=k: torch.stack([-k * x[:, 0], k * x[:, 0]], 1), path))
        )
    figure = Figure(figsize=(6, 3.4), layout="constrained")
    axes = figure.subplots()
    axes.semilogx(steep, values)
    axes.set(xlabel="steepness of the classifier", ylabel="variation of the loss along the path")
    return figure
