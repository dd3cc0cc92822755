"""What the reader of nftables files says of a packet is what the kernel does with it."""

from __future__ import annotations

import ipaddress
import json
import random
import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from tests.proofs.isolation.trees import BOOT, NFT, text_of

from clusterwright.packets.boxes import EVERYTHING, FOREIGN, INVALID, NEW, UNTRACKED, Packet
from clusterwright.packets.filters import InterfaceNumbers, Ruleset
from clusterwright.packets.nft_file import read_nft
from clusterwright.packets.passage import decide, passing
from clusterwright.packets.tokens import Unreadable

OWN = {
    (6, "be0"): "fd00:1ab:b::3",
    (6, "fe0"): "fd00:1ab:f::3",
    (4, "be0"): "10.98.0.3",
    (4, "fe0"): "10.98.1.3",
}
HANDMADE = """
table inet filter {
    set ports { type inet_service; flags interval; elements = { 20-23, 443 } }
    set pairs {
        type ipv6_addr . inet_service
        flags interval
        elements = { fd00:1ab:f:5::/64 . 22,
                     fd00:1ab:f::/62 . 80-90 }
    }
    map who {
        type ipv6_addr : verdict
        flags interval
        elements = { fd00:1ab:f:4::/64 : jump storage, fd00:1ab:b::/56 : goto backend }
    }
    chain storage { tcp dport 2049 accept; tcp dport { 111, 2050 } return; udp dport 2049-2051 drop; }
    chain backend {
        udp dport 4791 counter accept
        meta l4proto tcp return
    }
    chain beside { udp dport 53 drop; }
    chain first {
        type filter hook input priority -10; policy accept
        tcp dport { 24, 111 } return
        udp dport 53-123 goto beside
        tcp dport 23-111 drop; ip protocol 47 drop
    }
    chain input {
        type filter hook input priority filter; policy drop;
        ct state established,related accept
        ct state invalid drop
        ip6 saddr vmap @who
        iifname "fe0" ip6 saddr . tcp dport @pairs accept
        tcp dport @ports ip saddr { 10.98.0.0/16, 192.0.2.1-192.0.2.9 } accept
        tcp flags & (fin | syn | rst | ack) != syn counter drop
        iifname vmap { "be0" : accept, "fe0" : continue }
        tcp sport != 1024-65535 accept
        icmpv6 type { echo-request, 130-132 } ip6 hoplimit 60-70 accept comment "a; comment { with signs }"
        icmp type echo-request accept
        meta nfproto ipv4 udp dport != 53 drop
        udp dport { 53, 123 } log prefix "names: " accept
    }
}
"""


def _packet(version: int, iif: str, source: str, proto: int, ports: tuple[int, int], kind: int, hops: int) -> Packet:
    """As the reader has it; the state is what Linux gives such a packet."""
    state = NEW
    if proto == 58:
        state = NEW if kind == 128 else UNTRACKED if kind in (131, 132, 133, 135, 136, 143) else INVALID
    if proto == 1 and kind != 8:
        state = INVALID
    return (
        int(version == 6),
        INTERFACES.of(iif).bounds[0][0],
        1023,
        state,
        proto,
        0,
        FOREIGN,
        int(ipaddress.ip_address(source)),
        int(ipaddress.ip_address(OWN[version, iif])),
        ports[1],
        ports[0],
        kind,
        2 if proto == 6 else 0,
        hops,
    )


INTERFACES = InterfaceNumbers()


def _bytes(packet: Packet, number: int) -> bytes:
    version = 6 if packet[0] else 4
    proto, hops = packet[4], packet[13]
    if proto == 6:
        upper = struct.pack("!HHIIBBHHH", packet[10], packet[9], 1, 0, 0x50, packet[12], 1024, 0, 0)
    elif proto == 17:
        upper = struct.pack("!HHHH", packet[10], packet[9], 16, 0) + bytes(8)
    elif proto in (1, 58):
        upper = struct.pack("!BBHI", packet[11], 0, 0, 0) + bytes(24)
    else:
        upper = bytes(32)
    if version == 6:
        head = struct.pack("!IHBB", 6 << 28 | number, len(upper), proto, hops)
        return head + packet[7].to_bytes(16, "big") + packet[8].to_bytes(16, "big") + upper
    head = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(upper), number, 0, hops, proto, 0)
    head += packet[7].to_bytes(4, "big") + packet[8].to_bytes(4, "big")
    total = sum(struct.unpack("!10H", head))
    total = (total & 0xFFFF) + (total >> 16)
    return head[:10] + struct.pack("!H", ~(total + (total >> 16)) & 0xFFFF) + head[12:] + upper


