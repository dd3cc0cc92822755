"""Starting a twin: namespaces, cables, addresses, routers, nodes.

The rendered systemd-networkd files of a node become lines for ``ip -batch``: its real addresses, rules and routes.
"""

from __future__ import annotations

import subprocess
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

from clusterwright.child_environment import child_environment
from clusterwright.extras.lab import frr
from clusterwright.extras.lab.namespaces import inside, run_ip
from clusterwright.extras.lab.packets import probe_port
from clusterwright.extras.lab.running import LabState, folder_of, raise_limits, remove_lab, require_rights, write_state
from clusterwright.extras.lab.twin import Twin
from clusterwright.finding import ClusterwrightError
from clusterwright.hosts.linux.writer import nftables
from clusterwright.hosts.linux.writer.network import FOLDER, WRITER
from clusterwright.intent.switch import SwitchView
from clusterwright.plan.model import Device, Plan, format_address

Progress = Callable[[str], None]

_AT_ONCE = 4  # daemons starting at a time: they wait for the kernel half of the time
_BRIDGE = "hosts"
# All namespaces share one neighbour table, with 1,024 entries by default.
_NEIGHBOUR_LIMITS = {"gc_thresh1": 1, "gc_thresh2": 2, "gc_thresh3": 4}

# Addresses must survive a link failure, none may wait for duplicate detection, and packets may arrive on any path.
_ROUTER_SETTINGS = """\
net.ipv4.ip_forward=1
net.ipv4.conf.all.rp_filter=0
net.ipv4.conf.default.rp_filter=0
net.ipv4.fib_multipath_hash_policy=1
net.ipv4.icmp_ratelimit=0
net.ipv6.conf.all.forwarding=1
net.ipv6.conf.all.keep_addr_on_down=1
net.ipv6.conf.default.keep_addr_on_down=1
net.ipv6.conf.default.accept_dad=0
net.ipv6.fib_multipath_hash_policy=1
net.ipv6.icmp.ratelimit=0
"""
# Spoofed packets with a node's own source address must reach its packet filter: routing may not drop them.
_NODE_SETTINGS = """\
net.ipv4.conf.all.accept_local=1
net.ipv4.conf.all.rp_filter=0
net.ipv4.conf.default.rp_filter=0
net.ipv6.conf.default.accept_dad=0
net.ipv6.conf.default.accept_ra=0
net.ipv6.icmp.ratelimit=0
net.ipv4.icmp_ratelimit=0
"""


def bring_up(twin: Twin, state: LabState, progress: Progress) -> None:
    """Start a twin after removing an earlier one of its name. The caller awaits convergence.

    Raises ClusterwrightError, with every trace removed, for a failed start.
    """
    require_rights()
    frr.require_frr()
    if remove_lab(twin.name):
        progress(f"{twin.name}: removed what an earlier lab left")
    write_state(twin.name, state)
    try:
        addresses = 2 * len(twin.cables)
        limits: dict[str, int] = {}
        for name, factor in _NEIGHBOUR_LIMITS.items():
            limits[f"/proc/sys/net/ipv4/neigh/default/{name}"] = factor * (addresses + 1024)
            limits[f"/proc/sys/net/ipv6/neigh/default/{name}"] = factor * (addresses + 1024)
        raise_limits(limits)
        progress(f"{twin.name}: {len(twin.views)} switches, {len(twin.nodes)} nodes, {len(twin.cables)} cables")
        _make_namespaces(twin)
        _make_cables(twin)
        for view in twin.views:
            run_ip("".join(_switch_commands(twin, view)), twin.namespace(view.device.name))
        progress(f"{twin.name}: network ready, starting routers")
        _start_routers(twin)
        for node in twin.nodes:
            _start_node(twin, node)
    except BaseException:
        remove_lab(twin.name)
        raise


def _make_namespaces(twin: Twin) -> None:
    settings_by_device = dict.fromkeys((view.device.name for view in twin.views), _ROUTER_SETTINGS)
    settings_by_device |= dict.fromkeys((node.name for node in twin.nodes), _NODE_SETTINGS)
    run_ip("".join(f"netns add {twin.namespace(name)}\n" for name in settings_by_device))
    for name, settings in settings_by_device.items():
        with inside(twin.namespace(name)):
            subprocess.run(
                ["sysctl", "-q", "-p", "-"],
                input=settings,
                text=True,
                check=True,
                capture_output=True,
                env=child_environment(),
            )
    for name in settings_by_device:
        run_ip("link set lo up\n", twin.namespace(name))


def _make_cables(twin: Twin) -> None:
    by_lower: dict[str, list[str]] = defaultdict(list)
    mtu = twin.views[0].fabric.mtu
    for cable in twin.cables:
        far = twin.namespace(cable.b.device)
        by_lower[cable.a.device].append(
            f"link add name {twin.interface(cable.a)} mtu {mtu} type veth"
            f" peer name {twin.interface(cable.b)} mtu {mtu} netns {far}\n"
        )
    # Created inside one end's namespace: nothing appears in the machine's own network.
    for device, lines in by_lower.items():
        run_ip("".join(lines), twin.namespace(device))


