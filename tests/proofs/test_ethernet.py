"""Edits of the rendered text of a RoCE cluster that each proof must refute, on the device, file and line edited."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.plans import plan_of, plan_with
from tests.proofs.ethernet_trees import AGENT, BGP, EOS, NCCL, NETWORK_BE0, SCRIPT, Edit, text_of, tree, verdict

from clusterwright.output.rendering import Rendering
from clusterwright.proofs.declaration import Declaration
from clusterwright.proofs.registry import CHECKS
from clusterwright.proofs.tree import tree_of

LAB = "lab-roce"
SONIC_LAB, SONIC = "lab-sonic", "etc/sonic/config_db.json"
NAMES = (
    "ethernet-links",
    "bgp-sessions",
    "reachability",
    "valley-free",
    "ethernet-bisection",
    "ethernet-failures",
    "qos",
    "ecmp-hash",
)
RTSW, CTSW, ATSW, GPU = "rtsw-p00r01", "ctsw-p01-00", "atsw-01", "gpu-p01r00n1"


def substitute(pattern: str, new: str) -> Edit:
    """Replace the first match of a regular expression."""
    return lambda text: re.sub(pattern, new, text, count=1, flags=re.M)


def changed_lines(before: str, after: str) -> set[int]:
    """Lines of the text after an edit that the text before it does not have at that place."""
    old = before.split("\n")
    new = after.split("\n")
    if len(old) == len(new):
        return {number for number, (one, other) in enumerate(zip(old, new, strict=True), 1) if one != other}
    return set()


@pytest.mark.parametrize("name", NAMES)
def test_what_we_render_is_proven(name: str) -> None:
    result = verdict(name, tree(LAB))
    assert result.counterexamples == ()
    assert result.facts
    chips = ["rtsw-ctsw-atsw: whether chips hold 16 equal paths was not checked: no source bounds them"]
    seeds = "ctsw and atsw have EOS's own with seeds of their own; what a seed changes in a chip is not published"
    notes = [f"rtsw-ctsw-atsw: {seeds}", *chips] if name == "ecmp-hash" else []
    assert list(result.notes) == notes


@pytest.mark.parametrize("name", NAMES)
def test_rack_switches_with_sonic_are_proven(name: str) -> None:
    result = verdict(name, tree(SONIC_LAB))
    assert result.counterexamples == ()
    assert result.facts
    if name == "ethernet-failures":  # the same cables, so the same failures
        assert result.facts == verdict(name, tree(LAB)).facts


@pytest.mark.parametrize("spec", ["lab-ib", "rsc-phase1"])
def test_frontends_of_infiniband_clusters_are_proven(spec: str) -> None:
    subject = tree(spec)
    for check in CHECKS:
        if check.name in NAMES and check.applies(subject):
            assert check.run(subject).counterexamples == (), check.name


@pytest.mark.parametrize("spec", ["rsc", "ib-24k"])
def test_switches_of_full_size_infiniband_clusters_are_proven(spec: str) -> None:
    plan = plan_of(spec)
    subject = tree_of(spec, Rendering(plan).of_kinds({"eos", "fboss", "sonic"}), Declaration(plan))
    for check in CHECKS:
        if check.name in NAMES and check.applies(subject):
            assert check.run(subject).counterexamples == (), check.name


WITHOUT_A_TOP = """
fabrics:
  - name: management
    tiers:
      - {role: mtop, remove: true}
      - {role: mcore, remove: true}
      - role: mroot
        model: dcs-7050sx3-48yc8
        per: cluster
        count: 8
        down: {blocks: [access], medium: mmf, length_m: 60}
        asn: {base: 4200000300, per: tier}
"""


def test_a_fabric_in_parts_is_refuted(tmp_path: Path) -> None:
    """Without the switches that join its cores, two uplinks to eight of them leave RSC's management in four parts."""
    plan = plan_with(tmp_path, "rsc-phase1", WITHOUT_A_TOP)
    subject = tree_of("rsc-phase1", list(Rendering(plan).of_devices(None)), Declaration(plan))
    counterexamples = verdict("reachability", subject).counterexamples
    parts = [example for example in counterexamples if "no cable joins them" in example.message]
    assert len(parts) == 6  # every two of the four parts


def test_one_switch_that_passes_routes_back_up_can_deadlock() -> None:
    """An RTSW that tells each CTSW what the other told it closes a circle of waiting buffers through an ATSW."""
    everything = substitute(r'"prefix_list_name": "OWN"', '"prefix_list_name": "FABRIC"')
    result = verdict("valley-free", tree(LAB, {("rtsw-p00r00", BGP): everything}))
    circles = [example for example in result.counterexamples if "deadlock" in example.message]
    before = text_of(LAB, "rtsw-p00r00", BGP)
    assert circles
    for circle in circles:  # one for each direction of going round
        assert (circle.device, circle.file) == ("rtsw-p00r00", BGP)
        assert circle.line in changed_lines(before, everything(before))
        assert re.search(r"ctsw-p00-0(\d) – rtsw-p00r00 – ctsw-p00-0(?!\1)\d", circle.message)


