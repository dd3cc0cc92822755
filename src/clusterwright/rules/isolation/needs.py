"""CW505, CW609, CW614, CW621 and CW622 to CW626: what machines need of each other, and no flow lets through.

What they need is one table (``intent/needs``); a rule here is a part of it, and lists nothing itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from clusterwright.finding import Severity
from clusterwright.intent.needs import booting, hosts, jobs, switches
from clusterwright.intent.needs.need import ANY, Need, Party, meets
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.isolation import BOOT
from clusterwright.spec.model import ClusterSpec

_TABLE = " The whole table of what machines need of each other is in the report's chapter on zones and flows."


@rule(
    code="CW505",
    severity=Severity.ERROR,
    title="mount without a flow",
    why="Default deny stops the mount at boot, and the node never becomes ready.",
    mend="Add a flow from the nodes' zone to the storage's zone.",
    docs="An NFS mount needs a flow of tcp to port 2049, or to the one that its `port=` option names; NFSv3 asks the"
    " portmapper (111) and mountd (20048, or `mountport=`) as well. Lustre (`type: lustre`) connects to TCP 988 and"
    " 1018 to 1023 both ways, WekaFS (`type: wekafs`) to TCP and UDP 14000 to 14100 both ways. Other file systems need"
    " any flow to the zone of the storage. The zones of a node group are the one that its `zone`"
    " names and those that list it under `nodes`." + _TABLE,
)
def mount_without_flow(subject: Subject) -> Iterator[Problem]:
    """Mounts whose nodes have no flow to the storage they mount, or none that carries NFS."""
    yield from _unmet(subject.spec, hosts.mounts(subject.spec))


@rule(
    code="CW609",
    severity=Severity.ERROR,
    title="server that nodes are told to use and may not reach",
    why="Nodes drop what no flow allows: names do not resolve, clocks drift and logs are lost, in silence.",
    mend="Add a flow from the nodes' zone to the server, or take the server away.",
    docs="Name servers are asked on UDP 53, time servers on UDP 123, log servers on TCP 6514 (RFC 5425). The servers of"
    " `site` have to lie in a zone that a flow of this kind leads to." + _TABLE,
)
def unreachable_service(subject: Subject) -> Iterator[Problem]:
    """The site's servers against the flows that leave zones with nodes that have an image."""
    yield from _unmet(subject.spec, hosts.site(subject.spec))


@rule(
    code="CW614",
    severity=Severity.ERROR,
    title="ephemeral ports that the flows do not cover",
    why="NCCL and PyTorch listen on ports that the kernel chooses; ranks that got one outside the flow never meet.",
    mend="Let the flow cover the range, or set net.ipv4.ip_local_port_range inside it.",
    docs="The kernel chooses from net.ipv4.ip_local_port_range, 32768 to 60999 unless an image says otherwise. A TCP"
    " flow inside the zone of the nodes has to cover all of it." + _TABLE,
)
def bootstrap_ports(subject: Subject) -> Iterator[Problem]:
    """The range of ports that listeners of a job get, against the flows inside their zone."""
    spec = subject.spec
    for image in spec.images:
        path, ports = jobs.listening_ports(image)
        if ports is None:
            message = f'"{spec.document.at(path)}" is not two ports.'
            yield Problem(path, message, 'Write the first and the last one: "32768 60999".')
    yield from _unmet(spec, (need for need in jobs.jobs(spec) if need.topic == jobs.LISTENERS))


@rule(
    code="CW621",
    severity=Severity.ERROR,
    title="execution node that the controller may not reach",
    why="Packet filters let in what a flow names; without one the mesh never comes up.",
    mend="Add a flow over TCP from the controller's zone to that of its execution nodes, to the port of the mesh.",
    docs="Only the controller dials, to `execution.port` (27199 when absent). Between machines of one zone a flow from"
    " the zone to itself is needed, as for everything else. Execution nodes reach their hosts by the flow over port 22"
    " that the controller would need in their place ([CW625](CW625.md))." + _TABLE,
)
def execution_flow(subject: Subject) -> Iterator[Problem]:
    """Execution nodes to which no flow leads from the controller."""
    yield from _unmet(subject.spec, hosts.mesh(subject.spec, _group_of(subject)))


@rule(
    code="CW622",
    severity=Severity.ERROR,
    title="boot server that nodes may not ask",
    why="Rack switches drop what no flow allows: a machine that is powered on gets no address, no iPXE or no image.",
    mend="Add flows from the nodes' zone to the boot servers' zone of kind `boot`.",
    docs="Firmware gets an address by DHCP (UDP 67, over IPv6 547), iPXE by TFTP (UDP 69), and scripts, kernels and"
    " images by HTTP (TCP 80), since it trusts no authority of the site. An installer (`delivery: disk`) fetches"
    " packages from where `repositories` say, by names that it has to resolve. Where there are zones of kind `boot`,"
    " the flows have to lead to one: the running system has no other." + _TABLE,
)
def boot_flows(subject: Subject) -> Iterator[Problem]:
    """What machines ask that start or install themselves, against the flows to zones of kind boot."""
    yield from _unmet(subject.spec, booting.booting(subject.spec))


