"""A method, an augmenter and an embedding of one's own: one class each, and all of wassermix around them.

cd examples
wassermix train demo method=own_parts:LabelSmoothing method.weight=0.2
wassermix train demo augment=own_parts:SameClassMixup
wassermix train demo augment=geodesic embed=own_parts:Coarse
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

import wassermix as wm
from wassermix.core import labels
from wassermix.embed import Embedding
from wassermix.methods import Batch
from wassermix.methods.noise import noises


# method
@dataclass(frozen=True, kw_only=True)
class LabelSmoothing:
    """Cross-entropy under noise, plus the cross-entropy to even odds."""

    sigma: float = 0.5
    weight: float = 0.1

    passes = 1.0  # forward+backward passes that a sample costs
    one_view = True  # the network sees each sample once: mixing in hidden layers is welcome

    def loss(self, model: nn.Module, batch: Batch) -> dict[str, Tensor]:
        """Named terms; training minimises their sum."""
        noise = noises(batch.x, self.sigma, count=1, generator=batch.generator)[0]
        logits = model(batch.x + noise)
        even = -logits.log_softmax(dim=1).mean(dim=1)
        return {
            "ce": labels.cross_entropy(logits, batch.y).mean(),
            "even": self.weight * even.mean(),
        }


# augmenter
@dataclass(frozen=True, kw_only=True)
class SameClassMixup:
    """Mixup of each sample with the next one of its class."""

    num_classes: int  # the engine fills this in
    share: float = 0.7

    adds = False  # the batch comes back mixed; True: new samples to put beside it
    passes = 0.0

    def __call__(
        self,
        x: Tensor,
        y: Tensor,
        *,
        model: nn.Module | None = None,
        generator: torch.Generator | None = None,
    ) -> tuple[Tensor, Tensor]:
        """The call of torchvision's MixUp: samples and soft labels."""
        partner = torch.arange(len(x))
        for label in labels.hard(y).unique():
            members = (labels.hard(y) == label).nonzero().flatten()
            partner[members] = members.roll(1)
        return self.share * x + (1 - self.share) * x[partner], labels.soft(y, self.num_classes)


# embedding
class Coarse(Embedding):
    """Images at half their resolution: geodesics move what is large, and details are lost."""

    def encode(self, x: Tensor) -> Tensor:
        """``(n, c, h, w) -> (n, c h w / 4)``."""
        return F.avg_pool2d(x, 2).flatten(1)

    def decode(self, z: Tensor) -> Tensor:
        """``(n, c h w / 4) -> (n, c, h, w)``."""
        channels, height, width = self.shape
        small = z.reshape(-1, channels, height // 2, width // 2)
        return F.interpolate(small, scale_factor=2, mode="bilinear", align_corners=False)


# use
def main() -> None:
    """Use all three in a loop of one's own; a recipe would name them instead."""
    data = wm.load_data("mnist5k", train_size=600)
    x, y = data.train.get(torch.arange(600)), data.train.y
    net = wm.build_model("lenet", shape=data.shape, num_classes=10)
    method = LabelSmoothing(sigma=0.25)
    mix = SameClassMixup(num_classes=10)
    add = wm.GeodesicAugmenter(num_classes=10, embed=Coarse().fit(x), pair_size=8)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    generator = torch.Generator().manual_seed(0)
    for step in range(12):
        rows = torch.randperm(len(x), generator=generator)[:128]
        x1, y1 = mix(x[rows], y[rows], generator=generator)
        x2, y2 = add(x[rows], y[rows], model=net, generator=generator)
        batch = Batch(torch.cat([x1, x2]), torch.cat([y1, y2]), progress=step / 12, generator=generator)
        terms = method.loss(net, batch)
        optimizer.zero_grad()
        sum(terms.values()).backward()
        optimizer.step()
    print({name: round(term.item(), 2) for name, term in terms.items()})


if __name__ == "__main__":
    main()
