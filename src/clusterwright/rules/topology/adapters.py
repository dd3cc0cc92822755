"""CW274: adapters without a nameable place in their image."""

from __future__ import annotations

import re
from collections.abc import Iterator

from clusterwright.finding import Severity
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.attachment import attached_nics
from clusterwright.spec.hardware.models import Nic

# systemd.net-naming-scheme(7): Ethernet or InfiniBand by PCI domain and bus, slot, number on the board or MAC address.
_OF_THE_SYSTEM = re.compile(r"(en|ib)(P?\d*p\d|P?\d*s\d|o\d|x[0-9a-f]{12}$)")


@rule("CW274", Severity.WARNING)
def unnamed_interfaces(subject: Subject) -> Iterator[Problem]:
    """Nodes with an image, on fabrics by adapters without a PCI address in their model."""
    spec = subject.spec
    reported: set[str] = set()
    for fabric in spec.fabrics:
        if fabric.is_provided:
            continue  # CW517
        for attach in fabric.attach:
            group = spec.node_group(attach.nodes or "")
            nics = attached_nics(spec, attach)
            if group is None or group.image is None or nics is None or group.name in reported:
                continue
            unplaced = [nic.interface for nic in nics.nics if _lacks_address(nic)]
            if not unplaced:
                continue
            reported.add(group.name)
            yield Problem(
                (*group.path, "model"),
                f"{group.model.name} has no PCI address for {unplaced[0]}, so that the image of {group.name} cannot"
                " name the interface that its networks and checks use.",
                f"State `pci` of each adapter in a model of your own; `clusterwright init --like {group.model.name}`"
                " writes one to correct.",
            )


def _lacks_address(nic: Nic) -> bool:
    """True if an image has to rename an adapter at an unknown address."""
    return nic.pci is None and not _OF_THE_SYSTEM.match(nic.interface)
