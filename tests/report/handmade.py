"""A plan written by hand, independent of the planner: racks of two nodes, one rack switch each, pods, an upper layer.

Small enough to count on paper: see ``test_figures.py``.
"""

from __future__ import annotations

from ipaddress import ip_network

from clusterwright.plan.model import Cable, Device, Group, Interface, Plan, Subnet
from clusterwright.spec.ethernet import PfcWatchdog
from clusterwright.spec.fabric import Attach, Fabric, FabricAddressing, Side, Tier, Uplinks
from clusterwright.spec.hardware.cages import PortBlock, PortMode
from clusterwright.spec.hardware.models import Gpus, HardwareModel, Nic, NicGroup, OutOfBandPort
from clusterwright.spec.isolation import Flow, Zone
from clusterwright.spec.model import ClusterSpec, Expectation, Level, NodeGroup
from clusterwright.spec.site import Services, Site
from clusterwright.spec.text.document import Document

BACKEND = "backend"
NODES_PER_RACK = 2
RAILS = 8
SPEED_GBPS = 400
WATCHDOG = PfcWatchdog(200, 1000)


def handmade_plan(
    *, pods: int = 2, racks: int = 2, uplinks: int = 2, upper: int = 3, title: str = "A cluster made by hand"
) -> Plan:
    """Rack switches have one link to each of their pod's ``uplinks`` CTSWs, these one to each of ``upper`` ATSWs."""
    spec = _spec(pods=pods, racks=racks, uplinks=uplinks, upper=upper, title=title)
    groups: list[Group] = []
    nodes: list[Device] = []
    switches: dict[str, list[Device]] = {"rtsw": [], "ctsw": [], "atsw": []}
    cables: list[Cable] = []
    subnets: list[Subnet] = []
    ports: dict[str, int] = {}

    def cable(tier: int, a: Device, a_port: str, side: str, b: Device, *, rail: int | None, medium: str) -> None:
        ports[b.name] = ports.get(b.name, 0) + 1
        number = len(cables)
        base = int(ip_network("fd00:1::/64").network_address)
        lower = Interface(a.name, a_port, BACKEND, side, SPEED_GBPS, rail, base + 2 * number + 1, 127)
        upper_end = Interface(
            b.name, f"eth1/{ports[b.name]}/1", BACKEND, "down", SPEED_GBPS, None, base + 2 * number, 127
        )
        length_m = 3.0 if tier == 0 else 30.0
        cables.append(Cable(BACKEND, tier, lower, upper_end, SPEED_GBPS, medium, length_m))

    atsws = [_switch(f"atsw{i:02d}", "atsw", 2, "", "", (), i, rack="", unit=0) for i in range(upper)]
    for p in range(pods):
        pod = f"p{p:02d}"
        groups.append(Group(pod, "pod", p, "", "train"))
        ctsws = [
            _switch(f"{pod}-ctsw{i:02d}", "ctsw", 1, pod, pod, (pod,), p * uplinks + i, rack="", unit=0)
            for i in range(uplinks)
        ]
        for r in range(racks):
            rack = f"{pod}r{r:03d}"
            groups.append(Group(rack, "rack", p * racks + r, pod, "train"))
            rtsw = _switch(f"{rack}-rtsw", "rtsw", 0, pod, rack, (rack, pod), p * racks + r, rack=rack, unit=17)
            subnets.append(Subnet(BACKEND, "host", rtsw.name, 6, _network(f"fd00:2:{p:x}:{r:x}::/64"), 64, None))
            for n in range(NODES_PER_RACK):
                node = _node(f"{rack}-n{n}", rack, pod, len(nodes), n)
                nodes.append(node)
                for rail in range(RAILS):
                    cable(0, node, f"rail{rail}", "host", rtsw, rail=rail, medium="dac")
            for ctsw in ctsws:
                ports[rtsw.name] = ports.get(rtsw.name, 0) + 1
                cable(1, rtsw, f"eth1/{ports[rtsw.name]}/1", "up", ctsw, rail=None, medium="smf")
            switches["rtsw"].append(rtsw)
        for ctsw in ctsws:
            for atsw in atsws:
                ports[ctsw.name] = ports.get(ctsw.name, 0) + 1
                cable(2, ctsw, f"eth1/{ports[ctsw.name]}/1", "up", atsw, rail=None, medium="smf")
        switches["ctsw"] += ctsws
    switches["atsw"] += atsws
    for kind, prefix in (("loopbacks", "fd00:0::/64"), ("links", "fd00:1::/64"), ("hosts", "fd00:2::/32")):
        network = ip_network(prefix)
        subnets.append(Subnet(BACKEND, kind, "", 6, int(network.network_address), network.prefixlen, None))
    devices = (*nodes, *switches["rtsw"], *switches["ctsw"], *switches["atsw"])
    return Plan(spec, tuple(groups), devices, tuple(cables), tuple(subnets))


def _network(text: str) -> int:
    return int(ip_network(text).network_address)


