"""Who may talk to whom in a generated cluster: zones, flows, partitions, mounts."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from tests.generated.machines import chance

Data = dict[str, Any]

_KINDS = {"storage": "storage", "services": "scheduler", "controllers": "scheduler", "fabric-managers": "services"}

_PORTS: dict[str, tuple[tuple[Any, ...], ...]] = {
    "lustre": (("tcp", 988, "1018-1023"),),
    "wekafs": (("tcp", "14000-14100"), ("udp", "14000-14100")),
}


def version_of(fabric: Data | None) -> int:
    """The IP version of an Ethernet fabric's pools; 6 where there is none."""
    return 4 if fabric is not None and "." in fabric["addressing"]["hosts"] else 6


def site_prefix(version: int) -> str:
    """Where the site's own servers are, outside the cluster."""
    return "fd00:aaaa:f0::/64" if version == 6 else "10.200.240.0/24"


def site_server(version: int, last: int) -> str:
    """A server there."""
    return f"fd00:aaaa:f0::{last}" if version == 6 else f"10.200.240.{last}"


def operations_prefix(version: int) -> str:
    """Where operators and the servers of switches are."""
    return "fd00:aaaa:f1::/64" if version == 6 else "10.201.240.0/24"


def operations_server(version: int, last: int) -> str:
    """A server there."""
    return f"fd00:aaaa:f1::{last}" if version == 6 else f"10.201.240.{last}"


def way_out(spec: Data) -> Data | None:
    """The plain Ethernet fabric over which nodes reach what lies outside."""
    plain = (fabric for fabric in spec["fabrics"] if fabric["technology"] == "ethernet")
    return next((fabric for fabric in plain if fabric["name"] != "management"), None)


def flow(name: str, source: str, target: str, protocol: str, *ports: int | str) -> Data:
    """A flow between two zones."""
    found: Data = {"name": name, "from": source, "to": target, "protocol": protocol}
    return {**found, **({"ports": list(ports)} if ports else {}), "reason": "generated", "owner": "systems"}


@st.composite
def zones_and_flows(draw: st.DrawFn, spec: Data) -> None:
    """Adds ``zones`` and ``flows`` to a spec that has its nodes, fabrics, mounts, boot and scheduler."""
    spec["zones"] = [draw(_zone(group, spec["fabrics"])) for group in spec["nodes"]]
    spec["flows"] = []
    _outside(spec)
    draw(_between_nodes(spec))
    _services(spec)
    _deployment(spec)
    _management(spec)
    draw(_more(spec))


@st.composite
def _zone(draw: st.DrawFn, group: Data, fabrics: list[Data]) -> Data:
    """The zone of a node group, named by either of them or by both."""
    name = group["name"]
    zone: Data = {"name": name, "kind": _KINDS.get(name, "compute"), "isolated": chance(draw, 80)}
    by_group, by_list = draw(st.sampled_from([(True, True), (False, True), (True, False)]))
    if by_group:
        group["zone"] = name
    if by_list:
        zone["nodes"] = [name]
    if not by_list or chance(draw, 30):
        zone["fabrics"] = [fabric["name"] for fabric in fabrics if name in _served(fabric)]
    return zone


def _imaged(spec: Data, names: set[str]) -> list[str]:
    """Node groups among ``names`` that boot an image."""
    return [group["name"] for group in spec["nodes"] if group.get("image") and group["name"] in names]


def _addressed(spec: Data) -> set[str]:
    """Node groups with an address on a network other than the out-of-band one."""
    return {name for fabric in spec["fabrics"] if "addressing" in fabric for name in _served(fabric)}


def _outside(spec: Data) -> None:
    """The site's servers, which nodes with an image use, and from which they are reached."""
    front = way_out(spec)
    if front is None:
        return
    spec["zones"].append({"name": "site-services", "kind": "services", "prefixes": [site_prefix(version_of(front))]})
    for name in _imaged(spec, _served(front)):
        spec["flows"].append(flow(f"{name}-names", name, "site-services", "udp", 53, 123))
        spec["flows"].append(flow(f"{name}-logs", name, "site-services", "tcp", 6514))
        if name != "compute":
            spec["flows"].append(flow(f"{name}-ssh", "site-services", name, "tcp", 22))


