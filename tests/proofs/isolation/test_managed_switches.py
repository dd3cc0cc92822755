"""Management ports of InfiniBand switches: MLNX-OS's filter and NVOS's ACLs are proven, and refuted when edited."""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from ipaddress import ip_address, ip_network
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import yaml
from tests.golden_files import assert_golden
from tests.proofs.isolation.test_isolation import replaced
from tests.proofs.isolation.trees import Edit
from tests.switches.test_managed_switch import KEY, SPEC

from clusterwright.artifact import Artifact
from clusterwright.finding import VerifyError
from clusterwright.plan.build import build_plan
from clusterwright.plan.model import Plan
from clusterwright.proofs.check import Verdict
from clusterwright.proofs.declaration import Declaration
from clusterwright.proofs.isolation.proof import ISOLATION
from clusterwright.proofs.registry import CHECKS
from clusterwright.proofs.tree import tree_of
from clusterwright.spec.load import load_spec
from clusterwright.switches.managed import writer as managed_switch

ZONES = """
zones:
  - {{name: management, kind: management, isolated: true, fabrics: [management]}}
  - {{name: operations, kind: management, prefixes: ["10.0.8.0/24", "10.0.9.0/24", "fd00:5::/64"]}}
  - {{name: internet, kind: internet}}
flows:
  - {{name: operate, from: operations, to: management, protocol: tcp, ports: [22, 443], reason: "SSH", owner: netops}}
  - {{name: monitor, from: operations, to: management, protocol: udp, ports: [161], reason: "SNMP", owner: netops}}
  - {{name: ping, from: operations, to: management, protocol: icmp, reason: "is it there", owner: netops}}
  - {{name: names, from: management, to: operations, protocol: udp, ports: [53, 123], reason: "names", owner: netops}}
  - {{name: aaa, from: management, to: operations, protocol: tcp, ports: [49], reason: "TACACS+", owner: netops}}
"""
PORTS = '10.0.255.0/25"\n      links: "10.0.255.128/25"\n      hosts: "10.0.0.0/23'
SIX = 'fd00:7::/64"\n      links: "fd00:8::/64"\n      hosts: "fd00:6::/56'
MODELS = {"mlnx-os": ("qm9700", "mgmt0"), "nvos": ("q3400", "eth0")}
CLEAR = "ip filter chain input clear"
IN_V4 = "          AA_MANAGEMENT_V4:\n            inbound:\n              control-plane: {}\n"
OUT_V4 = IN_V4.replace("MANAGEMENT", "REACH").replace("inbound", "outbound")
EDITS = 30
PACKETS = 3000
Packet = Mapping[str, Any]


@cache
def plan(system: str, version: int = 4) -> Plan:
    text = (SPEC + ZONES).format(model=MODELS[system][0], node="dgx-h100", key=KEY)
    with TemporaryDirectory() as folder:
        file = Path(folder) / "managed.yaml"
        file.write_text(text if version == 4 else text.replace(PORTS, SIX).replace("per_switch: 25", "per_switch: 64"))
        return build_plan(load_spec(file))


@cache
def artifact(system: str, version: int = 4) -> Artifact:
    own = plan(system, version)
    (found,) = managed_switch.render(own, own.by_name["leaf-00"])
    return found


def verdict(system: str, edit: Edit = lambda text: text, version: int = 4, *, is_folder: bool = False) -> Verdict:
    before = artifact(system, version)
    changed = Artifact(before.device, before.path, edit(before.content.decode()).encode(), before.kind)
    return ISOLATION.run(tree_of("managed", [changed], None if is_folder else Declaration(plan(system, version))))


@pytest.mark.parametrize("version", [4, 6])
@pytest.mark.parametrize("system", MODELS)
def test_what_is_rendered_is_proven(system: str, version: int) -> None:
    result = verdict(system, version=version)
    assert not result.counterexamples
    facts = {fact.name: fact.value for fact in result.facts}
    assert facts["switches with a filter"] == 1
    assert not verdict(system, version=version, is_folder=True).counterexamples


