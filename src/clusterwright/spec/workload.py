"""Jobs: the axes of parallelism of a training run, and the figures that determine their traffic."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Annotated, Any

from clusterwright.spec.structuring import By, Key, Structuring
from clusterwright.spec.text.document import Path

# In Llama 3's order of ranks (arXiv 2407.21783, 3.3.2): the most communication first.
AXES = ("tensor", "context", "pipeline", "data", "replicas")


@dataclass(frozen=True, slots=True)
class ModelFigures:
    """A transformer and one step of its training.

    ``kv_hidden`` is the width of the keys, and of the values; ``microbatch`` counts sequences, ``microbatches`` those
    of one data-parallel group in a step."""

    parameters: Annotated[float, By(lambda _, value, __: float(value))]
    layers: int
    hidden: int
    kv_hidden: int
    sequence: int
    microbatch: int
    microbatches: int
    activation_bytes: int
    parameter_bytes: int
    gradient_bytes: int

    @classmethod
    def read(cls, typing: Structuring, data: Mapping[str, Any], path: Path) -> ModelFigures:
        """Read the figures; by default keys and values are as wide as the hidden state."""
        return typing.fields(cls, {"kv_hidden": data["hidden"], **data}, path)


def _sizes(_: Structuring, axes: Mapping[str, int], __: Path) -> Mapping[str, int]:
    return {axis: axes.get(axis, 1) for axis in AXES}


@dataclass(frozen=True, slots=True)
class Job:
    """A job to place on nodes of one group.

    ``sizes`` has the ranks along each of AXES, ``order`` the axes in the framework's order of ranks, the fastest first.
    ``data_parallel`` is ``fsdp`` or ``ddp``; ``virtual_stages`` above 1 is an interleaved pipeline. The traffic follows
    from ``model``, or is set in ``bytes_per_step``: bytes sent by each rank along an axis.
    """

    name: str
    nodes: str
    sizes: Annotated[Mapping[str, int], Key("axes"), By(_sizes)]
    order: tuple[str, ...]
    data_parallel: str
    reshard_after_forward: bool
    virtual_stages: int
    model: ModelFigures | None
    bytes_per_step: Mapping[str, float]
    path: Path

    @property
    def ranks(self) -> int:
        """The number of ranks."""
        return prod(self.sizes.values())
