"""The certifier: noise votes pooled over images, each image leaving as soon as its rule says so."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from scipy import stats
from torch import Tensor

from wassermix.certify.choice import choose_backend
from wassermix.certify.noise import NoiseKey, Purpose, unit
from wassermix.certify.result import Certificates
from wassermix.certify.rows import Certificate
from wassermix.certify.rule import Rule, picks_class, rule_for
from wassermix.certify.samplers import resolve_sampler
from wassermix.certify.settings import BLOCK, CertifySettings, Precision
from wassermix.certify.votes import NoiseBlock, Voter, voting
from wassermix.core.classifier import Classifier
from wassermix.core.errors import InputError
from wassermix.core.settings import settings_from

__all__ = ["Image", "certify", "certify_images", "own_uniform", "predict"]

Progress = Callable[[int, int], None]
Emit = Callable[[int, Certificate], None]


@dataclass(frozen=True)
class Image:
    """One image to certify: its tensor, the index that seeds its noise, and its label where known."""

    x: Tensor
    index: int
    label: int | None = None


def certify(
    model: Classifier,
    x: Tensor,
    y: Tensor | None = None,
    *,
    settings: CertifySettings | None = None,
    indices: Sequence[int] | Tensor | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Certificates:
    """Certify the smoothed classifier ``argmax_c P(model(x + sigma * noise) = c)`` at each of ``x`` (n, ...).

    The settings are given as such, or by name: ``certify(model, x, y, sigma=0.5, mode="grid")``; see
    :class:`CertifySettings` for all of them. ``mode="fixed"`` is the procedure of Cohen et al. (2019).
    ``"grid"`` proves ``radii`` and ``"tolerance"`` the radius to within ``tolerance``, both at the same
    guarantee and usually a fraction of the draws; with ``y`` they count the label's votes (evaluation),
    without it, or with ``evaluation=False``, they first pick a class from ``n0`` separate draws.
    ``indices`` (0, 1, ... unless given) seed the noise of each image, so a subset gives the certificates
    that the whole would. ``progress(done, total)`` counts images.
    """
    images = _images(x, y, indices)
    settings = resolve_sampler(_settings(settings, options, labelled=y is not None), x)
    if images:
        settings = choose_backend(model, images[0].x, settings, images=len(images)).settings
    found: dict[int, Certificate] = {}

    def emit(position: int, certificate: Certificate) -> None:
        found[position] = certificate
        if progress is not None:
            progress(len(found), len(images))

    certify_images(model, images, settings, emit=emit)
    return Certificates.of([found[position] for position in range(len(images))], settings)


def _settings(
    settings: CertifySettings | None, options: Mapping[str, Any], *, labelled: bool
) -> CertifySettings:
    if settings is None:
        given = {key: value for key, value in options.items() if value is not None}
        settings = settings_from(CertifySettings, given, where="certify")
    elif options:
        raise InputError(f"certify: give settings or '{next(iter(options))}' by name, not both")
    return replace(settings, evaluation=settings.evaluation and labelled)


def predict(
    model: Classifier,
    x: Tensor,
    *,
    sigma: float,
    n: int = 1000,
    alpha: float = 0.001,
    seed: int = 0,
    indices: Sequence[int] | Tensor | None = None,
    batch_size: int = 256,
    precision: Precision = "float32",
) -> Tensor:
    """Cohen's PREDICT: the class that most noisy copies get, -1 where the vote is too close, shape (n,).

    A two-sided exact binomial test of the two largest counts at 1/2 must reach level ``alpha``. A float64
    model needs ``precision="float64"``.
    """
    settings = CertifySettings(
        sigma=float(sigma), n=n, alpha=alpha, seed=seed, batch_size=batch_size, precision=precision
    )
    images = _images(x, None, indices)
    settings = resolve_sampler(settings, x)
    with voting(model, tuple(x.shape[1:]), settings) as votes:
        classes = [_vote(_all_classes(votes, image, settings), alpha) for image in images]
    return torch.tensor(classes, dtype=torch.int64)


def certify_images(
    model: Classifier, images: Iterable[Image], settings: CertifySettings, *, emit: Emit
) -> None:
    """Certify ``images`` and ``emit(position, certificate)`` as each finishes, nearly in order.

    Blocks of noise are taken from the left of a queue: the oldest image goes on first, and a new one is
    admitted only when the open images cannot fill a batch, so little is lost when a run is killed.
    """
    rule, size = rule_for(settings), settings.batch_size // BLOCK
    waiting = (_Course(position, image, settings, rule=rule) for position, image in enumerate(images))
    queue: deque[tuple[_Course, int]] = deque()
    _admit(queue, waiting, size)
    if not queue:
        return
    with voting(model, tuple(queue[0][0].image.x.shape), settings) as votes:
        while queue:
            _step(votes, queue, size, emit=emit)
            _admit(queue, waiting, size)


def _step(votes: Voter, queue: deque[tuple[_Course, int]], size: int, *, emit: Emit) -> None:
    """One forward: count its votes, send images that wait for their next look on, let finished ones go."""
    started = time.perf_counter()
    tasks = [queue.popleft() for _ in range(min(len(queue), size))]
    classes = votes([course.noise(block) for course, block in tasks])
    seconds = (time.perf_counter() - started) / len(tasks)
    _require_known_labels(tasks, votes.classes)
    for (course, _), voted in zip(tasks, classes):
        course.count(voted, seconds)
    touched = list(dict.fromkeys(course for course, _ in tasks))
    for course in touched:
        if course.done:
            emit(course.position, course.certificate())
    for course in reversed(touched):
        if course.ready:
            queue.extendleft((course, block) for block in reversed(course.next_blocks()))


def _require_known_labels(tasks: Sequence[tuple[_Course, int]], classes: int | None) -> None:
    for course, _ in tasks:
        image = course.image
        if image.label is not None and classes is not None and image.label >= classes:
            raise InputError(
                f"certify: image {image.index} has label {image.label}, but the model has {classes} classes; "
                f"expected labels from 0 to {classes - 1}"
            )


def _admit(queue: deque[tuple[_Course, int]], waiting: Iterator[_Course], blocks: int) -> None:
    while len(queue) < blocks:
        course = next(waiting, None)
        if course is None:
            return
        queue.extend((course, block) for block in course.next_blocks())


class _Course:
    """One image on its way: the class it counts, its hits, and the look that it is heading for."""

    def __init__(self, position: int, image: Image, settings: CertifySettings, *, rule: Rule) -> None:
        self.position, self.image, self.settings, self.rule = position, image, settings, rule
        self.picking = picks_class(settings)
        self.target: int | None = None if self.picking else image.label
        self.looks, self.look = rule.looks, 0
        self.draws, self.hits, self.outstanding, self.seconds = 0, 0, 0, 0.0
        self.votes = np.zeros(0, dtype=np.int64)
        self.done = False

    def next_blocks(self) -> range:
        """The blocks up to the next look; they are then on their way."""
        first, until = -(-self.draws // BLOCK), self.settings.n0 if self.picking else self.looks[self.look]
        blocks = range(first, -(-until // BLOCK))
        self.outstanding = len(blocks)
        return blocks

    def noise(self, block: int) -> NoiseBlock:
        """A block of this image's noise, for picking a class or for counting it."""
        purpose: Purpose = "pick" if self.picking else "count"
        return NoiseBlock(self.image.x, self.image.index, purpose, block)

    def count(self, voted: np.ndarray, seconds: float) -> None:
        """Take in a block's votes (they come in order), and decide where a look is reached."""
        until = self.settings.n0 if self.picking else self.looks[self.look]
        voted = voted[: until - self.draws]
        self.outstanding -= 1
        self.draws += len(voted)
        self.seconds += seconds
        if self.picking:
            self.votes = np.append(self.votes, voted)
        else:
            self.hits += int(np.sum(voted == self.target))
        if self.outstanding == 0:
            self._decide()

    @property
    def ready(self) -> bool:
        """Whether the next look's blocks can be asked for."""
        return self.outstanding == 0 and not self.done

    def _decide(self) -> None:
        if self.picking:
            self.target, self.picking, self.draws = int(np.bincount(self.votes).argmax()), False, 0
        elif bool(self.rule.finished(self.look, np.asarray(self.hits))):
            self.done = True
        else:
            self.look += 1

    def certificate(self) -> Certificate:
        """What the counts at the stop prove."""
        assert self.target is not None
        uniform = own_uniform(self.settings, self.image.index)
        radius = float(self.rule.radius(np.asarray(self.draws), np.asarray(self.hits), uniform))
        proved = not np.isnan(radius)
        return Certificate(
            index=self.image.index, label=self.image.label, predicted=self.target if proved else -1,
            radius=radius if proved else 0.0, draws=self.draws, hits=self.hits, mode=self.settings.mode,
            seconds=self.seconds, uniform=uniform,
        )  # fmt: skip


