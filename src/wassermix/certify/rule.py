"""What a certificate rule is: when an image has seen enough noise, and which radius its counts prove."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from wassermix.certify.bounds import Floats, Ints, clopper_pearson_lower
from wassermix.certify.registry import RULES
from wassermix.certify.settings import BLOCK, CertifySettings
from wassermix.core.errors import InputError
from wassermix.core.registry import call_with
from wassermix.core.settings import as_record, options_of

__all__ = [
    "Rule",
    "furthest",
    "look_schedule",
    "picks_class",
    "protocol_of",
    "reachable",
    "rounds_down",
    "rule_for",
]


class Rule(Protocol):
    """A certifier as a function of counts alone, so that it can be simulated, replayed and verified.

    A rule is made from those settings that its constructor names (``sigma``, ``n``, ``alpha``, ...).
    """

    counts_label: ClassVar[bool]
    """Whether the votes of a known label may be counted; otherwise the class is always picked first."""
    rounds_down: ClassVar[bool]
    """Whether a radius is known at the points of ``radii`` only, so that radii must not be averaged."""

    @property
    def looks(self) -> tuple[int, ...]:
        """The numbers of draws at which the counts are looked at; the last is the budget.

        They grow, and all but the last are multiples of 128, the size of a block of noise.
        """

    def finished(self, look: int, hits: Ints, /) -> npt.NDArray[np.bool_]:
        """Whether each path with these hits at look number ``look`` stops there."""

    def radius(self, draws: Ints, hits: Ints, uniform: npt.ArrayLike = 1.0, /) -> Floats:
        """The radius that the counts at the stop prove; NaN where they prove nothing (abstain).

        ``uniform`` is the image's own number in (0, 1] for a randomised bound; 1 is the plain one.
        """


def look_schedule(n: int) -> tuple[int, ...]:
    """100, 200, 400, 700, 1,000 draws, then every 1,000, rounded up to whole noise blocks, and ``n``."""
    wanted = [100, 200, 400, 700, *range(1000, n, 1000)]
    rounded = sorted({-(-count // BLOCK) * BLOCK for count in wanted})
    return (*(count for count in rounded if count < n), n)


def reachable(hits: Ints, draws: Ints, n: int, alpha: float) -> Floats:
    """The bound that ``n`` draws would give if the hit rate still rose as far as it plausibly may.

    The rate after ``n`` draws differs from that after ``draws`` by a standard deviation of
    ``sqrt(p (1-p) (1/draws - 1/n))``. Of 1.5, 1.75, 2 and 2.5 of them, 1.75 was picked on simulated
    images spread like MNIST's published certified accuracies at sigma 0.5 (beyond 3.5 sigma the spread
    was assumed): fewer draws than 2 at about its loss, while 1.5 lost more at 3 sigma. A guess that only
    decides when to stop: no guarantee rests on it.
    """
    rate = hits / draws
    best = np.minimum(1.0, rate + 1.75 * np.sqrt(rate * (1 - rate) * (1 / draws - 1 / n)))
    return clopper_pearson_lower(best * n, n, alpha)


@lru_cache(maxsize=32)
def rule_for(settings: CertifySettings) -> Rule:
    """The rule that these settings name; its tables are computed once."""
    context = {name: getattr(settings, name) for name in as_record(settings)}
    rule: Rule = call_with(RULES.find(settings.mode), {}, context, what=f"mode '{settings.mode}'")
    _require_whole_blocks(rule.looks, settings.mode)
    return rule


def _require_whole_blocks(looks: tuple[int, ...], mode: str) -> None:
    """Refuse looks within a block: the rest of its draws would be lost, and the counts not those told."""
    growing = all(before < after for before, after in zip((0, *looks), looks))
    if not looks or not growing or any(draws % BLOCK for draws in looks[:-1]):
        raise InputError(
            f"mode '{mode}': its looks are {', '.join(map(str, looks[:8])) or 'none'}; expected growing "
            f"numbers of draws, all but the last multiples of {BLOCK}; look_schedule(n) in "
            "wassermix.certify.rule makes such"
        )


def furthest(settings: CertifySettings) -> float:
    """The radius beyond which not even flawless draws prove anything; infinite for a rule of another's."""
    if RULES.is_own(settings.mode):
        return float("inf")
    rule, uniform = rule_for(settings), 1.0 if settings.bound == "plain" else 0.0  # the luckiest
    budget = np.asarray(rule.looks[-1])
    return float(np.nan_to_num(rule.radius(budget, budget, uniform)))


def picks_class(settings: CertifySettings) -> bool:
    """Whether ``n0`` separate draws pick the class first."""
    return not (settings.evaluation and rule_for(settings).counts_label)


def protocol_of(record: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    """What two certifications must share to stand in one table, from the record of each (or its file).

    Settings that the record's rule does not look at are left out. A rule that only a file names
    (``package.module:Class``) is not imported for this; all settings count then.
    """
    mode = record.get("mode")
    known = isinstance(mode, str) and mode in RULES.names()
    unused = _unused(RULES.find(str(mode))) if known else ()
    names = [option.name for option in options_of(CertifySettings) if option.identity]
    return tuple((name, record.get(name)) for name in names if name not in unused)


def rounds_down(mode: object) -> bool:
    """Whether a mode's radii must not be averaged; of a rule that only a file names nothing is known."""
    known = isinstance(mode, str) and mode in RULES.names()
    return bool(getattr(RULES.find(str(mode)), "rounds_down", True)) if known else True


def _unused(rule: Callable[..., Any]) -> tuple[str, ...]:
    """Settings that other rules have and this one does not look at."""
    named = inspect.signature(rule).parameters
    unused = [name for name in ("tolerance",) if name not in named]
    return (*unused, *(() if getattr(rule, "counts_label", True) else ("evaluation",)))
