"""The kernel's own nft loads the rules, and packets meet the policy that the spec states."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.plans import plan_of

from clusterwright.hosts.linux.writer import nftables
from clusterwright.intent.node_nics import is_managed
from clusterwright.plan.model import Plan

SPECS = ["lab-roce", "lab-ib", "rsc", "ib-24k", "roce-24k"]


def _rules(plan: Plan, name: str, path: str = nftables.RUNNING_PATH) -> bytes:
    return next(a.content for a in nftables.WRITER.render(plan, plan.by_name[name]) if a.path == path)


def _nodes(plan: Plan) -> list[str]:
    """One managed node of each group."""
    seen: dict[str, str] = {}
    for device in plan.devices:
        if is_managed(device):
            seen.setdefault(device.node_group, device.name)
    return list(seen.values())


@pytest.mark.parametrize("name", SPECS)
def test_nft_loads_the_rules_twice_and_lists_them(name: str, tmp_path: Path) -> None:
    assert shutil.which("nft"), "nft is missing: apt-get install nftables"
    plan = plan_of(name)
    for node in _nodes(plan):
        file = tmp_path / f"{node}.nft"
        file.write_bytes(_rules(plan, node))
        script = f"nft -c -f {file} && nft -f {file} && nft -f {file} && nft -j list ruleset"
        done = subprocess.run(
            ["unshare", "--net", "sh", "-c", script], capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, done.stderr
        assert not done.stderr
        objects = json.loads(done.stdout)["nftables"]
        chains = {o["chain"]["name"]: o["chain"] for o in objects if "chain" in o}
        assert {chain: chains[chain]["policy"] for chain in ("input", "forward", "output")} == {
            "input": "drop",
            "forward": "drop",
            "output": "drop",
        }
        assert sum("table" in o for o in objects) == 1
        commented = [o["rule"] for o in objects if "rule" in o and "comment" in o["rule"]]
        assert any("compute to storage" in rule["comment"] for rule in commented)


def test_every_flow_of_the_zone_is_there_and_no_other() -> None:
    plan = plan_of("lab-roce")
    texts = {
        booting: _rules(plan, "gpu-p00r00n0", path).decode()
        for booting, path in ((False, nftables.RUNNING_PATH), (True, nftables.BOOT_PATH))
    }
    for flow in plan.spec.flows:
        for booting, text in texts.items():
            wanted = "compute" in (flow.source, flow.target) and ("boot" in (flow.source, flow.target)) is booting
            assert (f'"{flow.source} to {flow.target}: {flow.reason}"' in text) == wanted


def test_nft_loads_the_filter_of_the_boot_image(tmp_path: Path) -> None:
    file = tmp_path / "boot.nft"
    file.write_bytes(_rules(plan_of("lab-roce"), "gpu-p00r00n0", nftables.BOOT_PATH))
    command = ["unshare", "--net", "nft", "-c", "-f", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_packet_with_a_foreign_source_neither_leaves_nor_enters(tmp_path: Path) -> None:
    """A node sends from an address of another NIC's, and is sent a packet that bears its own: the counters tell."""
    (tmp_path / "rules").write_bytes(_rules(plan_of("lab-roce"), "gpu-p00r00n0"))
    script = f"""
set -e
ip link set lo up
unshare --net sleep 60 & peer=$!
sleep 0.3
ip link add fe0 type veth peer name p0 netns $peer
ip link add fe1 type veth peer name p1 netns $peer
ip address add fd00:1ab:f::2/64 dev fe0 nodad; ip link set fe0 up
ip address add fd00:1ab:f::3/64 dev fe1 nodad; ip link set fe1 up
on="nsenter --net=/proc/$peer/ns/net"
$on ip link set p0 up; $on ip link set p1 up; $on ip link set lo up
$on ip address add fd00:1ab:f::1/64 dev p0 nodad
$on ip address add fd00:1ab:f::2/128 dev lo nodad
sleep 2
nft -f {tmp_path}/rules
cat > {tmp_path}/send.py <<'EOF'
import socket, sys
s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
s.bind((sys.argv[1], 0))
s.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, sys.argv[3].encode())
try:
    s.sendto(b"x", (sys.argv[2], 53))
except PermissionError:
    pass
EOF
ip neigh replace fd00:1ab:f::1 lladdr 02:00:00:00:00:01 dev fe0 nud permanent
mac=$(ip -br link show fe0 | awk '{{print $3}}')
$on ip route add fd00:1ab:f::9/128 dev p0
$on ip neigh replace fd00:1ab:f::9 lladdr $mac dev p0 nud permanent
ip address add fd00:1ab:f::9/128 dev lo nodad
python3 {tmp_path}/send.py fd00:1ab:f::3 fd00:1ab:f::1 fe0
$on python3 {tmp_path}/send.py fd00:1ab:f::2 fd00:1ab:f::9 p0
sleep 0.5
nft -j list ruleset
kill $peer
"""
    command = ["unshare", "--net", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    packets = {}
    for item in json.loads(done.stdout)["nftables"]:
        for statement in item.get("rule", {}).get("expr", ()):
            if "counter" in statement:
                packets[item["rule"].get("comment")] = statement["counter"]["packets"]
    assert packets["a source that is no address of the interface"] == 1
    assert packets["a packet from outside that bears an address of this machine"] == 1


def test_roce_stays_on_the_backend() -> None:
    text = _rules(plan_of("roce-24k"), "gpu-p00r000n0").decode()
    lines = [line for line in text.splitlines() if "4791" in line]
    assert len(lines) == 2
    for line in lines:
        assert '"be0"' in line
        assert '"fe0"' not in line
        assert "compute_on_backend_v6" in line


def test_packets_meet_the_policy(tmp_path: Path) -> None:
    """A node with its rendered rules and a neighbour on two NICs: SSH from services, from elsewhere, on the backend."""
    plan = plan_of("lab-roce")
    (tmp_path / "rules").write_bytes(_rules(plan, "gpu-p00r00n0"))
    script = f"""
set -e
sysctl -qw net.ipv6.conf.default.accept_dad=0
ip link set lo up
unshare --net sleep 60 & peer=$!
sleep 0.3
ip link add fe0 type veth peer name p0 netns $peer
ip link add be0 type veth peer name p1 netns $peer
ip address add fd00:1ab:f::2/64 dev fe0; ip link set fe0 up
ip address add fd00:1ab:b::3/64 dev be0; ip link set be0 up
ip route add fd00:1ab:f::/48 via fd00:1ab:f::1
on="nsenter --net=/proc/$peer/ns/net"
$on sysctl -qw net.ipv6.conf.all.accept_dad=0
$on ip link set lo up; $on ip link set p0 up; $on ip link set p1 up
$on ip address add fd00:1ab:f::1/64 dev p0 nodad; $on ip address add fd00:1ab:b::2/64 dev p1 nodad
$on ip address add fd00:1ab:f:5::2/128 dev lo nodad; $on ip address add fd00:1ab:f:9::2/128 dev lo nodad
nft -f {tmp_path}/rules
python3 -c '
import socket
s = socket.create_server(("::", 22), family=socket.AF_INET6)
open("{tmp_path}/ready", "w")
while True: s.accept()[0].close()' &
for try in $(seq 200); do [ -e {tmp_path}/ready ] && break; sleep 0.1; done
cat > {tmp_path}/probe.py <<'EOF'
import socket, sys
def probe(source, target, port):
    s = socket.socket(socket.AF_INET6); s.settimeout(3)
    try:
        s.bind((source, 0)); s.connect((target, port)); return "open"
    except OSError: return "closed"
print(probe(sys.argv[1], sys.argv[2], int(sys.argv[3])))
EOF
$on python3 {tmp_path}/probe.py fd00:1ab:f:5::2 fd00:1ab:f::2 22
$on python3 {tmp_path}/probe.py fd00:1ab:f:9::2 fd00:1ab:f::2 22
$on python3 {tmp_path}/probe.py fd00:1ab:b::2 fd00:1ab:b::3 22
kill $peer
"""
    done = subprocess.run(
        ["unshare", "--net", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", script],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout.split() == ["open", "closed", "closed"], done.stdout + done.stderr
