"""The training loop, top to bottom: draw an epoch, step through it, write down where we are, go on."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, nullcontext
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from wassermix.augment.protocol import Augmentation, StoredSet
from wassermix.core import labels
from wassermix.core.processes import together
from wassermix.core.streams import stream, stream_seed
from wassermix.data import Split, batches
from wassermix.embed import reconstruction_error, save_embedding
from wassermix.engine import distributed
from wassermix.engine.average import WeightAverage
from wassermix.engine.budget import Budget, make_budget
from wassermix.engine.build import Parts, build_parts, compile_ahead, device_of
from wassermix.engine.metrics import MetricsFile, TensorBoard, peak_memory_mib
from wassermix.engine.objective import conditions_of, objective_of
from wassermix.engine.passes import batch_passes, stored_samples
from wassermix.engine.rundir import RunDir
from wassermix.engine.schedule import lr_factor
from wassermix.engine.settings import Config
from wassermix.engine.source import UnionSplit
from wassermix.engine.teacher import find_teacher, passes_beforehand
from wassermix.engine.transform import transform_batch
from wassermix.engine.watch import noisy_accuracy, require_finite_loss, require_finite_weights, watched
from wassermix.methods import Batch
from wassermix.methods.protocol import counting_of, teacher_of
from wassermix.methods.teacher import AVERAGE, count_votes, votes_on

__all__ = ["TrainState", "stored_samples", "train"]

Progress = Callable[[float, str], None]
"""Called as ``progress(share of the training done, one line of numbers)`` after each update."""

FUSED = ("cpu", "cuda")
"""Where the optimiser takes its step in one fused pass."""


@dataclass
class TrainState:
    """How far a training is; of its ``passes`` those ``beforehand`` came before the first step."""

    epoch: int = 0
    updates: int = 0
    images: int = 0
    passes: float = 0.0
    seconds: float = 0.0
    beforehand: float = 0.0


def train(
    config: Config,
    out: Path,
    *,
    resume: bool = False,
    overwrite: bool = False,
    measuring: bool = False,
    progress: Progress | None = None,
    downloading: Callable[[int, int], None] | None = None,
    fitting: Callable[[int, int], None] | None = None,
) -> TrainState:
    """Train what ``config`` says into the run directory ``out``.

    Killed at any moment and called again with ``resume=True``, it ends with the weights of an undisturbed
    run: every random stream is seeded by (seed, purpose, epoch, rank), and a checkpoint closes each epoch.
    A loss or weights that are no longer finite end it with an ArithmeticError, and the last checkpoint stays.
    ``measuring`` is for a look at the pace of a step: the labels stand in for a teacher's votes.
    """
    run = RunDir(out)
    with ExitStack() as held:
        first = distributed.rank() == 0
        claim = run.claimed(config, resume=resume, overwrite=overwrite) if first else nullcontext()
        together(lambda: held.enter_context(claim))
        parts = build_parts(
            config,
            embedding_file=run.embedding_file if resume else None,
            downloading=downloading,
            fitting=fitting,
        )
        teacher = find_teacher(config, parts)
        together(lambda: _begin(run, config, parts, resume=resume, overwrite=overwrite))
        training = _Training(config, run, parts, teacher=teacher, progress=progress)
        if measuring:
            training.votes = labels.soft(parts.data.train.y, parts.data.num_classes)
        return training.run_to_the_end()


def _begin(run: RunDir, config: Config, parts: Parts, *, resume: bool, overwrite: bool) -> None:
    if distributed.rank() == 0:
        run.begin(config, resume=resume, overwrite=overwrite)
        run.remember(parts.data)
        if parts.embed is not None:
            save_embedding(parts.embed, run.embedding_file)
    compile_ahead(parts)


class _Training:
    """The moving parts of one training, so that each step below is a short sentence."""

    def __init__(
        self,
        config: Config,
        run: RunDir,
        parts: Parts,
        *,
        teacher: nn.Module | None,
        progress: Progress | None,
    ) -> None:
        self.config, self.run, self.parts = config, run, parts
        self.progress = progress if distributed.rank() == 0 else None
        self.device = device_of(config)
        self.optimizer = torch.optim.SGD(
            parts.model.parameters(),
            fused=self.device.type in FUSED,
            **config.optimizer.model_dump(exclude={"clip"}),
        )
        self.average = WeightAverage(parts.model, config.average) if config.average else None
        by_average = self.average is not None and teacher_of(parts.method) == AVERAGE
        self.teacher = self._judged if by_average else teacher
        self.votes: Tensor | None = None
        self.state = self._restored()
        self.objective = objective_of(parts, config.precision)
        self.step = distributed.wrapped(self.objective)
        self.augmented: StoredSet | None = None
        self.budget = self._budget()
        self.sinks = self._sinks()

    def run_to_the_end(self) -> TrainState:
        """Epoch by epoch until the budget is spent."""
        self._let_teacher_vote()
        while self._share() < 1:
            started, images = time.perf_counter(), self.state.images
            terms = self._epoch(self._epoch_source())
            seconds = time.perf_counter() - started
            self.state.epoch += 1
            self.state.seconds += seconds
            self._close_epoch(terms, images=self.state.images - images, seconds=seconds)
        return self.state

    def _let_teacher_vote(self) -> None:
        """Count a teacher's votes once; a resumed training finds them, and their passes, in its state."""
        counting, train = counting_of(self.parts.method), self.parts.data.train
        if counting is None or self.teacher is None or self.votes is not None:
            return
        started = time.perf_counter()
        noise = stream(self.config.seed, "teacher", distributed.rank(), device=self.device)
        own = distributed.share_of(torch.arange(len(train)))
        votes = count_votes(
            self.teacher, train, counting, generator=noise, indices=own, counted=self._tell_votes
        )
        self.votes = distributed.joined(votes, len(train))
        self.state.seconds += time.perf_counter() - started
        self.state.beforehand = passes_beforehand(self.parts.method, len(train))
        self.state.passes += self.state.beforehand

    def _tell_votes(self, done: int) -> None:
        if self.progress is not None:
            most = -(-len(self.parts.data.train) // distributed.world_size())
            self.progress(self._share(), f"the teacher votes: {done} of {most} samples")

    def _epoch(self, source: Split) -> dict[str, float]:
        """One pass over ``source``; the mean of each term of the loss."""
        sums: dict[str, float] = {}
        seen = 0
        self.objective.begin_epoch()
        # Layers such as dropout draw from the global stream: lend them a seeded one for this epoch.
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(stream_seed(self.config.seed, "layers", self.state.epoch, distributed.rank()))
            self.parts.model.train()
            for batch in self._batches(source):
                terms = self._update(batch)
                for name, value in terms.items():
                    sums[name] = sums.get(name, 0.0) + value * len(batch.x)
                seen += len(batch.x)
                if self._share() >= 1:
                    break
        return {name: total / seen for name, total in sums.items()}

    def _batches(self, source: Split) -> Iterator[Batch]:
        """The epoch's batches in this process's random order."""
        config, epoch, rank = self.config, self.state.epoch, distributed.rank()
        order = torch.randperm(len(source), generator=stream(config.seed, "order", epoch))
        noise = stream(config.seed, "noise", epoch, rank, device=self.device)
        for indices, x, y in batches(
            source, distributed.share_of(order), batch_size=config.batch_size, workers=config.workers
        ):
            y = source.soft_labels(indices) if isinstance(source, UnionSplit) else y
            x, y = x.to(self.device), y.to(self.device)
            if x.dim() == 4:
                x = transform_batch(x, config.transform, noise).contiguous(memory_format=torch.channels_last)
            parts = (each.chunk(config.updates_per_batch) for each in (x, y, indices))
            for part_x, part_y, seen in zip(*parts):
                votes = votes_on(self.votes, seen, self.device)
                yield Batch(part_x, part_y, self._share(), noise, teacher=self.teacher, votes=votes)

    def _update(self, batch: Batch) -> dict[str, float]:
        """One step of the optimiser; the terms of the loss it stepped on."""
        for group in self.optimizer.param_groups:
            group["lr"] = self.config.optimizer.lr * lr_factor(self.config.schedule, self._share())
        terms: dict[str, Tensor] = self.step(batch)
        loss = torch.stack(list(terms.values())).sum()
        require_finite_loss(loss.item(), update=self.state.updates + 1, lr=self.config.optimizer.lr)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        if self.config.optimizer.clip:
            nn.utils.clip_grad_norm_(self.parts.model.parameters(), self.config.optimizer.clip)
        self.optimizer.step()
        images = len(batch.x) * distributed.world_size()
        self.state.updates += 1
        self.state.images += images
        self.state.passes += batch_passes(self.parts, batch) * distributed.world_size()
        if self.average is not None:
            self.average.update(self.parts.model, self.state.updates)
        if self.progress is not None:
            self.progress(self._share(), f"epoch {self.state.epoch + 1}  loss {loss.item():.3f}")
        return {name: float(value.detach()) for name, value in terms.items()}

    def _share(self) -> float:
        state = self.state
        return self.budget.share(updates=state.updates, passes=state.passes, beforehand=state.beforehand)

    def _budget(self) -> Budget:
        samples = len(self.parts.data.train) + stored_samples(self.parts)
        return make_budget(self.config, samples, distributed.world_size())

    def _epoch_source(self) -> Split:
        """The training split, with the stored augmented set beside it where the augmenter keeps one."""
        augment, train = self.parts.augment, self.parts.data.train
        keeper = None if augment is None else augment.keeps_set
        if augment is None or keeper is None:
            return train
        if self.state.epoch % keeper.refresh == 0:
            self.augmented = self._refreshed(augment)
            if distributed.rank() == 0 and keeper.refresh > 1:
                self.augmented.save(self.run.augmented_file)
        elif self.augmented is None:
            self.augmented = keeper.load_set(self.run.augmented_file)
        return UnionSplit(train, self.augmented, self.parts.data.num_classes)

    def _refreshed(self, augment: Augmentation) -> StoredSet:
        """Algorithm 1 of the paper under the current model; the same on every process."""
        generator = stream(self.config.seed, "augment", self.state.epoch, device=self.device)
        under = conditions_of(self.parts.method, self._share(), generator)
        made = augment.make_set(
            self.parts.data.train, model=self.parts.model, generator=generator, conditions=under
        )
        self.state.passes += len(made) * augment.passes(under)
        return made

    def _close_epoch(self, terms: dict[str, float], *, images: int, seconds: float) -> None:
        """The line in metrics.jsonl, then the checkpoint; resuming cuts lines without a checkpoint back."""
        distributed.synchronised(self.parts.model)
        lr = self.config.optimizer.lr
        require_finite_weights(self.parts.model, update=self.state.updates, lr=lr)
        if self.average is not None:
            distributed.synchronised(self.average.model)
        if distributed.rank() != 0:
            return
        row = {
            "epoch": self.state.epoch,
            "updates": self.state.updates,
            "passes": round(self.state.passes),
            "lr": self.optimizer.param_groups[0]["lr"],
            "loss": {"total": sum(terms.values()), **terms},
            **self._accuracy(),
            **self._reconstruction,
            "seconds": round(seconds, 3),
            "images_per_second": round(images / seconds, 1),
            "peak_memory_mib": round(peak_memory_mib(), 1),
        }
        for sink in self.sinks:
            sink.write(row)
        self._save()

    def _save(self) -> None:
        """The weights to be judged, and all that is needed to go on from here."""
        share, more = self._share(), {}
        self.run.save_weights(self._judged, self.config, trained=share)
        if self.average is not None:
            last = self.run.last_weights_file
            self.run.save_weights(self.parts.model, self.config, trained=share, file=last)
            more["average"] = self.average.model.state_dict()
        self.run.save_state(
            {
                "progress": asdict(self.state),
                "model": self.parts.model.state_dict(),
                "optimizer": self.optimizer.state_dict(),
                "votes": self.votes,
                **more,
            }
        )

    @property
    def _judged(self) -> nn.Module:
        """The network that is evaluated: the moving average where one is kept."""
        return self.parts.model if self.average is None else self.average.model

    def _accuracy(self) -> dict[str, Any]:
        """Accuracy under one draw of the training noise, on held-out samples where there are any."""
        data = self.parts.data
        name, split = ("holdout", data.holdout) if data.holdout is not None else ("test", data.test)
        noise = stream(self.config.seed, "watch", self.state.epoch, device=self.device)
        accuracy = noisy_accuracy(
            self._judged,
            split,
            self.parts.method.sigma,
            batch_size=self.config.batch_size,
            generator=noise,
        )
        return {"accuracy": accuracy, "accuracy_on": name}

    @cached_property
    def _reconstruction(self) -> dict[str, float]:
        """What the embedding loses: the mean squared error per coordinate, on training samples."""
        if self.parts.embed is None:
            return {}
        train = self.parts.data.train
        return {"reconstruction_error": reconstruction_error(self.parts.embed, train.get(watched(train)))}

    def _restored(self) -> TrainState:
        state = self.run.load_state(self.config)
        if state is None:
            return TrainState()
        self.parts.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        if self.average is not None:
            self.average.model.load_state_dict(state["average"])
        self.votes = state.get("votes")
        return TrainState(**state["progress"])

    def _sinks(self) -> list[MetricsFile | TensorBoard]:
        if distributed.rank() != 0:
            return []
        sinks: list[MetricsFile | TensorBoard]
        sinks = [MetricsFile(self.run.metrics_file, epochs_done=self.state.epoch)]
        if self.config.tensorboard:
            sinks.append(TensorBoard(self.run.path / "tensorboard", epochs_done=self.state.epoch))
        return sinks
