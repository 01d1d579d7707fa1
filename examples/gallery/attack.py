"""What a disturbance of a given size looks like.

PGD moves each digit within an l2 ball so that a quickly trained network errs; the changes are drawn below.
"""

import torch
import torch.nn.functional as F
from matplotlib.figure import Figure

import wassermix as wm


def main() -> Figure:
    """Six digits, the same under attack, and the change."""
    data = wm.load_data("mnist5k")
    some = torch.arange(0, len(data.train), 3)  # the file is sorted by class
    x, y = data.train.get(some), data.train.y[some]
    net = wm.build_model("lenet", shape=data.shape, num_classes=10)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    for rows in torch.randperm(len(x), generator=torch.Generator().manual_seed(0)).split(64):
        optimizer.zero_grad()
        F.cross_entropy(net(x[rows]), y[rows]).backward()
        optimizer.step()
    chosen = torch.arange(50, len(data.test), 170)[:6]
    shown, labels = data.test.get(chosen), data.test.y[chosen]
    attacked = wm.PGD(eps=2.0, norm="l2", steps=20)(net, shown, labels)
    figure = Figure(figsize=(9, 4.6), layout="constrained")
    for column in range(6):
        rows = (shown[column, 0], attacked[column, 0], (attacked - shown)[column, 0])
        for row, picture in enumerate(rows):
            axes = figure.add_subplot(3, 6, 6 * row + column + 1)
            low, cmap = (-1, "coolwarm") if row == 2 else (0, "gray_r")
            axes.imshow(picture.numpy(), cmap=cmap, vmin=low, vmax=1)
            axes.set_axis_off()
            if row < 2:
                axes.set_title(f"says {int(net(rows[row][None, None]).argmax())}", fontsize=9)
    return figure