@st.composite
def _between_nodes(draw: st.DrawFn, spec: Data) -> None:
    flows = spec["flows"]
    on_roce = {name for fabric in spec["fabrics"] if fabric["technology"] == "roce" for name in _served(fabric)}
    for name in ("compute", "special"):
        if name not in _addressed(spec):
            continue
        wide = draw(st.sampled_from(["tcp", "tcp", "any"]))
        flows.append(flow(f"{name}-bootstrap", name, name, wide, *(("32768-60999",) if wide == "tcp" else ())))
        if wide != "any":
            flows.append(flow(f"{name}-jobs", name, name, "tcp", 6818, 29500, "61000-63999"))
        if wide != "any" and name in on_roce:
            flows.append(flow(f"{name}-rdma", name, name, "udp", 4791))
    for mount in spec.get("mounts", ()):
        ports = _PORTS.get(mount["type"], (("tcp", 2049),))
        ends = [(name, mount["system"]) for name in mount["nodes"]]
        if mount["type"] in _PORTS:  # whose servers ask their clients
            ends += [(mount["system"], name) for name in mount["nodes"]]
        flows += [
            flow(f"{a}-files-{b}-{index}", a, b, protocol, *numbers)
            for a, b in ends
            for index, (protocol, *numbers) in enumerate(ports)
        ]
        if "kerberos" in spec.get("encryption", {}):
            flows += [flow(f"{name}-tickets", name, "site-services", "tcp", 88) for name in mount["nodes"]]


def _services(spec: Data) -> None:
    """What the service machines do for the others but to give them jobs."""
    if not {"services", "compute"} <= _addressed(spec):
        return
    spec["flows"].append(flow("ssh", "services", "compute", "tcp", 22))
    if "boot" in spec:
        spec["zones"].append({"name": "boot", "kind": "boot", "isolated": True, "nodes": ["services"]})
        for name in _imaged(spec, _addressed(spec)):
            spec["flows"].append(flow(f"{name}-boot", name, "boot", "tcp", 80))
            spec["flows"].append(flow(f"{name}-firmware", name, "boot", "udp", 67, 69, 547))


def _deployment(spec: Data) -> None:
    """SSH from somewhere to every machine with an image."""
    reached = {each["to"] for each in spec["flows"] if 22 in each.get("ports", ()) or each["protocol"] == "any"}
    spec["flows"] += [flow(f"{name}-ssh", name, name, "tcp", 22) for name in _imaged(spec, _addressed(spec) - reached)]


def _management(spec: Data) -> None:
    fabric = next((each for each in spec["fabrics"] if each["name"] == "management"), None)
    if fabric is None:
        return
    prefix = operations_prefix(version_of(fabric))
    spec["zones"].append({"name": "management", "kind": "management", "isolated": True, "fabrics": ["management"]})
    spec["zones"].append({"name": "operations", "kind": "management", "prefixes": [prefix]})
    spec["flows"] += [
        flow("operate", "operations", "management", "tcp", 22, 443, 6030, 9339),
        flow("monitor", "operations", "management", "udp", 161, 623),
        flow("management-services", "management", "operations", "udp", 53, 123, 514),
        flow("management-tacacs", "management", "operations", "tcp", 49),
        flow("management-radius", "management", "operations", "udp", 1812),
    ]


@st.composite
def _more(draw: st.DrawFn, spec: Data) -> None:
    """Flows that nobody needs, of every protocol, between any zones; zones that share nodes; the internet."""
    zones, flows = spec["zones"], spec["flows"]
    if chance(draw, 30):
        zones.append({"name": "internet", "kind": "internet"})
    inside = [zone["name"] for zone in zones if zone["name"] in {group["name"] for group in spec["nodes"]}]
    if chance(draw, 20):
        shared = draw(st.lists(st.sampled_from(inside), min_size=1, max_size=3, unique=True))
        zones.append({"name": "shared", "kind": "other", "nodes": shared})
        inside.append("shared")
    if chance(draw, 15):
        zones.append({"name": "production", "kind": "production", "prefixes": ["2001:db8:4000::/36", "172.16.0.0/12"]})
    closed = {"internet", "management", "operations", "boot"}
    ends = [zone["name"] for zone in zones if zone["name"] not in closed]
    addressed = {
        attach.get("nodes")
        for fabric in spec["fabrics"]
        if fabric["technology"] != "infiniband"
        for attach in fabric["attach"]
    }
    if chance(draw, 90):  # zones outside meet nobody here but who has a plain network
        ends = [name for name in ends if name in addressed] or ends
    for index in range(draw(st.integers(0, 4))):
        protocol = draw(st.sampled_from(["tcp", "udp", "icmp", "any"]))
        ports = draw(_ports()) if protocol in {"tcp", "udp"} and chance(draw, 80) else []
        flows.append(flow(f"extra-{index}", draw(st.sampled_from(ends)), draw(st.sampled_from(ends)), protocol, *ports))


