"""The attack on a smoothed classifier: SmoothAdv's ascent on the loss of averaged probabilities."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import torch
from torch import Tensor

from wassermix.attacks.ascent import ascend
from wassermix.attacks.ball import UPPER_BOUND, Ball, BallAttack
from wassermix.attacks.norms import Norm
from wassermix.attacks.steps import other_walk, read_step, step_at, usual_step
from wassermix.core.classifier import Classifier, logits_of
from wassermix.core.errors import InputError
from wassermix.core.labels import cross_entropy
from wassermix.core.settings import read_number

__all__ = ["SmoothedPGD", "smoothed_logits", "votes"]


def smoothed_logits(model: Classifier, noise: Tensor) -> Classifier:
    """The soft smoothed classifier ``x -> log((1/m) sum_i softmax f(x + noise_i))``, ``noise (m, n, ...)``.

    Its outputs are log-probabilities, so that its cross-entropy is SmoothAdv's
    ``J = -log((1/m) sum_i p_y(x + noise_i))``, without a floor under the logarithm.
    """

    def classifier(x: Tensor) -> Tensor:
        logits = model((x + noise).flatten(0, 1)).reshape(*noise.shape[:2], -1)
        return torch.logsumexp(logits.log_softmax(dim=2), dim=0) - math.log(len(noise))

    return classifier


def votes(model: Classifier, x: Tensor, sigma: float, *, count: int, generator: torch.Generator) -> Tensor:
    """How often each class wins under ``count`` draws of noise: ``(n, k)``."""
    total: Tensor | None = None
    with torch.no_grad():
        for _ in range(count):
            logits = logits_of(model, x + _noise(x, sigma, 1, generator)[0])
            won = torch.nn.functional.one_hot(logits.argmax(dim=1), logits.shape[1])
            total = won if total is None else total + won
    assert total is not None
    return total


def _noise(x: Tensor, sigma: float, count: int, generator: torch.Generator) -> Tensor:
    shape = (count, *x.shape)
    return sigma * torch.randn(shape, generator=generator, device=generator.device, dtype=x.dtype).to(
        x.device
    )


@dataclass(frozen=True, kw_only=True)
class SmoothedPGD(BallAttack):
    """PGD on a smoothed classifier: ``noises`` draws for each image, fixed during the attack (SmoothAdv).

    Zero start, step ``2 * eps / steps`` unless given, the box before the ball. The number that it
    reports is that of the smoothed classifier: the majority of ``votes`` fresh draws.
    """

    name: ClassVar[str] = "smoothed"
    words: ClassVar[str] = "smoothed PGD"

    eps: float = 0.5
    norm: Norm = "l2"
    steps: int = 10
    step_size: float | None = None
    sigma: float = 0.25
    noises: int = 4
    votes: int = 100

    def __post_init__(self) -> None:
        """Check counts, step and noise."""
        super().__post_init__()
        object.__setattr__(self, "step_size", read_step("smoothed", self.step_size, self.eps))
        object.__setattr__(self, "sigma", read_number(self.sigma))
        if min(self.steps, self.noises, self.votes) < 1:
            raise InputError(
                f"attack: steps={self.steps}, noises={self.noises}, votes={self.votes}; expected 1 or more"
            )
        if not self.sigma > 0:
            raise InputError(f"attack: sigma is {self.sigma}; a smoothed classifier needs noise, sigma > 0")

    @property
    def title(self) -> str:
        """``smoothed PGD ℓ2 ε=0.5 10 steps``, with the step where it is not the usual one."""
        steps = f"{super().title} {self.steps} step{'s' if self.steps > 1 else ''}"
        return ", ".join([steps, *self._other_walk])

    def strength(self) -> tuple[bool, str]:
        """Noise is averaged over few draws: only a certificate bounds what is left from below."""
        return False, f"{UPPER_BOUND}; certify gives a lower one"

    @property
    def label(self) -> str:
        """``smoothed-{norm}-{eps}-{steps}-s{sigma}``; a step that is not usual adds ``-step-{length}``."""
        walk = [words.replace(" ", "-") for words in self._other_walk]
        return "-".join([super().label, str(self.steps), f"s{self.sigma:g}", *walk])

    @property
    def step(self) -> float:
        """The step that is used: the one given, or ``2 * eps / steps``."""
        return self._usual_step if self.step_size is None else self.step_size

    @property
    def _usual_step(self) -> float:
        return usual_step("smoothed", self.eps, self.steps)

    @property
    def _other_walk(self) -> list[str]:
        return other_walk(self.step_size, self._usual_step, from_x=False)

    @property
    def passes(self) -> float:
        """``noises`` passes for each step, and the votes before and after."""
        return self.noises * self.steps + 2 * self.votes / 3

    def with_eps(self, eps: float) -> Self:
        """The same attack at another radius; a step that was given grows and shrinks with it."""
        return replace(self, eps=eps, step_size=step_at(self.step_size, before=self.eps, after=eps))

    def parameters(self) -> dict[str, Any]:
        """Every parameter, with the step that is used in place of None."""
        return super().parameters() | {
            "step_size": self.step,
            "restarts": 1,
            "random_start": False,
            "loss": "ce",
        }

    def perturb(self, model: Classifier, x: Tensor, y: Tensor, *, generator: torch.Generator) -> Tensor:
        """Climb J with the noise of each image held still."""
        smoothed = smoothed_logits(model, _noise(x, self.sigma, self.noises, generator))
        return ascend(
            lambda point: cross_entropy(smoothed(point), y),
            x,
            x,
            ball=Ball(self.eps, self.norm, self.bounds, box_first=True),
            steps=self.steps,
            step_size=self.step,
            generator=generator,
        )

    def predict(self, model: Classifier, x: Tensor, *, generator: torch.Generator) -> Tensor:
        """The class with most votes."""
        return votes(model, x, self.sigma, count=self.votes, generator=generator).argmax(dim=1)