def _node(name: str, rack: str, pod: str, index: int, position: int) -> Device:
    return Device(
        name=name, planned_name=name, kind="node", role="node", model="hand-node", node_group="train", fabric="",
        tier=-1, rack=rack,
        unit=1.0 + 8 * position, pod=pod, group=rack, groups=(rack, pod), index=index, position=position, plane=None,
        rail=None, rank=index * RAILS, asn=None, loopback=None, guid=None, zones=("train",), image="base",
        state="active",
    )  # fmt: skip


def _switch(
    name: str,
    role: str,
    tier: int,
    pod: str,
    group: str,
    groups: tuple[str, ...],
    index: int,
    *,
    rack: str,
    unit: float,
) -> Device:
    return Device(
        name=name, planned_name=name, kind="switch", role=role, model="hand-switch", node_group="", fabric=BACKEND,
        tier=tier, rack=rack,
        unit=unit, pod=pod, group=group, groups=groups, index=index, position=index, plane=None, rail=None, rank=None,
        asn=65000 + index, loopback=_network("fd00:0::/64") + tier * 10_000 + index + 1, guid=None, zones=(),
        image=None, state="active",
    )  # fmt: skip


def _models() -> dict[str, HardwareModel]:
    cages = tuple(f"eth1/{number}" for number in range(1, 1025))
    block = PortBlock("front", cages, "QSFP-DD", (PortMode("400G", SPEED_GBPS, ("/1",)),))
    switch = HardwareModel(
        name="hand-switch", kind="switch", manufacturer="Hand & Sons", part="HS-1", technology=("ethernet",),
        network_os="eos", platform=None, asic=None, units=4, power_w=1800, weight_kg=20.0, blocks=(block,),
        management=(OutOfBandPort("mgmt0", 1),), nic_groups=(), gpus=None, chips=None, capacity_tb=0.0,
        assumed=("power_w: no data sheet gives it",),
    )  # fmt: skip
    nics = tuple(Nic(f"rail{rail}", f"mlx5_{rail}", None, rail, rail // 4) for rail in range(RAILS))
    node = HardwareModel(
        name="hand-node", kind="node", manufacturer="Hand & Sons", part="HN-8", technology=("ethernet",),
        network_os=None, platform=None, asic=None, units=8, power_w=10_000, weight_kg=130.0, blocks=(),
        management=(OutOfBandPort("bmc", 1),), nic_groups=(NicGroup("backend", SPEED_GBPS, nics),),
        gpus=Gpus(8, "H100", 80), chips=None, capacity_tb=0.0, assumed=(),
    )  # fmt: skip
    return {model.name: model for model in (switch, node)}


def _spec(*, pods: int, racks: int, uplinks: int, upper: int, title: str) -> ClusterSpec:
    models = _models()
    side = Side((), None, "smf", 30.0, ())
    low, high = (Uplinks(links, SPEED_GBPS, side, (), False, "round-robin", None, None) for links in (uplinks, upper))
    tiers = (
        Tier("rtsw", models["hand-switch"], "rack", "all", 1, side, low, None, ()),
        Tier("ctsw", models["hand-switch"], "pod", "all", uplinks, side, high, None, ()),
        Tier("atsw", models["hand-switch"], "cluster", "all", upper, side, None, None, ()),
    )
    levels = (Level("rack", NODES_PER_RACK, "r", "pod", ()), Level("pod", racks, "p", "cluster", ()))
    nodes = NodeGroup(
        "train", "node", models["hand-node"], pods * racks * NODES_PER_RACK, (), levels, "train", "train", None, ()
    )
    addressing = FabricAddressing(
        ip_network("fd00:0::/64"), ip_network("fd00:1::/64"), ip_network("fd00:2::/32"), 64, "point-to-point", ()
    )
    fabric = Fabric(
        BACKEND,
        "roce",
        (Attach("train", "backend", None, ()),),
        tiers,
        9000,
        addressing,
        None,
        (),
        None,
        (),
        WATCHDOG,
        None,
        (),
    )
    return ClusterSpec(
        name="handmade",
        title=title,
        site=Site(
            domain="example.net",
            rack_units=42,
            rack_power_w=None,
            floor=None,
            dns=(),
            ntp=(),
            syslog=(),
            management=Services((), (), ()),
            operators=(),
            snmp=None,
            aaa=None,
            telemetry=None,
            syslog_tls=None,
            directory=None,
            path=(),
        ),
        node_groups=(nodes,),
        fabrics=(fabric,),
        mounts=(),
        zones=(
            Zone("train", "compute", True, ("train",), (BACKEND,), (), ()),
            Zone("owner", "production", False, (), (), (ip_network("10.0.0.0/8"),), ()),
        ),
        flows=(Flow("login", "owner", "train", "tcp", ((22, 22),), "administration", None, None, ()),),
        borders=(),
        promises=(),
        images=(),
        boot=None,
        nccl_profiles=(),
        schedulers=(),
        jobs=(),
        exceptions=(),
        extra_config=(),
        expectations=(
            Expectation(
                "gpus", float(pods * racks * NODES_PER_RACK * RAILS), None, None, 0.0, "counted by hand", None, ()
            ),
            Expectation("racks", 5.0, None, None, 0.0, None, "wrong on purpose", ()),
        ),
        catalogue=models,
        document=Document("handmade.yaml", {}, {}, {}, {}, ("handmade.yaml",)),
    )
