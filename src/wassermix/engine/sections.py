"""Sections of a config that are settings alone: how weights are updated, and how images are moved about."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

__all__ = ["Optimizer", "Options", "Schedule", "Transform"]


class Options(BaseModel):
    """The part of a config that refuses keys it does not know."""

    model_config = ConfigDict(extra="forbid", protected_namespaces=(), allow_inf_nan=False)


class Optimizer(Options):
    """Stochastic gradient descent with momentum; ``clip`` is the gradient's largest l2 norm, 0 for none."""

    lr: float = Field(default=0.01, gt=0)
    momentum: float = Field(default=0.9, ge=0, lt=1)
    weight_decay: float = Field(default=1e-4, ge=0)
    nesterov: bool = False
    clip: float = Field(default=0.0, ge=0)

    @model_validator(mode="after")
    def _nesterov_has_momentum(self) -> Self:
        if self.nesterov and not self.momentum:
            raise ValueError("nesterov=true needs a momentum above 0, such as 0.9")
        return self


class Schedule(Options):
    """How the learning rate moves; all times are shares of the training."""

    name: Literal["step", "onecycle", "cosine", "constant"] = "step"
    drops: tuple[float, ...] = (1 / 3, 2 / 3)
    factor: float = Field(default=0.1, gt=0, le=1)
    warm_up: float = Field(default=0.3, gt=0, lt=1)

    @field_validator("drops")
    @classmethod
    def _shares(cls, drops: tuple[float, ...]) -> tuple[float, ...]:
        if any(not 0 < drop < 1 for drop in drops):
            raise ValueError(f"drops are shares of the training, between 0 and 1; got {list(drops)}")
        return drops


class Transform(Options):
    """Random crops (padding in pixels) and left-right flips of training images."""

    crop: int = Field(default=0, ge=0)
    flip: bool = False
