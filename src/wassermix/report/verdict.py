"""How robust? The answer in sentences, each from stored numbers with their intervals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean

import numpy as np

from wassermix.core.intervals import Share
from wassermix.report.records import Attacked, Audited, CertifiedSet, RunRecord
from wassermix.report.wording import interval, percent

__all__ = ["along", "audit_groups", "other_weights", "smoothness", "variation", "verdict"]

FEW = 5
"""A class with fewer images than this is not compared with others."""


def verdict(run: RunRecord) -> list[str]:
    """What is known of one run: undisturbed, proved, attacked, class by class, between the classes."""
    found = [*_clean(run), *_proved(run), *_attacked(run), *_classes(run), *_between(run)]
    return found or [
        "Nothing is known of its robustness yet: certify, attack and audit it, then write this page again."
    ]


def variation(audit: Audited) -> float:
    """The total variation of the KL, mean over the pairs of classes."""
    return fmean(pair.total_variation for pair in audit.pairs)


def audit_groups(runs: Sequence[RunRecord]) -> list[dict[str, Audited]]:
    """Audits along the same paths, by run: only they may be set beside one another; exact paths first."""
    groups: dict[object, dict[str, Audited]] = {}
    for run in runs:
        for audit in (one for one in run.audited if one.pairs):
            key = (run.data, *_samples(audit), audit.result.identity, *(pair.numbers for pair in audit.pairs))
            groups.setdefault(str(key), {}).setdefault(run.name, audit)
    return sorted(groups.values(), key=along)


def along(group: Mapping[str, Audited]) -> str:
    """By which pairs the paths of a group run, if not the exact ones, as `` along random pairs``."""
    pairs = next(iter(group.values())).other_pairs
    return f" along {pairs}" if pairs else ""


def _samples(audit: Audited) -> tuple[object, ...]:
    """What the paths run between, beside the audit's own settings; files of earlier versions may not tell."""
    return tuple(audit.result.about.get(key) for key in ("split", "embedding"))


def smoothness(runs: Sequence[RunRecord]) -> Iterator[str]:
    """The audits of several runs side by side, and on how many pairs of classes the smoother one leads."""
    for group in audit_groups(runs):
        if len(group) < 2:
            continue
        ranked = sorted(group, key=lambda name: variation(group[name]))
        told = ", ".join(f"{name} {variation(group[name]):.2f}" for name in ranked)
        best, worst = group[ranked[0]].pairs, group[ranked[-1]].pairs
        lower = sum(a.total_variation < b.total_variation for a, b in zip(best, worst))
        yield (
            f"Between the classes{along(group)} the KL goes up and down by {told} (total variation, mean "
            f"over {len(best)} pairs; lower is smoother): {ranked[0]} is the smoother one on {lower} of "
            f"them, compared with {ranked[-1]}."
        )


def other_weights(run: RunRecord) -> str | None:
    """A warning where the results of one run were made with different weights."""
    made = {f"certification {one.name}": one.result.about.get("model") for one in run.certified}
    made |= {f"attack {one.name}": one.parameters.get("fingerprint") for one in run.attacked}
    made |= {f"audit {one.name}": one.parameters.get("fingerprint") for one in run.audited}
    weights: dict[str, list[str]] = {}
    for name, mark in made.items():
        if isinstance(mark, str):
            weights.setdefault(mark, []).append(name)
    if run.is_log or len(weights) < 2:
        return None
    parts = "; others of ".join(", ".join(names) for names in weights.values())
    return (
        f"The results of {run.name} were made with different weights, so they do not describe one network: "
        f"some of {parts}. Run the older ones again with --overwrite."
    )


def _clean(run: RunRecord) -> Iterator[str]:
    if run.clean is not None:
        yield f"Undisturbed, it is right on {_told(run.clean)} of {run.clean.images:,} samples."
    elif (share := _under_noise(run)) is not None:
        yield f"Under noise alone, the smoothed classifier is right on {_told(share)} of {share.images:,}."


