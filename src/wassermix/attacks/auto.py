"""AutoAttack through the package ``pyautoattack``: an adapter that fits it to any number of classes."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from wassermix.attacks.ball import BallAttack
from wassermix.attacks.norms import Norm
from wassermix.core.classifier import Classifier
from wassermix.core.errors import InputError
from wassermix.core.labels import hard
from wassermix.core.streams import stream_seed

__all__ = ["AutoAttack", "attack_list"]


def attack_list(shape: tuple[int, ...], num_classes: int, norm: Norm) -> tuple[str, ...]:
    """The standard ensemble, less what the classes and the shape do not admit.

    The targeted DLR loss needs 4 classes (with 3 the untargeted one stands in, with 2 cross-entropy
    alone is left). Square in l2 starts from tiles a fifth of the image wide, which must fit into it:
    at 28, 32, 64 and 224 pixels they do, at 14 and on vectors not.
    """
    dlr = {2: (), 3: ("apgd-dlr",)}.get(num_classes, ("apgd-t",))
    square = ("square",) if norm == "linf" or _tiles_fit(shape) else ()
    return ("apgd-ce", *dlr, "fab-t", *square)


def _tiles_fit(shape: tuple[int, ...]) -> bool:
    """Whether the tiles with which ``pyautoattack`` begins in l2 stay inside an image ``(c, h, w)``."""
    if len(shape) != 3 or min(shape[1:]) < 5:
        return False
    height, tile = shape[1], shape[1] // 5
    margin = (height - 5 * tile) // 2
    return all(margin + tile * (side // tile) <= side for side in shape[1:])


@dataclass(frozen=True, kw_only=True)
class AutoAttack(BallAttack):
    """AutoAttack's standard ensemble (APGD-CE, APGD-T, FAB-T, Square), the field's reference attack.

    With fewer than 10 classes the targeted attacks aim at all the others; see :func:`attack_list`.
    Needs the extra ``attack``; the version that ran is among the parameters.
    """

    name: ClassVar[str] = "autoattack"
    words: ClassVar[str] = "AutoAttack"

    queries: int = 5000

    def __post_init__(self) -> None:
        """Inputs must have a scale: AutoAttack knows only [0, 1], to which ours are brought."""
        super().__post_init__()
        if self.bounds is None:
            raise InputError(
                "autoattack: inputs need bounds, it works on [0, 1]; pass bounds=(low, high) of the data, "
                "or use PGD with restarts"
            )

    def check(self, x: Tensor, y: Tensor) -> None:
        """Refuse inputs off scale, and a computer without the package."""
        super().check(x, y)
        _package()

    def strength(self) -> tuple[bool, str]:
        """The field's reference."""
        return True, "AutoAttack's ensemble"

    @property
    def passes(self) -> float:
        """The most that an image that resists everything costs: 100 steps for each of 1 + 9 + 9 runs."""
        return 100 + 900 + 1.4 * 900 + self.queries / 3

    def parameters(self) -> dict[str, Any]:
        """Every parameter, and the version of the package that does the work."""
        _package()  # where it is missing, the sentence that names the extra comes before any work
        return super().parameters() | {"pyautoattack": version("pyautoattack")}

    def details(self, shape: tuple[int, ...], num_classes: int) -> dict[str, Any]:
        """The attacks that run on inputs of this shape with so many classes."""
        return {"ensemble": list(attack_list(shape, num_classes, self.norm))}

    def perturb(self, model: Classifier, x: Tensor, y: Tensor, *, generator: torch.Generator) -> Tensor:
        """Run the ensemble on the batch, each attack on what the ones before left."""
        assert self.bounds is not None
        low, high = self.bounds
        inside = _OnUnitScale(model, x, low=low, width=high - low)
        with torch.no_grad():
            num_classes = model(x[:1]).shape[1]
        seed = stream_seed(0, int(torch.randint(2**31, (1,), generator=generator))) % 2**31
        runner = self._runner(inside, x, num_classes=num_classes, seed=seed)
        with _contained(x):
            found, _ = runner.run_standard_evaluation(inside.enter(x), hard(y), batch_size=len(x))
        return inside.leave(found)

    def _runner(self, model: _OnUnitScale, x: Tensor, *, num_classes: int, seed: int) -> Any:
        assert self.bounds is not None
        runner = _package().AutoAttack(
            model,
            norm={"linf": "Linf", "l2": "L2"}[self.norm],
            eps=self.eps / (self.bounds[1] - self.bounds[0]),
            seed=seed,
            version="standard",
            device=x.device,
        )
        runner.attacks_to_run = list(attack_list(tuple(x.shape[1:]), num_classes, self.norm))
        runner.apgd_targeted.n_target_classes = min(9, num_classes - 1)
        runner.fab.n_target_classes = min(9, num_classes - 1)
        runner.square.n_queries = self.queries
        runner.verbose = False
        return runner


class _OnUnitScale(nn.Module):
    """The model as AutoAttack wants it: float32 images ``(n, c, h, w)`` on [0, 1] in, its own logits out."""

    def __init__(self, model: Classifier, x: Tensor, *, low: float, width: float) -> None:
        super().__init__()
        self.shape, self.dtype, self.low, self.width = x.shape[1:], x.dtype, low, width
        self.classify = model if not isinstance(model, nn.Module) else model.__call__
        self.training = False

    def enter(self, x: Tensor) -> Tensor:
        images = x if x.dim() == 4 else x.reshape(len(x), 1, 1, -1)
        return ((images - self.low) / self.width).float().contiguous()

    def leave(self, x: Tensor) -> Tensor:
        return (x.to(self.dtype) * self.width + self.low).reshape(-1, *self.shape)

    def forward(self, x: Tensor) -> Tensor:
        return self.classify(self.leave(x)).float().clone()  # Square writes into the logits that it gets


@contextmanager
def _contained(x: Tensor) -> Iterator[None]:
    """Keep what AutoAttack does to the process inside: it seeds the global generator and drops a tracer.

    Its warning about few classes is dropped: the ensemble has been fitted to them.
    """
    tracer = sys.gettrace()
    logger = logging.getLogger("auto-attack")
    logger.addFilter(_not_about_classes)
    devices = [x.device] if x.is_cuda else []
    try:
        with torch.random.fork_rng(devices=devices):
            yield
    finally:
        logger.removeFilter(_not_about_classes)
        sys.settrace(tracer)


def _not_about_classes(record: logging.LogRecord) -> bool:
    return "classes" not in record.getMessage()


def _package() -> Any:
    try:
        return import_module("pyautoattack")
    except ImportError as error:
        raise InputError("autoattack needs pyautoattack: pip install pyautoattack") from error
