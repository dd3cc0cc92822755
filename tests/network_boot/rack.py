"""Two rack switches as network namespaces: their gateways, relays, advertisements and lists from the rendered text.

Nodes' adapters are ports of a bridge, as those of a rack switch are in one VLAN. The lists are put on the ports by what
`verify` reads in them. Between the switches lies one link for all tiers above, which filter nothing.
"""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from ipaddress import ip_interface
from pathlib import Path
from typing import Any

from clusterwright.extras.lab.isolation import switch_filters
from clusterwright.extras.lab.namespaces import inside, remove_namespaces, run_ip
from clusterwright.plan.model import Cable, Plan
from clusterwright.switches.fboss.reader.system import READER

BRIDGE = "hosts"
_USUAL_LIFETIME_S = 1800  # NdpConfig.routerLifetime of FBOSS
_REQUEST = 1  # BOOTREQUEST
MTU = 9000
_LINKS = {4: "169.254.78.{}/30", 6: "fd78:78::{}/126"}
_SETTINGS = """\
net.ipv4.ip_forward=1
net.ipv4.conf.all.rp_filter=0
net.ipv4.conf.default.rp_filter=0
net.ipv6.conf.all.forwarding=1
net.ipv6.conf.default.accept_dad=0
net.ipv6.conf.all.accept_dad=0
"""

# Each adapter answers for its own address, as nodes with an image are told.
_SERVER_SETTINGS = """\
net.ipv4.conf.all.arp_ignore=1
net.ipv4.conf.all.arp_announce=2
net.ipv6.conf.default.accept_dad=0
net.ipv6.conf.default.accept_ra=0
"""


@dataclass(frozen=True, slots=True)
class RackSwitch:
    """A switch of the boot fabric as its files have it, and the namespace that plays it."""

    name: str
    namespace: str
    text: str
    cables: tuple[Cable, ...]

    @property
    def vlan(self) -> Mapping[str, Any]:
        """The interface that its hosts share."""
        (found,) = (each for each in json.loads(self.text)["sw"]["interfaces"] if each["name"] == "hosts")
        return dict(found)

    @property
    def gateway(self) -> str:
        """Its address among its hosts, with the length of their subnet."""
        return str(self.vlan["ipAddresses"][0])

    @property
    def version(self) -> int:
        """The IP version of its hosts."""
        return ip_interface(self.gateway).version

    @property
    def subnet(self) -> str:
        """The prefix of its hosts."""
        return str(ip_interface(self.gateway).network)

    @property
    def relay(self) -> str | None:
        """Where it sends DHCP requests."""
        return self.vlan.get(f"dhcpRelayAddressV{self.version}")


def port_name(cable: Cable) -> str:
    """The switch's end of an adapter's cable, as the kernel has it."""
    return f"{cable.a.device[-6:]}-{cable.a.port}"


def rack_switch(plan: Plan, text: str, name: str, prefix: str) -> RackSwitch:
    """A bottom switch of the boot fabric; ``text`` is its rendered agent.conf."""
    assert plan.spec.boot is not None
    fabric = plan.spec.boot.fabric
    cables = tuple(c for c in plan.cables if c.b.device == name and c.a.side == "host" and c.fabric == fabric)
    return RackSwitch(name, f"{prefix}{name}", text, cables)


@contextmanager
def racks(
    prefix: str, nodes: RackSwitch, servers: RackSwitch, server: str, beyond: Sequence[str], taps: Path
) -> Iterator[None]:
    """Within, both switches run, and the ``server`` namespace is cabled to its own.

    What is ``beyond`` the cluster, as prefixes, lies behind the servers' switch. Nodes' ports are there as taps for
    virtual machines; ``taps`` is a folder for the daemons' files.
    """
    remove_namespaces(prefix)
    with ExitStack() as stack:
        stack.callback(remove_namespaces, prefix)
        names = (nodes.namespace, servers.namespace, server)
        run_ip("".join(f"netns add {name}\n" for name in names))
        for name in names:
            run_ip("link set lo up\n", name)
        for switch in (nodes, servers):
            with inside(switch.namespace):
                subprocess.run(["sysctl", "-q", "-p", "-"], input=_SETTINGS, text=True, check=True)
            run_ip(
                f"link add {BRIDGE} mtu {MTU} type bridge mcast_snooping 0\nlink set {BRIDGE} up\n"
                f"addr add {switch.gateway} dev {BRIDGE} nodad\n",
                switch.namespace,
            )
        _join(nodes, servers, beyond)
        for cable in nodes.cables:
            run_ip(f"tuntap add {port_name(cable)} mode tap\n", nodes.namespace)
            _into_bridge(nodes, cable)
        with inside(server):
            subprocess.run(["sysctl", "-q", "-p", "-"], input=_SERVER_SETTINGS, text=True, check=True)
        for cable in servers.cables:
            far = f"peer name {port_name(cable)} mtu {MTU} netns {servers.namespace}"
            run_ip(f"link add {cable.a.port} mtu {MTU} type veth {far}\nlink set {cable.a.port} up\n", server)
            _into_bridge(servers, cable)
        for switch in (nodes, servers):
            lists = READER.lists(switch.text)
            for index, cable in enumerate(switch.cables):
                rules = lists.at(cable.b.port)
                switch_filters.load(switch.namespace, f"hosts{index}", [port_name(cable)], "ingress", rules)
            stack.enter_context(_relay(switch, taps))
            stack.enter_context(_advertisements(switch, taps))
        yield


