"""Writers of devices' files: the devices covered, and the files of each, or of a kind of device."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from clusterwright.artifact import Artifact
from clusterwright.intent.device_kind import Kind, NodeKind, SwitchKind, device_kind
from clusterwright.plan.model import Device, Plan

Renderer = Callable[[Plan, Device], Iterator[Artifact]]
SharedFile = tuple[str, bytes, int]
"""Path on the device, content and mode."""


def _nothing(plan: Plan, of: Device | Kind) -> Iterator[Any]:
    return iter(())


class Writer(NamedTuple):
    """Functions that write files of one ``kind``; ``applies`` tells whether a device has any.

    ``for_device`` writes the files unique to a device, ``shared`` those of every node of a kind, ``on_switches`` those
    of every switch of a kind.
    """

    kind: str
    applies: Callable[[Plan, Device], bool]
    for_device: Renderer = _nothing
    shared: Callable[[Plan, NodeKind], Iterable[SharedFile]] = _nothing
    on_switches: Callable[[Plan, SwitchKind], Iterable[SharedFile]] = _nothing

    def render(self, plan: Plan, device: Device) -> Iterator[Artifact]:
        """All files of a device by this writer."""
        kind = device_kind(plan, device)
        if kind is not None:
            for path, content, mode in self.of_kind(plan, kind):
                yield Artifact(device=device.name, path=path, source=content, kind=self.kind, mode=mode)
        yield from self.for_device(plan, device)

    def of_kind(self, plan: Plan, kind: Kind) -> Iterable[SharedFile]:
        """The files of every device of a kind."""
        return self.shared(plan, kind) if isinstance(kind, NodeKind) else self.on_switches(plan, kind)
