"""Which renderers there are, in the order in which a device's files are made."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from clusterwright.artifact import Artifact
from clusterwright.plan.model import Device, Plan
from clusterwright.render import eos, fboss

Renderer = Callable[[Plan, Device], Iterator[Artifact]]


class Entry(NamedTuple):
    """A renderer: the ``kind`` of its artifacts, which devices it ``applies`` to, and the function itself."""

    kind: str
    applies: Callable[[Plan, Device], bool]
    render: Renderer


RENDERERS: tuple[Entry, ...] = (
    Entry(eos.KIND, eos.applies, eos.render),
    Entry(fboss.KIND, fboss.applies, fboss.render),
)