def _switch_commands(twin: Twin, view: SwitchView) -> Iterator[str]:
    nodad = " nodad" if twin.version == 6 else ""
    if view.loopback is not None:
        yield f"addr add {view.origins[0].text} dev lo\n"
    if view.host_subnet is not None and view.host_subnet.gateway is not None:
        gateway = format_address(view.host_subnet.gateway, twin.version)
        yield f"link add {_BRIDGE} mtu {view.fabric.mtu} type bridge\nlink set {_BRIDGE} up\n"
        # Without a last port the bridge would go down, and with it the rack's prefix.
        yield f"link add {_BRIDGE}-0 mtu {view.fabric.mtu} type veth peer name {_BRIDGE}-1 mtu {view.fabric.mtu}\n"
        yield f"link set {_BRIDGE}-0 master {_BRIDGE} up\nlink set {_BRIDGE}-1 up\n"
        yield f"addr add {gateway}/{view.host_subnet.prefix_length} dev {_BRIDGE}{nodad}\n"
    for link in view.links:
        name = twin.interfaces.get((view.device.name, link.port.port))
        if name is None:
            continue
        if link.port.address is not None:
            address = f"{format_address(link.port.address, twin.version)}/{link.port.prefix_length}"
            yield f"addr add {address} dev {name}{nodad}\n"
        elif view.shares_subnet:
            yield f"link set {name} master {_BRIDGE}\n"
        if link.is_up:
            yield f"link set {name} up\n"
    for origin in view.origins:
        if not origin.is_connected:
            yield f"route add blackhole {origin.text}\n"


def _start_routers(twin: Twin) -> None:
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        starts = []
        for view in twin.views:
            namespace, folder = twin.namespace(view.device.name), folder_of(twin.name) / view.device.name
            starts.append(pool.submit(frr.start_router, namespace, folder, frr.bgpd_config(view)))
        for start in starts:
            start.result()


def _start_node(twin: Twin, node: Device) -> None:
    namespace = twin.namespace(node.name)
    interfaces = frozenset(twin.interface(cable.a) for cable in twin.cables if cable.a.device == node.name)
    run_ip(node_commands(twin.plan, node, interfaces), namespace, twin.version)
    if probe_port(twin) is None:
        return
    for artifact in nftables.WRITER.render(twin.plan, node):
        if artifact.path == "etc/nftables.conf":
            with inside(namespace):
                ended = subprocess.run(
                    ["nft", "-f", "-"],
                    input=artifact.content,
                    capture_output=True,
                    check=False,
                    env=child_environment(),
                )
            if ended.returncode != 0:
                raise ClusterwrightError(f"{node.name}: nft refuses its rules: {ended.stderr.decode().strip()}")


Section = tuple[str, dict[str, list[str]]]


def node_commands(plan: Plan, node: Device, interfaces: frozenset[str]) -> str:
    """Commands to bring up these interfaces of a node from its rendered files. Raises KeyError for an unknown key."""
    texts = {artifact.path: artifact.content.decode() for artifact in WRITER.render(plan, node)}
    interface_lines: list[str] = []
    route_lines: list[str] = []
    for name in sorted(interfaces):
        for title, entries in _sections(texts[f"{FOLDER}/20-{name}.network"]):
            if title == "Address":
                address = entries["Address"][0]
                interface_lines.append(f"addr add {address} dev {name}{_no_detection(address)}")
            elif title == "RoutingPolicyRule":
                route_lines.append(_rule(entries))
            elif title == "Route":
                route_lines.append(_route(entries, name))
        interface_lines.append(f"link set {name} up")
    # A multipath route refers to other interfaces, which must be up first.
    return "".join(f"{line}\n" for line in (*interface_lines, *route_lines))


def _sections(text: str) -> Iterator[Section]:
    title = ""
    entries: dict[str, list[str]] = {}
    for line in text.splitlines():
        if line.startswith("["):
            yield title, entries
            title, entries = line.strip("[]"), {}
        elif "=" in line and not line.startswith("#"):
            key, _, value = line.partition("=")
            entries.setdefault(key, []).append(value)
    yield title, entries


def _rule(entries: dict[str, list[str]]) -> str:
    selector = f"from {entries['From'][0]}" if "From" in entries else f"oif {entries['OutgoingInterface'][0]}"
    return f"rule add {selector} table {entries['Table'][0]} priority {entries['Priority'][0]}"


def _route(entries: dict[str, list[str]], interface: str) -> str:
    words = [f"route add {entries['Destination'][0]}"]
    for key, word in (("Table", "table"), ("Metric", "metric"), ("PreferredSource", "src")):
        words += [f"{word} {value}" for value in entries.get(key, [])]
    if "MultiPathRoute" in entries:
        for hop in entries["MultiPathRoute"]:
            gateway, _, device = hop.partition("@")
            words.append(f"nexthop via {gateway} dev {device}")
    else:
        words += [f"via {value}" for value in entries.get("Gateway", [])]
        words.append(f"dev {interface}")
    return " ".join(words)


def _no_detection(address: str) -> str:
    return " nodad" if ":" in address else ""
