"""CW505, CW609, CW614, CW621 and CW622 to CW626: traffic between machines without a flow permitting it.

One table lists the required traffic (``intent/needs``); each rule checks a part of it. CW559 checks the nodes' client
for external storage, CW429 its support for the nodes' IP version.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain

from clusterwright.finding import Amendment, Severity
from clusterwright.intent.needs import booting, hosts, jobs, switches
from clusterwright.intent.needs.file_systems import FILE_SYSTEMS
from clusterwright.intent.needs.need import ANY, Need, Party, meets
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.image import Image
from clusterwright.spec.ipoib import uses_rdma
from clusterwright.spec.isolation import BOOT, INTERNET
from clusterwright.spec.model import ClusterSpec


@rule("CW505", Severity.ERROR)
def mount_without_flow(subject: Subject) -> Iterator[Problem]:
    """Mounts without a flow from their nodes to the storage, or without one for NFS."""
    yield from _unmet(subject.spec, hosts.mounts(subject.spec))


@rule("CW609", Severity.ERROR)
def unreachable_service(subject: Subject) -> Iterator[Problem]:
    """Traffic from nodes with an image to the site's servers, compared with the flows."""
    yield from _unmet(subject.spec, hosts.site(subject.spec))


@rule("CW614", Severity.ERROR)
def bootstrap_ports(subject: Subject) -> Iterator[Problem]:
    """The port range of a job's listeners, compared with the flows inside their zone."""
    spec = subject.spec
    for image in spec.images:
        path, ports = jobs.listening_ports(image)
        if ports is None:
            message = f'"{spec.document.at(path)}" is not two ports.'
            yield Problem(path, message, 'Write the first and the last one: "32768 60999".')
    yield from _unmet(spec, (need for need in jobs.jobs(spec) if need.topic == jobs.LISTENERS))


@rule("CW621", Severity.ERROR)
def execution_flow(subject: Subject) -> Iterator[Problem]:
    """Execution nodes without a flow from the controller."""
    yield from _unmet(subject.spec, hosts.mesh(subject.spec, _group_of(subject)))


@rule("CW622", Severity.ERROR)
def boot_flows(subject: Subject) -> Iterator[Problem]:
    """Traffic of booting and installing machines, compared with the flows to zones of kind boot."""
    yield from _unmet(subject.spec, booting.booting(subject.spec))


@rule("CW623", Severity.ERROR)
def scheduler_flows(subject: Subject) -> Iterator[Problem]:
    """Traffic of Slurm's daemons and commands and of the kubelet, compared with the flows."""
    yield from _unmet(subject.spec, (*jobs.slurm(subject.spec), *jobs.kueue(subject.spec)))


@rule("CW624", Severity.ERROR)
def job_flows(subject: Subject) -> Iterator[Problem]:
    """PyTorch's rendezvous and RoCE, compared with the flows inside the nodes' zone."""
    yield from _unmet(subject.spec, (need for need in jobs.jobs(subject.spec) if need.topic != jobs.LISTENERS))


@rule("CW625", Severity.ERROR)
def management_flows(subject: Subject) -> Iterator[Problem]:
    """SSH to machines with an image, and traffic of management ports, compared with the flows."""
    spec = subject.spec
    yield from _unmet(
        spec, (*hosts.deployment(spec, _group_of(subject)), *hosts.metrics(spec), *switches.switches(spec))
    )


@rule("CW626", Severity.ERROR)
def secret_flows(subject: Subject) -> Iterator[Problem]:
    """Traffic to the sources of host keys and tickets, compared with the flows."""
    yield from _unmet(subject.spec, hosts.secrets(subject.spec))


def _group_of(subject: Subject) -> Mapping[str, str]:
    groups = subject.spec.node_groups
    return {node.name: groups[node.node_group].name for node in subject.skeleton.layout.nodes}


def _unmet(spec: ClusterSpec, needs: Iterable[Need]) -> Iterator[Problem]:
    """The needs without a flow, each once. CW507 reports groups that are entirely cut off."""
    entered = {flow.target for flow in spec.flows}
    reported: set[tuple[object, ...]] = set()
    for need in needs:
        if _is_cut_off(need.who, None) or _is_cut_off(need.whom, entered):
            continue
        if any(meets(spec, need, flow) for flow in spec.flows):
            continue
        row = (need.path, need.who.zones, need.whom.zones or need.whom.name, need.port)
        if row not in reported:
            reported.add(row)
            message, hint = _says(spec, need)
            flow = _flow_that_meets(spec, need)
            amendment = None if flow is None else Amendment.ADD_FLOW
            yield Problem(need.path, message, hint, amendment=amendment, instead="" if flow is None else flow)


def _is_cut_off(party: Party, entered: set[str] | None) -> bool:
    if party.group is None or party.group.image is None or party.zones is None:
        return False
    return not party.zones or (entered is not None and not entered.intersection(party.zones))


