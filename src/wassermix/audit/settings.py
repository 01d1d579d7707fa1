"""The settings of an audit: the command's options, a table's keys and a Python call's arguments."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from wassermix.core.errors import InputError
from wassermix.core.settings import setting

__all__ = ["AuditSettings"]


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
    per_class: int = setting(500, "at most so many samples of a class")
    sigma: float | Literal["run"] = setting(
        0.0, "noise of a smoothed classifier; 0 audits the plain one, 'run' takes the run's own"
    )
    draws: int = setting(16, "noises that the smoothed classifier averages over")
    pairing: Literal["exact", "entropic", "random"] = setting(
        "exact", "who goes where: optimal transport, blurred by entropy, or random pairs"
    )
    entropy: float = setting(0.02, "entropic: Sinkhorn's epsilon, of the mean cost")
    embed: Path | None = setting(None, "paths in this embedding, a run's embedding.safetensors")
    seed: int = setting(0, "seed of this evaluation's random draws")

    def __post_init__(self) -> None:
        """Refuse counts that leave nothing to look at."""
        if self.points < 2 or self.per_class < 1 or self.draws < 1:
            raise InputError("audit: points is at least 2, per_class and draws at least 1")
        if self.sigma != "run" and not self.sigma >= 0:
            raise InputError(f"audit: sigma is {self.sigma}; expected noise of 0 or more")
        if self.pairing == "entropic" and not self.entropy > 0:
            raise InputError(f"audit: entropy is {self.entropy}; expected a share of the mean cost above 0")

    @property
    def noise(self) -> float:
        """Sigma as a number; 'run' must have been replaced by the run's own."""
        if self.sigma == "run":
            raise InputError(
                "audit: sigma is 'run', but no run that trained with noise is known; give a number"
            )
        return float(self.sigma)

    @property
    def name(self) -> str:
        """``geodesic-s{sigma}-p{points}``, with the pairing where it is not exact; the audit's file."""
        pairing = "" if self.pairing == "exact" else f"{self.pairing}-"
        return f"{pairing}s{self.noise:g}-p{self.points}"
