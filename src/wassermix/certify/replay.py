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
    """Images whose counts differ by no more votes than were too close to call."""

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
        limit = altered_at_most(self.images, len(self.replayed)) + 1
        return (
            f"{drawn}, count for count: with 95% confidence fewer than {limit} of {self.images} were altered"
        )


def altered_at_most(total: int, replayed: int, *, confidence: float = 0.95) -> int:
    """The most images that can be altered if none of ``replayed`` random ones was, at this confidence.

    With K altered ones of ``total`` a random choice misses them all with probability
    ``C(total - K, replayed) / C(total, replayed)``; this is the largest K for which it is not below
    ``1 - confidence``.
    """
    altered = 0
    while altered < total - replayed:
        missed = math.comb(total - altered - 1, replayed) / math.comb(total, replayed)
        if missed < 1 - confidence:
            break
        altered += 1
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
    target = row.label
    if picks_class(settings):
        picked, close = _draw(votes, x, row.index, "pick", settings.n0, settings)
        counts = np.sort(np.append(np.bincount(picked), 0))
        target, sure = int(np.bincount(picked).argmax()), counts[-1] - counts[-2] > close.sum()
        if row.predicted not in (-1, target):
            yield f"its votes pick class {target}, the file says {row.predicted}", not sure
            return
    classes, close = _draw(votes, x, row.index, "count", row.draws, settings)
    hits = classes == target
    difference, ties = int(hits.sum()) - row.hits, int(close.sum())
    if difference:
        text = f"{int(hits.sum())} of its {row.draws} votes are for class {target}, the file says {row.hits}"
        yield f"{text}; {ties} votes were too close to call", abs(difference) <= ties
    elif (stop := _stop(hits, settings)) != row.draws:
        yield f"its rule stops after {stop} draws, the file says {row.draws}", ties > 0


def _stop(hits: npt.NDArray[np.bool_], settings: CertifySettings) -> int:
    """The look at which the rule stops on these votes; 0 where it would go on."""
    rule, total = rule_for(settings), np.cumsum(hits)
    for look, draws in enumerate(rule.looks):
        if draws > len(hits):
            return 0
        if bool(rule.finished(look, np.asarray(int(total[draws - 1])))):
            return draws
    return 0


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