# check, device, file, pattern, replacement: every one of them changes how the network behaves
EDITS = [
    ("bgp-sessions", CTSW, EOS, r"(neighbor \S+ remote-as )42001\d+", r"\g<1>4200199999"),
    ("bgp-sessions", ATSW, EOS, r"(neighbor \S+ remote-as )4200010000", r"\g<1>4200010001"),
    ("bgp-sessions", RTSW, BGP, r'("remote_as_4_byte": )4200010000', r"\g<1>4200010009"),
    ("bgp-sessions", RTSW, BGP, r'("peer_addr": "fd00:1ab:b:fffe::)\w+"', r'\g<1>7001"'),
    ("bgp-sessions", RTSW, BGP, r'("local_addr": "fd00:1ab:b:fffe::)\w+"', r'\g<1>7000"'),
    ("bgp-sessions", CTSW, EOS, r"(ipv6 address fd00:1ab:b:fffe::\w+)/127", r"\1/126"),
    ("bgp-sessions", CTSW, EOS, r"(ipv6 address fd00:1ab:b:fffe::)\w+/127", r"\g<1>7777/127"),
    ("bgp-sessions", RTSW, AGENT, r'(?<=\["fd00:1ab:b:fffe::)\w+/127', "7776/127"),
    ("bgp-sessions", CTSW, EOS, r"(description to rtsw-p01r00 )eth8/1/1", r"\1eth8/5/1"),
    ("bgp-sessions", CTSW, EOS, r"^(router bgp )4200010001", r"\g<1>4200010077"),
    ("bgp-sessions", RTSW, BGP, r'("local_as_4_byte": )\d+', r"\g<1>4200100000"),
    ("bgp-sessions", RTSW, BGP, r'("router_id": )"[^"]+"', r'\1"10.0.0.1"'),
    ("bgp-sessions", ATSW, EOS, r"(      network fd00:1ab:b:ffff::)\w+/128", r"\g<1>77/128"),
    ("bgp-sessions", CTSW, EOS, r"(graceful-restart restart-time )120", r"\g<1>60"),
    ("bgp-sessions", RTSW, BGP, r'("graceful_restart_seconds": )120', r"\g<1>0"),
    ("reachability", CTSW, EOS, r"(maximum-paths )\d+ ecmp \d+", r"\g<1>2 ecmp 2"),
    ("reachability", CTSW, EOS, r"(seq 20 permit fd00:1ab:b::)/56 eq 64", r"\1/57 eq 65"),
    ("reachability", CTSW, EOS, r"(set community 64512:)1", r"\g<1>2"),
    ("reachability", CTSW, EOS, r"(ip community-list FROM-BELOW permit 64512:)1", r"\g<1>3"),
    ("reachability", CTSW, EOS, r"(neighbor RTSW route-map )TO-DOWN out", r"\1TO-UP out"),
    ("reachability", CTSW, EOS, r"(neighbor ATSW route-map )FROM-UP in", r"\1FROM-BELOW in"),
    ("reachability", CTSW, EOS, r"(seq 20 permit fd00:1ab:b::/56) eq 64", r"\1 le 128"),
    ("reachability", ATSW, EOS, r"(seq 20 permit )fd00:1ab:b::/56 eq 64", r"\1::/0 le 64"),
    ("reachability", RTSW, BGP, r'("base_prefix": "fd00:1ab:b::)/56"', r'\1/63"'),
    ("reachability", RTSW, BGP, r'("ingress_policy_name": )"FROM-UP"', r'\1"FROM-SIDE"'),
    ("bgp-sessions", RTSW, BGP, r'("prefix": "fd00:1ab:b)(:[^"]*)?::/64"', r'\1:77::/64"'),
    ("reachability", GPU, NETWORK_BE0, r"^Destination=fd00:1ab:b::/56", "Destination=fd00:1ab:b::/63"),
    ("reachability", GPU, NETWORK_BE0, r"^(Gateway=fd00:1ab:b:\S+:)\w+$", r"\g<1>fe"),
    ("reachability", GPU, NETWORK_BE0, r"^Destination=fd00:1ab:b::/56", "Destination=::/0"),
    ("reachability", GPU, NETWORK_BE0, r"^(Address=fd00:1ab:b:\S+:)\w+/127", r"\g<1>ff/127"),
    ("valley-free", RTSW, BGP, r'"prefix_list_name": "OWN"', '"prefix_list_name": "FABRIC"'),
    ("valley-free", CTSW, EOS, r"(neighbor ATSW route-map )TO-UP out", r"\1TO-DOWN out"),
    ("ethernet-links", CTSW, EOS, r"speed 400g-8", "speed 100g-2"),
    (
        "ethernet-links",
        RTSW,
        AGENT,
        r'(to ctsw-p00-00 .*"speed": )400000, "profileID": 26',
        r'\g<1>200000, "profileID": 25',
    ),
    ("qos", CTSW, EOS, r"(qos map dscp .*)\b51\b (.* to traffic-class 2)", r"\1\2"),
    ("qos", ATSW, EOS, r"(qos map dscp 26 .* to traffic-class )6", r"\g<1>5"),
    ("qos", CTSW, EOS, r"(qos map traffic-class 2 to tx-queue )2", r"\g<1>3"),
    ("qos", CTSW, EOS, r"(priority-flow-control priority )2 no-drop", r"\g<1>3 no-drop"),
    ("qos", RTSW, AGENT, r'("pfc": \{"tx": )true', r"\1false"),
    ("qos", RTSW, AGENT, r'("internalTrafficClass": )2,', r"\g<1>1,"),
    ("qos", RTSW, AGENT, r'("trafficClassToQueueId": \{"0": 0, "2": )2', r"\g<1>1"),
    ("qos", GPU, SCRIPT, r"for dscp in 50 51", "for dscp in 51"),
    ("qos", GPU, SCRIPT, r"--pfc 0,0,1,", "--pfc 0,0,0,"),
    ("qos", GPU, SCRIPT, r"-t 200$", "-t 0"),
    ("qos", GPU, NCCL, r"^NCCL_IB_TC=200", "NCCL_IB_TC=192"),
    ("qos", GPU, NCCL, r"^NCCL_IB_FIFO_TC=224", "NCCL_IB_FIFO_TC=0"),
    ("qos", GPU, NCCL, r"^NCCL_IB_TC=200", "NCCL_IB_TC=201"),
]


