"""Between three classes at once.

Weights on a triangle instead of a time on a path: how a classifier's loss looks inside the triangle of three
classes of digits.
"""

import torch
import torch.nn.functional as F
from matplotlib.figure import Figure

import wassermix as wm
from wassermix.audit import performance_simplex


def main() -> Figure:
    """A network trained for a moment, between the digits 3, 5 and 8."""
    data = wm.load_data("mnist5k")
    some = torch.arange(0, len(data.train), 3)  # the file is sorted by class
    x, y = data.train.get(some), data.train.y[some]
    net = wm.build_model("lenet", shape=data.shape, num_classes=10)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    for rows in torch.randperm(len(x), generator=torch.Generator().manual_seed(0)).split(64):
        optimizer.zero_grad()
        F.cross_entropy(net(x[rows]), y[rows]).backward()
        optimizer.step()
    return performance_simplex(net, x, y, classes=(3, 5, 8), points=7, per_class=40).plot()
