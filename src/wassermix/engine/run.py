"""A run as an object: trained or loaded, and evaluated with the functions that the commands use."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch import nn

from wassermix.core.errors import InputError
from wassermix.core.job import Output
from wassermix.core.samples import evenly_spaced
from wassermix.core.settings import settings_from
from wassermix.data import Dataset
from wassermix.engine.build import make_model
from wassermix.engine.loop import train
from wassermix.engine.plan import fit_to_minutes, plan_config
from wassermix.engine.rundir import RunDir
from wassermix.engine.settings import Config
from wassermix.engine.target import Target, find_split

if TYPE_CHECKING:
    from wassermix.attacks import AttackResult
    from wassermix.audit import PerformanceGeodesic, PerformanceSimplex
    from wassermix.certify import Certificates

__all__ = ["Run", "default_name", "load_run", "train_run"]

Progress = Callable[[int, int], None]


class Run:
    """A trained run: ``run.model``, ``run.data``, ``run.config``, ``run.metrics``, and its evaluations.

    An evaluation writes its files into the run's folder, as the command of the same name does, and gives the
    result. Called again with the same settings it goes on with, or reads, what is there; ``overwrite`` begins
    anew, and ``last`` judges the weights of the last update where they are averaged. Settings are the
    command's options by name: ``run.certify(mode="grid", n=10_000)``.
    """

    def __init__(self, folder: str | Path, *, trust: bool = False) -> None:
        self.folder, self._trust = Path(folder), trust
        self.files = RunDir(self.folder)

    def __repr__(self) -> str:
        return f"Run({str(self.folder)!r})"

    def __fspath__(self) -> str:
        return str(self.folder)

    @cached_property
    def config(self) -> Config:
        """What was trained, every setting."""
        return self.files.config(trust=self._trust)

    @cached_property
    def data(self) -> Dataset:
        """The data that it was trained on, with the splits to judge it on."""
        return self.files.load_data(self.config)

    @cached_property
    def model(self) -> nn.Module:
        """The trained network in eval mode: the average of its weights where one was kept."""
        return self._loaded()

    def _loaded(self, *, last: bool = False) -> nn.Module:
        model = make_model(self.config, self.data)
        self.files.load_weights(model, last=last)
        return model.eval()

    @property
    def metrics(self) -> list[dict[str, Any]]:
        """One record for each epoch: losses by name, accuracy, seconds."""
        if not self.files.metrics_file.exists():
            return []
        return [json.loads(line) for line in self.files.metrics_file.read_text().splitlines()]

    def target(self, split: str = "test", *, last: bool = False) -> Target:
        """Model and samples as an evaluation takes them; ``last``: the weights before they are averaged."""
        model, samples = self._loaded(last=True) if last else self.model, find_split(self.data, split)
        share = self.files.trained_share()
        return Target(self.folder, model, self.data, samples, split, self.config.sigma, share, last=last)

    def _output(self, kind: str, name: str | None, target: Target, *, overwrite: bool) -> Output:
        """Where the results of ``kind`` go: what is there is gone on with unless ``overwrite``."""
        return Output(self.folder / kind, name, not overwrite, overwrite, suffix=target.suffix)

    def certify(
        self,
        *,
        images: int | None = 500,
        split: str = "test",
        last: bool = False,
        name: str | None = None,
        overwrite: bool = False,
        progress: Progress | None = None,
        **settings: Any,
    ) -> Certificates:
        """Certificates of ``images`` evenly spaced samples (None: all), as the command makes them."""
        from wassermix.certify import CertifySettings, certify_to_files

        target = self.target(split, last=last)
        values = {**settings, "sigma": target.noise(settings.get("sigma"))}
        return certify_to_files(
            target.model,
            target.split,
            evenly_spaced(len(target.split), images),
            settings=settings_from(CertifySettings, values, where="certify"),
            output=self._output("certify", name, target, overwrite=overwrite),
            about=target.about(),
            progress=progress,
        )

    def attack(
        self,
        *,
        split: str = "test",
        last: bool = False,
        name: str | None = None,
        overwrite: bool = False,
        progress: Progress | None = None,
        **settings: Any,
    ) -> AttackResult:
        """What an attack leaves of the accuracy, as ``wassermix attack`` finds it."""
        from wassermix.attacks import AttackSettings, run_attack

        target = self.target(split, last=last)
        asked = settings_from(AttackSettings, {"sigma": target.sigma, **settings}, where="attack")
        return run_attack(
            target.model,
            target.split,
            asked,
            output=self._output("attack", name, target, overwrite=overwrite),
            train=target.data.train,
            bounds=target.bounds,
            about=target.about(),
            progress=progress,
        )

    def audit(
        self,
        *,
        split: str = "test",
        last: bool = False,
        name: str | None = None,
        overwrite: bool = False,
        progress: Progress | None = None,
        **settings: Any,
    ) -> PerformanceGeodesic | PerformanceSimplex:
        """The model between classes, as ``wassermix audit`` finds it: under the run's noise unless told.

        One call gives one result: the command's ``--pairing both`` is ``run.audit(pairing="exact")`` and
        ``run.audit(pairing="random")``.
        """
        from wassermix.audit import AuditSettings, run_audit

        asked = settings_from(AuditSettings, settings, where="audit")
        if asked.pairing == "both":
            raise InputError(
                "audit: pairing is 'both', which has two results; call run.audit(pairing='exact') and "
                "run.audit(pairing='random')"
            )
        target = self.target(split, last=last)
        return run_audit(
            target.model,
            target.split,
            asked.of_run(target.sigma or 0.0),
            output=self._output("audit", name, target, overwrite=overwrite),
            class_names=target.data.class_names or (),
            about=target.about(),
            progress=progress,
        )


def load_run(folder: str | Path, *, trust: bool = False) -> Run:
    """A run that was trained before.

    Where its config names components as ``package.module:object``, they are imported only with ``trust``:
    a run directory may come from anyone.
    """
    run = Run(folder, trust=trust)
    assert run.config  # a folder that is no run, or may not be trusted, is refused here
    return run


def train_run(
    recipe: str | Path | Mapping[str, Any],
    /,
    settings: Mapping[str, Any] | None = None,
    *,
    out: str | Path | None = None,
    minutes: float | None = None,
    resume: bool = False,
    overwrite: bool = False,
    progress: Callable[[float, str], None] | None = None,
    **more: Any,
) -> Run:
    """Train a recipe (its shipped name, a YAML file, or a mapping) and give the run.

    ``settings`` are dotted keys as on the command line, ``more`` those without a dot:
    ``train("mnist", {"augment.ratio": 2}, method="consistency", sigma=0.5, out="runs/a")``.
    With ``minutes``, ``recipe`` may name data instead, and the recommended recipe is trained on them for
    about so long, as ``wassermix train DATA --minutes`` does.
    """
    given = dict(settings or {})
    if twice := given.keys() & more.keys():
        raise InputError(f"train: '{min(twice)}' is given twice; give it once")
    config = plan_config(recipe, {**given, **more}, timed=minutes is not None)
    folder = Path("runs") / default_name(config) if out is None else Path(out)
    if minutes is not None:
        config = fit_to_minutes(config, minutes, folder, keep=not overwrite).config
    train(config, folder, resume=resume, overwrite=overwrite, progress=progress)
    return Run(folder, trust=True)


def default_name(config: Config) -> str:
    """``data-method[-augment][-regularizer]-s<sigma>-seed<seed>``: the name of a run that got none."""
    parts = [Path(str(config.data["name"])).stem, config.method["name"]]
    parts += [f"+{section['name']}" for section in (config.augment,) if section]
    parts += ["+smooth"] if config.regularizer else []
    return "-".join([*parts, f"s{config.sigma:g}", f"seed{config.seed}"])