def own_uniform(settings: CertifySettings, index: int) -> float:
    """The image's number for the randomised bound, from the seed; 1 for the plain bound."""
    return 1.0 if settings.bound == "plain" else unit(NoiseKey(settings.seed, "bound", index, 0))


def _images(x: Tensor, y: Tensor | None, indices: Sequence[int] | Tensor | None) -> list[Image]:
    """Check the inputs and cut them into images."""
    if not x.is_floating_point() or x.ndim < 2:
        raise InputError(
            f"certify: x has dtype {x.dtype} and shape {tuple(x.shape)}; expected floats (n, ...) on the "
            "model's data scale, the first dimension counting the inputs"
        )
    if not torch.isfinite(x).all():
        raise InputError("certify: x holds NaN or infinite values; remove those inputs")
    if y is not None and (y.shape != x.shape[:1] or y.is_floating_point()):
        raise InputError(
            f"certify: y has dtype {y.dtype} and shape {tuple(y.shape)}; expected {len(x)} integer labels"
        )
    if y is not None and (y < 0).any():  # -1 is how a certificate says that it abstains
        raise InputError(
            f"certify: y holds the label {int(y.min())}; expected labels from 0; leave y out without any"
        )
    numbers = list(range(len(x))) if indices is None else [int(i) for i in indices]
    if len(numbers) != len(x) or len(set(numbers)) != len(numbers):
        raise InputError(f"certify: indices must be {len(x)} different numbers, one for each input")
    labels: list[int | None] = [None] * len(x) if y is None else [int(label) for label in y]
    return [Image(*parts) for parts in zip(x, numbers, labels)]


def _all_classes(votes: Voter, image: Image, settings: CertifySettings) -> np.ndarray:
    """All ``n`` votes on one image."""
    step = settings.batch_size // BLOCK
    blocks = range(-(-settings.n // BLOCK))
    noise = [NoiseBlock(image.x, image.index, "predict", block) for block in blocks]
    parts = [votes(noise[start : start + step]) for start in range(0, len(noise), step)]
    return np.concatenate(parts).reshape(-1)[: settings.n]


def _vote(classes: np.ndarray, alpha: float) -> int:
    counts = np.append(np.bincount(classes), 0)  # a second class with no vote, where there is one class only
    order = np.argsort(-counts, kind="stable")
    first, second = int(counts[order[0]]), int(counts[order[1]])
    return int(order[0]) if stats.binomtest(first, first + second).pvalue <= alpha else -1
