"""Replay: the noise of some images drawn again, and their counts compared one by one."""

from __future__ import annotations

import math
import secrets
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from wassermix.certify.noise import Purpose
from wassermix.certify.result import Certificates
from wassermix.certify.rows import Certificate
from wassermix.certify.rule import picks_class, rule_for
from wassermix.certify.settings import BLOCK, CertifySettings
from wassermix.certify.votes import NoiseBlock, Voter, compiler_exists, voting
from wassermix.core.classifier import Classifier
from wassermix.core.errors import InputError
from wassermix.core.fingerprint import fingerprint, samples_fingerprint
from wassermix.core.samples import LabelledSamples

__all__ = ["Replay", "altered_at_most", "replay_images"]

TIE = {"float32": 1e-4, "float64": 1e-8, "bfloat16": 2e-2}
"""Two logits closer than this share of the largest may change places with the order of a sum."""
MOST_TIES = 0.001
"""Close votes excuse a difference of at most this share of an image's votes, or of one vote: a model can be
made so that all of its votes are close, and its counts would then be excused whatever they are."""


@dataclass(frozen=True)
class Replay:
    """What drawing the noise of some images again has shown."""

    replayed: tuple[int, ...]
    """The indices of the images, chosen at random."""
    images: int
    """How many images the file has."""
    failures: tuple[tuple[int, str], ...]
    """(image index, what differs), index -1 for the model or the data as a whole."""
    ties: tuple[tuple[int, str], ...]
    """Images that differ by a few votes that were too close to call: neither refuted nor confirmed."""

    @property
    def holds(self) -> bool:
        """Whether nothing differs but ties."""
        return not self.failures

    @property
    def statement(self) -> str:
        """What the replay proves, in a sentence."""
        drawn = f"{len(self.replayed)} of {self.images} images drawn again"
        if not self.holds:
            return f"{drawn}: {len(self.failures)} differences"
        unsure = len({index for index, _ in self.ties})
        alike = f"{unsure} of them alike but for votes too close to call" if unsure else "count for count"
        limit = altered_at_most(self.images, len(self.replayed), unsure=unsure) + 1
        if limit > self.images:
            return f"{drawn}, {alike}: too few are confirmed to say anything of the {self.images}"
        return f"{drawn}, {alike}: with 95% confidence fewer than {limit} of {self.images} were altered"


def altered_at_most(total: int, replayed: int, *, unsure: int = 0, confidence: float = 0.95) -> int:
    """The most images that can be altered if at most ``unsure`` of ``replayed`` random ones were.

    With K altered ones of ``total`` a random choice has j of them with probability
    ``C(K, j) C(total - K, replayed - j) / C(total, replayed)``; this is the largest K for which at most
    ``unsure`` are chosen with a probability not below ``1 - confidence``.
    """
    altered, chosen = 0, math.comb(total, replayed)
    while altered < total - replayed + unsure:
        more = altered + 1
        ways = [math.comb(more, j) * math.comb(total - more, replayed - j) for j in range(unsure + 1)]
        if sum(ways) / chosen < 1 - confidence:
            break
        altered = more
    return altered


def replay_images(
    model: Classifier,
    split: LabelledSamples,
    certificates: Certificates,
    *,
    images: int = 20,
    seed: int | None = None,
) -> Replay:
    """Draw the noise of ``images`` random images again and compare class, draws and hits with the file's.

    The choice is random (``seed`` makes it repeatable): it must not be known before the file is published.
    """
    settings = certificates.settings
    if settings is None:
        raise InputError("a log without its parameters cannot be drawn again; certify writes them beside it")
    if images < 1:
        raise InputError(f"replay is {images}; expected at least 1 image")
    if settings.backend == "compile" and not compiler_exists():
        settings = settings.with_backend("eager")
    random = np.random.default_rng(secrets.randbits(128) if seed is None else seed)
    chosen = np.sort(random.permutation(len(certificates))[:images])
    failures = [(-1, problem) for problem in _whole(model, split, certificates)]
    ties: list[tuple[int, str]] = []
    rows = [certificates[int(position)] for position in chosen]
    known = [row for row in rows if 0 <= row.index < len(split)]
    failures += [(row.index, "it is not in the data") for row in rows if row not in known]
    for row, difference, tied in _compare(model, split, known, settings):
        (ties if tied else failures).append((row.index, difference))
    return Replay(tuple(row.index for row in rows), len(certificates), tuple(failures), tuple(ties))


def _whole(model: Classifier, split: LabelledSamples, certificates: Certificates) -> Iterator[str]:
    """Whether model and data are those that the file names."""
    said, found = certificates.about.get("model"), fingerprint(model)
    if said != found:
        yield f"the model's fingerprint is {found}, the file's {said}: other weights were certified"
    indices, said = certificates.index.tolist(), certificates.about.get("samples")
    inside = all(0 <= index < len(split) for index in indices)
    if said is not None and (not inside or said != samples_fingerprint(split, indices)):
        yield "the images or labels are not those that were certified: their fingerprint differs"


