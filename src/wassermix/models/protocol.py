"""What is asked of a model: a factory that builds it for some samples and classes.

A new architecture is a class or function in a file of its own and a line in the registry (or an entry point,
or ``package.module:factory`` in a config).
"""

from __future__ import annotations

from typing import Any, Protocol

from torch import nn

__all__ = ["ModelFactory"]


class ModelFactory(Protocol):
    """From the data's shape and the options of a config to a network.

    The factory gets those of these keyword arguments that its signature names; all its others are options,
    ``model.KEY`` in a config:

    - ``shape``: of one sample, ``(C, H, W)`` or ``(d,)``;
    - ``num_classes``: how many logits are wanted;
    - ``mean``, ``std``: per channel or feature, for the first layer
      (:class:`~wassermix.models.normalize.Normalize`).

    It returns a module that takes samples ``(n, *shape)`` on their data scale to logits ``(n, num_classes)``:
    normalisation is inside, so that noise, attacks and radii live on the data scale. Weights may be drawn
    from torch's global stream, which is seeded for the call. Stages that a user may name
    (``augment=manifold``) are submodules whose output is one tensor with the batch first.
    """

    def __call__(self, *arguments: Any, **options: Any) -> nn.Module:
        """The network; a factory with one positional argument gets the number of classes."""
