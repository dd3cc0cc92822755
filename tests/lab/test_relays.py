"""A machine that boots behind a switch of NVUE gets its address: FRR, isc-dhcp-relay, nft and Kea with rendered files.

Over IPv6 and over IPv4.

One uplink, its spine and the boot server are namespaces. FRR is told what NVUE makes of the switches' routing, the
relay what NVUE makes of the relay's objects; the boot server runs its own files.
"""

from __future__ import annotations

import json
import re
import shutil
import socket
import struct
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from ipaddress import IPv4Address, IPv6Address, ip_interface, ip_network
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import yaml
from tests.network_boot.boot_server import serving
from tests.plans import plan_with
from tests.proofs.isolation.test_relays import IMAGED
from tests.switches.nvue_in_frr import frr_conf

from clusterwright.extras.lab.namespaces import inside, remove_namespaces, run_ip
from clusterwright.hosts.linux.reader.network import NETWORKS
from clusterwright.output.rendering import Rendering
from clusterwright.plan.boot import boot_nics, format_mac
from clusterwright.plan.model import Cable, Plan, format_address

DHCRELAY, DAEMONS = Path("/usr/sbin/dhcrelay"), Path("/usr/lib/frr")
NODE, RACK, SPINE, SERVER = "gpu-p00r00n0", "rsw-p00r00", "ssw-00", "svc-v00n0"
PREFIX = "cw-relay-"
SETTINGS = """\
net.ipv4.ip_forward=1
net.ipv4.conf.all.rp_filter=0
net.ipv4.conf.default.rp_filter=0
net.ipv6.conf.all.forwarding=1
net.ipv6.conf.default.forwarding=1
net.ipv6.conf.all.accept_dad=0
net.ipv6.conf.default.accept_dad=0
"""
SOLICIT, ADVERTISE, IA_NA, IA_ADDRESS = 1, 2, 3, 5
DISCOVER, OFFER, MESSAGE_TYPE = 1, 2, 53
COOKIE = b"\x63\x82\x53\x63"  # RFC 2131
FRONTEND_V4 = """
site: {dns: ["10.96.240.53"], ntp: ["10.96.240.123"], syslog: ["10.96.240.14"]}
fabrics:
  - name: frontend
    addressing: {loopbacks: "10.96.255.0/25", links: "10.96.255.128/25", hosts: "10.96.0.0/22", hosts_per_switch: 25}
zones:
  - {name: site-services, prefixes: ["10.96.240.0/24"]}
"""
FIRMWARE_V4 = """
  - {name: boot-firmware, ports: [67, 69]}
"""
WAIT_S = 60
Objects = Mapping[str, Any]


def objects_of(plan: Plan, switch: str) -> Objects:
    """What the file of a switch sets."""
    files = {artifact.path: artifact.content for artifact in Rendering(plan).of_device(switch)}
    found: Objects = yaml.safe_load(files["etc/clusterwright/nvue.yaml"])[0]["set"]
    return found


def relay_command(objects: Objects) -> list[str]:
    """The program as NVUE starts it (Cumulus Linux 5.10, DHCP Relays: isc-dhcp-relay-default), with one uplink."""
    service = objects["service"]
    command = [str(DHCRELAY), "-d"]
    if "dhcp-relay" in service:
        relay = service["dhcp-relay"]["default"]
        down = [name for name in relay["interface"] if name.startswith("vlan")]
        up = [name for name in relay["interface"] if name not in down][:1]
        for name in (*down, *up):
            command += ["-i", name]
        return [*command, *relay["server"]]
    relay = service["dhcp-relay6"]["default"]["interface"]
    command.append("-6")
    for name in relay["downstream"]:
        command += ["-l", name]
    name, upstream = next(iter(relay["upstream"].items()))
    return [*command, "-u", f"{upstream['server-address']}%{name}"]