def _under_noise(run: RunRecord) -> Share | None:
    """Accuracy of the smoothed classifier: as an attack on it saw it, else as a certification did."""
    proved = run.certified[0].table.get(0.0) if run.certified else None
    return proved if run.clean_smoothed is None else run.clean_smoothed


def _proved(run: RunRecord) -> Iterator[str]:
    if not run.certified:
        return
    item = _widest(run)
    positive = [radius for radius in item.table if radius > 0]
    proved = [radius for radius in positive if item.table[radius].accuracy > 0]
    if not proved:
        yield "Nothing is proved at any radius of its table."
        return
    small, large = positive[0], proved[-1]
    beyond = f", and up to {large:g} {_told(item.table[large])}" if large > small else ""
    yield (
        f"Proved: no disturbance of ℓ2 length up to {small:g} changes the smoothed classifier's right answer "
        f"on {_told(item.table[small])}{beyond}."
    )


def _widest(run: RunRecord) -> CertifiedSet:
    """The certification that proves most at its largest radii: with the most draws."""
    return max(
        run.certified, key=lambda one: (one.images, one.result.settings.n if one.result.settings else 0)
    )


def _attacked(run: RunRecord) -> Iterator[str]:
    """The strongest attack within each ball: numbers of different balls are no rivals."""
    balls: dict[object, list[Attacked]] = {}
    for one in run.attacked:
        balls.setdefault((one.parameters.get("norm"), one.parameters.get("eps")), []).append(one)
    for attacks in balls.values():
        worst = min(attacks, key=_left)
        among = f", the strongest of {len(attacks)} there," if len(attacks) > 1 else ""
        doubtful = worst.robust.accuracy > 0 and worst.doubts
        doubt = "; a sanity check failed, so even that may be too high" if doubtful else ""
        yield f"Attacked: {worst.title}{among} leaves {_told(worst.robust)}, an upper bound{doubt}."


def _left(attack: Attacked) -> tuple[float, int]:
    """For the strongest attack: what it leaves, and of equals the one on the most images."""
    return attack.robust.accuracy, -attack.robust.images


def _classes(run: RunRecord) -> Iterator[str]:
    """The best and the worst class, by what is proved or by what the strongest attack leaves."""
    if run.certified:
        item = _widest(run)
        radius = next((r for r in item.table if r > 0), 0.0)
        right, label, what = item.certified(radius), item.label, f"proved at radius {radius:g}"
    elif run.attacked:
        worst = min(run.attacked, key=_left)
        right, label, what = worst.flags()[1], worst.label, f"left by {worst.title}"
    else:
        return
    counts = {int(c): int((label == c).sum()) for c in np.unique(label)}
    shares = {c: float(right[label == c].mean()) for c, count in counts.items() if count >= FEW}
    if len(shares) > 1:
        low, high = min(shares, key=lambda c: shares[c]), max(shares, key=lambda c: shares[c])
        if shares[low] == shares[high]:
            yield f"Class by class, {what}: {percent(shares[low])} in each of {len(shares)} classes."
            return
        yield (
            f"Class by class, {what}: from {percent(shares[low])} (class {_name(run, low)}, {counts[low]} "
            f"samples) to {percent(shares[high])} (class {_name(run, high)}, {counts[high]} samples)."
        )


def _between(run: RunRecord) -> Iterator[str]:
    """By the first audit, which is along exact paths where there is one."""
    for audit in [one for one in run.audited if one.pairs][:1]:
        weak = max(audit.pairs, key=lambda pair: float(pair.kl.max()))
        yield (
            f"Between the classes: the KL goes up and down by {variation(audit):.2f} on the way from one to "
            f"another{along({run.name: audit})} (total variation, mean over {len(audit.pairs)} pairs; 0 is "
            f"perfectly even), and is highest between {weak.source} and {weak.target}."
        )


def _name(run: RunRecord, number: int) -> str:
    return run.audited[0].result.class_name(number) if run.audited else str(number)


def _told(share: Share) -> str:
    return f"{percent(share.accuracy)} ({interval(share)})"
