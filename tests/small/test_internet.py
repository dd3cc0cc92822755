"""The internet where a flow opens it: routes, filters, proofs and the kernel agree on what passes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

import pytest
from tests.cli.in_process import command
from tests.small.answers import rendered

from clusterwright.node_health.isolation import isolation_checks
from clusterwright.node_health.readings import CommandOutput, Readings
from clusterwright.plan.build import build_plan
from clusterwright.spec.load import load_spec
from clusterwright.spec.zone_reach import internet_fabrics, is_whole_internet

SPEC = Path(__file__).parent / "specs" / "internet.yaml"
NODE = "gpu-r00n0"
NETWORKS = f"{NODE}/etc/systemd/network"
WORLD = "{name: world, kind: internet}"
COMPUTE = "{name: compute, kind: compute,"
FLOW = "{name: out, from: compute, to: world, protocol: tcp, ports: [80, 443]"
IPV6 = {
    '"10.255.0.0/24"': '"fd00:ff::/64"',
    '"10.254.0.0/24"': '"fd00:fe::/64"',
    '"10.10.0.0/16"': '"fd00:10::/48"',
    "hosts_per_switch: 26": "hosts_per_switch: 64",
    '"10.20.0.0/16"': '"fd00:20::/64"',
}


def spec_with(folder: Path, *changes: tuple[str, str], version: int = 4) -> Path:
    text = SPEC.read_text()
    for before, after in (*changes, *(IPV6.items() if version == 6 else ())):
        assert before in text, before
        text = text.replace(before, after)
    path = folder / "spec.yaml"
    path.write_text(text)
    return path


def verdict(folder: Path, out: Path, spec: Path) -> str:
    (out / "manifest.json").unlink(missing_ok=True)
    answer = command("verify", out, "--spec", spec, cwd=folder)
    return answer.stdout + answer.stderr


def codes(spec: Path) -> set[str]:
    answer = command("lint", spec, cwd=spec.parent)
    return set(re.findall(r"(?:error|warning) (CW\d+)", answer.stdout))


@pytest.mark.parametrize("version", [4, 6])
def test_the_flow_is_proven_and_declared_in_the_verdict(tmp_path: Path, version: int) -> None:
    spec = spec_with(tmp_path, version=version)
    assert not codes(spec)
    told = command("verify", spec, cwd=tmp_path).stdout
    assert "isolation: proven." in told
    assert "note: internet: open outwards for compute (tcp 80, 443, flow out), declared" in told
    assert "REFUTED" not in told


def test_the_zone_holds_all_public_addresses_but_those_of_the_cluster_and_of_other_zones(tmp_path: Path) -> None:
    spec = load_spec(spec_with(tmp_path, ('"10.20.0.0/16"', '"128.32.0.0/16"'), ('"10.10.0.0/16"', '"8.8.0.0/16"')))
    world = spec.zone("world")
    assert world is not None
    assert is_whole_internet(world)

    def holds(text: str) -> bool:
        address = ip_address(text)
        return any(address.version == network.version and address in network for network in world.prefixes)

    assert all(map(holds, ["1.1.1.1", "128.31.0.1", "8.9.0.1", "2606:4700::1111"]))
    others = ["128.32.0.1", "8.8.0.9", "10.0.0.1", "192.168.0.1", "100.64.0.1", "169.254.169.254", "fd00::1", "fe80::1"]
    assert not any(map(holds, others))


ISOLATED = (COMPUTE, f"{COMPUTE} isolated: true,")
PROMISE = 'promises: [{name: P1, promise: %s, says: "No way out."}]\ncredentials:'


def beside(zone: str) -> tuple[str, str]:
    """The change that adds a zone behind that of the internet."""
    return WORLD, f"{WORLD}\n  - {zone}"


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ([(WORLD, '{name: world, kind: internet, prefixes: ["0.0.0.0/0"]}')], "CW501"),
        ([(WORLD, '{name: world, kind: services, prefixes: ["0.0.0.0/0"]}')], "CW501"),
        ([ISOLATED], "CW520"),
        ([beside("{name: vault, isolated: true, nodes: [compute]}")], "CW514"),
        ([beside("{name: vault, isolated: true, fabrics: [frontend]}")], "CW514"),
        ([beside("{name: wires, fabrics: [frontend]}"), ("out, from: compute,", "out, from: wires,")], "CW515"),
        ([("credentials:", PROMISE % "no-internet")], "CW533"),
        ([("credentials:", PROMISE % "owner-only")], "CW533"),
    ],
)  # fmt: skip
def test_lint_refuses_what_would_open_more(tmp_path: Path, changes: list[tuple[str, str]], code: str) -> None:
    assert code in codes(spec_with(tmp_path, *changes))


def test_a_suppressed_flow_of_an_isolated_zone_opens_nothing(tmp_path: Path) -> None:
    plan = build_plan(load_spec(spec_with(tmp_path, ISOLATED)))
    world = plan.spec.zone("world")
    assert world is not None
    assert not world.prefixes
    assert not internet_fabrics(plan.spec, "compute")


@dataclass(frozen=True)
class Edit:
    """A change of one rendered file, and the claim that has to refute it."""

    file: str
    before: str
    after: str
    claim: str


OWN_TABLE = "[Route]\nDestination=0.0.0.0/0\nGateway=10.10.0.1\nTable=108\n\n"
FILTER, CHECK = f"{NODE}/etc/nftables.conf", f"{NODE}/etc/clusterwright/health.json"
EDITS = [
    Edit(FILTER, "@world_v4 tcp dport { 80, 443 }", "@world_v4 tcp dport { 22, 80, 443 }", "isolation"),
    Edit(FILTER, "@world_v4 tcp dport { 80, 443 }", "@world_v4 tcp dport { 443 }", "isolation"),
    Edit(FILTER, "@world_v6 tcp dport { 80, 443 }", "@world_v6 tcp dport { 1-443 }", "isolation"),
    Edit(FILTER, "ip daddr @world_v4 tcp", "tcp", "isolation"),
    Edit(FILTER, "11.0.0.0/8", "10.0.0.0/7", "isolation"),
    Edit(f"{NETWORKS}/20-fe0.network", OWN_TABLE, "", "isolation"),
    Edit(f"{NETWORKS}/20-fe1.network", OWN_TABLE.replace("108", "109"), "", "isolation"),
    Edit(f"{NETWORKS}/20-fe0.network", OWN_TABLE, OWN_TABLE.replace("10.10.0.1", "10.10.0.9"), "isolation"),
    Edit(f"{NETWORKS}/20-fe0.network", OWN_TABLE, OWN_TABLE.replace("0.0.0.0/0", "::/0"), "isolation"),
    Edit(f"{NETWORKS}/20-fe0.network", "DHCP=no", "DHCP=yes", "isolation"),
    Edit(f"{NETWORKS}/20-fe0.network", "DHCP=no", "DHCP=no\nGateway=10.10.0.9", "isolation"),
    Edit(
        f"{NETWORKS}/20-fe0.network",
        "Destination=0.0.0.0/0\nMultiPathRoute=10.10.0.1@fe0\nMultiPathRoute=10.10.0.1@fe1",
        "Destination=0.0.0.0/0\nMultiPathRoute=10.10.0.1@fe0\nMultiPathRoute=10.10.0.3@fe1",
        "isolation",
    ),
    Edit(CHECK, '"version": 4', '"version": 6', "node-check"),
    Edit(CHECK, '"default_routes"', '"other_routes"', "node-check"),
    Edit(CHECK, '"default_routes"', '"owns_routes": false, "default_routes"', "node-check"),
]  # fmt: skip


@pytest.fixture(scope="module")
def trees(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("internet")
    rendered(folder, SPEC)
    return folder


@pytest.mark.parametrize("edit", EDITS, ids=range(len(EDITS)))
def test_an_edited_file_is_refuted(trees: Path, edit: Edit) -> None:
    path = trees / "out" / edit.file
    text = path.read_text()
    assert edit.before in text
    try:
        path.write_text(text.replace(edit.before, edit.after, 1))
        assert f"{edit.claim}: REFUTED" in verdict(trees, trees / "out", SPEC)
    finally:
        path.write_text(text)


def test_a_node_without_the_flow_may_have_no_default_route(tmp_path: Path) -> None:
    spec = spec_with(tmp_path, (f"  - {FLOW}", f"  # - {FLOW}"))
    out = rendered(tmp_path, spec)
    path = out / NETWORKS / "20-fe0.network"
    assert "0.0.0.0/0" not in path.read_text()
    path.write_text(path.read_text() + "\n" + OWN_TABLE)
    result = verdict(tmp_path, out, spec)
    assert "isolation: REFUTED" in result
    assert "reachability: REFUTED" in result


def test_a_default_route_of_the_main_table_that_is_missing_is_refuted(tmp_path: Path) -> None:
    out = rendered(tmp_path, SPEC)
    for name in ("20-fe0.network", "20-fe1.network"):
        path = out / NETWORKS / name
        sections = path.read_text().split("\n[Route]\n")
        kept = [text for text in sections if "Destination=0.0.0.0/0" not in text or "Table=" in text]
        path.write_text("\n[Route]\n".join(kept))
    result = verdict(tmp_path, out, SPEC)
    assert "no default route through 10.10.0.1 in the main table" in result


def routes(*lines: str) -> Readings:
    answers = {f"ip -j -{version} route show table all": CommandOutput("[]") for version in (4, 6)}
    answers["ip -j -4 route show table all"] = CommandOutput(f"[{', '.join(lines)}]")
    return Readings(answers)


@pytest.mark.parametrize(
    ("lines", "is_ok"),
    [
        (('{"dst": "default", "dev": "fe0"}',), True),
        (('{"dst": "default", "nexthops": [{"dev": "fe0"}]}',), True),
        ((), False),
        (('{"dst": "default", "dev": "fe0"}', '{"dst": "default", "dev": "wan0"}'), False),
        (('{"dst": "default", "nexthops": [{"dev": "fe0"}, {"dev": "wan0"}]}',), False),
    ],
)
def test_the_node_check_wants_the_declared_default_routes_and_no_other(lines: tuple[str, ...], is_ok: bool) -> None:
    expected = {"default_routes": [{"interface": "fe0", "version": 4}]}
    assert [check.ok for check in isolation_checks(routes(*lines), expected)] == [is_ok]


SERVER = {4: "1.1.1.1", 6: "2606:4700::1111"}
PRIVATE = {4: "10.77.0.1", 6: "fd00:77::1"}
GATEWAY = {4: "10.10.0.1/26", 6: "fd00:10::1/64"}
LISTEN = """
import selectors, socket, sys
listening = selectors.DefaultSelector()
for address in sys.argv[1:3]:
    for port in (22, 443):
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        listener = socket.socket(family)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address, port))
        listener.listen()
        listening.register(listener, selectors.EVENT_READ)