@pytest.mark.parametrize("system", MODELS)
def test_a_spec_without_zones_opens_and_closes_nothing(system: str, tmp_path: Path) -> None:
    (tmp_path / "open.yaml").write_text(SPEC.format(model=MODELS[system][0], node="dgx-h100", key=KEY))
    own = build_plan(load_spec(tmp_path / "open.yaml"))
    (found,) = managed_switch.render(own, own.by_name["leaf-00"])
    assert b"filter" not in found.content
    assert b"acl" not in found.content


CASES: dict[str, tuple[str, Edit]] = {
    "MLNX-OS: not switched on": ("mlnx-os", replaced("ip filter enable\n", "")),
    "MLNX-OS: switched off": ("mlnx-os", replaced("ip filter enable", "no ip filter enable")),
    "MLNX-OS: open policy": ("mlnx-os", replaced("input policy drop", "input policy accept")),
    "MLNX-OS: no IPv6 filter": ("mlnx-os", replaced("ipv6 filter enable\n", "")),
    "MLNX-OS: cleared again": (
        "mlnx-os",
        replaced("ip filter enable", f"{CLEAR}\nip filter enable"),
    ),
    "MLNX-OS: another source": ("mlnx-os", replaced("source-addr 10.0.8.0 /23 protocol tcp", "protocol tcp")),
    "MLNX-OS: replies without a connection": ("mlnx-os", replaced(" state established", "")),
    "MLNX-OS: a default route": (
        "mlnx-os",
        replaced("ip domain-list", "ip route 0.0.0.0 0.0.0.0 10.0.0.1\nip domain-list"),
    ),
    "MLNX-OS: a default gateway": (
        "mlnx-os",
        replaced("ip domain-list", "ip default-gateway 10.0.0.1\nip domain-list"),
    ),
    "NVOS: not bound": (
        "nvos",
        replaced(IN_V4, ""),
    ),
    "NVOS: the last rule permits": ("nvos", replaced("              deny: {}", "              permit: {}")),
    "NVOS: another port": ("nvos", replaced('"443": {}', '"444": {}')),
    "NVOS: any flag": ("nvos", replaced("                  mask:\n                    ack: {}\n", "")),
    "NVOS: the gateway leads everywhere": (
        "nvos",
        replaced(OUT_V4, ""),
    ),
    "NVOS: the gateway leads too far": ("nvos", replaced('dest-ip: "10.0.8.0/23"', 'dest-ip: "10.0.0.0/8"')),
}