def routes_with_source(objects: Objects) -> str:
    """The routing of a rack switch by which what it relays has the planned source.

    Over IPv4 NVUE gives the relay an option of its own (``source-ip gateway``), which Debian's has not: here the routes
    say it.
    """
    text = frr_conf(dict(objects))
    relay = objects["service"].get("dhcp-relay", {}).get("default", {})
    if relay.get("source-ip") != "gateway":
        return text
    gateway = ip_interface(next(iter(objects["interface"]["vlan100"]["ip"]["address"]))).ip
    source = f"route-map SOURCE permit 10\n set src {gateway}\nexit\nip protocol bgp route-map SOURCE\n"
    return source + text


def start_frr(namespace: str, folder: Path, text: str) -> None:
    """zebra with what is its own of a configuration, bgpd with the rest."""
    folder.mkdir()
    rest, source = text.splitlines(), []
    if "route-map SOURCE permit 10" in rest:
        first = rest.index("route-map SOURCE permit 10")
        last = rest.index("exit", first) + 1
        source, rest = rest[first:last], rest[:first] + rest[last:]
    filters = [line for line in rest if " protocol bgp route-map " in line]
    rest = [line for line in rest if line not in filters]
    for daemon, own in (("zebra", [*source, *filters]), ("bgpd", rest)):
        (folder / f"{daemon}.conf").write_text("\n".join([*own, ""]))
    shutil.chown(folder, "frr", "frr")
    for daemon in ("zebra", "bgpd"):
        files = ("-f", folder / f"{daemon}.conf", "-i", folder / f"{daemon}.pid", "-z", folder / "zserv.api")
        command = [DAEMONS / daemon, "-d", "-u", "frr", "-g", "frr", *files, "--vty_socket", folder, "-P", "0"]
        with inside(namespace):
            subprocess.run(list(map(str, command)), check=True, capture_output=True)


def _add_addresses(objects: Mapping[str, Any], ports: Sequence[str], namespace: str) -> None:
    for port in ports:
        for address in objects["interface"].get(port, {}).get("ip", {}).get("address", {}):
            run_ip(f"addr add {address} dev {port} nodad\n", namespace)