# one DSCP of one device moved: file, device, pattern, replacement, and what the counterexample must say
HOPS = [
    (LAB, GPU, SCRIPT, r"for dscp in 50 51", "for dscp in 51", "DSCP 50 has priority 6 here, traffic class 2"),
    (LAB, GPU, SCRIPT, r"for dscp in 26 27", "for dscp in 27", "DSCP 26 has priority 3 here, traffic class 6"),
    (LAB, RTSW, AGENT, r"(?<=\[)50, 51, 52", "51, 52", "DSCP 50 is traffic class None here, 2"),
    (
        LAB,
        CTSW,
        EOS,
        r"(qos map dscp )50 51( .* to traffic-class 2)",
        r"\g<1>51\2",
        "DSCP 50 is traffic class None here, 2",
    ),
    (LAB, ATSW, EOS, r"(qos map dscp 48 56 to traffic-class )7", r"\g<1>2", "DSCP 56 is traffic class 2 here, 7"),
    (SONIC_LAB, "rtsw-p01r00", SONIC, r'(?<="50": ")2', "6", "DSCP 50 is traffic class 6 here, 2"),
    (SONIC_LAB, CTSW, EOS, r"(qos map dscp 48 56 to traffic-class )7", r"\g<1>2", "DSCP 56 is traffic class 2 here, 7"),
    (SONIC_LAB, GPU, SCRIPT, r"for dscp in 50 51", "for dscp in 51", "DSCP 50 has priority 6 here, traffic class 2"),
]


@pytest.mark.parametrize(("spec", "device", "path", "pattern", "new", "message"), HOPS)
def test_one_dscp_on_any_hop_is_named_with_its_line_and_both_values(
    spec: str, device: str, path: str, pattern: str, new: str, message: str
) -> None:
    edit = substitute(pattern, new)
    before = text_of(spec, device, path)
    result = verdict("qos", tree(spec, {(device, path): edit}))
    lines = changed_lines(before, edit(before))
    assert any(
        (example.device, example.file) == (device, path) and example.line in lines and message in example.message
        for example in result.counterexamples
    ), [str(example) for example in result.counterexamples][:4]


@pytest.mark.parametrize(("check", "device", "path", "pattern", "new"), EDITS)
def test_an_edit_is_refuted_where_it_was_made(check: str, device: str, path: str, pattern: str, new: str) -> None:
    edit = substitute(pattern, new)
    before = text_of(LAB, device, path)
    result = verdict(check, tree(LAB, {(device, path): edit}))
    assert not result.is_proven
    own = [example for example in result.counterexamples if example.device == device]
    assert own, f"others are blamed: {result.counterexamples[:3]}"
    lines = changed_lines(before, edit(before))
    assert {each.file for each in own} & {path, AGENT if path == BGP else path}
    report = [(each.line, each.message) for each in own][:5]
    assert any(each.file == path and each.line in lines for each in own), f"line {lines} was edited, not {report}"