# Lines that open the switch, or let it do what no list judges, each put before the first one of its kind.
OPENED: dict[str, tuple[str, Edit]] = {
    "MLNX-OS: an account of nobody": (
        "mlnx-os",
        replaced("## Operators", "username eve capability admin\n## Operators"),
    ),
    "MLNX-OS: a key of nobody": (
        "mlnx-os",
        replaced("## Operators", 'ssh client user netops authorized-key sshv2 "ssh-rsa AAAA"\n## Operators'),
    ),
    "MLNX-OS: a password": ("mlnx-os", replaced("username netops disable password", "username netops password 7 $6$x")),
    "MLNX-OS: telnet": ("mlnx-os", replaced("no telnet-server enable", "telnet-server enable")),
    "MLNX-OS: nothing said of HTTP": ("mlnx-os", replaced("no web http enable\n", "")),
    "MLNX-OS: communities on again": (
        "mlnx-os",
        replaced("## Time", "snmp-server communities enable\n## Time"),
    ),
    "MLNX-OS: an SNMP user of nobody": (
        "mlnx-os",
        replaced("snmp-server user monitoring v3 enable", "snmp-server user eve v3 enable"),
    ),
    "MLNX-OS: a server of nobody": ("mlnx-os", replaced("ntp enable", "ntp server 198.51.100.9\nntp enable")),
    "MLNX-OS: a server by name": ("mlnx-os", replaced("ntp enable", "ntp server time.example.com\nntp enable")),
    "MLNX-OS: a log to nobody's server": (
        "mlnx-os",
        replaced("logging 10.0.9.14 trap notice", "logging 198.51.100.9 trap notice"),
    ),
    "MLNX-OS: time from nobody's server": (
        "mlnx-os",
        replaced("no ntp server 10.0.9.123 disable", "no ntp server 198.51.100.9 disable"),
    ),
    "MLNX-OS: nothing said of a password": ("mlnx-os", replaced("username netops disable password\n", "")),
    "MLNX-OS: SNMP without privacy": ("mlnx-os", replaced("snmp-server user monitoring v3 require-privacy\n", "")),
    "MLNX-OS: rules from before": ("mlnx-os", replaced(f"{CLEAR}\n", "")),
    "MLNX-OS: DHCP": ("mlnx-os", replaced("no interface mgmt0 dhcp", "interface mgmt0 dhcp")),
    "MLNX-OS: an address of nobody": (
        "mlnx-os",
        replaced("ip domain-list", "interface mgmt0 ip address 198.51.100.1 /24\nip domain-list"),
    ),
    "NVOS: an account of nobody": (
        "nvos",
        replaced("        user:\n", "        user:\n          eve:\n            role: admin\n"),
    ),
    "NVOS: a key of nobody": (
        "nvos",
        replaced(
            "authorized-key:\n",
            'authorized-key:\n                x:\n                  type: ssh-rsa\n                  key: "AAAA"\n',
        ),
    ),
    "NVOS: a password": (
        "nvos",
        replaced("            ssh:\n", '            hashed-password: "$6$x"\n            ssh:\n'),
    ),
    "NVOS: SNMP": ("nvos", replaced("snmp-server:\n        state: disabled", "snmp-server:\n        state: enabled")),
    "NVOS: DHCP": (
        "nvos",
        replaced("dhcp-client:\n            state: disabled", "dhcp-client:\n            state: enabled"),
    ),
    "NVOS: a server of nobody": (
        "nvos",
        replaced(
            "      ntp:\n        state: enabled\n        server:\n",
            '      ntp:\n        state: enabled\n        server:\n          "198.51.100.9": {}\n',
        ),
    ),
    "NVOS: an address of nobody": (
        "nvos",
        replaced("          address:\n", '          address:\n            "198.51.100.1/24": {}\n'),
    ),
}


@pytest.mark.parametrize("name", OPENED)
def test_what_opens_the_switch_is_told_at_its_line(name: str) -> None:
    system, edit = OPENED[name]
    assert edit(artifact(system).content.decode()) != artifact(system).content.decode()
    counterexamples = verdict(system, edit).counterexamples
    assert counterexamples
    assert all(example.line > 0 for example in counterexamples)


