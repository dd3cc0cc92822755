"""What rendered filters do with single packets, read line by line and with nothing of the proof's own code.

A packet is a mapping of plain values: ``src`` and ``dst`` as text, ``proto``, ``sport``, ``dport``, ``type``,
``flags``, ``ct``, ``iif``, ``oif``, ``origin``, ``hops``.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Any

Packet = Mapping[str, Any]
_ICMP = {
    "nd-neighbor-solicit": 135,
    "nd-neighbor-advert": 136,
    "mld-listener-report": 131,
    "mld2-listener-report": 143,
    "packet-too-big": 2,
}
_ERRORS = {"icmp": (3, 11, 12), "icmpv6": (1, 3, 4)}
_NAMED = ("destination-unreachable", "time-exceeded", "parameter-problem")


@lru_cache(maxsize=100_000)
def _network(text: str) -> IPv4Network | IPv6Network:
    return ip_network(text, strict=False)


@lru_cache(maxsize=1_000_000)
def _inside(address: str, prefix: str) -> bool:
    network = _network(prefix)
    found = ip_address(address)
    return found.version == network.version and found in network


def _ports(text: str, port: int) -> bool:
    for part in text.split(","):
        low, _, high = part.strip().partition("-")
        if int(low) <= port <= int(high or low):
            return True
    return False


def nft(text: str, hook: str, packet: Packet) -> bool:
    """True when the hook's chain lets a packet pass."""
    sets, policy, rules = _chain(text, hook)
    for line, verdict in rules:
        if _nft_line(line, sets, packet):
            return verdict == "accept"
    return policy == "accept"


@lru_cache(maxsize=64)
def _chain(text: str, hook: str) -> tuple[Mapping[str, Sequence[str]], str, list[tuple[str, str]]]:
    sets = {name: re.findall(r"[0-9a-f.:]+(?:/\d+)?", body) for name, body in _SET.findall(text)}
    chain = re.search(rf"type filter hook {hook} priority filter; policy (\w+);\n(.*?)\n\t}}", text, re.S)
    rules = []
    for line in chain[2].split("\n") if chain else ():
        verdict = re.search(r" (accept|drop)(?: comment .*)?$", line.replace("\tcounter", " counter"))
        if verdict and "limit rate" not in line:
            rules.append((line, verdict[1]))
    return sets, chain[1] if chain else "accept", rules


@lru_cache(maxsize=64)
def _json(text: str) -> Any:
    return json.loads(text)


@lru_cache(maxsize=256)
def _eos_list(text: str, port: str, word: str) -> list[list[str]] | None:
    """The entries of a port's list in order, None without one."""
    body = re.search(rf"^interface {re.escape(port)}\n((?:   .*\n)*)", text, re.M)
    group = re.search(rf"^   {word} access-group (\S+) in$", body[1], re.M) if body else None
    found = re.search(rf"^{word} access-list {re.escape(group[1])}\n((?:   .*\n)*)", text, re.M) if group else None
    if found is None:
        return None
    entries = [line.split() for line in found[1].splitlines() if line.split()[1] in ("permit", "deny")]
    return sorted(entries, key=lambda words: int(words[0]))


_SET = re.compile(r"set (\w+) \{\n.*?elements = \{(.*?)\}", re.S)


@lru_cache(maxsize=100_000)
def _found(pattern: str, line: str) -> re.Match[str] | None:
    return re.search(pattern, line)


def _nft_line(line: str, sets: Mapping[str, Sequence[str]], packet: Packet) -> bool:
    for key in ("iif", "oif"):
        if found := _found(rf'\b{key}(?:name)? (?:"([^"]+)"|{{ ([^}}]+) }})', line):
            names = [found[1]] if found[1] else re.findall(r'"([^"]+)"', found[2])
            if packet[key] not in names:
                return False
    for side in ("src", "dst"):
        found = _found(rf"\bip6? {side[0]}addr @(\w+)", line)
        if found and not any(_inside(packet[side], prefix) for prefix in sets[found[1]]):
            return False
    if (found := _found(r"\bct state ([\w,]+)", line)) and packet["ct"] not in found[1].split(","):
        return False
    return _nft_protocol(line, packet) and _nft_origin(line, packet)


