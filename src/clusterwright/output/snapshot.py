"""Rendered switches in Batfish's layout: ``configs``, ``sonic_configs`` and the cables between them.

Batfish knows EOS and SONiC, not FBOSS. It needs FRR's file beside each config_db.json, and cannot derive links from
IPv6 addresses, so the cables are listed (Batfish's documentation, "Packaging snapshots").
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from clusterwright.artifact import Artifact
from clusterwright.output.rendering import Rendering
from clusterwright.switches.eos.reader.sections import PATH as EOS
from clusterwright.switches.eos.writer import configuration as eos
from clusterwright.switches.sonic.writer import configuration as sonic
from clusterwright.switches.sonic.writer.frr import frr_conf

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from clusterwright.plan.model import Device, Interface, Plan

KIND = "snapshot"


def applies(plan: Plan, device: Device) -> bool:
    """True for switches with files for Batfish."""
    return eos.applies(plan, device) or sonic.applies(plan, device)


def snapshot(plan: Plan, names: Iterable[str]) -> Iterator[Artifact]:
    """The files of a snapshot of the devices ``names``; an artifact's ``device`` is the folder in the snapshot.

    Devices of other systems are left out, and their cables too. Raises KeyError for an unknown name.
    """
    supported = {name for name in names if applies(plan, plan.by_name[name])}
    for name in sorted(supported):
        if eos.applies(plan, plan.by_name[name]):
            yield Artifact(device="configs", path=f"{name}.cfg", source=_content(plan, name, EOS), kind=KIND)
            continue
        content = _content(plan, name, sonic.PATH)
        yield Artifact(device="sonic_configs", path=f"{name}/config_db.json", source=content, kind=KIND)
        yield Artifact(device="sonic_configs", path=f"{name}/frr.conf", source=frr_conf(json.loads(content)), kind=KIND)
    cables = [cable for cable in plan.cables if cable.a.device in supported and cable.b.device in supported]
    edges = [{"node1": _end(cable.a), "node2": _end(cable.b)} for cable in cables]
    yield Artifact(
        device="batfish",
        path="layer1_topology.json",
        source=json.dumps({"edges": edges}, indent=1).encode() + b"\n",
        kind=KIND,
    )


def _content(plan: Plan, name: str, path: str) -> bytes:
    return next(artifact.content for artifact in Rendering(plan).of_device(name) if artifact.path == path)


def _end(interface: Interface) -> dict[str, str]:
    return {"hostname": interface.device, "interfaceName": interface.port}
