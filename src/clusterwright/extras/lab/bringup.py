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

_AT_ONCE = 4  # daemons that start together: they wait for the kernel half of the time
_BRIDGE = "hosts"
# Neighbours of all namespaces share one table, whose default holds 1,024.
_NEIGHBOUR_LIMITS = {"gc_thresh1": 1, "gc_thresh2": 2, "gc_thresh3": 4}

# Addresses must outlive a link that goes down, none may wait for duplicate detection, every way is as good as another.
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
# A node's own address as a packet's source is for its packet filter to refuse, and not for its routing.
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
    """Start a twin, and remove the rest of an earlier one of its name first. The caller awaits convergence.

    Raises ClusterwrightError, with every trace removed, when something does not start.
    """
    require_rights()
    frr.require_frr()
    if remove_lab(twin.name):
        progress(f"{twin.name}: removed what an earlier lab left")
    write_state(twin.name, state)
    try:
        addresses = 2 * len(twin.cables)
        raise_limits(
            {
                f"/proc/sys/net/ipv{version}/neigh/default/{name}": factor * (addresses + 1024)
                for version in (4, 6)
                for name, factor in _NEIGHBOUR_LIMITS.items()
            }
        )
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
    kinds = {view.device.name: _ROUTER_SETTINGS for view in twin.views} | dict.fromkeys(
        (node.name for node in twin.nodes), _NODE_SETTINGS
    )
    run_ip("".join(f"netns add {twin.namespace(name)}\n" for name in kinds))
    for name, settings in kinds.items():
        with inside(twin.namespace(name)):
            subprocess.run(
                ["sysctl", "-q", "-p", "-"],
                input=settings,
                text=True,
                check=True,
                capture_output=True,
                env=child_environment(),
            )
    for name in kinds:
        run_ip("link set lo up\n", twin.namespace(name))


def _make_cables(twin: Twin) -> None:
    by_lower: dict[str, list[str]] = defaultdict(list)
    mtu = next(view.fabric.mtu for view in twin.views)
    for cable in twin.cables:
        far = twin.namespace(cable.b.device)
        by_lower[cable.a.device].append(
            f"link add name {twin.interface(cable.a)} mtu {mtu} type veth"
            f" peer name {twin.interface(cable.b)} mtu {mtu} netns {far}\n"
        )
    # Made inside one end's namespace: nothing ever shows in the machine's own network.
    for device, lines in by_lower.items():
        run_ip("".join(lines), twin.namespace(device))


def _switch_commands(twin: Twin, view: SwitchView) -> Iterator[str]:
    nodad = " nodad" if twin.version == 6 else ""
    if view.loopback is not None:
        yield f"addr add {view.origins[0].text} dev lo\n"
    if view.host_subnet is not None and view.host_subnet.gateway is not None:
        gateway = format_address(view.host_subnet.gateway, twin.version)
        yield f"link add {_BRIDGE} mtu {view.fabric.mtu} type bridge\nlink set {_BRIDGE} up\n"
        # A bridge that lost its last port would take the rack's prefix with it.
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
        started = [
            pool.submit(
                frr.start_router,
                twin.namespace(view.device.name),
                folder_of(twin.name) / view.device.name,
                frr.bgpd_config(view),
            )
            for view in twin.views
        ]
        for start in started:
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
    """Commands that bring up these interfaces of a node by its rendered files. Raises KeyError for an unknown key."""
    texts = {artifact.path: artifact.content.decode() for artifact in WRITER.render(plan, node)}
    first: list[str] = []
    later: list[str] = []
    for name in sorted(interfaces):
        for title, entries in _sections(texts[f"{FOLDER}/20-{name}.network"]):
            if title == "Address":
                first.append(f"addr add {entries['Address'][0]} dev {name}{_no_detection(entries['Address'][0])}")
            elif title == "RoutingPolicyRule":
                later.append(_rule(entries))
            elif title == "Route":
                later.append(_route(entries, name))
        first.append(f"link set {name} up")
    # A multipath route names other interfaces, which must be up by then.
    return "".join(f"{line}\n" for line in (*first, *later))


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
            gateway, _, way = hop.partition("@")
            words.append(f"nexthop via {gateway} dev {way}")
    else:
        words += [f"via {value}" for value in entries.get("Gateway", [])]
        words.append(f"dev {interface}")
    return " ".join(words)


def _no_detection(address: str) -> str:
    return " nodad" if ":" in address else ""
