"""The isolation proof over reference specs: proven as rendered, and every kind of counterexample word for word."""

from __future__ import annotations

import re

import pytest
from tests.golden_files import assert_golden
from tests.proofs.isolation.trees import (
    AGENT,
    BOOT,
    EOS,
    NFT,
    SONIC,
    Edit,
    artifacts_of,
    declaration,
    one_of_each,
    tree,
    verdict,
)

from clusterwright.proofs.isolation.loading import LOADING, STARTING
from clusterwright.proofs.isolation.proof import ISOLATION
from clusterwright.proofs.registry import CHECKS
from clusterwright.proofs.tree import RenderedTree, tree_of

GPU = "gpu-p00r00n0"
NETWORK = "etc/systemd/network/20-fe0.network"


def replaced(one: str, other: str) -> Edit:
    return lambda text: text.replace(one, other, 1)


def told(name: str, device: str, path: str, edit: Edit) -> list[str]:
    """The counterexamples after an edit, with N for line numbers, which move with whatever else is rendered."""
    counterexamples = verdict(tree(name, device, edits={(device, path): edit})).counterexamples
    return [
        re.sub(r"line \d+", "line N", re.sub(r":\d+: ", ":N: ", str(example), count=1)) for example in counterexamples
    ]


@pytest.mark.parametrize("name", ["lab-roce", "lab-border", "lab-sonic", "lab-ib", "rsc", "rsc-phase1"])
def test_what_is_rendered_is_proven(name: str) -> None:
    result = verdict(tree(name, *one_of_each(name)))
    assert not result.counterexamples
    facts = {fact.name: fact.value for fact in result.facts}
    assert facts["pairs of zones without, closed"]
    assert facts["nodes with a filter"]
    assert facts["switches with a filter"]


def test_the_answer_says_for_each_zone_who_enforces_it() -> None:
    notes = verdict(tree("lab-roce", *one_of_each("lab-roce"))).notes
    assert (
        "compute: enforced by hosts and edges (1 host) and edges alone (7 hosts without an image, as gpu-p00r00n1)."
        in notes
    )
    assert "storage: enforced by edges alone (2 hosts without an image, as st-s00n0)." in notes


def test_the_check_is_offered() -> None:
    assert ISOLATION in CHECKS


ELSE = '"HOSTS_V6|9999-everything-else": {"PRIORITY": "1", "PACKET_ACTION": '
STATIC = '"staticRoutesWithNhops": [{"prefix": "::/0", "nexthops": ["fe80::1"]}],'
IMPOSSIBLE = "\t\tip saddr 10.0.0.1 ip6 daddr ::5 drop\n"
INVALID = "\t\tct state invalid counter drop\n"
SITE = "Destination=fd00:1ab:f:fff0::/64"


def forwarding(text: str) -> str:
    return re.sub(r"(hook forward [^\n]*policy drop;\n)\n\t\tcounter drop\n", r"\1\n\t\tcounter accept\n", text)