def dropped(switch: RackSwitch) -> str:
    """What the lists counted so far."""
    with inside(switch.namespace):
        return subprocess.run(["nft", "list", "ruleset"], capture_output=True, text=True, check=True).stdout


def _into_bridge(switch: RackSwitch, cable: Cable) -> None:
    port = port_name(cable)
    run_ip(f"link set {port} mtu {MTU} master {BRIDGE}\nlink set {port} up\n", switch.namespace)


def _join(nodes: RackSwitch, servers: RackSwitch, beyond: Sequence[str]) -> None:
    far = f"peer name spine mtu {MTU} netns {servers.namespace}"
    run_ip(f"link add spine mtu {MTU} type veth {far}\n", nodes.namespace)
    link = _LINKS[nodes.version]
    for own, other, at in ((nodes, servers, 1), (servers, nodes, 2)):
        run_ip(f"link set spine up\naddr add {link.format(at)} dev spine nodad\n", own.namespace)
        hop = link.format(3 - at).partition("/")[0]
        # a relay asks from the gateway's address
        source = own.gateway.partition("/")[0]
        run_ip(f"route add {other.subnet} via {hop} dev spine src {source}\n", own.namespace)
        if own is nodes:
            run_ip("".join(f"route add {prefix} via {hop} dev spine\n" for prefix in beyond), own.namespace)


@contextmanager
def _daemon(namespace: str, command: list[str], log: Path) -> Iterator[None]:
    with log.open("w") as stream, inside(namespace):
        process = subprocess.Popen(command, stdout=stream, stderr=subprocess.STDOUT)
    try:
        yield
    finally:
        process.kill()
        process.wait()


@contextmanager
def _relay(switch: RackSwitch, folder: Path) -> Iterator[None]:
    if switch.relay is None:
        yield
        return
    own = switch.gateway.partition("/")[0]
    if switch.version == 4:
        with _relay_v4(switch.namespace, own, switch.relay):
            yield
        return
    options = ["--keep-in-foreground", "--port=0", "--log-dhcp", "--log-facility=-", "--conf-file=/dev/null"]
    command = ["dnsmasq", *options, "--user=root"]
    with _daemon(switch.namespace, [*command, f"--dhcp-relay={own},{switch.relay}"], folder / f"relay-{switch.name}"):
        yield


@contextmanager
def _relay_v4(namespace: str, own: str, server: str) -> Iterator[None]:
    """RFC 1542, 4.1: requests go on with the relay's own address, answers to everybody on the link."""
    with inside(namespace):
        upwards, downwards = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
    for each in (upwards, downwards):
        each.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        each.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    upwards.bind((own, 67))
    downwards.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, BRIDGE.encode())
    downwards.bind(("255.255.255.255", 67))

    def forward(source: socket.socket) -> None:
        while (packet := source.recv(4096)) != b"":
            if packet[0] == _REQUEST:
                counted = packet[:3] + bytes([packet[3] + 1]) + packet[4:24] + socket.inet_aton(own) + packet[28:]
                upwards.sendto(counted, (server, 67))
            else:
                downwards.sendto(packet, ("255.255.255.255", 68))

    for each in (upwards, downwards):
        threading.Thread(target=forward, args=(each,), daemon=True).start()
    try:
        yield
    finally:
        for each in (upwards, downwards):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()


@contextmanager
def _advertisements(switch: RackSwitch, folder: Path) -> Iterator[None]:
    told = switch.vlan.get("ndp", {})
    seconds = told.get("routerAdvertisementSeconds", 0)
    if not seconds:
        yield
        return
    managed = "on" if told.get("routerAdvertisementManagedBit") else "off"
    text = (
        f"interface {BRIDGE} {{ AdvSendAdvert on; MinRtrAdvInterval 3; MaxRtrAdvInterval {max(4, seconds)};"
        f" AdvDefaultLifetime {told.get('routerLifetime', _USUAL_LIFETIME_S)}; AdvManagedFlag {managed};"
        f" prefix {switch.subnet} {{ }}; }};\n"
    )
    file = folder / f"radvd-{switch.name}.conf"
    file.write_text(text)
    command = [
        "radvd",
        "--nodaemon",
        "--logmethod=stderr",
        f"--config={file}",
        f"--pidfile={folder}/radvd-{switch.name}.pid",
    ]
    with _daemon(switch.namespace, command, folder / f"radvd-{switch.name}.log"):
        yield