print("listening", flush=True)
while True:
    for key, _ in listening.select():
        key.fileobj.accept()[0].close()
"""
CONNECT = """
import socket, sys
source = (sys.argv[3], 0) if len(sys.argv) > 3 else None
try:
    socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=1.5, source_address=source).close()
    print("connected")
except ConnectionRefusedError:
    print("reached")
except OSError:
    print("no")
"""


def entered(namespace: str, *arguments: str) -> list[str]:
    return ["ip", "netns", "exec", namespace, *arguments]


def routes_of(folder: Path, interface: str) -> Iterator[str]:
    """The arguments of ip that do what the routes and rules of a .network file say, in their order."""
    text = (folder / f"20-{interface}.network").read_text()
    for section in re.findall(r"\[(?:Route|RoutingPolicyRule)\]\n(?:[^\[\n]+\n?)+", text):
        values = re.findall(r"^(\w+)=(.*)$", section, re.M)
        one = dict(values)
        if section.startswith("[RoutingPolicyRule]"):
            chosen = f"from {one['From']}" if "From" in one else f"oif {one['OutgoingInterface']}"
            yield f"rule add {chosen} table {one['Table']} priority {one['Priority']}"
            continue
        hops = [hop for name, hop in values if name == "MultiPathRoute"]
        way = f"dev {interface}" if not one.get("Gateway") else f"via {one['Gateway']} dev {interface}"
        if hops:
            way = " ".join("nexthop via {} dev {}".format(*hop.split("@")) for hop in hops)
        more = f" table {one['Table']}" if "Table" in one else ""
        more += f" src {one['PreferredSource']}" if "PreferredSource" in one else ""
        more += f" metric {one['Metric']}" if "Metric" in one else ""
        if hops:
            yield f"route add {one['Destination']}{more} {way}"
        else:
            yield f"route add {one['Destination']} {way}{more}"


@contextmanager
def node_before_the_internet(out: Path, version: int) -> Iterator[tuple[str, str]]:
    """A node with its rendered addresses, routes and filter, and the namespace behind its gateway."""
    node, outside = f"n{os.getpid()}", f"o{os.getpid()}"
    address = {
        name: re.findall(r"^Address=(\S+)$", (out / NETWORKS / f"20-{name}.network").read_text(), re.M)[0]
        for name in ("fe0", "fe1")
    }
    commands = [
        f"netns add {node}",
        f"netns add {outside}",
        f"-n {outside} link add br0 type bridge",
        f"-n {outside} link set br0 up",
        f"-n {node} link set lo up",
    ]
    for number, (name, own) in enumerate(address.items()):
        commands += [
            f"-n {node} link add {name} type veth peer name far{number} netns {outside}",
            f"-n {node} link set {name} up",
            f"-n {outside} link set far{number} master br0",
            f"-n {outside} link set far{number} up",
            f"-n {node} address add {own} dev {name}" + (" nodad" if version == 6 else ""),
        ]
    single = 32 if version == 4 else 128
    nodad = " nodad" if version == 6 else ""
    for own in (GATEWAY[version], f"{SERVER[version]}/{single}", f"{PRIVATE[version]}/{single}"):
        commands.append(f"-n {outside} address add {own} dev br0{nodad}")
    try:
        for line in commands:
            subprocess.run(["ip", *line.split()], check=True)
        for name in address:
            for line in routes_of(out / NETWORKS, name):
                subprocess.run(["ip", "-n", node, f"-{version}", *line.split()], check=True)
        subprocess.run(entered(node, "nft", "-f", str(out / NODE / "etc/nftables.conf")), check=True)
        yield node, outside
    finally:
        for name in (node, outside):
            subprocess.run(["ip", "netns", "delete", name], check=False)


@pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root")
@pytest.mark.parametrize("version", [4, 6])
def test_the_kernel_passes_the_declared_ports_outwards_and_nothing_else(tmp_path: Path, version: int) -> None:
    out = rendered(tmp_path, spec_with(tmp_path, version=version))
    with node_before_the_internet(out, version) as (node, outside):
        listening = entered(outside, sys.executable, "-c", LISTEN, SERVER[version], PRIVATE[version])
        with subprocess.Popen(listening, stdout=subprocess.PIPE, text=True) as listener:
            try:
                assert listener.stdout is not None
                assert listener.stdout.readline() == "listening\n"
                answers = {}
                for target, port in ((SERVER, 443), (SERVER, 22), (PRIVATE, 443)):
                    connecting = entered(node, sys.executable, "-c", CONNECT, target[version], str(port))
                    answer = subprocess.run(connecting, check=True, capture_output=True, text=True)
                    answers[target[version], port] = answer.stdout.strip()
            finally:
                listener.kill()
        own = re.findall(r"^Address=([^/\s]+)", (out / NETWORKS / "20-fe0.network").read_text(), re.M)[0]
        inward = subprocess.run(
            entered(outside, sys.executable, "-c", CONNECT, own, "443", SERVER[version]),
            check=True,
            capture_output=True,
            text=True,
        )
    assert answers == {(SERVER[version], 443): "connected", (SERVER[version], 22): "no", (PRIVATE[version], 443): "no"}
    assert inward.stdout.strip() == "no"