@rule(
    code="CW623",
    severity=Severity.ERROR,
    title="scheduler whose daemons may not reach each other",
    why="Nodes stay down, or steps of a job wait for answers that a filter drops until they time out.",
    mend="Add the flow, both ways where it asks for that.",
    docs="slurmd registers with slurmctld (TCP 6817), which starts jobs by slurmd (TCP 6818). `srun` within a job"
    " starts its steps on the other nodes itself, and slurmds pass messages on to each other: 6818 between nodes too."
    " srun listens for its tasks on ports of `SrunPortRange`, 61000 to 63999 in what is rendered. Where people start"
    " srun on machines outside the nodes' zone, its ports there are theirs to open; so is what slurmctld tells an srun"
    " on a node of nodes that failed. With Kueue the kubelet asks Kubernetes' API server (TCP 6443), which asks it (TCP"
    " 10250)." + _TABLE,
)
def scheduler_flows(subject: Subject) -> Iterator[Problem]:
    """What Slurm's daemons and commands and the kubelet need, against the flows."""
    yield from _unmet(subject.spec, (*jobs.slurm(subject.spec), *jobs.kueue(subject.spec)))


@rule(
    code="CW624",
    severity=Severity.ERROR,
    title="ranks of a job that may not meet",
    why="The first collective of a job over several nodes waits until it times out.",
    mend="Add the flow inside the nodes' zone.",
    docs="PyTorch's ranks meet at MASTER_PORT of the first node, TCP 29500 (torchrun's own),"
    " and RoCE is UDP 4791. Ports that the kernel chooses are [CW614](CW614.md)'s." + _TABLE,
)
def job_flows(subject: Subject) -> Iterator[Problem]:
    """PyTorch's rendezvous and RoCE, against the flows inside the zone of the nodes."""
    yield from _unmet(subject.spec, (need for need in jobs.jobs(subject.spec) if need.topic != jobs.LISTENERS))


@rule(
    code="CW625",
    severity=Severity.ERROR,
    title="machine that nobody may manage",
    why="It keeps the files that it has: neither a deployment nor whoever has to mend it gets in.",
    mend="Add the flow from the zone of those who deploy and watch.",
    docs="Machines with an image are given their files over SSH (TCP 22), from the zone of the execution nodes where"
    " `execution` names them. Management ports are reached over SSH and HTTPS (TCP 443: Redfish, eAPI), by SNMP (UDP"
    " 161) and gNMI where `site` has them, and reach the servers of `site.management` and `site.aaa`." + _TABLE,
)
def management_flows(subject: Subject) -> Iterator[Problem]:
    """SSH to machines with an image, and what management ports ask and are asked, against the flows."""
    spec = subject.spec
    yield from _unmet(spec, (*hosts.deployment(spec, _group_of(subject)), *switches.switches(spec)))


@rule(
    code="CW626",
    severity=Severity.ERROR,
    title="secret that nodes may not fetch",
    why="The node waits for its host key or its ticket, and is of no use until somebody looks.",
    mend="Add a flow from the nodes' zone to that of the server.",
    docs="`host_keys` are read from a store that speaks Vault's protocol (TCP 8200), tickets of Kerberos come from"
    " `encryption.kerberos.kdcs` (TCP 88). Servers that are named, not numbered, may lie in any zone." + _TABLE,
)
def secret_flows(subject: Subject) -> Iterator[Problem]:
    """Where host keys and tickets come from, against the flows."""
    yield from _unmet(subject.spec, hosts.secrets(subject.spec))


def _group_of(subject: Subject) -> Mapping[str, str]:
    groups = subject.spec.node_groups
    return {node.name: groups[node.node_group].name for node in subject.skeleton.layout.nodes}


def _unmet(spec: ClusterSpec, needs: Iterable[Need]) -> Iterator[Problem]:
    """The needs that no flow meets, each once; nothing of groups that CW507 finds cut off altogether."""
    entered = {flow.target for flow in spec.flows}
    told: set[tuple[object, ...]] = set()
    for need in needs:
        if _is_cut_off(need.who, None) or _is_cut_off(need.whom, entered):
            continue
        if any(meets(spec, need, flow) for flow in spec.flows):
            continue
        row = (need.path, need.who.zones, need.whom.zones or need.whom.name, need.port)
        if row not in told:
            told.add(row)
            yield Problem(need.path, *_says(spec, need))


def _is_cut_off(party: Party, entered: set[str] | None) -> bool:
    if party.group is None or party.group.image is None or party.zones is None:
        return False
    return not party.zones or (entered is not None and not entered.intersection(party.zones))


def _says(spec: ClusterSpec, need: Need) -> tuple[str, str]:
    lost = next((party for party in (need.who, need.whom) if party.zones == ()), None)
    if lost is not None:
        where = "no zone" if lost.fabric is None else f"no zone on {lost.fabric}"
        message = f"{lost.name} is in {where}, so that no flow can allow {need.port}: {need.why}."
        return message, "Give it a zone, and what is needed a flow."
    source, target = _zone(spec, need.who, booting=False), _zone(spec, need.whom, booting=need.booting)
    whom = target if target is not None and need.whom.group is not None else need.whom.name
    message = f"No flow leads from {source or need.who.name} to {whom} over {need.port}: {need.why}."
    ports = need.low if need.low == need.high else f'"{need.low}-{need.high}"'
    what = "" if need.protocol == ANY else f", protocol: {need.protocol}, ports: [{ports}]"
    ends = f"from: {source or 'ZONE'}, to: {target or 'ZONE'}"
    where = "" if source and target else f", where ZONE is that of {need.whom.name if source else need.who.name}"
    return message, f"Add a flow {{{ends}{what}}}{where}."


def _zone(spec: ClusterSpec, party: Party, *, booting: bool) -> str | None:
    """The zone to name: the first that a party is in that is of kind boot, for what boots, or of another kind."""
    names = party.zones or ()
    fitting = [name for name in names if (zone := spec.zone(name)) and (zone.kind == BOOT) is booting]
    return next(iter((*fitting, *names)), None)