def _compare(
    model: Classifier, split: LabelledSamples, rows: list[Certificate], settings: CertifySettings
) -> Iterator[tuple[Certificate, str, bool]]:
    """(row, what differs, whether ties explain it) for each row that differs."""
    if not rows:
        return
    shape = tuple(split.get(torch.tensor([rows[0].index])).shape[1:])
    with voting(model, shape, settings) as votes:
        for row in rows:
            if row.label != int(split.y[row.index]):
                yield (
                    row,
                    f"its label is {int(split.y[row.index])} in the data, {row.label} in the file",
                    False,
                )
            x = split.get(torch.tensor([row.index]))[0]
            for difference, tied in _differences(votes, x, row, settings):
                yield row, difference, tied


def _differences(
    votes: Voter, x: Tensor, row: Certificate, settings: CertifySettings
) -> Iterator[tuple[str, bool]]:
    """(what differs, whether it is a matter of votes too close to call) of one image."""
    if row.draws not in rule_for(settings).looks:
        yield f"{row.draws} draws cannot be: its rule never stops there", False
        return
    picks = _picks(votes, x, row, settings)
    if row.predicted >= 0 and row.predicted not in picks:
        yield f"its votes pick class {picks[0]}, the file says {row.predicted}", False
        return
    classes, close = _draw(votes, x, row.index, "count", row.draws, settings)
    target = row.predicted if row.predicted >= 0 else _nearest(picks, classes, row.hits)
    if target != picks[0]:
        yield f"its votes pick class {picks[0]}, the file class {target}; some were too close to call", True
    hits, ties = classes == target, int(close.sum())
    if difference := int(hits.sum()) - row.hits:
        text = f"{int(hits.sum())} of its {row.draws} votes are for class {target}, the file says {row.hits}"
        yield f"{text}; {ties} votes were too close to call", abs(difference) <= _slack(close)
    elif not _stops(hits, np.zeros_like(close), settings):
        tied = _stops(hits, close, settings)
        yield f"its rule does not stop after the {row.draws} draws that the file says", tied


def _picks(votes: Voter, x: Tensor, row: Certificate, settings: CertifySettings) -> list[int]:
    """The class that is counted, and behind it those that a few close votes would put in its place."""
    if not picks_class(settings):
        return [-1 if row.label is None else row.label]
    picked, close = _draw(votes, x, row.index, "pick", settings.n0, settings)
    counts = np.bincount(picked)
    first = int(counts.argmax())
    near = np.flatnonzero(counts >= counts[first] - 2 * _slack(close))  # a vote that moves counts twice
    return [first, *(int(one) for one in near if one != first)]


def _nearest(picks: list[int], classes: npt.NDArray[np.int64], hits: int) -> int:
    """Of an abstention, which names no class: the one that was counted, by its hits."""
    return min(picks, key=lambda one: abs(int((classes == one).sum()) - hits))


def _slack(close: npt.NDArray[np.bool_]) -> int:
    """How many votes may differ between two honest machines, where these were too close to call."""
    return min(int(close.sum()), max(1, int(MOST_TIES * len(close))))


def _stops(hits: npt.NDArray[np.bool_], close: npt.NDArray[np.bool_], settings: CertifySettings) -> bool:
    """Whether the rule may stop after all of these votes and at no look before, but for the close ones."""
    rule, total = rule_for(settings), np.cumsum(hits)
    for look, draws in enumerate(rule.looks):
        slack = _slack(close[:draws])
        near = np.clip(int(total[draws - 1]) + np.arange(-slack, slack + 1), 0, draws)
        finished = np.asarray(rule.finished(look, near))
        if draws == len(hits):
            return bool(finished.any())
        if finished.all():
            return False
    return False


def _draw(
    votes: Voter, x: Tensor, index: int, purpose: Purpose, draws: int, settings: CertifySettings
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """The classes of the first ``draws`` votes, and which of them were too close to call."""
    blocks = [NoiseBlock(x, index, purpose, block) for block in range(-(-draws // BLOCK))]
    classes, close = [], []
    for start in range(0, len(blocks), votes.blocks):
        logits = votes.logits(blocks[start : start + votes.blocks]).double()
        best = logits.topk(2, dim=1).values
        classes.append(logits.argmax(dim=1).cpu().numpy())
        scale = TIE[settings.precision] * logits.abs().amax(dim=1)
        close.append((best[:, 0] - best[:, 1] <= scale).cpu().numpy())
    return np.concatenate(classes)[:draws], np.concatenate(close)[:draws]