@contextmanager
def network(plan: Plan, folder: Path, *, has_source: bool) -> Iterator[Cable]:
    """Within, all of it runs; gives the cable of the node's adapter. Without a source routes name no address."""
    folder.chmod(0o755)  # FRR runs as its own user
    names = {device: f"{PREFIX}{device}" for device in (NODE, RACK, SPINE, SERVER)}
    remove_namespaces(PREFIX)
    rack, spine = objects_of(plan, RACK), objects_of(plan, SPINE)
    node = next(cable for cable in plan.cables_of[NODE] if cable.b.device == RACK)
    server, *more = (cable for cable in plan.cables_of[SERVER] if cable.fabric == node.fabric)
    up = next(c for c in plan.cables_of[RACK] if {c.a.device, c.b.device} == {RACK, SPINE})
    ports = {end.device: end.port for end in (up.a, up.b)}
    (nic,) = (nic for nic in boot_nics(plan)[NODE] if nic.interface.port == node.a.port)
    files = {artifact.path: artifact for artifact in Rendering(plan).of_device(SERVER)}
    for path, artifact in files.items():
        place = folder / "tree" / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(artifact.content)
    with ExitStack() as stack:
        stack.callback(remove_namespaces, PREFIX)
        for name in names.values():
            run_ip(f"netns add {name}\n")
            run_ip("link set lo up\n", name)
            with inside(name):
                subprocess.run(["sysctl", "-q", "-p", "-"], input=SETTINGS, text=True, check=True)
        for (one, port), (other, far), mac in (
            ((NODE, node.a.port), (RACK, "vlan100"), f"address {format_mac(nic.mac)} "),
            ((RACK, ports[RACK]), (SPINE, ports[SPINE]), ""),
            ((SPINE, "hosts"), (SERVER, server.a.port), ""),
        ):
            run_ip(f"link add {port} {mac}type veth peer name {far} netns {names[other]}\n", names[one])
            run_ip(f"link set {port} up\n", names[one])
            run_ip(f"link set {far} up\n", names[other])
        for other_nic in more:  # Kea wants every interface that its file names
            port = other_nic.a.port
            run_ip(f"link add {port} type veth peer name {port}-far\n", names[SERVER])
            run_ip(f"link set {port} up\nlink set {port}-far up\n", names[SERVER])
        for switch, objects in ((RACK, rack), (SPINE, spine)):
            _add_addresses(objects, ("lo", "vlan100", ports[switch]), names[switch])
        subnet = plan.host_subnet_of[node.fabric, server.b.device]
        gateway = ip_interface(f"{format_address(subnet.gateway or 0, subnet.version)}/{subnet.prefix_length}")
        run_ip(f"addr add {gateway} dev hosts nodad\n", names[SPINE])
        routing = routes_with_source(rack)
        if not has_source:
            routing = re.sub("ip(v6)? protocol bgp route-map SOURCE", "!", routing)
        start_frr(names[RACK], folder / RACK, routing)
        # Beside its own the spine announces the subnet of the servers, which another rack switch does for it.
        announces = frr_conf(dict(spine)).replace("  network ", f"  network {gateway.network}\n  network ", 1)
        start_frr(names[SPINE], folder / SPINE, announces)
        (folder / "logs").mkdir()
        address = f"{format_address(server.a.address or 0, gateway.version)}/{server.a.prefix_length}"
        addresses = [f"addr add {address} dev {server.a.port} nodad"]
        for cable in more:
            own = format_address(cable.a.address or 0, gateway.version)
            addresses.append(f"addr add {own}/{gateway.max_prefixlen} dev {cable.a.port} nodad")
        # Every route that the server's own files name, by the gateway of its subnet.
        text = files[f"{NETWORKS}{server.a.port}.network"].content.decode()
        for line in text.splitlines():
            prefix = line.removeprefix("Destination=")
            if line != prefix and ip_network(prefix) != gateway.network:
                addresses.append(f"route replace {prefix} via {gateway.ip}")
        stack.enter_context(
            serving(names[SERVER], SERVER, folder / "tree", addresses, str(gateway.ip), folder / "logs")
        )
        with inside(names[RACK]), (folder / "relay.log").open("w") as log:
            relay = subprocess.Popen(relay_command(rack), stdout=log, stderr=subprocess.STDOUT)
        stack.callback(relay.wait)
        stack.callback(relay.kill)
        yield node


def solicit(namespace: str, port: str) -> IPv6Address | None:
    """The address that a machine without one is offered; None without an answer within two seconds."""
    with inside(namespace):
        asking = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
        index = socket.if_nametoindex(port)
    with asking:
        asking.settimeout(2)
        asking.bind(("::", 546))
        identity = struct.pack("!HH", 3, 1) + bytes.fromhex("020000000001")
        message = struct.pack("!B3s", SOLICIT, b"abc") + struct.pack("!HH", 1, len(identity)) + identity
        message += struct.pack("!HHIII", IA_NA, 12, 1, 0, 0)
        asking.sendto(message, ("ff02::1:2", 547, 0, index))
        try:
            answer = asking.recv(4096)
        except TimeoutError:
            return None
    assert answer[0] == ADVERTISE
    options = dict(_options(answer[4:]))
    addresses = dict(_options(options[IA_NA][12:]))
    return IPv6Address(addresses[IA_ADDRESS][:16]) if IA_ADDRESS in addresses else None


def _options(data: bytes) -> Iterator[tuple[int, bytes]]:
    while data:
        code, size = struct.unpack("!HH", data[:4])
        yield code, data[4 : 4 + size]
        data = data[4 + size :]