SOURCES = {
    6: [
        *("fd00:1ab:b::2", "fd00:1ab:b:ff::1", "fd00:1ab:b:100::1", "fd00:1ab:f::9", "fd00:1ab:f:3:ffff::1"),
        *("fd00:1ab:f:4::1", "fd00:1ab:f:5::1", "fd00:1ab:f:6::1", "fd00:1ab:f:fff0::53", "2001:db8::1", "100::1"),
    ],
    4: ["10.98.0.9", "10.98.1.9", "192.0.2.1", "192.0.2.9", "192.0.2.10", "198.51.100.7"],
}
PORTS = (22, 23, 24, 53, 80, 90, 91, 111, 123, 443, 2049, 2050, 2051, 4791, 6818, 32767, 32768, 60999, 61000)


def _drawn(chosen: random.Random, count: int) -> list[Packet]:
    found: dict[Packet, None] = {}
    while len(found) < count:
        version = chosen.choice((4, 6, 6, 6))
        proto = chosen.choice((6, 6, 6, 17, 17, 58 if version == 6 else 1, 47))
        kind = chosen.choice((128, 128, 131, 132, 135, 136, 143, 1, 3) if version == 6 else (8, 8, 3, 11))
        found[
            _packet(
                version,
                chosen.choice(("be0", "fe0")),
                chosen.choice(SOURCES[version]),
                proto,
                # a source port of its own, so that no packet belongs to another's connection
                (1100 + len(found), chosen.choice(PORTS)),
                kind if proto in (1, 58) else 0,
                chosen.choice((64, 255)),
            )
        ] = None
    return list(found)


