"""A platform: everything that is known of one system, in one record. Nobody outside its package knows its words.

Each member is there or is ``Unsupported`` with the reason, so that what asks every platform learns why one has no
answer. What a system *can* be told is data (inventory/systems), which rules and intent read without this.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from clusterwright.artifact import Artifact
from clusterwright.intent.device_kind import Kind, NodeKind, SwitchKind, device_kind
from clusterwright.plan.model import Device, Plan
from clusterwright.platforms.differing import Differing
from clusterwright.platforms.drift import Compare
from clusterwright.platforms.effect import Effects
from clusterwright.platforms.reader import SystemReader, Unsupported

Renderer = Callable[[Plan, Device], Iterator[Artifact]]
SharedFile = tuple[str, bytes, int]
"""Path on the device, content and mode."""


def _nothing(plan: Plan, of: Device | Kind) -> Iterator[Any]:
    return iter(())


class Writer(NamedTuple):
    """What writes files: the ``kind`` of its artifacts, which devices it ``applies`` to, and the functions themselves.

    ``own`` writes what a device has alone, ``shared`` what it has as every node of its kind has it, ``on_switches``
    what it has as every switch of its kind has it.
    """

    kind: str
    applies: Callable[[Plan, Device], bool]
    own: Renderer = _nothing
    shared: Callable[[Plan, NodeKind], Iterable[SharedFile]] = _nothing
    on_switches: Callable[[Plan, SwitchKind], Iterable[SharedFile]] = _nothing

    def render(self, plan: Plan, device: Device) -> Iterator[Artifact]:
        """All that a device has of it."""
        kind = device_kind(plan, device)
        for path, content, mode in self.of_kind(plan, kind) if kind is not None else ():
            yield Artifact(device.name, path, content, self.kind, mode)
        yield from self.own(plan, device)

    def of_kind(self, plan: Plan, kind: Kind) -> Iterable[SharedFile]:
        """What every device of a kind has of it."""
        return self.shared(plan, kind) if isinstance(kind, NodeKind) else self.on_switches(plan, kind)


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
    """A system: its ``reader`` and ``writer``, how what runs is compared (``drift``, by file), where a file says
    something else than the rendered one (``differing``, by file), what a change of a file does while it is applied
    (``effects``), and its ``probes``. ``steps`` names the file of the role device_tree that
    says how the switch is brought onto its changed files (roles/device_tree/systems)."""

    reader: SystemReader
    writer: Writer
    drift: Mapping[str, Compare]
    differing: Mapping[str, Differing]
    effects: Effects | Unsupported
    probes: Probes
    steps: str | Unsupported

    @property
    def system(self) -> str:
        """Its name, as the hardware catalogue's ``network_os`` has it."""
        return self.reader.system
