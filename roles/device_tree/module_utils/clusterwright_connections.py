"""TCP connections that are open when a packet filter is loaded: kept, and named where the filter allows no new one.

A kernel that tracks nothing yet takes the next packet of an open connection for a new one, and the filter drops it: a
download, an NFS mount or the boot disk would be gone. So every open connection is entered into the kernel's tracking
before the load. What the filter would not let open again is reported: it ends with its connection, or with a boot.
"""

from __future__ import annotations

import errno
import ipaddress
import json
import os
import socket
import struct
from typing import Any, Iterator, NamedTuple, Sequence

from ansible.module_utils.clusterwright_files import Refused

# IANA: iSCSI, NVMe over TCP and its discovery. A root file system may lie behind them, opened before any of our files.
STORAGE_PORTS = {3260: "iSCSI", 4420: "NVMe over TCP", 8009: "NVMe over TCP"}
_ESTABLISHED, _LISTENING = "01", "0A"  # include/net/tcp_states.h
_LISTED = 10
_TIMEOUT_S = 432000  # nf_conntrack_tcp_timeout_established, as the kernel has it

# include/uapi/linux/netfilter/nfnetlink_conntrack.h
_ORIGINAL, _REPLY, _STATUS, _PROTOCOL_INFO, _TIMEOUT = 1, 2, 3, 4, 7
_TCP_STATE, _TCP_FLAGS_ORIGINAL, _TCP_FLAGS_REPLY = 1, 4, 5
_NEW = 1 << 8  # NFNL_SUBSYS_CTNETLINK, IPCTNL_MSG_CT_NEW
_REQUEST_ACK_CREATE_EXCLUSIVE = 0x1 | 0x4 | 0x400 | 0x200
_SEEN_ASSURED_CONFIRMED = 0xE
_TRACKED_ESTABLISHED = 3
_ANY_WINDOW = 0x08  # IP_CT_TCP_FLAG_BE_LIBERAL: nobody has seen which numbers the two have come to
_NESTED = 0x8000


class Connection(NamedTuple):
    """An open TCP connection of this device; ``inbound`` where its port here is one that listens."""

    local: str
    local_port: int
    remote: str
    remote_port: int
    inbound: bool

    @property
    def version(self) -> int:
        """4 or 6."""
        return ipaddress.ip_address(self.remote).version

    @property
    def text(self) -> str:
        """Both ends, the one that opened it first."""
        here, there = _end(self.local, self.local_port), _end(self.remote, self.remote_port)
        return f"tcp {there} to {here}" if self.inbound else f"tcp {here} to {there}"


def _end(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def open_connections(folder: str = "/proc/net") -> list[Connection]:
    """The established TCP connections with other machines, those of the kernel (NFS, iSCSI) among them."""
    rows: list[tuple[str, str, int, str, int]] = []
    for name in ("tcp", "tcp6"):
        try:
            with open(os.path.join(folder, name)) as stream:
                lines = stream.read().splitlines()[1:]
        except FileNotFoundError:  # a kernel without IPv6
            continue
        for line in lines:
            _, local, remote, state = line.split()[:4]
            rows.append((state, *_address(local), *_address(remote)))
    listening = {port for state, _, port, _, _ in rows if state == _LISTENING}
    own = {address for _, address, _, _, _ in rows}
    connections = []
    for state, local, local_port, remote, remote_port in rows:
        if state != _ESTABLISHED or remote in own or ipaddress.ip_address(remote).is_loopback:
            continue
        connections.append(Connection(local, local_port, remote, remote_port, local_port in listening))
    return connections


def _address(written: str) -> tuple[str, int]:
    """Address and port of a row: words of four bytes as the processor has them, an IPv4 address in IPv6 as itself."""
    text, _, port = written.partition(":")
    words = [int(text[start : start + 8], 16) for start in range(0, len(text), 8)]
    address = ipaddress.ip_address(struct.pack(f"={len(words)}I", *words))
    mapped = getattr(address, "ipv4_mapped", None)
    return str(mapped or address), int(port, 16)


def keep(connections: Sequence[Connection]) -> None:
    """Have the kernel track what is open. Raises Refused where it does not: the filter would end these connections."""
    if not connections:
        return
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 12) as netlink:  # NETLINK_NETFILTER
        for number, connection in enumerate(connections, 1):
            netlink.send(_entry(connection, number))
            (code,) = struct.unpack_from("=i", netlink.recv(4096), 16)
            if code not in (0, -errno.EEXIST):
                raise Refused(
                    f"the kernel does not track {connection.text} ({os.strerror(-code)}), so that the packet filter "
                    "would end it and others; load the module nf_conntrack_netlink"
                )


