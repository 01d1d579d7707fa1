"""Sanity checks of an attack: reasons why its number should not be believed, each a small function."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor, nn

from wassermix.attacks.ascent import input_gradient
from wassermix.attacks.ball import BallAttack
from wassermix.attacks.norms import Bounds, length
from wassermix.attacks.pgd import FGSM, PGD
from wassermix.attacks.protocol import Attack, fooled
from wassermix.attacks.result import Check
from wassermix.attacks.search import random_search
from wassermix.core.classifier import Classifier, evaluating, frozen
from wassermix.core.labels import hard
from wassermix.core.streams import stream

__all__ = [
    "check_black_box",
    "check_deterministic",
    "check_gradients",
    "check_logits",
    "check_mode",
    "check_scale",
    "check_steps",
    "check_strength",
    "check_transfer",
    "check_unbounded",
    "sanity_checks",
]

WIDER = 3
"""The transfer check looks at a ball so much wider too: in a small one there may be nothing to find."""


def in_training(model: Classifier) -> bool:
    """Whether any part of the model is in training mode."""
    return isinstance(model, nn.Module) and any(module.training for module in model.modules())


def check_mode(training: bool) -> Check:
    """Was the model handed over in training mode? It is attacked in eval mode whatever it was."""
    if training:
        return Check(
            "eval mode",
            False,
            "the model came in training mode; it was attacked in eval mode, but other "
            "numbers taken from it may hold dropout or batch statistics",
        )
    return Check("eval mode", True, "the model came in eval mode")


def check_scale(x: Tensor, bounds: Bounds) -> Check:
    """Do the inputs fill the scale on which eps is measured?"""
    low, high = float(x.min()), float(x.max())
    if bounds is None:
        return Check("input scale", True, f"inputs run from {low:g} to {high:g}, without bounds")
    width = bounds[1] - bounds[0]
    if low < bounds[0] - 1e-6 or high > bounds[1] + 1e-6:
        message = f"inputs run from {low:g} to {high:g}, outside [{bounds[0]:g}, {bounds[1]:g}]"
        return Check("input scale", False, message + "; normalisation belongs into the model")
    if high - low < 0.02 * width:
        message = f"inputs run only from {low:g} to {high:g} of [{bounds[0]:g}, {bounds[1]:g}]"
        return Check("input scale", False, message + "; were they divided by 255 twice?")
    return Check("input scale", True, f"inputs run from {low:g} to {high:g}")


def check_deterministic(model: Classifier, x: Tensor) -> Check:
    """Does the model give the same output twice? Gradients of a random one point at one draw of many."""
    with evaluating(model), torch.no_grad():
        first, second = model(x), model(x)
    difference = float((first - second).abs().max())
    if difference > 1e-4 * (1 + float(first.abs().max())):
        return Check(
            "deterministic",
            False,
            f"two passes on the same inputs differ by {difference:.2g}: the model is randomised, and a "
            "plain attack understates what one that averages over its randomness can do",
        )
    return Check("deterministic", True, "two passes on the same inputs agree")


def check_logits(model: Classifier, x: Tensor) -> Check:
    """Are the outputs logits? Cross-entropy of probabilities has gradients that fade."""
    with evaluating(model), torch.no_grad():
        outputs = model(x)
    sums = (outputs.sum(dim=1) - 1).abs().max()
    if float(outputs.min()) >= 0 and float(sums) < 1e-3:
        message = "outputs are probabilities (they sum to 1); leave the softmax out or attack their logarithm"
        return Check("logits", False, message)
    return Check("logits", True, "outputs are not probabilities")


def check_gradients(model: Classifier, x: Tensor, y: Tensor, *, attack: BallAttack) -> Check:
    """Does each image have a gradient to follow?"""
    with evaluating(model), frozen(model), torch.enable_grad():
        gradient = input_gradient(lambda point: attack.score(model, point, y), x)
    dead = int((length(gradient, "linf") == 0).sum())
    if dead:
        return Check(
            "gradients",
            False,
            f"{dead} of {len(x)} images have a gradient of zero: it is masked or has vanished; try "
            "loss='margin', or an attack without gradients",
        )
    return Check("gradients", True, f"all of {len(x)} images have a gradient")


def check_steps(
    model: Classifier, x: Tensor, y: Tensor, *, attack: BallAttack, own: Tensor | None = None
) -> Check:
    """Is one step no stronger than many? If it is, the gradient misleads away from the input.

    ``own (n,)`` are the images that many steps fool, where that is known already.
    """
    many = attack.in_many_steps()
    one = FGSM(eps=attack.eps, norm=attack.norm, bounds=attack.bounds, allow_any_eps=attack.allow_any_eps)
    several = int((_fooled_by(model, x, y, attack=many) if own is None else own).sum())
    single = int(_fooled_by(model, x, y, attack=one).sum())
    words = f"one step fools {single} and {many.steps} steps {several} of {len(x)} images"
    if single > several + _slack(x):
        return Check("steps", False, f"{words}: {_MASKED}")
    return Check("steps", True, words)


def check_black_box(
    model: Classifier,
    x: Tensor,
    y: Tensor,
    *,
    attack: BallAttack,
    queries: int = 50,
    seed: int = 0,
    own: Tensor | None = None,
) -> Check:
    """Does a search without gradients find what the gradient attack did not? ``own`` as above."""
    white = _fooled_by(model, x, y, attack=attack.in_many_steps()) if own is None else own
    with evaluating(model), torch.no_grad():
        found = random_search(
            model, x, y, attack=attack, queries=queries, generator=stream(seed, "random search")
        )
        black = fooled(model, found, y)
    missed = int((black & ~white).sum())
    if missed > _slack(x):
        words = f"{queries} random queries fool {missed} of {len(x)} images that the gradient attack left"
        return Check("black box", False, f"{words}: {_MASKED}")
    return Check("black box", True, f"{queries} random queries find {missed} images that gradients did not")


def check_transfer(
    model: Classifier,
    x: Tensor,
    y: Tensor,
    *,
    attack: BallAttack,
    surrogate: Classifier,
    own: Tensor | None = None,
) -> Check:
    """Do inputs made against another model fool this one more than its own gradients do?

    Looked at within the attack's radius and within three times that. ``own`` as above.
    """
    said = []
    for wider in (1, WIDER):
        many = replace(attack.in_many_steps(), allow_any_eps=True).with_eps(attack.eps * wider)
        mine = int((own if own is not None and wider == 1 else _fooled_by(model, x, y, attack=many)).sum())
        with evaluating(model):
            foreign = int(fooled(model, many(surrogate, x, y), y).sum())
        said.append(f"{foreign} and its own {mine} of {len(x)} images within {many.eps:.3g}")
        if foreign > mine + _slack(x):
            return Check("transfer", False, f"attacks made on another model fool {said[-1]}: {_MASKED}")
    return Check("transfer", True, f"attacks made on another model fool {', '.join(said)}")


def check_unbounded(model: Classifier, x: Tensor, y: Tensor, *, bounds: Bounds = (0.0, 1.0)) -> Check:
    """Does accuracy fall to about 0 where the attack may change everything? It must."""
    spread = x.amax() - x.amin() if bounds is None else torch.tensor(bounds[1] - bounds[0])
    free = PGD(
        eps=max(float(spread), 1e-6) * (2.0 if bounds is None else 1.0),
        steps=20,
        random_start=False,
        loss="margin",
        bounds=bounds,
        allow_any_eps=True,
    )
    left = len(x) - int(_fooled_by(model, x, y, attack=free).sum())
    words = f"{left} of {len(x)} images withstand an attack without a limit"
    if left > max(1, 0.05 * len(x)):
        return Check("unbounded", False, f"{words}; nothing should: the attack is not finding its way")
    return Check("unbounded", True, words)


def check_strength(attack: Attack, *, beside: str | None = None) -> Check:
    """Is the attack strong enough for its number to be more than an upper bound?

    ``beside`` names a stronger attack whose number at the same radius stands next to this one.
    """
    strong, words = attack.strength()
    if not strong and beside is not None:
        return Check("strength", True, f"{beside} was run beside it at the same radius")
    return Check("strength", strong, words)


def sanity_checks(
    model: Classifier,
    x: Tensor,
    y: Tensor,
    *,
    attack: Attack,
    training: bool = False,
    beside: str | None = None,
    surrogate: Classifier | None = None,
) -> tuple[Check, ...]:
    """Every check that applies to the attack, on a few images ``x`` that the model gets right.

    ``training`` says whether the model came in training mode; ``beside`` as in :func:`check_strength`;
    ``surrogate`` is another model for :func:`check_transfer`, such as :func:`distil` makes.
    """
    checks = [check_mode(training)]
    if len(x):
        checks += [check_scale(x, attack.bounds), check_deterministic(model, x), check_logits(model, x)]
    if len(x) and isinstance(attack, BallAttack) and attack.eps > 0:
        own = _fooled_by(model, x, y, attack=attack.in_many_steps())
        checks += [
            check_gradients(model, x, y, attack=attack),
            check_steps(model, x, y, attack=attack, own=own),
            check_black_box(model, x, y, attack=attack, own=own),
            check_unbounded(model, x, y, bounds=attack.bounds),
        ]
        if surrogate is not None:
            checks.append(check_transfer(model, x, y, attack=attack, surrogate=surrogate, own=own))
    return (*checks, check_strength(attack, beside=beside))


_MASKED = "gradients are masked, and the number is too high"


def _slack(x: Tensor) -> float:
    """By how many images two attacks may differ by chance."""
    return max(1.0, 0.02 * len(x))


def _fooled_by(model: Classifier, x: Tensor, y: Tensor, *, attack: Attack) -> Tensor:
    x_adv = attack(model, x, hard(y))
    with evaluating(model):
        return fooled(model, x_adv, y)
