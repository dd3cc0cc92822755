"""Acme OS as a switch system: its writer, its reader, and what it has no answer to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from acme.reader import KIND, PATH, READER
from clusterwright.artifact import Artifact
from clusterwright.device_files.differing import by_lines
from clusterwright.device_files.line_drift import compare_lines
from clusterwright.device_files.writer import Writer
from clusterwright.facts.reader import Unsupported
from clusterwright.intent.switch import site_of_system
from clusterwright.intent.switch_links import links_of, management_port
from clusterwright.plan.model import Device, Plan
from clusterwright.spec.site import Site
from clusterwright.switches.switch_system import Probes, SwitchSystem
from clusterwright.text.templates import template


@dataclass(frozen=True, slots=True)
class AcmeSwitch:
    """What the template shows of one switch."""

    name: str
    address: str | None
    site: Site


def applies(plan: Plan, device: Device) -> bool:
    """True for switches with Acme OS."""
    return device.kind == "switch" and plan.spec.catalogue[device.model].network_os == "acme-os"


def render(plan: Plan, device: Device) -> Iterator[Artifact]:
    """The configuration of one switch."""
    address = None
    for link in links_of(plan, device):
        if link.port.side == "management":
            address = management_port(plan, link).address
    switch = AcmeSwitch(name=device.name, address=address, site=site_of_system(plan, "acme-os"))
    yield Artifact(device.name, PATH, template("acme/switch.j2").render(switch=switch).encode(), KIND)


ACME_OS = SwitchSystem(
    reader=READER,
    writer=Writer(KIND, applies, render),
    drift={PATH: compare_lines},
    differing={PATH: by_lines(compare_lines)},
    effects=Unsupported("nothing here changes forwarding"),
    probes=Probes(
        neighbours=Unsupported("ibnetdiscover says what its ports are cabled to"),
        counters=Unsupported("ibqueryerrors reads its counters"),
        sessions=Unsupported("it speaks no BGP"),
    ),
    steps=Unsupported("people load the file"),
)