@pytest.mark.parametrize("name", ["rendered", "handmade"])
def test_the_kernel_passes_what_the_reader_says(name: str, tmp_path: Path) -> None:
    assert shutil.which("nft"), "nft is missing: apt-get install nftables"
    text = text_of("lab-roce", "gpu-p00r00n0", NFT) if name == "rendered" else HANDMADE
    ruleset = read_nft(text, INTERFACES)
    drawn = _drawn(random.Random(name), 400)
    wanted = {at for at, each in enumerate(drawn, 1) if decide(ruleset, "input", each).passes}
    # the sets say the same as the walk through the rules
    everything = passing(ruleset, "input", EVERYTHING).packets
    assert {at for at, each in enumerate(drawn, 1) if each in everything} == wanted
    assert 5 < len(wanted) < len(drawn) - 20
    names = {INTERFACES.of(each).bounds[0][0]: each for each in ("be0", "fe0")}
    sent = [{"iif": names[each[1]], "data": _bytes(each, at).hex()} for at, each in enumerate(drawn, 1)]
    (tmp_path / "rules").write_text(text)
    (tmp_path / "packets").write_text(json.dumps(sent))
    done = subprocess.run(
        [
            *("unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", sys.executable),
            str(Path(__file__).with_name("kernel_probe.py")),
            *(str(tmp_path / each) for each in ("rules", "packets", "seen")),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    seen = set(json.loads((tmp_path / "seen").read_text()))
    differing = {at: (drawn[at - 1], at in seen, decide(ruleset, "input", drawn[at - 1])) for at in seen ^ wanted}
    assert not differing


_TABLE = "table inet a {{\n{}\nchain c {{\ntype filter hook input priority 0; policy drop;\n{}\n}}\n}}\n"
_WORDS = re.findall(
    r"\S+",
    "counter log limit rate 10/second over burst packets accept drop return reject with jump input chain set map type "
    "flags interval elements = . != == policy hook priority filter raw comment ct state new ip ip6 saddr daddr iif oif "
    "0 22 -1 0x10 010 continue constant name prefix level group meta l4proto tcp udp sport icmp notrack inet dynamic "
    "timeout @x",
)
_SET = "set s {{\ntype ipv4_addr\n{}\n}}"
_PAIRS = "set s {{\ntype ipv4_addr . inet_service\nflags interval\nelements = {{ {} }}\n}}"
_MAP = "map m {{\ntype inet_service : verdict\n{}\n}}"


@pytest.mark.parametrize(
    ("is_loaded", "text"),
    [
        (False, _TABLE.format(_SET.format("elements = { 10.0.0.0/8 }"), "")),
        (False, _TABLE.format(_SET.format("elements = { 10.0.0.1/32 }"), "")),
        (False, _TABLE.format(_SET.format("elements = { 10.0.0.1-10.0.0.4 }"), "")),
        (True, _TABLE.format(_SET.format("elements = { 10.0.0.1, 10.0.0.1 }"), "")),
        (True, _TABLE.format(_SET.format("flags interval; elements = { 10.0.0.0/8, 10.0.0.0/8 }"), "")),
        (False, _TABLE.format(_SET.format("flags interval; elements = { 10.0.0.0/8, 10.1.0.0/16 }"), "")),
        (True, _TABLE.format(_SET.format("flags interval; auto-merge; elements = { 10.0.0.0/8, 10.1.0.0/16 }"), "")),
        (False, _TABLE.format(_MAP.format("flags interval; elements = { 10-20 : accept, 15 : drop }"), "")),
        (False, _TABLE.format(_MAP.format("elements = { 15 : accept, 15 : drop }"), "")),
        (False, _TABLE.format("", "tcp dport vmap { 10-20 : accept, 15 : drop }")),
        (True, _TABLE.format("", "tcp dport { 10-20, 15-30 } accept")),
        (False, _TABLE.format("", "policy accept;")),
        (False, _TABLE.format("", "type filter hook output priority 0 policy drop;")),
        (False, _TABLE.format("}\nchain plain {\npolicy drop;", "")),
        (False, _TABLE.format("}\nchain counter {", "")),
        (False, _TABLE.format("", 'tcp dport 22 "accept"')),
        (False, _TABLE.format("", "tcp dport 22 accept comment accept")),
        (False, _TABLE.format("", 'tcp dport 22 accept comment "a" comment "b"')),
        (True, _TABLE.format("", f'tcp dport 22 accept comment "{"x" * 128}"')),
        (False, _TABLE.format("", f'tcp dport 22 accept comment "{"x" * 129}"')),
        (False, _TABLE.format("", f'tcp dport 22 accept comment "{chr(0x20AC) * 43}"')),
        (True, _TABLE.format("", f'log prefix "{"x" * 127}" drop')),
        (False, _TABLE.format("", "log level loud drop")),
        (False, _TABLE.format("", "log level info group 1 drop")),
        (False, _TABLE.format("", "tcp dport 22 counter name a accept")),
        (False, _TABLE.format("", "limit rate 10/parsec drop")),
        (False, _TABLE.format("", "limit rate ten drop")),
        (False, _TABLE.format("", "reject with nothing")),
        (True, _TABLE.format("", "reject with icmpx type admin-prohibited")),
        (True, _TABLE.format("", 'iif "lo" accept')),
        (False, _TABLE.format("", 'iif "be0" accept')),
        (False, _TABLE.format("", 'iifname "be0123456789abcd" accept')),
        (False, _TABLE.format(_SET.format("elements = { 10.0.0.1 }"), "ip6 saddr @s drop")),
        (False, _TABLE.format("set s {\nflags interval\n}", "")),
        (False, _TABLE.format(_SET.format("elements = { }"), "")),
        (False, _TABLE.format(_SET.format("elements = {\n\n10.0.0.1 }"), "")),
        (False, _TABLE.format("", "tcp dport { } accept")),
        (False, _TABLE.format("", "tcp dport 22, 23 accept")),
        (False, _TABLE.format(_PAIRS.format("10.0.0.0/8 . 1-10, 10.1.0.0/16 . 5"), "")),
        (True, _TABLE.format(_PAIRS.format("10.0.0.0/8 . 1-10, 10.1.0.0/16 . 11"), "")),
        (False, _TABLE.format("", "tcp dport 22 udp dport 22 counter")),
    ],
)
def test_what_nft_does_not_load_is_not_read(is_loaded: bool, text: str, tmp_path: Path) -> None:
    """Of a file with one such line nothing is loaded: whatever stood there before goes on."""
    (tmp_path / "rules").write_text(text)
    command = ["unshare", "--net", "nft", "-f", str(tmp_path / "rules")]
    assert (subprocess.run(command, capture_output=True, timeout=60, check=False).returncode == 0) is is_loaded
    if is_loaded:
        read_nft(text, InterfaceNumbers())
    else:
        with pytest.raises(Unreadable):
            read_nft(text, InterfaceNumbers())


@pytest.mark.parametrize(
    "rule",
    [
        "ct state == established,related accept",  # both bits at once
        "ct state != established,related accept",
        "tcp dport 022 accept",  # octal
        "ip6 saddr fd00::/010 accept",
        "reject with tcp reset",  # TCP alone, and the policy for all others
        "reject with icmp type host-unreachable",
        "limit rate 10/second tcp dport vmap { 22 : continue, 23 : return }",
        "limit rate 10/second tcp dport vmap { 22 : accept, 23 : jump d }",
    ],
)
def test_what_nft_takes_for_something_else_than_it_looks_is_not_read(rule: str, tmp_path: Path) -> None:
    text = _TABLE.format("chain d {\naccept\n}", rule)
    (tmp_path / "rules").write_text(text)
    subprocess.run(["unshare", "--net", "nft", "-f", str(tmp_path / "rules")], timeout=60, check=True)
    with pytest.raises(Unreadable):
        read_nft(text, InterfaceNumbers())


def test_a_file_that_reads_with_the_same_meaning_after_an_edit_is_loaded(tmp_path: Path) -> None:
    """Words of a rendered filter are taken away, doubled, exchanged and put elsewhere, others put between."""
    text = text_of("lab-roce", "gpu-p00r00n0", NFT)
    chosen = random.Random(28)
    interfaces = InterfaceNumbers()
    before = read_nft(text, interfaces)
    rules = tmp_path / "rules"
    loaded = 0
    for _ in range(1500):
        edited = _edited(text, chosen)
        try:
            after = read_nft(edited, interfaces)
        except Unreadable:
            continue
        if edited == text or _meaning(after) != _meaning(before):
            continue
        rules.write_text(edited)
        done = subprocess.run(
            ["unshare", "--net", "nft", "-f", str(rules)], capture_output=True, timeout=60, check=False
        )
        assert done.returncode == 0, (done.stderr, set(edited.splitlines()) ^ set(text.splitlines()))
        loaded += 1
    assert loaded > 20


def _edited(text: str, chosen: random.Random) -> str:
    words = list(re.finditer(r'"[^"\n]*"|[^\s"{},;]+|[{},;]|\n', text))
    (start, end), (first, last) = sorted(each.span() for each in chosen.sample(words, 2))
    if chosen.random() < 0.2:
        return text[:start] + text[first:last] + text[end:first] + text[start:end] + text[last:]
    other = chosen.choice(words)[0] if chosen.random() < 0.5 else chosen.choice(_WORDS)
    return (
        text[:start]
        + chosen.choice(["", f"{text[start:end]} {text[start:end]}", other, f"{other} {text[start:end]}"])
        + text[end:]
    )


def _meaning(ruleset: Ruleset) -> object:
    """What tells filters apart, whatever lines their rules stand on."""
    return ruleset.flushes, [
        (
            table.family,
            [
                (c.hook, c.priority, c.policy, [(r.matches, r.verdict, r.target) for r in c.rules if r.verdict])
                for c in table.chains.values()
            ],
        )
        for table in ruleset.tables
    ]


@pytest.mark.parametrize("path", [NFT, BOOT])
def test_what_the_kernel_lists_means_what_the_file_says(path: str, tmp_path: Path) -> None:
    text = text_of("lab-roce", "gpu-p00r00n0", path)
    (tmp_path / "rules").write_text(text)
    done = subprocess.run(
        ["unshare", "--net", "sh", "-c", f"ip link set lo up && nft -f {tmp_path}/rules && nft list ruleset"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    interfaces = InterfaceNumbers()
    written, listed = read_nft(text, interfaces), read_nft(done.stdout, interfaces)
    for hook in ("input", "forward", "output"):
        one, other = (passing(each, hook, EVERYTHING).packets for each in (written, listed))
        assert not one - other
        assert not other - one
