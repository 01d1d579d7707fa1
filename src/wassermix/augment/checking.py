"""Refusing settings of an augmenter that cannot mean anything."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, get_args

from wassermix.augment.ends import Maps, Pairing
from wassermix.augment.pool import Pairs
from wassermix.core.errors import InputError
from wassermix.geodesic.path import Labels
from wassermix.geodesic.worst import Search

if TYPE_CHECKING:
    from wassermix.augment.geodesic import GeodesicAugmenter

__all__ = ["Choice", "Mode", "Scope", "Score", "check_geodesic", "require_rules", "require_words"]

Scope = Literal["batch", "pair", "sample"]
Score = Literal["kl", "ce"]
Choice = Literal["worst", "random", "fixed"]
Mode = Literal["stored", "online"]
WORDS: dict[str, Any] = {
    "search": Search, "score": Score, "scope": Scope, "labels": Labels, "pairs": Pairs, "choice": Choice,
    "pairing": Pairing, "maps": Maps, "mode": Mode,
}  # fmt: skip
"""The options that are words, and which ones they may be."""


def require_words(augment: object, words: Mapping[str, Any]) -> None:
    """Each option named in ``words`` is one of the words of its ``Literal``."""
    for name, allowed in words.items():
        if getattr(augment, name) not in get_args(allowed):
            expected = ", ".join(get_args(allowed))
            raise InputError(f"augment: {name} is '{getattr(augment, name)}'; expected one of {expected}")


def require_rules(rules: Mapping[str, bool]) -> None:
    """Each sentence in ``rules`` holds; the first that does not is the error."""
    for sentence, holds in rules.items():
        if not holds:
            raise InputError(f"augment: {sentence}")


def check_geodesic(augment: GeodesicAugmenter) -> None:
    """Refuse settings that cannot mean anything, each with its own sentence."""
    require_words(augment, WORDS)
    rules = {
        f"num_classes is at least 2; got {augment.num_classes}": augment.num_classes >= 2,
        f"ratio is not negative; got {augment.ratio}": augment.ratio >= 0,
        f"pair_size is at least 1; got {augment.pair_size}": augment.pair_size >= 1,
        f"candidates is at least 1; got {augment.candidates}": augment.candidates >= 1,
        f"t_max is within (0, 1]; got {augment.t_max}": 0 < augment.t_max <= 1,
        f"time is within [0, 1]; got {augment.time}": 0 <= augment.time <= 1,
        f"search_share is within (0, 1]; got {augment.search_share}": 0 < augment.search_share <= 1,
        f"refresh is at least 1; got {augment.refresh}": augment.refresh >= 1,
        f"warm_up is within [0, 1]; got {augment.warm_up}": 0 <= augment.warm_up <= 1,
        f"entropy is positive; got {augment.entropy}": augment.entropy > 0,
        f"target_classes is at least 1; got {augment.target_classes}": augment.target_classes >= 1,
        "target_classes above 1 keeps the worst of them: it needs choice=worst": augment.target_classes == 1
        or augment.choice == "worst",
        "pairs=nearest knows one target class: it needs target_classes=1": augment.target_classes == 1
        or augment.pairs != "nearest",
        f"max_distance is positive, or None; got {augment.max_distance}": augment.max_distance is None
        or augment.max_distance > 0,
        "maps=class needs whole classes: use mode=stored": augment.maps == "batch"
        or augment.mode == "stored",
        "maps=class fits a transport map, and pairing=nearest is none: use maps=batch": augment.maps
        == "batch"
        or augment.pairing != "nearest",
    }
    require_rules(rules)