def discover(namespace: str, port: str, mac: str) -> IPv4Address | None:
    """The address that DHCP offers a machine without one; None without an answer within two seconds."""
    hardware = bytes.fromhex(mac.replace(":", ""))
    header = struct.pack("!BBBBIHH16x", 1, 1, 6, 0, 0x1234, 0, 0x8000)  # it asks for an answer to everybody
    message = header + hardware.ljust(16, b"\0") + bytes(192) + COOKIE + bytes((MESSAGE_TYPE, 1, DISCOVER, 255))
    with inside(namespace):
        asking = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with asking:
        asking.settimeout(2)
        asking.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        asking.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, port.encode())
        asking.bind(("", 68))
        asking.sendto(message.ljust(300, b"\0"), ("255.255.255.255", 67))
        try:
            answer = asking.recv(4096)
        except TimeoutError:
            return None
    assert bytes((MESSAGE_TYPE, 1, OFFER)) in answer[240:]
    return IPv4Address(answer[16:20])


def route_sources(namespace: str, version: int) -> frozenset[str | None]:
    """The sources that the kernel's routes of BGP name; empty before there are any."""
    with inside(namespace):
        done = subprocess.run(["ip", f"-{version}", "-j", "route"], capture_output=True, text=True, check=True)
    return frozenset(route.get("prefsrc") for route in json.loads(done.stdout) if route.get("protocol") == "bgp")


@pytest.mark.parametrize("has_source", [True, False])
def test_kea_offers_a_machine_behind_nvue_its_address(tmp_path: Path, has_source: bool) -> None:
    """Without a source of the route the request leaves from the uplink, and the server's own filter drops it."""
    plan = plan_with(tmp_path, "lab-nvue", IMAGED)
    loopback = str(IPv6Address(plan.by_name[RACK].loopback or 0))
    with TemporaryDirectory(prefix=PREFIX) as name, network(plan, Path(name), has_source=has_source) as cable:
        subnet = plan.host_subnet_of[cable.fabric, RACK]
        deadline = time.monotonic() + WAIT_S
        while not (sources := route_sources(f"{PREFIX}{RACK}", 6)) and time.monotonic() < deadline:
            time.sleep(0.5)
        offers = [solicit(f"{PREFIX}{NODE}", cable.a.port) for _ in range(3)]
        log = (Path(name) / "logs/kea.log").read_text()
    assert sources == frozenset((loopback,) if has_source else (None,))
    if has_source:
        assert offers[-1] is not None, log
        assert offers[-1] in ip_network((subnet.network, subnet.prefix_length))
    else:
        assert offers == [None] * 3


@pytest.mark.parametrize("has_source", [True, False])
def test_kea_offers_a_machine_behind_nvue_its_address_over_ipv4(tmp_path: Path, has_source: bool) -> None:
    """From the hosts' gateway, which flows to the boot servers name; from the uplink the server's filter drops it."""
    plan = plan_with(tmp_path, "lab-nvue", f"{FRONTEND_V4}{IMAGED.rstrip()}{FIRMWARE_V4}")
    with TemporaryDirectory(prefix=PREFIX) as name, network(plan, Path(name), has_source=has_source) as cable:
        subnet = plan.host_subnet_of[cable.fabric, RACK]
        (nic,) = (nic for nic in boot_nics(plan)[NODE] if nic.interface.port == cable.a.port)
        deadline = time.monotonic() + WAIT_S
        while not (sources := route_sources(f"{PREFIX}{RACK}", 4)) and time.monotonic() < deadline:
            time.sleep(0.5)
        offers = [discover(f"{PREFIX}{NODE}", cable.a.port, format_mac(nic.mac)) for _ in range(3)]
        logs = (Path(name) / "logs/kea.log").read_text() + (Path(name) / "relay.log").read_text()
    assert sources == frozenset((format_address(subnet.gateway or 0, 4),) if has_source else (None,))
    if has_source:
        assert offers[-1] is not None, logs
        assert offers[-1] == IPv4Address(cable.a.address or 0)
    else:
        assert offers == [None] * 3