UNKNOWN: dict[str, tuple[str, Edit, str]] = {
    "mlnx-os": (
        "mlnx-os",
        replaced("ntp enable", "ntp enable\naaa authentication login default radius local"),
        "aaa auth",
    ),
    "mlnx-os, of the subnet": (
        "mlnx-os",
        replaced("ntp enable", "interface ib 1/1 shutdown\nntp enable"),
        "interface ib 1/1",
    ),
    "mlnx-os, its own manager": ("mlnx-os", replaced("no ib sm\n", ""), "a subnet manager of its own"),
    "mlnx-os, its manager on": ("mlnx-os", replaced("no ib sm\n", "no ib sm\nib sm\n"), "a subnet manager of its own"),
    "nvos": ("nvos", replaced("      hostname:", "      aaa-other: on\n      hostname:"), "aaa-other"),
    "nvos, of the subnet": ("nvos", replaced("- set:\n", "- set:\n    ib:\n      sm:\n        state: enabled\n"), "ib"),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_a_line_that_nobody_knows_leaves_claims_not_proven(name: str) -> None:
    system, edit, text = UNKNOWN[name]
    before = artifact(system)
    changed = Artifact(before.device, before.path, edit(before.content.decode()).encode(), before.kind)
    for check in CHECKS:
        if check.name == "isolation" or (check.name == "ib-managers" and ("subnet" in name or "manager" in name)):
            result = check.run(tree_of("managed", [changed], Declaration(plan(system))))
            assert "no reader knows leaf-00:/" in result.unjudged, check.name
            assert text in result.unjudged


def test_each_edit_is_told_with_its_line_and_packet() -> None:
    lines = []
    for name, (system, edit) in CASES.items():
        counterexamples = verdict(system, edit).counterexamples
        assert counterexamples, name
        lines += [
            f"{name}:",
            *(f"  {re.sub(r':[0-9]+: ', ':N: ', str(example), count=1)}" for example in counterexamples[:2]),
        ]
    assert_golden("isolation/managed-switches", "\n".join([*lines, ""]).encode())


@pytest.mark.parametrize(
    ("system", "edit"),
    [
        ("mlnx-os", replaced("target accept dup-delete source-addr", "target log source-addr")),
        ("mlnx-os", replaced("ip filter enable", "ip filter options include-control")),
        ("mlnx-os", replaced("protocol udp", "protocol udp fragments yes")),
        ("nvos", replaced("              permit: {}", "              log: {}")),
        ("nvos", replaced("protocol: tcp", "dscp: 4")),
        ("nvos", replaced("        type: ipv4\n", "        type: mac\n")),
        ("nvos", replaced("          AA_REACH_V4:\n            outb", "          AA_GONE:\n            outb")),
    ],
)
def test_text_that_is_not_understood_leaves_the_claim_not_proven(system: str, edit: Edit) -> None:
    result = verdict(system, edit)
    assert not result.is_proven
    assert re.search(r"leaf-00:/\S+:\d+: ", result.unjudged), result.unjudged


def _mlnxos(text: str, packet: Packet) -> bool:
    """What iptables would do: a second reading of the commands, line by line."""
    word = "ipv6" if packet["version"] == 6 else "ip"
    lines = [line for line in text.splitlines() if re.match(rf"(no )?{word} filter ", line)]
    if f"{word} filter enable" not in lines:
        return True
    policy = [line.split()[-1] for line in lines if " policy " in line][-1:] or ["accept"]
    for line in lines[max(index for index, line in enumerate(lines) if line.endswith("clear")) :]:
        if " rule " in line and _takes(line, packet):
            return " target accept " in line
    return policy[0] == "accept"


def _takes(line: str, packet: Packet) -> bool:
    def named(pattern: str) -> str | None:
        match = re.search(rf" {pattern}(?: |$)", line)
        return match[1] if match else None

    source = re.search(r"source-addr (\S+) (/\d+)", line)
    number = {"tcp": 6, "udp": 17, "icmp": 1, "icmpv6": 58}.get(named(r"protocol (\S+)") or "")
    return (
        " in-intf lo" not in line
        and (source is None or packet["src"] in ip_network(source[1] + source[2], strict=False))
        and (number is None or number == packet["proto"])
        and named(r"source-port (\d+)") in (None, str(packet["sport"]))
        and named(r"dest-port (\d+)") in (None, str(packet["dport"]))
        and named(r"icmp-type (\d+)") in (None, str(packet["type"]))
        and ("state established" not in line or packet["ct"] == "established")
    )


@lru_cache(maxsize=4)
def _document(text: str) -> Any:
    return yaml.safe_load(text)[0]["set"]


def _nvos(text: str, packet: Packet) -> bool:
    """The same for NVOS's lists, inwards."""
    own = _document(text)
    bound = own["interface"]["eth0"].get("acl", {})
    for name in sorted(name for name, where in bound.items() if "inbound" in where):
        acl = own["acl"][name]
        if acl["type"] != f"ipv{packet['version']}":
            continue
        for _, rule in sorted(acl["rule"].items(), key=lambda each: int(each[0])):
            if _fits(rule.get("match", {}).get("ip", {}), packet):
                return "permit" in rule["action"]
    return True


def _fits(match: Mapping[str, Any], packet: Packet) -> bool:
    ports = match.get("tcp") or match.get("udp") or {}
    mask = sum({"ack": 16, "rst": 4}[flag] for flag in ports.get("mask", {}))
    return (
        packet["src"]
        in ip_network(match.get("source-ip", "::/0" if packet["version"] == 6 else "0.0.0.0/0"), strict=False)
        and match.get("protocol", "") in ("", {6: "tcp", 17: "udp", 1: "icmp", 58: "icmpv6"}.get(packet["proto"]))
        and str(packet["sport"]) in (ports.get("source-port") or {str(packet["sport"])})
        and str(packet["dport"]) in (ports.get("dest-port") or {str(packet["dport"])})
        and match.get("icmp-type", match.get("icmpv6-type", str(packet["type"]))) == str(packet["type"])
        and ("flags" not in ports or packet["flags"] & mask == sum({"ack": 16, "rst": 4}[f] for f in ports["flags"]))
    )


def _packets(chosen: random.Random) -> Iterator[Packet]:
    sources = {
        4: [ip_address(each) for each in ("10.0.8.1", "10.0.9.255", "10.0.7.255", "10.0.10.0", "10.0.0.9", "8.8.8.8")],
        6: [ip_address(each) for each in ("fd00:5::1", "fd00:5:0:1::", "fe80::1", "2600::1")],
    }
    for _ in range(PACKETS):
        version = chosen.choice((4, 4, 6))
        yield {
            "version": version,
            "src": chosen.choice(sources[version]),
            "proto": chosen.choice((6, 6, 17, 17, 58 if version == 6 else 1, 47)),
            "sport": chosen.choice((49, 50, 53, 52, 123, 22, 49152)),
            "dport": chosen.choice((22, 21, 23, 443, 442, 444, 161, 162, 543, 49152)),
            "type": chosen.choice((0, 1, 3, 5, 8, 11, 12, 128)),
            "flags": chosen.choice((2, 16, 18, 4, 1)),
            "ct": chosen.choice(("new", "established", "invalid")),
        }


ORACLES = {"mlnx-os": _mlnxos, "nvos": _nvos}
RULES = {
    "mlnx-os": r"^ip(?:v6)? filter chain input rule .*\n",
    "nvos": r'^          "\d+":\n(?:            .*\n)*',
}


def _edited(text: str, pattern: str, chosen: random.Random) -> str:
    rules = list(re.finditer(pattern, text, re.M))
    one, other = chosen.choice(rules), chosen.choice(rules)
    kind = chosen.randrange(5)
    if kind == 0:
        return text[: one.start()] + text[one.end() :]
    if kind == 1 and "permit" not in one[0] + other[0]:
        return text.replace(one[0], "", 1).replace(other[0], other[0] + one[0], 1) if one[0] != other[0] else text
    if kind == 2:
        flipped = re.sub(
            "accept|permit|deny", lambda found: "drop" if found[0] == "accept" else "deny", one[0], count=1
        )
        return text[: one.start()] + flipped.replace("deny" if "deny" in one[0] else "\0", "permit") + text[one.end() :]
    if kind == 3:
        return text[: one.start()] + re.sub(r"/2\d", "/8", one[0]) + text[one.end() :]
    return text[: one.start()] + re.sub(r'(port \d|"\d)(\d+)', r"\g<1>\g<2>3", one[0], count=1) + text[one.end() :]


@pytest.mark.parametrize("system", MODELS)
def test_random_edits_that_change_what_passes_are_caught(system: str, capsys: pytest.CaptureFixture[str]) -> None:
    chosen = random.Random(7)
    before = artifact(system).content.decode()
    asked = list(_packets(chosen))
    oracle = ORACLES[system]
    changing = caught = 0
    for _ in range(EDITS):
        after = _edited(before, RULES[system], chosen)
        if after == before or all(oracle(before, packet) == oracle(after, packet) for packet in asked):
            continue
        changing += 1
        try:
            caught += not verdict(system, lambda _, text=after: text).is_proven  # type: ignore[misc]  # bound now
        except VerifyError:
            caught += 1
    with capsys.disabled():
        sys.stdout.write(f"\n{system}: {EDITS} edits of the filter, {changing} change what passes, {caught} caught\n")
    assert changing > EDITS // 3
    assert caught == changing
