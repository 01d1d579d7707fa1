"""The settings of an audit: the command's options, a table's keys and a Python call's arguments."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from wassermix.core.errors import InputError
from wassermix.core.settings import setting

__all__ = ["AuditSettings"]

Pairing = Literal["exact", "entropic", "random", "both"]


@dataclass(frozen=True, kw_only=True)
class AuditSettings:
    """Between which classes, how finely, and for which classifier."""

    pairs: str | tuple[tuple[int, int], ...] = setting(
        "all", "all, or class pairs such as 3-8,4-9 or Coat-Sandal", identity=False
    )
    classes: str | tuple[int, int, int] | None = setting(
        None, "three classes at once, such as 3-5-8, instead of pairs", identity=False
    )
    points: int = setting(21, "positions along each geodesic")
    per_class: int = setting(500, "at most this many samples of each class")
    sigma: float | Literal["run"] | None = setting(
        None, "noise of a smoothed classifier, by default the run's own; 0 audits the network itself"
    )
    draws: int = setting(16, "noises that the smoothed classifier averages over")
    pairing: Pairing = setting(
        "exact", "who goes where: optimal transport, blurred by entropy, random pairs, or exact and random"
    )
    entropy: float = setting(0.02, "entropic: Sinkhorn's epsilon, of the mean cost")
    embed: Path | None = setting(None, "paths in this embedding, a run's embedding.safetensors")
    seed: int = setting(0, "seed of this evaluation's random draws")

    def __post_init__(self) -> None:
        """Refuse counts that leave nothing to look at."""
        if self.points < 2 or self.per_class < 1 or self.draws < 1:
            raise InputError("audit: points is at least 2, per_class and draws at least 1")
        if isinstance(self.sigma, int | float) and not self.sigma >= 0:
            raise InputError(f"audit: sigma is {self.sigma}; expected noise of 0 or more")
        if self.pairing == "entropic" and not self.entropy > 0:
            raise InputError(f"audit: entropy is {self.entropy}; expected a share of the mean cost above 0")

    @property
    def noise(self) -> float:
        """Sigma as a number: 0 where nobody said it; 'run' must have been replaced by the run's own."""
        if self.sigma == "run":
            raise InputError(
                "audit: sigma is 'run', but no run that trained with noise is known; give a number"
            )
        return float(self.sigma or 0.0)

    def of_run(self, sigma: float) -> AuditSettings:
        """These settings for a run that trained with noise ``sigma``, unless they say another."""
        return replace(self, sigma=sigma) if self.sigma is None or (self.sigma == "run" and sigma) else self

    def each_pairing(self) -> tuple[AuditSettings, ...]:
        """One audit for each pairing: ``both`` is exact paths, and random pairs beside them."""
        pairings: tuple[Pairing, ...] = ("exact", "random")
        return tuple(replace(self, pairing=one) for one in pairings) if self.pairing == "both" else (self,)

    @property
    def name(self) -> str:
        """``geodesic-s{sigma}-p{points}``, with the pairing where it is not exact; the audit's file."""
        pairing = "" if self.pairing == "exact" else f"{self.pairing}-"
        return f"{pairing}s{self.noise:g}-p{self.points}"