@st.composite
def _ports(draw: st.DrawFn) -> list[int | str]:
    found: list[int | str] = []
    for _ in range(draw(st.integers(1, 3))):
        low = draw(st.integers(1, 65535))
        high = draw(st.integers(low, 65535))
        found.append(low if chance(draw, 60) else f"{low}-{high}")
    return found


def _served(fabric: Data) -> set[str]:
    return {attach["nodes"] for attach in fabric["attach"] if "nodes" in attach}


@st.composite
def partitions(draw: st.DrawFn, spec: Data) -> None:
    """Adds partitions to InfiniBand fabrics: one for each zone, or one for several that flows join."""
    zones = {zone["name"] for zone in spec["zones"]}
    for fabric in spec["fabrics"]:
        if fabric["technology"] != "infiniband" or chance(draw, 15):
            continue
        served = sorted(_served(fabric) & zones)
        fabric["partitions"] = [
            {"name": f"part-{name}", "pkey": draw(st.integers(1, 0x7FFE)), "zones": [name], "membership": "full"}
            for name in served
        ]


@st.composite
def mounts(draw: st.DrawFn, spec: Data, rare: str) -> None:
    """Adds a mount of the storage, if there is one that nodes can reach."""
    systems = [group["name"] for group in spec["nodes"] if group["role"] == "storage"]
    front = next((fabric for fabric in spec["fabrics"] if fabric["name"] == "frontend"), None)
    of_others = rare == "storage of others" or chance(draw, 15)
    if not systems or front is None or (not of_others and chance(draw, 10)):
        return
    clients = [group["name"] for group in spec["nodes"] if group.get("image") and group["role"] == "node"]
    if not clients or not set(clients + systems) <= _served(front):
        return
    kind = "none" if of_others else draw(st.sampled_from(["rpc-with-mtls", "rpc-with-tls", "krb5p", "none"]))
    option = {"rpc-with-mtls": "xprtsec=mtls", "rpc-with-tls": "xprtsec=tls", "krb5p": "sec=krb5p"}.get(kind)
    mount: Data = {
        "name": "home",
        "mountpoint": draw(st.sampled_from(["/home", "/mnt/data.set-1", "/scratch_1/x"])),
        "nodes": clients,
        "system": systems[0],
        "export": "nfs.example.net:/home",
        "type": draw(st.sampled_from(["nfs4", "nfs"])),
        "options": [
            "vers=4.2",
            "proto=tcp",
            *([option] if option else []),
            "hard",
            "noatime",
            "nodev",
            "nosuid",
        ],
        "protection": {"kind": kind},
    }
    if kind == "none":
        mount["protection"] |= {"reason": "its servers speak no TLS", "owner": "storage"}
    other = draw(st.sampled_from(["nfs4", "lustre", "wekafs"])) if of_others else ""
    if other in _PORTS:
        mount |= {"type": other, "options": ["nodev", "nosuid"]}
        mount["export"] = "10.0.0.9@tcp:/data" if other == "lustre" else "weka-01/data"
        for image in spec.get("images", ()):
            if other == "lustre":
                image["packages"] = [*image.get("packages", ()), "lustre-client-modules-dkms"]
            else:
                image.setdefault("units", {})["enable"] = ["weka-agent.service"]
    spec["mounts"] = [mount]
    if kind.startswith("rpc"):
        folder = "/etc/pki/clusterwright"
        spec["encryption"] = {
            "tls": {
                "truststore": f"{folder}/authorities.pem",
                "crl": f"{folder}/withdrawn.pem",
                "certificate": f"{folder}/node.pem",
                "private_key": f"{folder}/node.key",
            }
        }
        spec["keys"] = [
            {"name": "node-tls", "kind": "certificate", "owner": "security", "rotate_days": 30, "delete_days": 45}
        ]
    if kind == "krb5p":
        spec["encryption"] = {"kerberos": {"realm": "EXAMPLE.NET", "kdcs": ["kdc.example.net"]}}
