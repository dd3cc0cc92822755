"""Ways beside the lists of switches: each edit that opens one is named with its line, with the spec and without it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from tests.golden_files import assert_golden
from tests.proofs.isolation.trees import AGENT, EOS, SONIC, Edit, artifacts_of, left_open, tree, verdict

from clusterwright.finding import VerifyError
from clusterwright.proofs.tree import RenderedFile
from clusterwright.switches.eos.reader.configuration import read_eos
from clusterwright.switches.eos.reader.unread import unread
from clusterwright.switches.fboss.reader.configuration import BGP as SESSIONS

SSW, MGMT, RTSW, BORDER = "ssw-00", "mgmt-00", "rtsw-p00r00", "ssw-00"
HOST_LIST = "   ip access-group HOSTS in\n"
ACCESS = "   switchport mode access\n"
SVI = "   description hosts\n"
LINK = "   ipv6 enable\n"
MANAGED = re.compile(r"(interface Management1/1\n(?:   .*\n)*?   ip address )(\S+)/\d+")


def put(old: str, new: str) -> Edit:
    return lambda text: text.replace(old, new, 1)


def added(*lines: str) -> Edit:
    """Lines at the end of a startup-config, where extra_config adds sections."""
    return lambda text: text.removesuffix("end\n") + "\n".join((*lines, "!", "end", ""))


def with_line(before: str, line: str) -> Edit:
    return put(before, f"{before}{line}\n")


def in_bgp(line: str) -> Edit:
    return put("   router-id ", f"   {line}\n   router-id ")


def patched(change: Callable[[dict[str, Any]], object]) -> Edit:
    """A JSON file after a change of its content, written as files are."""

    def edit(text: str) -> str:
        document = json.loads(text)
        change(document)
        return json.dumps(document, indent=2)

    return edit


EOS_CASES: dict[str, tuple[str, Edit]] = {
    "another address on a link, of nobody": (SSW, put(LINK, f"{LINK}   ipv6 address 2001:db8::9/64\n")),
    "a list taken off further down": (MGMT, with_line(HOST_LIST, "   no ip access-group HOSTS in")),
    "a port set back": (MGMT, added("default interface Ethernet1")),
    "a list taken away": (MGMT, added("no ip access-list HOSTS")),
    "several ports at once": (MGMT, added("interface Ethernet1-4", "   no ip access-group HOSTS in")),
    "a port that joins another": (MGMT, with_line(ACCESS, "   channel-group 7 mode on")),
    "a trunk to a host": (MGMT, put(ACCESS, "   switchport mode trunk\n")),
    "a gateway": (MGMT, added("ip default-gateway 10.99.0.9")),
    "copies of packets": (MGMT, added("monitor session X destination Ethernet40")),
    "a tunnel": (MGMT, added("interface Tunnel0", "   tunnel destination 198.51.100.1")),
    "policy routing": (MGMT, with_line(SVI, "   service-policy type pbr input X")),
    "translation": (MGMT, with_line(SVI, "   ip nat source dynamic access-list X overload")),
    "answers for others": (MGMT, with_line(SVI, "   ip proxy-arp")),
    "a relay to elsewhere": (MGMT, with_line(SVI, "   ip helper-address 198.51.100.1")),
    "an address of nobody": (MGMT, added("interface Vlan200", "   ip address 198.51.100.1/24")),
    "telnet": (MGMT, added("management telnet", "   no shutdown")),
    "eAPI in clear": (MGMT, put("   no protocol http\n", "   protocol http\n")),
    "no password": (SSW, with_line("management ssh\n", "   authentication empty-passwords permit")),
    "SSH in both VRFs": (SSW, put("   shutdown\n   !\n   vrf MGMT\n", "   no shutdown\n   !\n   vrf MGMT\n")),
    "eAPI in both VRFs": (SSW, put("   vrf default\n      shutdown\n", "   vrf default\n      no shutdown\n")),
    "SNMP in both VRFs": (SSW, put("no snmp-server vrf default", "snmp-server vrf default")),
    "SNMP in both VRFs, as EOS has it by itself": (SSW, put("no snmp-server vrf default\n", "")),
    "an address in another fabric": (SSW, added("interface Loopback7", "   ipv6 address fd00:1ab:b:ffff::99/128")),
    "an address among managed ports": (SSW, added("interface Vlan300", "   ip address 10.99.0.77/25")),
    "a management address of another switch": (SSW, lambda text: MANAGED.sub(r"\g<1>10.99.0.17/25", text)),
    "a management address that is no planned one": (SSW, lambda text: MANAGED.sub(r"\g<1>10.99.0.99/25", text)),
    "a management network that is no planned one": (SSW, lambda text: MANAGED.sub(r"\g<1>\2/26", text)),
    "a management route through another host": (SSW, put("10.99.0.0/23 10.99.0.1\n", "10.99.0.0/23 10.99.0.17\n")),
    "SNMP without keys": (SSW, added("snmp-server community public ro")),
    "gNMI without TLS": (SSW, put("      ssl profile gnmi-server\n", "")),
    "gNMI in the other VRF": (SSW, put("      vrf MGMT\n      ip access-group GNMI", "      ip access-group GNMI")),
    "a port between the VRFs": (SSW, put(LINK, f"   vrf MGMT\n{LINK}")),
    "a management port in the fabric's VRF": (SSW, put("   vrf MGMT\n   ip a", "   ip a")),
    "a session with a stranger": (SSW, in_bgp("neighbor 203.0.113.1 remote-as 65999")),
    "sessions with anybody": (SSW, in_bgp("bgp listen range 2001:db8::/32 peer-group RSW remote-as 1")),
    "everything announced": (SSW, in_bgp("network ::/0")),
    "a password taken away": (SSW, in_bgp("no neighbor RSW password")),
    "a port that nobody planned": (SSW, put("   description unused\n   shutdown\n", "   no shutdown\n")),
    "another routing protocol": (SSW, added("router ospf 1", "   network 0.0.0.0/0 area 0")),
    "routes of whoever offers them": (SSW, with_line(LINK, "   ipv6 nd ra rx accept default-route")),
    "logins by a host": (SSW, put("tacacs-server host 10.99.240.49", "tacacs-server host 10.99.0.17")),
    "the time by a host": (MGMT, put("ntp server 10.99.240.123", "ntp server 10.99.0.17")),
    "names by a host": (SSW, put("ip name-server vrf MGMT 10.99.240.53", "ip name-server vrf MGMT 10.99.0.17")),
    "the log to a host": (MGMT, added("logging host 10.99.0.17")),
    "leases by a host": (SSW, with_line(LINK, "   ipv6 dhcp relay destination fd00:1ab:f::5 source-address fd00::1")),
    "a session with a host": (SSW, in_bgp("neighbor fd00:1ab:f::5 remote-as 65000")),
    "a management route through another host, in other words": (
        SSW,
        added("ipv6 route vrf MGMT fd00:1ab:f:1::/64 fd00:1ab:f::0:0:2"),
    ),
    "gNMI for whoever has no certificate": (SSW, put("      trust certificate gnmi-collectors.crt\n", "")),
    "gNMI that changes the switch": (SSW, put("      authorization requests\n", "")),
    "a program": (SSW, added("event-handler X", "   trigger on-boot", "   action bash true")),
    "policies for traffic": (SSW, added("traffic-policies", "   traffic-policy X")),
}
BORDER_CASES: dict[str, Edit] = {
    "a prefix on one line": added("ipv6 prefix-list BORDER-IN-PRODUCTION-A seq 99 permit ::/0 le 128"),
    "a map of the neighbour alone": lambda text: re.sub(
        r"(   neighbor (\S+) peer group BORDER-PRODUCTION-A\n)", r"\1   neighbor \2 route-map OPEN in\n", text, count=1
    ),
    "a port within the port": added("interface Ethernet6/36/1.100", "   encapsulation dot1q vlan 100"),
}


def stranger(document: dict[str, Any], peer: str = "203.0.113.1") -> None:
    document["peers"].append({**document["peers"][0], "peer_addr": peer})


FBOSS_CASES: dict[str, tuple[str, Edit]] = {
    "mirrors": (AGENT, patched(lambda file: file["sw"].update(mirrors=[{"name": "m"}]))),
    "another next hop": (
        AGENT,
        patched(lambda file: file["sw"]["dataPlaneTrafficPolicy"].update(redirectToNextHop={"nexthops": ["::1"]})),
    ),
    "a tunnel": (AGENT, patched(lambda file: file["sw"].update(ipInIpTunnels=[{"ipInIpTunnelId": "t"}]))),
    "a relay to elsewhere": (
        AGENT,
        patched(lambda file: file["sw"]["vlans"][0].update(dhcpRelayAddressV6="2001:db8::9")),
    ),
    "a port that nobody planned": (AGENT, put('"name": "eth2/1/1"', '"name": "eth9/1/1"')),
    "an address of nobody": (
        AGENT,
        patched(lambda file: file["sw"]["interfaces"][1]["ipAddresses"].append("2001:db8::9/64")),
    ),
    "an interface with an address of nobody": (
        AGENT,
        patched(lambda file: file["sw"]["interfaces"].append({"vlanID": 9, "ipAddresses": ["198.51.100.9/24"]})),
    ),
    "an address of another fabric": (
        AGENT,
        patched(lambda file: file["sw"]["interfaces"][0]["ipAddresses"].append("fd00:1ab:f::9/128")),
    ),
    "a host's address, planned": (
        AGENT,
        patched(lambda file: file["sw"]["interfaces"][0]["ipAddresses"].append("fd00:1ab:b::3/128")),
    ),
    "another virtual router, planned": (AGENT, patched(lambda file: file["sw"]["interfaces"][1].update(routerID=1))),
    "a session with a stranger": (SESSIONS, patched(stranger)),
    "a table that cannot compare what its entries ask": (
        AGENT,
        patched(lambda file: file["sw"]["aclTableGroup"]["aclTables"][0]["qualifiers"].remove(6)),
    ),
    "leases by a host": (
        AGENT,
        patched(lambda file: file["sw"]["vlans"][0].update(dhcpRelayAddressV6="fd00:1ab:f::5")),
    ),
    "a session with a host": (SESSIONS, patched(partial(stranger, peer="fd00:1ab:b::3"))),
    "a table that cannot drop": (
        AGENT,
        patched(lambda file: file["sw"]["aclTableGroup"]["aclTables"][1].update(actionTypes=[1])),
    ),
}


def ask_a_host(document: dict[str, Any], table: str) -> None:
    document.setdefault(table, {})["10.99.0.17"] = {}


SONIC_CASES: dict[str, Edit] = {
    "another VRF's route": patched(
        lambda file: file["STATIC_ROUTE"].update(
            {"mgmt|10.99.0.0/24": {"nexthop": "10.0.0.1", "nexthop-vrf": "default"}}
        )
    ),
    "a table of no type": patched(lambda file: file["ACL_TABLE"]["HOSTS_V4"].update(type="HOSTS")),
    "a type that matches nothing": patched(lambda file: file["ACL_TABLE_TYPE"]["HOSTS_V4"].pop("MATCHES")),
    "a type without an action": patched(lambda file: file["ACL_TABLE_TYPE"]["HOSTS_V4"].update(ACTIONS=["COUNTER"])),
    "a type that no port takes": patched(lambda file: file["ACL_TABLE_TYPE"]["HOSTS_V4"].update(BIND_POINTS=[])),
    "gNMI's list for another port, planned": patched(
        lambda file: file["ACL_RULE"]["GNMI_SOURCES|RULE_1"].update(L4_DST_PORT="6031")
    ),
    "one VRF for all": patched(lambda file: file["MGMT_VRF_CONFIG"]["vrf_global"].update(mgmtVrfEnabled="false")),
    "copies of packets": patched(lambda file: file.update(MIRROR_SESSION={"x": {"type": "SPAN"}})),
    "a tunnel": patched(lambda file: file.update(VXLAN_TUNNEL={"v": {"src_ip": "10.0.0.1"}})),
    "a session with a stranger": patched(
        lambda file: file["BGP_NEIGHBOR"].update({"default|203.0.113.1": {"asn": "1"}})
    ),
    "a port that nobody planned": patched(
        lambda file: next(each for each in file["PORT"].values() if each["admin_status"] != "up").update(
            admin_status="up"
        )
    ),
    "an address of nobody": patched(lambda file: file["INTERFACE"].update({"Ethernet0|198.51.100.1/24": {}})),
    "a management address of another switch": lambda text: re.sub(r'"eth0\|[0-9.]+/', '"eth0|10.99.0.17/', text),
    **{
        f"{table} by a host": patched(partial(ask_a_host, table=table))
        for table in ("TACPLUS_SERVER", "RADIUS_SERVER", "NTP_SERVER", "DNS_NAMESERVER", "SYSLOG_SERVER")
    },
    "leases by a host": patched(lambda file: file.update(DHCP_RELAY={"Vlan9": {"dhcpv6_servers": ["fd00:1ab:b::3"]}})),
    "a session with a host": patched(lambda file: file["BGP_NEIGHBOR"].update({"default|fd00:1ab:b::3": {"asn": "1"}})),
    "gNMI for whoever has no certificate": patched(lambda file: file["GNMI"]["gnmi"].update(client_auth="false")),
    "gNMI by a password": patched(lambda file: file["GNMI"]["gnmi"].pop("user_auth")),
    "a collector that changes the switch": patched(
        lambda file: file["GNMI_CLIENT_CERT"].update({"x": {"role": ["gnmi_readwrite"]}})
    ),
    "root over SSH": patched(lambda file: file["SSH_SERVER"]["POLICIES"].update(permit_root_login="yes")),
    "the factory's password": patched(
        lambda file: file["SSH_SERVER"]["POLICIES"].update(password_authentication="true")
    ),
    "an SNMP user without keys": patched(
        lambda file: file["SNMP_USER"]["monitoring"].update(SNMP_USER_TYPE="noAuthNoPriv")
    ),
    "a port that joins another": patched(lambda file: file.update(PORTCHANNEL_MEMBER={"PortChannel1|Ethernet0": {}})),
    "a trunk to a host": patched(lambda file: file.update(VLAN_MEMBER={"Vlan9|Ethernet0": {"tagging_mode": "tagged"}})),
}
CASES: dict[str, tuple[str, str, str, Edit]] = (
    {f"EOS: {case}": ("lab-roce", device, EOS, edit) for case, (device, edit) in EOS_CASES.items()}
    | {f"border: {case}": ("lab-border", BORDER, EOS, edit) for case, edit in BORDER_CASES.items()}
    | {f"FBOSS: {case}": ("lab-roce", RTSW, file, edit) for case, (file, edit) in FBOSS_CASES.items()}
    | {f"SONiC: {case}": ("lab-sonic", RTSW, SONIC, edit) for case, edit in SONIC_CASES.items()}
)
# What only the plan can tell: whose cable, address or neighbour it is.
BY_PLAN = re.compile(
    "nobody planned|stranger|of nobody|elsewhere|everything announced|EOS: a tunnel|of the neighbour alone"
    "|within the port|another fabric|among managed ports"
    "|of another switch|another host|no planned one|, planned|by a host|log to a host|with a host"
)


@pytest.mark.parametrize("case", CASES)
def test_every_way_beside_the_lists_is_named(case: str) -> None:
    name, device, path, edit = CASES[case]
    before = {str(example) for example in verdict(tree(name, device)).counterexamples}
    counterexamples = verdict(tree(name, device, edits={(device, path): edit})).counterexamples
    examples = [example for example in counterexamples if str(example) not in before]
    assert examples
    assert (examples[0].device, examples[0].file) == (device, path)
    alone = verdict(tree(name, device, edits={(device, path): edit}, is_folder=True)).counterexamples
    assert bool(alone) is (BY_PLAN.search(case) is None)


def test_files_of_a_system_are_judged_on_devices_that_do_not_have_all_of_them() -> None:
    whole = tree("lab-roce", RTSW)
    texts = {
        SESSIONS: '{"peer_addr": "192.0.2.7"}\n',
        "etc/pam.d/sshd": "auth required pam_radius.so server=192.0.2.9\n",
    }
    files = {("gpu-x", path): RenderedFile("gpu-x", path, "", partial(str, text)) for path, text in texts.items()}
    counterexamples = verdict(replace(whole, files={**whole.files, **files})).counterexamples
    assert {example.file for example in counterexamples if example.device == "gpu-x"} == texts.keys()


def test_a_session_is_found_however_its_file_is_written() -> None:
    def compact(text: str) -> str:
        document = json.loads(text)
        stranger(document)
        return json.dumps(document, separators=(",", ":"))

    counterexamples = verdict(tree("lab-roce", RTSW, edits={(RTSW, SESSIONS): compact})).counterexamples
    assert any("a BGP session with 203.0.113.1" in example.message for example in counterexamples)


def test_each_is_told_word_for_word() -> None:
    lines = []
    for case, (name, device, path, edit) in CASES.items():
        counterexamples = verdict(tree(name, device, edits={(device, path): edit})).counterexamples
        told = sorted({re.sub(r":\d+: ", ":N: ", str(example), count=1) for example in counterexamples})
        lines += [f"{case}:", *(f"  {each}" for each in told[:2]), ""]
    assert_golden("isolation/openings.txt", "\n".join(lines).encode())


def test_a_table_of_sonic_on_no_port_stops_nothing_and_no_proof() -> None:
    edit = patched(lambda file: file["ACL_TABLE"].update(IDLE={"type": "HOSTS_V4", "stage": "ingress"}))
    assert not verdict(tree("lab-sonic", RTSW, edits={(RTSW, SONIC): edit})).counterexamples


def feature(name: str, state: str) -> Edit:
    return patched(lambda file: file["FEATURE"].update({name: {"state": state}}))


@pytest.mark.parametrize(
    ("name", "path", "edit", "what"),
    [
        ("lab-roce", AGENT, patched(lambda file: file["sw"].update(novelty={})), "sw / novelty"),
        ("lab-sonic", SONIC, patched(lambda file: file.update(NOVELTY={})), "NOVELTY"),
        ("lab-sonic", SONIC, feature("restapi", "enabled"), "FEATURE / restapi"),
        ("lab-sonic", SONIC, feature("swss", "disabled"), "FEATURE / swss"),
        ("lab-sonic", SONIC, patched(lambda file: file.update(TELEMETRY={})), "TELEMETRY"),
        ("lab-sonic", SONIC, patched(lambda file: file["NTP"]["global"].update(dhcp="enabled")), "NTP / global / dhcp"),
    ],
)
def test_what_no_reader_knows_is_said_and_not_judged(name: str, path: str, edit: Edit, what: str) -> None:
    result = verdict(tree(name, RTSW, edits={(RTSW, path): edit}))
    assert not result.counterexamples
    assert not result.is_settled
    assert re.search(rf'no reader knows {RTSW}:/{path}:\d+: "{what}"$', result.unjudged)


def test_a_table_of_sonic_on_a_vlan_is_refused() -> None:
    """It would stop what comes in by any of the VLAN's ports, of which none names it."""
    edit = put('"ACL_TABLE": {', '"ACL_TABLE": {"OWN": {"type": "L3V6", "stage": "ingress", "ports": ["Vlan100"]},')
    answer = verdict(tree("lab-sonic", "rtsw-p00r00", edits={("rtsw-p00r00", SONIC): edit}))
    assert "only front ports are read" in left_open(answer, "rtsw-p00r00")


