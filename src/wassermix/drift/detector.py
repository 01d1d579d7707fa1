"""Drift in the words of scikit-learn: ``DriftMonitor(model).fit(X, y).check(X_new)``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from wassermix.core.classifier import Classifier
from wassermix.core.errors import InputError
from wassermix.core.samples import TensorSamples
from wassermix.core.settings import settings_from
from wassermix.data.checks import label_tensor
from wassermix.drift.ask import Asked, ask
from wassermix.drift.check import Checked, check
from wassermix.drift.labelled import FewLabels
from wassermix.drift.prepared import Prepared, prepare
from wassermix.drift.result import DriftResult, Powered
from wassermix.drift.settings import DriftSettings
from wassermix.drift.stream import BatchLine, StreamMonitor
from wassermix.drift.views import Ints

__all__ = ["DriftMonitor", "as_classifier"]


class DriftMonitor:
    """How good is the model on data without labels?

    ``model`` takes a float tensor ``(n, ...)`` to logits ``(n, k)``, or is a classifier with
    ``predict_proba``. ``options`` are those of :class:`DriftSettings`; ``alarm`` is the loss in points that
    :meth:`watch` tolerates::

        monitor = DriftMonitor(model).fit(X_ref, y_ref)     # labelled, not trained on
        monitor.check(X_new).estimate                       # accuracy with its interval
        monitor.certify(X_new, labelled=(index, y)).interval  # valid whatever the plan is worth
        monitor.watch(X_batch).alarm                        # a stream, batch by batch
    """

    def __init__(self, model: Any, *, alarm: float = 5.0, **options: Any) -> None:
        self.model = as_classifier(model)
        self.tolerated = alarm / 100
        self.settings = settings_from(DriftSettings, options, where="DriftMonitor")
        self._prepared: Prepared | None = None
        self._stream: StreamMonitor | None = None

    def fit(self, X: Any, y: Any) -> Self:
        """Prepare the labelled reference: samples that the model was not trained on."""
        x = _floats(X)
        reference = TensorSamples(x, _labels(y, "y of the reference", len(x)))
        self._prepared = prepare(self.model, reference, self.settings)
        self._stream = None
        return self

    def check(self, X: Any, *, y: Any = None) -> DriftResult:
        """Everything about new samples ``X``; ``y``, where given, is only compared with."""
        truth = None if y is None else _labels(y, "y of the new samples", len(X))
        return self._checked(X, truth=truth).result

    def certify(self, X: Any, *, labelled: tuple[Any, ...]) -> Powered:
        """The prediction-powered interval from ``labelled = (index, y)`` or ``(index, y, weights)``."""
        index, labels = _rows(labelled[0]), label_tensor(labelled[1], "labelled").numpy()
        weights = np.asarray(labelled[2], dtype=np.float64) if len(labelled) > 2 else None
        found = self._checked(X, labelled=FewLabels(index, labels, weights)).result.powered
        assert found is not None
        return found

    def ask(self, X: Any, count: int, *, seed: int = 0) -> Asked:
        """The samples of ``X`` most worth labelling, with the weights that :meth:`certify` takes."""
        checked = self._checked(X)
        drawn = ask(checked.chances, count, rng=np.random.default_rng(seed))
        return Asked(checked.rows.numpy()[drawn.index], drawn.weights)

    def watch(self, X: Any) -> BatchLine:
        """One more batch of a stream, and how the alarm stands after it."""
        if self._stream is None:
            self._stream = StreamMonitor(self._fitted(), tolerated=self.tolerated, alpha=self.settings.alpha)
        x = self._fitting(X)
        return self._stream.watch(TensorSamples(x, torch.zeros(len(x), dtype=torch.int64)))

    def _checked(self, X: Any, *, labelled: FewLabels | None = None, truth: Tensor | None = None) -> Checked:
        x = self._fitting(X)
        new = TensorSamples(x, torch.zeros(len(x), dtype=torch.int64))
        return check(self._fitted(), new, labelled=labelled, truth=truth)

    def _fitting(self, X: Any) -> Tensor:
        x, expected = _floats(X), tuple(self._fitted().samples.get(torch.arange(1)).shape[1:])
        if tuple(x.shape[1:]) != expected:
            raise InputError(f"new samples have shape {tuple(x.shape[1:])}; the reference's have {expected}")
        return x

    def _fitted(self) -> Prepared:
        if self._prepared is None:
            raise InputError("the monitor has no reference yet; call fit(X, y) with labelled samples first")
        return self._prepared


def as_classifier(model: Any) -> Classifier:
    """A callable from tensors to logits; a classifier with ``predict_proba`` gives log-probabilities."""
    probabilities: Callable[[Any], Any] | None = getattr(model, "predict_proba", None)
    if callable(model) or probabilities is None:
        if not callable(model):
            raise InputError(f"a model is a callable or has predict_proba; got a {type(model).__name__}")
        return model  # type: ignore[no-any-return]

    def logits(x: Tensor) -> Tensor:
        p = torch.as_tensor(np.asarray(probabilities(x.numpy())), dtype=torch.float32)
        return p.clamp_min(1e-12).log()

    return logits


def _labels(y: Any, where: str, count: int) -> Tensor:
    labels = label_tensor(y, where)
    if len(labels) != count:
        raise InputError(f"{where}: {len(labels)} labels for {count} samples; expected one for each")
    return labels


def _rows(index: Any) -> Ints:
    rows = np.asarray(index)
    if rows.ndim != 1 or rows.dtype.kind not in "iuf" or not np.array_equal(rows, np.round(rows)):
        raise InputError(
            f"labelled: rows are {rows.dtype} of shape {rows.shape}; expected whole numbers (m,), one for "
            "each label"
        )
    return rows.astype(np.int64)


def _floats(X: Any) -> Tensor:
    x = X if isinstance(X, Tensor) else torch.as_tensor(np.asarray(X))
    x = x.float().div(255) if x.dtype == torch.uint8 else x.float()
    if x.dim() < 2:
        raise InputError(f"samples have shape {tuple(x.shape)}; expected (n, ...), one row for each")
    return x