RESTARTS = [
    (LAB, CTSW, EOS, r"^   graceful-restart\n", "", "restart-time", "off here, 120 s at "),
    (LAB, CTSW, EOS, r"(restart-time )120", r"\g<1>60", "restart-time 60", "60 s here, 120 s at "),
    (
        LAB,
        CTSW,
        EOS,
        r"^   graceful-restart restart-time .*\n",
        "",
        "graceful-restart",
        "system's own time here, 120 s",
    ),
    (LAB, RTSW, BGP, r'("graceful_restart_seconds": )120', r"\g<1>30", "_seconds", "30 s here, 120 s at ctsw-p00-00"),
    (
        SONIC_LAB,
        RTSW,
        SONIC,
        r'("gr_restart_time": ")120',
        r"\g<1>30",
        '"gr_restart_time": "30"',
        "30 s here, 120 s at",
    ),
    (SONIC_LAB, RTSW, SONIC, r'"graceful_restart_enable": "true", ', "", '"gr_restart_time"', "off here, 120 s at"),
]


@pytest.mark.parametrize(("spec", "device", "path", "pattern", "new", "blamed", "message"), RESTARTS)
def test_an_end_whose_routes_live_shorter_through_a_restart_is_named_once(
    spec: str, device: str, path: str, pattern: str, new: str, blamed: str, message: str
) -> None:
    after = substitute(pattern, new)(text_of(spec, device, path))
    (only,) = verdict("bgp-sessions", tree(spec, {(device, path): lambda _: after})).counterexamples
    assert (only.device, only.file) == (device, path)
    assert blamed in after.split("\n")[only.line - 1]
    assert message in only.message


def border(limit: str) -> Edit:
    """A session of a top switch with a router of the site, over a port that is cabled to no device of the tree."""
    port = (
        "interface Ethernet6/36/1\n   description to site-a\n   no shutdown\n   mtu 9000\n   no switchport\n"
        "   ipv6 address fd00:1ab:f:fffd::/127\n!\n"
    )
    group = (
        "   neighbor SITE peer group\n   neighbor SITE route-map FROM-SITE in\n   neighbor SITE route-map TO-SITE out\n"
        f"{limit}   neighbor fd00:1ab:f:fffd::1 peer group SITE\n   neighbor fd00:1ab:f:fffd::1 remote-as 64601\n   !\n"
        "   address-family ipv6\n      neighbor SITE activate\n"
    )
    policy = (
        "ipv6 prefix-list SITE\n   seq 10 permit 2001:db8:1::/48\n!\n"
        "route-map FROM-SITE permit 10\n   match ipv6 address prefix-list SITE\n!\n"
        "route-map TO-SITE permit 10\n   match ipv6 address prefix-list OWN\n!\nrouter bgp "
    )

    def edit(text: str) -> str:
        text = re.sub(r"interface Ethernet6/36/1\n(   .*\n)*!\n", port, text)
        return text.replace("   !\n   address-family ipv6\n", group).replace("router bgp ", policy, 1)

    return edit


def test_a_session_with_the_site_needs_a_limit_but_no_switch_at_its_end() -> None:
    limited = tree(LAB, {("ssw-00", EOS): border("   neighbor SITE maximum-routes 5 warning-limit 2\n")})
    assert verdict("bgp-sessions", limited).counterexamples == ()
    assert not [example for example in verdict("reachability", limited).counterexamples if "SITE" in example.message]
    unlimited = verdict("bgp-sessions", tree(LAB, {("ssw-00", EOS): border("")})).counterexamples
    assert [each.message for each in unlimited if "nothing limits" in each.message]


@pytest.mark.parametrize("term", ["", "   match ipv6 address prefix-list ALL\n"])
def test_a_policy_announcing_every_route_is_refuted_with_a_list_or_without(term: str) -> None:
    listed = "ipv6 prefix-list ALL\n   seq 10 permit ::/0 le 128\n!\n"

    def edit(text: str) -> str:
        return text.replace(
            "route-map TO-DOWN permit 10\n",
            f"{listed}route-map TO-DOWN permit 5\n{term}!\nroute-map TO-DOWN permit 10\n",
            1,
        )

    counterexamples = verdict("reachability", tree("lab-roce", {("ctsw-p00-00", EOS): edit})).counterexamples
    assert any("announces every route" in example.message for example in counterexamples)
