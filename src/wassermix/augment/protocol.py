"""What is asked of an augmenter, and the one place that asks it: shipped ones and a user's own alike."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Generator, Tensor, nn

from wassermix.core.classifier import Classifier
from wassermix.core.errors import InputError
from wassermix.core.registry import has_trait
from wassermix.core.samples import LabelledSamples
from wassermix.embed import Embedding

__all__ = ["Augmentation", "Augmenter", "Conditions", "KeepsSet", "MixesInside", "StoredSet"]

Attack = Callable[[Classifier, Tensor, Tensor], Tensor]


@runtime_checkable
class Augmenter(Protocol):
    """Which extra samples?

    An augmenter is any object with ``adds``, ``passes`` and the call of torchvision's MixUp; it needs no base
    class. Options are keyword-only constructor arguments of plain types; ``num_classes``, ``shape`` and
    ``embed`` are filled in by the engine. What an augmenter may have besides:

    - ``reference``: a line for ``wassermix methods``;
    - ``wants_embedding = True`` on the class: a config without ``embed=`` gets the default one;
    - ``needs_images = True``: refused beforehand on samples that are no images;
    - ``ratio``: how many new samples it adds for each one of the batch, 1 where it does not say;
    - ``scored_under``: see :class:`Scored`;
    - ``passes_at(trained)``: its cost at a share of training, where that changes;
    - ``on`` instead of the call: see :class:`MixesInside`;
    - ``stored``, ``refresh``, ``make_set``, ``load_set``: see :class:`KeepsSet`;
    - ``begin_epoch()``: called before each epoch, to forget what was remembered of earlier batches.
    """

    @property
    def adds(self) -> bool:
        """Whether the samples stand beside the batch; else they take its place."""
        ...

    @property
    def passes(self) -> float:
        """Forward+backward passes that making one sample costs (a forward is a third of one)."""
        ...

    def __call__(
        self, x: Tensor, y: Tensor, *, model: Classifier | None = None, generator: Generator | None = None
    ) -> tuple[Tensor, Tensor]:
        """Samples and soft labels ``(m, *shape), (m, k)`` made from a batch."""
        ...


@runtime_checkable
class Scored(Protocol):
    """An augmenter that looks for places where the model is bad, and can do so as the method trains."""

    @property
    def scored_under(self) -> Collection[str]:
        """Further keyword arguments that its call and ``make_set`` take: ``sigma``, ``trained``, ``attack``.

        ``sigma`` is the method's noise; ``trained`` the share of training that is done;
        ``attack(model, x, y)`` the method's own perturbation, given where the method has one.
        """
        ...


@runtime_checkable
class MixesInside(Protocol):
    """An augmenter that mixes in a hidden layer."""

    def on(
        self, model: nn.Module, x: Tensor, y: Tensor, *, generator: Generator | None = None
    ) -> AbstractContextManager[Tensor]:
        """``with augment.on(model, x, y) as target: logits = model(x)``: one forward, of all samples."""
        ...


class StoredSet(Protocol):
    """An augmented set beside the training split."""

    @property
    def y(self) -> Tensor:
        """A class for each sample ``(n,)`` int64."""
        ...

    def __len__(self) -> int: ...

    def get(self, indices: Tensor, /) -> Tensor:
        """The samples at ``indices`` as floats on their data scale."""
        ...

    def labels(self, indices: Tensor, /) -> Tensor:
        """Their soft labels ``(len(indices), k)``."""
        ...

    def save(self, path: Path, /) -> None:
        """Write it, atomically."""
        ...


@runtime_checkable
class KeepsSet(Protocol):
    """An augmenter that makes a set for the whole training split now and then, not samples for each batch."""

    @property
    def stored(self) -> bool:
        """Whether it does so with its present options."""
        ...

    @property
    def refresh(self) -> int:
        """Epochs between two sets."""
        ...

    @property
    def ratio(self) -> float:
        """How many samples the set has for each training sample."""
        ...

    @property
    def make_set(self) -> Callable[..., StoredSet]:
        """``make_set(source, *, model, generator)`` gives a new set from labelled samples under the current
        model; it takes what :attr:`Scored.scored_under` names besides.
        """
        ...

    def load_set(self, path: Path, /) -> StoredSet:
        """A set that was saved before: where training goes on between two refreshes."""
        ...


@runtime_checkable
class _Priced(Protocol):
    @property
    def passes(self) -> float: ...


@runtime_checkable
class _PricedInTime(Protocol):
    def passes_at(self, trained: float, /) -> float: ...


@runtime_checkable
class _Sized(Protocol):
    @property
    def ratio(self) -> float: ...


@runtime_checkable
class _Remembers(Protocol):
    def begin_epoch(self) -> None: ...


@runtime_checkable
class _Embedded(Protocol):
    embed: Embedding | None


@dataclass(frozen=True)
class Conditions:
    """How the method at hand trains, for augmenters that judge samples by it."""

    sigma: float = 0.0
    attack: Attack | None = None
    attack_passes: float = 0.0
    trained: float = 1.0
    """The share of training that is done."""


@dataclass(frozen=True)
class Augmentation:
    """An augmenter as the engine sees it: every question has an answer, whoever wrote the augmenter."""

    component: object

    def __post_init__(self) -> None:
        if not callable(self.component) and not self.mixes_inside:
            raise InputError(
                f"augment: a {type(self.component).__name__} is no augmenter; expected a call "
                "(x, y, *, model, generator) -> (x, y), or a context manager on(model, x, y)"
            )

    @property
    def adds(self) -> bool:
        """Whether new samples stand beside the batch."""
        return has_trait(self.component, "adds")

    @property
    def mixes_inside(self) -> bool:
        """Whether it mixes in a hidden layer while the method runs."""
        return isinstance(self.component, MixesInside)

    @property
    def keeps_set(self) -> KeepsSet | None:
        """The component, where it keeps a set beside the training split."""
        return self.component if isinstance(self.component, KeepsSet) and self.component.stored else None

    @property
    def ratio(self) -> float:
        """New samples for each sample; 0 where it adds none."""
        if not self.adds:
            return 0.0
        return float(self.component.ratio) if isinstance(self.component, _Sized) else 1.0

    def passes(self, conditions: Conditions) -> float:
        """Passes that making one sample costs; each forward of a search may follow an attack."""
        own = float(self.component.passes) if isinstance(self.component, _Priced) else 0.0
        if isinstance(self.component, _PricedInTime):
            own = float(self.component.passes_at(conditions.trained))
        return own * (1 + 3 * conditions.attack_passes) if "attack" in self._under(conditions) else own

    def batch_passes(self, conditions: Conditions) -> float:
        """Passes that making samples costs for each sample of a batch."""
        return self.passes(conditions) * (self.ratio or 1.0)

    @torch.no_grad()
    def mix(
        self,
        x: Tensor,
        y: Tensor,
        *,
        model: Classifier,
        generator: Generator | None,
        conditions: Conditions,
    ) -> tuple[Tensor, Tensor]:
        """What the augmenter makes of a batch."""
        assert callable(self.component)
        made: tuple[Tensor, Tensor] = self.component(
            x, y, model=model, generator=generator, **self._under(conditions)
        )
        return made

    def mix_inside(
        self, model: nn.Module, x: Tensor, y: Tensor, *, generator: Generator | None
    ) -> AbstractContextManager[Tensor]:
        """The mixing of a hidden layer, for the time of one forward."""
        assert isinstance(self.component, MixesInside)
        return self.component.on(model, x, y, generator=generator)

    def make_set(
        self,
        source: LabelledSamples,
        *,
        model: Classifier,
        generator: Generator | None,
        conditions: Conditions,
    ) -> StoredSet:
        """A new stored set under the current model."""
        assert isinstance(self.component, KeepsSet)
        return self.component.make_set(source, model=model, generator=generator, **self._under(conditions))

    def begin_epoch(self) -> None:
        """Let it forget earlier batches, so that a resumed training is the same."""
        if isinstance(self.component, _Remembers):
            self.component.begin_epoch()

    def with_embedding(self, embed: Embedding) -> Augmentation:
        """The same augmenter in another copy of its embedding, such as one on another device."""
        if not isinstance(self.component, _Embedded) or self.component.embed is None:
            return self
        moved = copy.copy(self.component)
        moved.embed = embed
        return replace(self, component=moved)

    def _under(self, conditions: Conditions) -> dict[str, Any]:
        wanted = self.component.scored_under if isinstance(self.component, Scored) else ()
        given = {"sigma": conditions.sigma, "trained": conditions.trained, "attack": conditions.attack}
        return {key: value for key, value in given.items() if key in wanted and value is not None}