def _nft_protocol(line: str, packet: Packet) -> bool:
    v6 = ":" in packet["src"]
    numbers = {"tcp": 6, "udp": 17}
    found = _found(r"\b(tcp|udp) dport \{ ([^}]+) \}", line)
    if found and (packet["proto"] != numbers[found[1]] or not _ports(found[2], packet["dport"])):
        return False
    if (found := _found(r"\bmeta l4proto (\w+)", line)) and packet["proto"] != numbers.get(found[1]):
        return False
    if found := _found(r"\b(icmp|icmpv6) type (?:\{ ([^}]+) \}|([\w-]+))", line):
        types: set[int] = set()
        for name in (found[2] or found[3]).split(", "):
            if name in _NAMED:
                types.add(_ERRORS[found[1]][_NAMED.index(name)])
            elif name == "echo-request":
                types.add(8 if found[1] == "icmp" else 128)
            else:
                types.add(_ICMP[name])
        if v6 != (found[1] == "icmpv6") or packet["proto"] != (58 if v6 else 1) or packet["type"] not in types:
            return False
    return not ("hoplimit 255" in line and packet["hops"] != 255)


def _nft_origin(line: str, packet: Packet) -> bool:
    if "fib saddr type local" in line and packet["origin"] not in ("own", "elsewhere"):
        return False
    return not ("fib saddr . oif type != local" in line and packet["origin"] == "own")


def eos(text: str, port: str, packet: Packet) -> bool:
    """True when a port lets a packet in."""
    word = "ipv6" if ":" in packet["src"] else "ip"
    entries = _eos_list(text, port, word)
    if entries is None:
        return True
    return next((entry[1] == "permit" for entry in entries if _eos_entry(entry[2:], word, packet)), False)


def _eos_entry(words: list[str], word: str, packet: Packet) -> bool:
    protocol = words.pop(0)
    if protocol != word and packet["proto"] != {"tcp": 6, "udp": 17, "icmp": 1, "icmpv6": 58}[protocol]:
        return False
    for side, port in (("src", "sport"), ("dst", "dport")):
        text = words.pop(0)
        prefix = words.pop(0) if text == "host" else text
        if prefix != "any" and not _inside(packet[side], prefix):
            return False
        if words[:1] == ["eq"]:
            if packet[port] != int(words[1]):
                return False
            words = words[2:]
        elif words[:1] == ["range"]:
            if not int(words[1]) <= packet[port] <= int(words[2]):
                return False
            words = words[3:]
    if words == ["established"]:
        return bool(packet["flags"] & 0x14)
    return not words or packet["type"] == int(words[0])


def sonic(text: str, port: str, packet: Packet) -> bool:
    """True when a port lets a packet in."""
    document = _json(text)
    v6 = ":" in packet["src"]
    for name, table in document["ACL_TABLE"].items():
        if table.get("stage") != "ingress" or port not in table["ports"]:
            continue
        rules = [(int(f["PRIORITY"]), f) for k, f in document["ACL_RULE"].items() if k.split("|")[0] == name]
        for _, fields in sorted(rules, key=lambda each: -each[0]):
            if _sonic_rule(fields, packet, v6=v6):
                if fields["PACKET_ACTION"] == "DROP":
                    return False
                break
    return True


def _sonic_rule(fields: Mapping[str, str], packet: Packet, *, v6: bool) -> bool:
    for key, text in fields.items():
        side = "src" if "SRC" in key else "dst"
        if key == "ETHER_TYPE" and text != ("0x86DD" if v6 else "0x0800"):
            return False
        if key in ("SRC_IP", "DST_IP", "SRC_IPV6", "DST_IPV6") and not _inside(packet[side], text):
            return False
        if key == "IP_PROTOCOL" and packet["proto"] != int(text):
            return False
        if key.startswith("L4_") and not _ports(text, packet[side[0] + "port"]):
            return False
        if key == "TCP_FLAGS":
            wanted, mask = (int(each, 16) for each in text.split("/"))
            if packet["flags"] & mask != wanted:
                return False
        if key.startswith("ICMP") and packet["type"] != int(text):
            return False
    return True