def _entry(connection: Connection, number: int) -> bytes:
    here, there = (connection.local, connection.local_port), (connection.remote, connection.remote_port)
    ends = (there, here) if connection.inbound else (here, there)
    flags = struct.pack("BB", _ANY_WINDOW, _ANY_WINDOW)
    state = _attribute(_TCP_STATE, bytes([_TRACKED_ESTABLISHED]))
    tcp = state + _attribute(_TCP_FLAGS_ORIGINAL, flags) + _attribute(_TCP_FLAGS_REPLY, flags)
    family = socket.AF_INET if connection.version == 4 else socket.AF_INET6
    body = struct.pack("=BBH", family, 0, 0)
    body += _attribute(_ORIGINAL | _NESTED, _tuple(*ends[0], *ends[1]))
    body += _attribute(_REPLY | _NESTED, _tuple(*ends[1], *ends[0]))
    body += _attribute(_STATUS, struct.pack("!I", _SEEN_ASSURED_CONFIRMED))
    body += _attribute(_PROTOCOL_INFO | _NESTED, _attribute(1 | _NESTED, tcp))
    body += _attribute(_TIMEOUT, struct.pack("!I", _TIMEOUT_S))
    return struct.pack("=IHHII", 16 + len(body), _NEW, _REQUEST_ACK_CREATE_EXCLUSIVE, number, 0) + body


def _tuple(source: str, source_port: int, target: str, target_port: int) -> bytes:
    first, second = (ipaddress.ip_address(address) for address in (source, target))
    numbers = (1, 2) if first.version == 4 else (3, 4)  # CTA_IP_V4_SRC, _DST; CTA_IP_V6_SRC, _DST
    addresses = _attribute(numbers[0], first.packed) + _attribute(numbers[1], second.packed)
    ports = _attribute(2, struct.pack("!H", source_port)) + _attribute(3, struct.pack("!H", target_port))
    protocol = _attribute(1, bytes([socket.IPPROTO_TCP])) + ports
    return _attribute(1 | _NESTED, addresses) + _attribute(2 | _NESTED, protocol)


def _attribute(kind: int, data: bytes) -> bytes:
    length = 4 + len(data)
    return struct.pack("=HH", length, kind) + data + b"\0" * (-length % 4)


def not_allowed(listed: str, connections: Sequence[Connection], addresses: str) -> list[Connection]:
    """The connections that the ruleset ``listed`` would not let open again, as far as its rules tell.

    ``listed`` is nft's JSON, ``addresses`` that of ``ip address``: it says over which interface a connection goes.
    """
    interfaces = _interface_by_address(addresses)
    chains, sets = _chains_and_sets(listed)
    found = []
    for connection in connections:
        hook = "input" if connection.inbound else "output"
        interface = interfaces.get(connection.local, "")
        if any(_drops(chain, connection, interface, sets) for chain in chains if chain.hook == hook):
            found.append(connection)
    return found


def refuse_unnamed_interfaces(listed: str, addresses: str) -> None:
    """Raises Refused for a ruleset that names interfaces of which this device has none: it would be cut off."""
    named_in_rules: set[str] = set()
    for chain in _chains_and_sets(listed)[0]:
        for rule in chain.rules:
            for part in rule:
                left = part.get("match", {}).get("left")
                key = left.get("meta", {}).get("key") if isinstance(left, dict) else None
                if key in ("iifname", "oifname"):
                    right = part["match"]["right"]
                    names = right["set"] if isinstance(right, dict) else [right]
                    named_in_rules.update(name for name in names if isinstance(name, str))
    own = {interface.get("ifname", "") for interface in json.loads(addresses or "[]")} - {"lo"}
    if named_in_rules and not named_in_rules & own:
        raise Refused(
            f"the packet filter names {', '.join(sorted(named_in_rules)[:4])}, and this device has "
            f"{', '.join(sorted(own)[:8]) or 'no interface'}: it would be cut off. Where names come from .link files "
            "of the tree, it has them after a boot; otherwise name the interfaces in the hardware model as they are"
        )


class _Chain(NamedTuple):
    hook: str
    policy: str
    rules: list[list[Any]]


