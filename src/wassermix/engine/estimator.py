"""A scikit-learn classifier for vectors: robust training behind ``fit``, certificates behind ``certify``."""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch

from wassermix.core.errors import InputError
from wassermix.engine.build import load_dataset, make_model
from wassermix.engine.loop import train
from wassermix.engine.rundir import RunDir
from wassermix.engine.settings import build_config
from wassermix.methods.registry import METHODS
from wassermix.recipes import load_recipe

try:
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as error:
    raise InputError(
        "RobustClassifier needs scikit-learn 1.6 or newer, which is not installed; pip install scikit-learn"
    ) from error

if TYPE_CHECKING:
    from wassermix.certify.result import Certificates

__all__ = ["RobustClassifier"]

Floats = npt.NDArray[np.float64]


class RobustClassifier(ClassifierMixin, BaseEstimator):
    """A network for rows ``X (n, d)``, trained to stay right under noise, whose answers can be certified.

    Columns are standardised by the training rows, so ``sigma`` and certified radii are in standard
    deviations. ``method`` and ``augment`` are names as in a recipe (``wassermix methods``); of a method that
    trains without noise ``sigma`` is only that of :meth:`certify`. ``options`` are further keys of a config,
    such as ``{"optimizer.lr": 0.1, "model.hidden": [128, 128]}``. The same ``seed`` gives the same network.

    After :meth:`fit`: ``classes_``, ``n_features_in_``, ``mean_`` and ``scale_ (d,)``, and ``network_``,
    which takes standardised float32 rows to logits.
    """

    def __init__(
        self,
        *,
        sigma: float = 0.25,
        method: str = "gaussian",
        augment: str | None = None,
        model: str = "mlp",
        updates: int = 300,
        batch_size: int = 64,
        seed: int = 0,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self.sigma, self.method, self.augment, self.model = sigma, method, augment, model
        self.updates, self.batch_size, self.seed, self.options = updates, batch_size, seed, options

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> RobustClassifier:
        """Train on rows ``X (n, d)`` with labels ``y (n,)`` of any type."""
        rows, labels = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(labels)
        self.classes_, numbers = np.unique(labels, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"fit needs samples of two classes or more; got one class, {self.classes_[0]!r}")
        self.mean_, self.scale_ = rows.mean(axis=0), rows.std(axis=0)
        self.scale_[self.scale_ <= 1e-12 * (1 + np.abs(self.mean_))] = 1.0
        self.network_ = self._trained(self._standard(rows).astype(np.float32), numbers.astype(np.int64))
        return self

    def predict(self, X: npt.ArrayLike) -> npt.NDArray[Any]:
        """The most probable class of each row ``(n,)``."""
        best = self.predict_proba(X).argmax(axis=1)
        found: npt.NDArray[Any] = self.classes_[best]
        return found

    def predict_proba(self, X: npt.ArrayLike) -> Floats:
        """The network's probabilities ``(n, k)`` without noise, columns as in ``classes_``."""
        check_is_fitted(self)
        rows = torch.from_numpy(self._standard(validate_data(self, X, dtype=np.float64, reset=False)))
        # in float64, so that a row's answer does not depend on its company; the fitted network stays as it is
        network = copy.deepcopy(self.network_).double()
        with torch.no_grad():
            found: Floats = network(rows).softmax(dim=1).numpy()
        return found

    def certify(self, X: npt.ArrayLike, y: npt.ArrayLike | None = None, **settings: Any) -> Certificates:
        """Certificates of the smoothed classifier; radii are l2, in standard deviations of the columns.

        ``settings`` are those of :func:`wassermix.certify` (``mode``, ``n``, ``alpha``, ...); the noise is
        the one of training unless ``sigma`` says otherwise. ``predicted`` counts classes as in ``classes_``.
        """
        from wassermix.certify import certify

        check_is_fitted(self)
        rows = validate_data(self, X, dtype=np.float64, reset=False)
        x = torch.from_numpy(self._standard(rows).astype(np.float32))
        known = None if y is None else torch.from_numpy(self._numbers(np.asarray(y)))
        found: Certificates = certify(self.network_, x, known, **{"sigma": self.sigma, **settings})
        return found

    def _standard(self, rows: Floats) -> Floats:
        found: Floats = (rows - self.mean_) / self.scale_
        return found

    def _numbers(self, labels: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        unknown = set(labels.tolist()) - set(self.classes_.tolist())
        if unknown:
            raise ValueError(f"certify: label {unknown.pop()!r} was not among the classes of fit")
        return np.searchsorted(self.classes_, labels).astype(np.int64)

    def _trained(self, x: npt.NDArray[np.float32], y: npt.NDArray[np.int64]) -> Any:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "rows.npz"
            np.savez(file, x_train=x, y_train=y, x_test=x, y_test=y)
            config = build_config(load_recipe("vectors"), self._overrides(file))
            train(config, Path(folder) / "run")
            network = make_model(config, load_dataset(config))
            RunDir(Path(folder) / "run").load_weights(network)
        return network.cpu().eval()

    def _overrides(self, file: Path) -> dict[str, Any]:
        noise = {"method.sigma": self.sigma} if "sigma" in METHODS.options(self.method) else {}
        return {
            "data": str(file),
            "data.standardize": False,
            "model": self.model,
            "method": self.method,
            **noise,
            "augment": self.augment,
            "updates": self.updates,
            "batch_size": self.batch_size,
            "seed": self.seed,
            "device": "cpu",
            **(self.options or {}),
        }