SPINE_TEXT = next(
    artifact.content.decode() for artifact in artifacts_of("lab-roce", "ctsw-p00-00") if artifact.path == EOS
)


def test_lengths_that_no_prefix_has_are_refused() -> None:
    """EOS refuses the line at its start, and a list without it passes something else."""
    assert " eq 128" in SPINE_TEXT
    for words in ("eq 129", "eq 63", "ge 120 le 90"):
        with pytest.raises(VerifyError, match="lengths that no prefix in it has"):
            read_eos("ctsw-p00-00", SPINE_TEXT.replace("eq 128", words))


def empty(text: str) -> str:
    return re.sub(r"(ip access-list standard SSH-SOURCES\n)(?:   .*\n)+", r"\1", text, count=1)


def test_a_list_without_an_entry_is_not_proven() -> None:
    """Whether it passes nothing or everything no manual of EOS says."""
    answer = verdict(tree("lab-roce", SSW, edits={(SSW, EOS): empty}))
    assert "access list SSH-SOURCES has no entry" in left_open(answer, SSW)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("aaa group server tacacs+ CENTRAL", "aaa group server tacac+ CENTRAL"),
        ("ntp server vrf MGMT", "ntp server vrv MGMT"),
        ("ntp local-interface vrf MGMT", "ntp local-interface vrv MGMT"),
        ("ip load-sharing arad ", "ip load-sharing arat "),
        ("password 7 <secret", "password 8 <secret"),
    ],
)
def test_words_that_eos_does_not_have_are_unread(old: str, new: str) -> None:
    text = SPINE_TEXT
    assert old in text
    assert any(new in unread_part.text for unread_part in unread(text.replace(old, new)))
    assert not unread(text)
