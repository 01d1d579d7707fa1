"""A three becomes an eight: digits on a Wasserstein geodesic.

The path joins samples of one class with samples of another by optimal transport in a PCA space.
"""

import torch
from matplotlib.figure import Figure

import wassermix as wm


def main() -> Figure:
    """Four digits at seven times of the path."""
    data = wm.load_data("mnist5k")
    x, y = data.train.get(torch.arange(len(data.train))), data.train.y
    embed = wm.PCA(64).fit(x)
    path = wm.Geodesic.fit(x[y == 3][:64], x[y == 8][:64], y0=3, y1=8, embed=embed)
    times = torch.linspace(0, 1, 7)
    figure = Figure(figsize=(9, 5.2), layout="constrained")
    for column, t in enumerate(times):
        pictures = path.at(float(t)).x[:4, 0]
        for row in range(4):
            axes = figure.add_subplot(4, 7, 7 * row + column + 1)
            axes.imshow(pictures[row].numpy(), cmap="gray_r", vmin=0, vmax=1)
            axes.set_axis_off()
            if row == 0:
                axes.set_title(f"t = {t:.2f}", fontsize=9)
    return figure