def _chains_and_sets(listed: str) -> tuple[list[_Chain], dict[str, list[Any]]]:
    """The base chains of a ruleset, and its sets by name."""
    sets: dict[str, list[Any]] = {}
    chains: dict[tuple[str, str, str], _Chain] = {}
    for entry in json.loads(listed)["nftables"]:
        ((kind, body),) = entry.items()
        if kind == "set":
            sets[body["name"]] = body.get("elem", [])
        elif kind == "chain":
            key = body["family"], body["table"], body["name"]
            chains[key] = _Chain(body.get("hook", ""), body.get("policy", "accept"), [])
        elif kind == "rule":
            chains[body["family"], body["table"], body["chain"]].rules.append(body["expr"])
    return list(chains.values()), sets


def _drops(chain: _Chain, connection: Connection, interface: str, sets: dict[str, list[Any]]) -> bool:
    """Whether a chain drops a new connection; a rule with an expression that is not known here decides nothing."""
    for rule in chain.rules:
        matches = [part["match"] for part in rule if "match" in part]
        verdicts = {next(iter(part)) for part in rule if "match" not in part} - {"counter", "comment"}
        if len(verdicts) != 1 or not verdicts <= {"accept", "drop", "reject"}:
            continue
        if all(_matches(match, connection, interface, sets) for match in matches):
            return "accept" not in verdicts
    return chain.policy == "drop"


def _interface_by_address(addresses: str) -> dict[str, str]:
    found = {}
    for interface in json.loads(addresses or "[]"):
        for entry in interface.get("addr_info", []):
            found[entry.get("local", "")] = interface.get("ifname", "")
    return found


def _matches(match: Any, connection: Connection, interface: str, sets: dict[str, list[Any]]) -> bool:
    left, right = match["left"], match["right"]
    values = sets.get(right[1:], []) if isinstance(right, str) and right.startswith("@") else right
    items = values.get("set", [values]) if isinstance(values, dict) else values
    items = items if isinstance(items, list) else [items]
    if match["op"] not in ("==", "in") or not isinstance(left, dict):
        return False
    payload, meta = left.get("payload"), left.get("meta")
    if payload is not None:
        protocol, field = payload.get("protocol"), payload.get("field")
        if field == "dport" and protocol in ("tcp", "th"):
            port = connection.local_port if connection.inbound else connection.remote_port
            return any(_holds_number(item, port) for item in items)
        if protocol == ("ip" if connection.version == 4 else "ip6") and field in ("saddr", "daddr"):
            is_remote = (field == "saddr") == connection.inbound
            address = connection.remote if is_remote else connection.local
            return any(_holds_address(item, address) for item in items)
        return False
    if meta is not None and meta.get("key") == "l4proto":
        return "tcp" in items or 6 in items
    return meta is not None and meta.get("key") in ("iifname", "oifname") and interface in items


def _holds_number(item: Any, number: int) -> bool:
    if isinstance(item, dict) and "range" in item:
        low, high = item["range"]
        return bool(low <= number <= high)
    return bool(item == number)


def _holds_address(item: Any, address: str) -> bool:
    one = ipaddress.ip_address(address)
    if isinstance(item, dict) and "prefix" in item:
        network = ipaddress.ip_network("{addr}/{len}".format(**item["prefix"]))
        return one.version == network.version and one in network
    if isinstance(item, dict) and "range" in item:
        low, high = (ipaddress.ip_address(end) for end in item["range"])
        return one.version == low.version and int(low) <= int(one) <= int(high)
    return isinstance(item, str) and item == str(one)


def refuse_lost_disks(lost: Sequence[Connection]) -> None:
    """Raises Refused for a disk over the network that the filter would cut off, now or when the device starts next."""
    for connection in lost:
        name = STORAGE_PORTS.get(connection.remote_port)
        if name is not None and not connection.inbound:
            raise Refused(
                f"{connection.text} is {name}, perhaps this machine's own disk, and no flow allows it: under the new "
                f"packet filter it would not open again; add a flow to {connection.remote}, TCP port "
                f"{connection.remote_port}"
            )


def named(lost: Sequence[Connection]) -> Iterator[str]:
    """A line for each of the first connections, and one for all others."""
    for connection in lost[:_LISTED]:
        yield connection.text
    if len(lost) > _LISTED:
        yield f"and {len(lost) - _LISTED} more"
