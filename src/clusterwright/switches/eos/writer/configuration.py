"""Arista EOS: the startup configuration of cluster, aggregation, spine and management switches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterwright.artifact import Artifact
from clusterwright.switches.eos.reader.sections import PATH
from clusterwright.switches.eos.writer.view import eos_switch
from clusterwright.switches.extra_config import with_lines
from clusterwright.text.templates import template

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clusterwright.plan.model import Device, Plan

KIND = "eos"


def applies(plan: Plan, device: Device) -> bool:
    """True for switches with EOS."""
    return device.kind == "switch" and plan.spec.catalogue[device.model].network_os == "eos"


def render(plan: Plan, device: Device) -> Iterator[Artifact]:
    """The startup configuration of one switch."""
    text = template("eos/startup-config.j2").render(sw=eos_switch(plan, device))
    yield Artifact(device=device.name, path=PATH, source=with_lines(plan, device, text).encode(), kind=KIND)