CASES: dict[str, tuple[str, str, str, Edit]] = {
    "a wider port": ("lab-roce", GPU, NFT, replaced("tcp dport { 22 }", "tcp dport { 22-23 }")),
    "a flow that is cut off": ("lab-roce", GPU, NFT, replaced("{ 6818 } counter accept", "{ 6818 } counter drop")),
    "a prefix that takes in the internet": ("lab-roce", GPU, NFT, replaced("fd00:1ab:f:5::/64", "fd00:1ab:f:5::/16")),
    "a spoofed source": (
        "lab-roce",
        GPU,
        NFT,
        replaced("fib saddr type local counter drop", "fib saddr type local counter"),
    ),
    "a hidden rule": (
        "lab-roce",
        GPU,
        NFT,
        lambda text: re.sub(r"(\t\tiifname [^\n]*\{ 22 \}[^\n]*\n)", r"\1\1", text),
    ),
    "a rule that matches nothing": ("lab-roce", GPU, NFT, replaced(INVALID, INVALID + IMPOSSIBLE)),
    "rules that stay from before": ("lab-roce", GPU, BOOT, replaced("flush ruleset\n", "")),
    "a node that forwards": ("lab-roce", GPU, NFT, forwarding),
    "a flow that passes up to a rate": (
        "lab-roce",
        GPU,
        NFT,
        replaced("udp dport { 4791 } counter accept", "udp dport { 4791 } limit rate 9/second counter accept"),
    ),
    "a flow that stops beyond a rate": (
        "lab-roce",
        GPU,
        NFT,
        replaced("ct state established", "udp dport 4791 limit rate over 9/second drop\n\t\tct state established"),
    ),
    "a filter that is not loaded": (
        "lab-roce",
        GPU,
        LOADING,
        replaced("nftables.conf\nExecReload", "other.conf\nExecReload"),
    ),
    "a filter that nothing starts": ("lab-roce", GPU, STARTING, replaced("Wants=nftables.service\n", "")),
    "a port without a list": ("lab-roce", "mgmt-00", EOS, replaced("   ip access-group HOSTS in\n", "")),
    "an entry of FBOSS": ("lab-roce", "rtsw-p00r00", AGENT, replaced('"l4DstPort": 4791', '"l4DstPort": 4792')),
    "a rule of SONiC": ("lab-sonic", "rtsw-p00r00", SONIC, replaced(f'{ELSE}"DROP"', f'{ELSE}"FORWARD"')),
    "a border that is open": ("rsc", "mtop-00", EOS, replaced("eq 6030\n", "range 6030 6031\n")),
    "a default route of a node": ("lab-roce", GPU, NETWORK, replaced(SITE, "Destination=::/0")),
    "a gateway without a destination": (
        "lab-roce",
        GPU,
        NETWORK,
        lambda text: f"{text}\n[Route]\nGateway=fd00:1ab:f::1\n",
    ),
    "routes from whoever offers them": ("lab-roce", GPU, NETWORK, replaced("IPv6AcceptRA=no", "IPv6AcceptRA=yes")),
    "a route to the internet": ("lab-roce", GPU, NETWORK, replaced(SITE, "Destination=2600::/32")),
    "a default route of a switch": (
        "lab-roce",
        "mgmt-00",
        EOS,
        replaced("\nip routing\n", "\nip routing\nip route 0.0.0.0/0 10.99.254.1\n"),
    ),
    "a leak between VRFs": (
        "lab-roce",
        "mgmt-00",
        EOS,
        replaced("\nip routing\n", "\nip routing\nip route vrf MGMT 10.99.0.0/24 egress-vrf default 10.99.0.1\n"),
    ),
    "redistributed routes": (
        "lab-roce",
        "ssw-00",
        EOS,
        replaced("   router-id ", "   redistribute static\n   router-id "),
    ),
    "a default route of SONiC's management": (
        "lab-sonic",
        "rtsw-p00r00",
        SONIC,
        replaced('"mgmt|0.0.0.0/0"', '"mgmt|10.0.0.0/9"'),
    ),
    "a static route of FBOSS": ("lab-roce", "rtsw-p00r00", AGENT, replaced('"sw": {', '"sw": {\n    ' + STATIC)),
}


def test_each_kind_of_counterexample_names_packet_way_and_line() -> None:
    lines = [f"{case}:\n  {told(*parts)[0]}\n" for case, parts in CASES.items()]
    assert_golden("isolation/counterexamples.txt", "\n".join(lines).encode())


WIDER_SET = """\tset services_on_frontend_v6 {
\t\ttype ipv6_addr
\t\tflags interval
\t\telements = { 2000::/3 }
\t}
"""
WIDER = f"table inet clusterwright {{\n{WIDER_SET}}}\n"  # nft joins it to the table above
REFUSED: dict[str, tuple[str, str, Edit]] = {
    "an unknown expression": (GPU, NFT, replaced("ct state invalid counter drop", "ct mark 5 accept")),
    "an unknown statement": (GPU, NFT, replaced("ct state invalid counter drop", "ct state invalid notrack")),
    "an unknown set": (GPU, NFT, replaced("@compute_on_backend_v6", "@nobody")),
    "a table that is there twice": (GPU, NFT, lambda text: text + WIDER),
    "a word in quotes": (GPU, NFT, replaced("ct state invalid counter drop", 'ct state invalid counter "drop"')),
    "an interface by its number": (GPU, NFT, replaced('iifname { "be0", "be1"', 'iif { "be0", "be1"')),
    "a set that is there twice": (GPU, NFT, replaced("\tset nobody_v4", f"{WIDER_SET}\tset nobody_v4")),
    "an entry of EOS": ("mgmt-00", EOS, replaced("permit icmp ", "permit ospf ")),
    "an entry of FBOSS": ("rtsw-p00r00", AGENT, replaced('"l4DstPort": 4791', '"lookupClassL2": 10')),
}


def refusal(subject: RenderedTree) -> str:
    """What is not known of a text: it leaves what the text decides open."""
    answer = verdict(subject)
    assert not answer.is_settled
    return next(place.unread.text for place in answer.unread if place.unread.claims == {"isolation"})