def _says(spec: ClusterSpec, need: Need) -> tuple[str, str]:
    """The message and the hint of a need without a flow."""
    for party in (need.who, need.whom):
        if party.zones == ():
            place = "no zone" if party.fabric is None else f"no zone on {party.fabric}"
            message = f"{party.name} is in {place}, so that no flow can allow {need.port}: {need.why}."
            return message, "Give it a zone, and add a flow for this connection."
    source, target = _zone(spec, need.who, booting=False), _zone(spec, need.whom, booting=need.booting)
    server = target if target is not None and need.whom.group is not None else need.whom.name
    message = f"No flow leads from {source or need.who.name} to {server} over {need.port}: {need.why}."
    keys = f"from: {source or 'ZONE'}, to: {target or 'ZONE'}"
    if need.protocol != ANY:
        ports = need.low if need.low == need.high else f'"{need.low}-{need.high}"'
        keys += f", protocol: {need.protocol}, ports: [{ports}]"
    explanation = ""
    if not source or not target:
        unknown_party = need.whom if source else need.who
        explanation = f", where ZONE is that of {unknown_party.name}"
    return message, f"Add a flow {{{keys}}}{explanation}."


def _zone(spec: ClusterSpec, party: Party, *, booting: bool) -> str | None:
    """The zone for the hint: the first of kind boot for booting, else the first of another kind, else the first."""
    zones = _fitting_zones(spec, party, booting=booting) or party.zones
    return zones[0] if zones else None


def _fitting_zones(spec: ClusterSpec, party: Party, *, booting: bool) -> list[str]:
    names: list[str] = []
    for name in party.zones or ():
        zone = spec.zone(name)
        if zone is not None and (zone.kind == BOOT) is booting:
            names.append(name)
    return names


def _flow_that_meets(spec: ClusterSpec, need: Need) -> str | None:
    """The flow of the hint as JSON, with a name and a reason; None if the hint leaves a choice open.

    A choice remains for `any` protocol and for a party in several zones. A flow with the internet is never proposed.
    """
    sources = _fitting_zones(spec, need.who, booting=False)
    targets = _fitting_zones(spec, need.whom, booting=need.booting)
    if need.protocol == ANY or len(sources) != 1 or len(targets) != 1:
        return None
    zones = [spec.zone(name) for name in (*sources, *targets)]
    if any(zone is not None and zone.kind == INTERNET for zone in zones):
        return None
    flow = {
        "name": _free_name(spec, f"{sources[0]}-{targets[0]}-{need.protocol}-{need.low}"),
        "from": sources[0],
        "to": targets[0],
        "protocol": need.protocol,
        "ports": [need.low if need.low == need.high else f"{need.low}-{need.high}"],
        "reason": f"{need.unit}: {need.why}",
    }
    return json.dumps(flow, ensure_ascii=False)


def _free_name(spec: ClusterSpec, name: str) -> str:
    taken = {flow.name for flow in spec.flows}
    free_name, number = name, 2
    while free_name in taken:
        free_name = f"{name}-{number}"
        number += 1
    return free_name


@rule("CW559", Severity.ERROR)
def client_of_storage(subject: Subject) -> Iterator[Problem]:
    """Mounts of a file system outside the kernel on nodes without its client in their image."""
    spec = subject.spec
    for mount in spec.mounts:
        file_system = FILE_SYSTEMS.get(mount.type)
        if file_system is None:
            continue
        client = f"{file_system.unit} among what it enables"
        if file_system.packages:
            client = f"a package {file_system.packages[0]}"
        hint = f"Give it {client}, which {file_system.vendor} give out."
        for index, name in enumerate(mount.nodes):
            group = spec.node_group(name)
            image = spec.image(group.image or "") if group is not None else None
            if image is None or _brings(image, file_system.packages, file_system.unit):
                continue
            message = f"{mount.mountpoint} is {mount.type}, and image {image.name} of {name} has no client of it."
            yield Problem((*mount.path, "nodes", index), message, hint)


def _brings(image: Image, packages: tuple[str, ...], unit: str | None) -> bool:
    if unit is not None and unit in image.enabled_units:
        return True
    if not packages:
        return False
    image_packages = chain(image.packages, chain.from_iterable(driver.packages for driver in image.drivers))
    return any(package.name.startswith(packages) for package in image_packages)


@rule("CW429", Severity.WARNING)
def lustre_over_ipv6(subject: Subject) -> Iterator[Problem]:
    """Mounts of Lustre over TCP on nodes reaching their storage over IPv6 alone."""
    spec = subject.spec
    for mount in spec.mounts:
        if mount.type != "lustre" or mount.system is None or uses_rdma(mount):
            continue
        for index, name in enumerate(mount.nodes):
            if _versions_between(spec, name, mount.system) == {6}:
                message = f"{mount.mountpoint} is Lustre over TCP, and {name} reaches {mount.system} over IPv6 alone."
                hint = "Use Lustre 2.16, the first that supports IPv6, at both ends, or IPv4 addresses between them."
                yield Problem((*mount.path, "nodes", index), message, hint)


def _versions_between(spec: ClusterSpec, nodes: str, storage: str) -> set[int]:
    """The IP versions of the fabrics with both node groups attached; without the management network."""
    versions: set[int] = set()
    for fabric in spec.fabrics:
        attached = {attach.nodes for attach in fabric.attach}
        if fabric.addressing is not None and {nodes, storage} <= attached:
            versions.add(fabric.addressing.hosts.version)
    return versions
