"""A platform: everything that is known of one system, in one record. Nobody outside its package knows its words.

Each member is there or is ``Unsupported`` with the reason, so that what asks every platform learns why one has no
answer. What a system *can* be told is data (inventory/systems), which rules and intent read without this.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from clusterwright.artifact import Artifact
from clusterwright.plan.model import Device, Plan
from clusterwright.platforms.drift import Compare
from clusterwright.platforms.effect import Effects
from clusterwright.platforms.reader import SystemReader, Unsupported

Renderer = Callable[[Plan, Device], Iterator[Artifact]]


class Writer(NamedTuple):
    """What writes files: the ``kind`` of its artifacts, which devices it ``applies`` to, and the function itself."""

    kind: str
    applies: Callable[[Plan, Device], bool]
    render: Renderer


@dataclass(frozen=True, slots=True)
class SessionsProbe:
    """How a switch is asked for its BGP sessions: the ``command``, by the switch's own API where ``is_eapi``.

    ``states`` reads the JSON that it answers: addresses as Python writes them, states as RFC 4271 does. Raises
    ValueError, LookupError, TypeError or AttributeError for another answer.
    """

    command: tuple[str, ...]
    states: Callable[[Any], Iterator[tuple[str, str]]]
    is_eapi: bool = False


@dataclass(frozen=True, slots=True)
class Probes:
    """What a switch is asked while it runs: commands for people on bring-up night, and what the gates read."""

    neighbours: tuple[str, ...] | Unsupported
    counters: tuple[str, ...] | Unsupported
    sessions: SessionsProbe | Unsupported


@dataclass(frozen=True, slots=True)
class Platform:
    """A system: its ``reader`` and ``writer``, how what runs is compared (``drift``, by file), what a change of a file
    does while it is applied (``effects``), and its ``probes``. ``steps`` names the file of the role device_tree that
    says how the switch is brought onto its changed files (roles/device_tree/systems)."""

    reader: SystemReader
    writer: Writer
    drift: Mapping[str, Compare]
    effects: Effects | Unsupported
    probes: Probes
    steps: str | Unsupported

    @property
    def system(self) -> str:
        """Its name, as the hardware catalogue's ``network_os`` has it."""
        return self.reader.system
