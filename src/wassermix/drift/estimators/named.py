"""The plans that have a name: balanced ones in one space, and those that let the classes' shares change."""

from __future__ import annotations

from wassermix.drift.estimators.plan import CarriedLabels

__all__ = ["Joint", "PlanFeature", "PlanInput"]


class PlanInput(CarriedLabels):
    """The exact balanced plan in the components of the inputs, corrected."""

    def __init__(self, *, block: int = 500, folds: int = 2) -> None:
        super().__init__(block=block, folds=folds)


class PlanFeature(CarriedLabels):
    """The exact balanced plan in the components of the last hidden layer, not corrected."""

    def __init__(self, *, block: int = 500, folds: int = 2) -> None:
        super().__init__(input=0.0, feature=1.0, corrected=False, block=block, folds=folds)


class Joint(CarriedLabels):
    """One relaxed plan under a cost that joins inputs, features and outputs: the default."""

    def __init__(
        self,
        *,
        input: float = 1.0,
        feature: float = 0.3,
        output: float = 0.0,
        relax: float = 0.1,
        move: bool = True,
        entropy: float = 0.02,
        block: int = 500,
        folds: int = 2,
    ) -> None:
        super().__init__(
            input=input, feature=feature, output=output, relax=relax, move=move, entropy=entropy, block=block,
            folds=folds,
        )  # fmt: skip