def fboss(text: str, port: str, packet: Packet) -> bool:
    """True when a port lets a packet in."""
    for entry in _fboss_entries(text, port):
        if _fboss_entry(entry, packet):
            return bool(entry["actionType"] == 1)
    return True


@lru_cache(maxsize=256)
def _fboss_entries(text: str, port: str) -> tuple[Mapping[str, Any], ...]:
    """The entries that may decide about what comes in at a port, first those that decide first."""
    switch = _json(text)["sw"]
    number = next(row["logicalID"] for row in switch["ports"] if row["name"] == port)
    vlan = next(row["vlanID"] for row in switch["vlanPorts"] if row["logicalPort"] == number)
    return tuple(
        entry
        for table in sorted(switch["aclTableGroup"]["aclTables"], key=lambda each: -each["priority"])
        for kind in (0, 1)
        for entry in table["aclEntries"]
        if entry["actionType"] == kind and entry.get("srcPort", number) == number and entry.get("vlanID", vlan) == vlan
    )


def _fboss_entry(entry: Mapping[str, Any], packet: Packet) -> bool:
    return (
        entry.get("proto", packet["proto"]) == packet["proto"]
        and entry.get("l4SrcPort", packet["sport"]) == packet["sport"]
        and entry.get("l4DstPort", packet["dport"]) == packet["dport"]
        and entry.get("tcpFlagsBitMap", packet["flags"] & 0x3F) == packet["flags"] & 0x3F
        and entry.get("icmpType", packet["type"]) == packet["type"]
        and ("srcIp" not in entry or _inside(packet["src"], entry["srcIp"]))
        and ("dstIp" not in entry or _inside(packet["dst"], entry["dstIp"]))
        and not ("icmpType" in entry and (entry["proto"] == 58) != (":" in packet["src"]))
    )


_STATES = ("new", "new", "new", "established", "related", "invalid")


def packets(chosen: random.Random, *texts: str, count: int) -> Iterator[Packet]:
    """Packets at the borders of what the texts name: addresses, ports, types, interfaces, and their neighbours."""
    words = " ".join(texts)
    addresses: dict[int, list[str]] = {4: ["8.8.8.8"], 6: ["2600::1"]}
    for text in sorted(set(re.findall(r"(?<![\w.:])(?:\d+\.\d+\.\d+\.\d+|[0-9a-f]{0,4}:[0-9a-f:]+)/\d+", words))):
        try:
            network = _network(text)
        except ValueError:
            continue
        size = 1 << network.max_prefixlen
        first, last = int(network[0]), int(network[-1])
        kind = type(network[0])
        addresses[network.version] += [str(kind(at)) for at in (first, first + 2, last) if at < size]
        addresses[network.version] += [str(kind(at)) for at in (first - 1, last + 1) if 0 <= at < size]
    numbers = sorted({int(word) for word in re.findall(r"(?<![\w.:/])\d{1,5}(?![\w.:/])", words)})
    ports = sorted({at for n in numbers for at in (n - 1, n, n + 1) if 0 <= at < 65536} | {0, 65535})
    names = [*sorted(set(re.findall(r'"((?:be|fe|ib)\d|lo)"', words))), "other0"]
    for _ in range(count):
        version = chosen.choice((4, 6) if len(addresses[4]) > 4 else (4, 6, 6, 6))
        proto = chosen.choice((6, 6, 6, 17, 17, 58 if version == 6 else 1, 47))
        number = chosen.choice((0, 1, 2, 3, 4, 5, 8, 11, 12, 128, 129, 131, 132, 135, 136, 143))
        untracked = version == 6 and proto == 58 and number in (131, 132, 135, 136, 143)
        yield {
            "src": chosen.choice(addresses[version]),
            "dst": chosen.choice(addresses[version]),
            "proto": proto,
            "sport": chosen.choice(ports),
            "dport": chosen.choice(ports),
            "type": number,
            "flags": chosen.choice((2, 16, 18, 24, 4, 17, 1, 8)),
            "ct": "untracked"
            if untracked
            else chosen.choice(("new", "new", "new", "established", "related", "invalid")),
            "iif": chosen.choice(names),
            "oif": chosen.choice(names),
            "origin": chosen.choice(("foreign", "own", "elsewhere")),
            "hops": chosen.choice((64, 255)),
        }