@pytest.mark.parametrize(
    ("device", "path", "unknown"),
    [
        ("mgmt-00", EOS, replaced("permit icmp ", "permit ospf ")),
        ("rtsw-p00r00", AGENT, replaced('"l4DstPort": 4791', '"lookupClassL2": 10')),
    ],
)
def test_a_list_that_is_not_understood_hides_no_open_port_of_another_switch(
    device: str, path: str, unknown: Edit
) -> None:
    wider = replaced('"dstIp": "fd00:1ab:b::/56"', '"dstIp": "fd00:1ab::/32"')
    edits = {(device, path): unknown, ("rtsw-p01r01", AGENT): wider}
    answer = verdict(tree("lab-roce", device, "rtsw-p01r01", edits=edits))
    assert answer.is_refuted
    assert {example.device for example in answer.counterexamples} == {"rtsw-p01r01"}
    assert any(place.device == device for place in answer.unread)


def test_text_that_is_not_understood_is_refused_with_its_line() -> None:
    lines = []
    for case, (device, path, edit) in REFUSED.items():
        error = refusal(tree("lab-roce", device, edits={(device, path): edit}))
        lines.append(f"{case}:\n  {re.sub(r':[0-9]+: ', ':N: ', error, count=1)}\n")
        assert re.match(rf"{device}:/{path}:\d+: ", error)
    assert_golden("isolation/refused.txt", "\n".join(lines).encode())


def test_an_address_that_does_not_read_leaves_its_node_open() -> None:
    path = "etc/systemd/network/20-be0.network"
    edits = {(GPU, path): replaced("Address=fd00", "Address=fd00:1ab:nobody")}
    error = refusal(tree("lab-roce", GPU, edits=edits))
    assert error.startswith(f"{GPU}:/{path}: ")


def test_switches_that_differ_in_their_prefix_alone_are_still_told_apart() -> None:
    """The second rack's list with the first rack's prefix is refuted, although its text is like the first's."""
    devices = ("rtsw-p00r00", "rtsw-p00r01")
    first, second = "fd00:1ab:b::/64", "fd00:1ab:b:1::/64"
    changed = {("rtsw-p00r01", AGENT): lambda text: text.replace(f'"srcIp": "{second}"', f'"srcIp": "{first}"')}
    result = verdict(tree("lab-roce", *devices, edits=changed))
    assert {example.device for example in result.counterexamples} == {"rtsw-p00r01"}


def test_nobody_is_in_two_states_at_once() -> None:
    declared = declaration("lab-roce").isolation
    assert declared is not None
    assert declared.zone_at(6, declared.zone["storage"].parts[0].addresses.bounds[0][0]) == "storage"


def test_a_node_without_its_filter_is_refuted() -> None:
    left = [artifact for artifact in artifacts_of("lab-roce", GPU) if artifact.path != NFT]
    result = verdict(tree_of("lab-roce", left, declaration("lab-roce")))
    assert [str(example) for example in result.counterexamples] == [
        (
            "gpu-p00r00n0:/etc/nftables.conf: there is no filter: "
            "the node accepts and sends everything that its port passes"
        )
    ]


def test_a_nodes_filter_that_is_not_understood_leaves_its_own_pairs_open_alone() -> None:
    unknown = replaced("ct state established", "ct mark 7 ct state established")
    opened = replaced("ct state invalid counter drop", "ct state invalid counter accept")
    edits = {("gpu-p00r00n0", NFT): unknown, ("gpu-p00r01n0", NFT): opened}
    answer = verdict(tree("lab-roce", "gpu-p00r00n0", "gpu-p00r01n0", edits=edits))
    assert answer.is_refuted
    assert {example.device for example in answer.counterexamples} == {"gpu-p00r01n0"}
    (place,) = [place for place in answer.unread if place.device == "gpu-p00r00n0"]
    assert place.unread.claims == {"isolation"}
    assert any(note.startswith("no pair with compute is proven") for note in answer.notes)
    assert any(note.startswith("compute: enforced by hosts and edges (1 host)") for note in answer.notes)


def test_what_is_closed_does_not_count_zones_with_a_filter_that_is_not_understood() -> None:
    unknown = replaced("ct state established", "ct mark 7 ct state established")
    read = verdict(tree("lab-roce", "gpu-p00r00n0", "gpu-p00r00n1"))
    open_ = verdict(tree("lab-roce", "gpu-p00r00n0", "gpu-p00r00n1", edits={("gpu-p00r00n0", NFT): unknown}))
    assert read.is_proven
    assert not open_.is_settled
    assert not open_.is_refuted
    name = "pairs of zones without, closed"
    (closed,), (fewer,) = ([f.value for f in answer.facts if f.name == name] for answer in (read, open_))
    assert isinstance(closed, int)
    assert isinstance(fewer, int)
    assert fewer < closed
