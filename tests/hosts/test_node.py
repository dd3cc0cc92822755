"""Node files, each judged by what reads it: networkd and the kernel, systemd, the shell; golden trees for people."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from tests.golden_files import assert_golden
from tests.plans import plan_of

from clusterwright.hosts.boot import server as boot_server
from clusterwright.hosts.linux.writer import system as node_system
from clusterwright.hosts.linux.writer.mounts import unit_name
from clusterwright.hosts.linux.writer.qos import dscp_moves
from clusterwright.intent.node_nics import nics_of
from clusterwright.output.rendering import Rendering
from clusterwright.plan.model import Plan, format_address

NETWORKD = "/lib/systemd/systemd-networkd"

# networkd in a network namespace of its own; /sys is mounted read-only, which tells it not to wait for udev.
NETWORKD_SCRIPT = """
set -e
mount --bind {folder}/etc/systemd/network /etc/systemd/network
mount -t tmpfs none /run
mkdir -p /run/systemd/netif/links /run/systemd/netif/leases /run/systemd/netif/lldp
chmod -R 777 /run/systemd
mount -t sysfs -o ro none /sys
ip link set lo up
for nic in {nics}; do
    echo "link add $nic type veth peer name peer-$nic"
    echo "link set peer-$nic up"
done | ip -batch -
{networkd} > {folder}/networkd.out 2>&1 &
for try in $(seq 300); do
    ip -j {family} route show table all proto static > {folder}/routes
    ip -j {family} addr show > {folder}/addresses
    [ "$(ip {family} rule show | grep -c lookup)" -ge {rules} ] && [ $try -ge 20 ] && break
    sleep 0.1
done
sleep 1
ip -j {family} rule show > {folder}/rules
ip -j {family} route show table all > {folder}/routes
ip -j {family} addr show > {folder}/addresses
"""


def _write(plan: Plan, name: str, folder: Path) -> None:
    for artifact in Rendering(plan).of_device(name):
        (folder / artifact.path).parent.mkdir(parents=True, exist_ok=True)
        (folder / artifact.path).write_bytes(artifact.content)
        (folder / artifact.path).chmod(artifact.mode)


@pytest.mark.parametrize(("name", "node"), [("lab-roce", "gpu-p01r00n1"), ("lab-ib", "gpu-s01r00n1")])
def test_networkd_sets_the_kernel_up_as_planned(name: str, node: str, tmp_path: Path) -> None:
    assert Path(NETWORKD).exists(), "systemd-networkd is missing: apt-get install systemd"
    plan = plan_of(name)
    _write(plan, node, tmp_path)
    nics = [nic for nic in nics_of(plan, plan.by_name[node]) if nic.version]
    version = nics[0].version
    script = NETWORKD_SCRIPT.format(
        folder=tmp_path,
        networkd=NETWORKD,
        nics=" ".join(nic.interface for nic in nics),
        family=f"-{version}",
        rules=2 * len(nics) + 2,
    )
    subprocess.run(
        ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", script],
        check=True,
        timeout=90,
    )
    addresses = json.loads((tmp_path / "addresses").read_text())
    held = {
        (link["ifname"], f"{info['local']}/{info['prefixlen']}", link["mtu"])
        for link in addresses
        for info in link["addr_info"]
        if info["scope"] == "global"
    }
    texts = {nic.interface: format_address(nic.address or 0, version) for nic in nics}
    assert held == {(nic.interface, f"{texts[nic.interface]}/{nic.prefix_length}", nic.fabric.mtu) for nic in nics}
    rules = json.loads((tmp_path / "rules").read_text())
    assert {(r["src"], int(r["table"])) for r in rules if r["src"] != "all"} == {
        (texts[nic.interface], nic.table) for nic in nics
    }
    routes = json.loads((tmp_path / "routes").read_text())
    assert not [route for route in routes if route["dst"] in ("default", "0.0.0.0/0", "::/0")]
    for nic in nics:
        own = [r for r in routes if str(r.get("table")) == str(nic.table) and r.get("gateway")]
        assert own, f"{nic.interface} has no routes of its own"
        assert {r["dev"] for r in own} == {nic.interface}
        assert {r["gateway"] for r in own} == {format_address(nic.gateway or 0, version)}
        if nic.fabric.technology == "roce":
            assert nic.fabric.addressing is not None
            assert [r["dst"] for r in own] == [str(nic.fabric.addressing.hosts)]
    spread = [r for r in routes if r.get("metric") == 100 and len(r.get("nexthops", ())) > 1]
    assert spread, "no route is spread over both frontend NICs"
    assert all({hop["dev"] for hop in r["nexthops"]} == {"fe0", "fe1"} for r in spread)


@pytest.mark.parametrize(("name", "node"), [("lab-roce", "gpu-p00r00n0"), ("lab-ib", "gpu-s00r00n0")])
def test_systemd_accepts_every_unit(name: str, node: str, tmp_path: Path) -> None:
    assert shutil.which("systemd-analyze"), "systemd-analyze is missing: apt-get install systemd"
    plan = plan_of(name)
    _write(plan, node, tmp_path)
    shutil.copytree("/usr/lib/systemd/system", tmp_path / "usr/lib/systemd/system", symlinks=True)
    tlshd = tmp_path / "usr/lib/systemd/system/tlshd.service"  # ktls-utils brings it
    tlshd.write_text("[Service]\nExecStart=/bin/true\n")
    (tmp_path / "bin").symlink_to("usr/bin")
    (tmp_path / "lib").symlink_to("usr/lib")
    (tmp_path / "sbin").symlink_to("usr/sbin")
    programs = ("nft", "opensm", "swapoff", "modprobe"), ("true", "networkctl", "systemctl", "sh")
    paths = (f"usr/{folder}/{name}" for folder, names in zip(("sbin", "bin"), programs, strict=True) for name in names)
    for program in (*paths, "usr/lib/systemd/systemd-networkd"):
        (tmp_path / program).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / program).write_text("#!/bin/sh\n")
        (tmp_path / program).chmod(0o755)
    # an empty one is masked
    units = [str(path) for path in (tmp_path / "etc/systemd/system").iterdir() if path.is_file() and path.read_bytes()]
    assert units
    for unit in [*units, "nftables.service", "systemd-networkd.service", "multi-user.target", "remote-fs.target"]:
        done = subprocess.run(
            ["systemd-analyze", f"--root={tmp_path}", "verify", "--man=no", unit],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        foreign = [line for line in done.stderr.splitlines() if "clusterwright" in line or Path(unit).name in line]
        assert not foreign, done.stderr
        if unit in units:
            assert done.returncode == 0, done.stderr


def test_every_setting_is_known_to_the_kernel() -> None:
    plan = plan_of("lab-roce")
    shape = (("backend", 8), ("frontend", 2))
    for name in node_system.required_sysctl(plan, shape):
        assert Path("/proc/sys", *name.split(".")).exists(), f"no such kernel setting: {name}"


def test_neighbour_tables_fit_the_largest_subnet() -> None:
    plan = plan_of("roce-24k")
    settings = node_system.required_sysctl(plan, (("backend", 8), ("frontend", 2)))
    fullest: dict[str, int] = {}
    for cable in plan.cables:
        if cable.fabric == "frontend" and cable.a.side == "host":
            fullest[cable.b.device] = fullest.get(cable.b.device, 0) + 1
    assert int(settings["net.ipv6.neigh.default.gc_thresh3"]) >= 2 * (8 + 2 * max(fullest.values()))


def test_limits_change_their_unit_for_systemd() -> None:
    limits = {"memlock": "unlimited", "nofile": "1048576", "stack": "8192"}
    assert node_system.systemd_limits(limits) == [
        ("DefaultLimitMEMLOCK", "infinity"),
        ("DefaultLimitNOFILE", "1048576"),
        ("DefaultLimitSTACK", "8192K"),
    ]


def test_the_qos_script_gives_the_nic_the_switches_map(tmp_path: Path) -> None:
    plan = plan_of("lab-roce")
    _write(plan, "gpu-p00r00n0", tmp_path)
    stubs = tmp_path / "stubs"
    stubs.mkdir()
    # An adapter to which an earlier spec gave DSCP 3 another class; DSCP 50 has the one that is still meant.
    held = "[ $# != 2 ] || printf '\\tprio:0 dscp:02,01,00,\\n\\tprio:2 dscp:50,03,\\n'\n"
    for program in ("mlnx_qos", "cma_roce_tos"):
        (stubs / program).write_text(f'#!/bin/sh\necho {program} "$@" >> {tmp_path}/calls\n{held}')
        (stubs / program).chmod(0o755)
    script = f"""
set -e
mount -t tmpfs none /sys
for nic in be0 be1 be2 be3 be4 be5 be6 be7; do
    mkdir -p /sys/class/net/$nic/ecn/roce_np/enable /sys/class/net/$nic/ecn/roce_rp/enable
done
PATH={stubs}:$PATH {tmp_path}/usr/local/sbin/roce-qos
cat /sys/class/net/*/ecn/roce_*/enable/* | sort | uniq -c > {tmp_path}/dcqcn
"""
    subprocess.run(["unshare", "--mount", "sh", "-c", script], check=True, timeout=60, env=os.environ)
    calls = (tmp_path / "calls").read_text()
    priorities = {dscp: dscp // 8 for dscp in range(64)}
    for dscp, priority in re.findall(r"mlnx_qos -i be7 --dscp2prio set,(\d+),(\d+)", calls):
        priorities[int(dscp)] = int(priority)
    assert {dscp for dscp, priority in priorities.items() if priority == 2} == set(range(50, 60)) - {56}
    assert {priorities[dscp] for dscp in (26, 30, 32, 35)} == {6}
    assert calls.count(" --dscp2prio set,3,0\n") == 8
    assert " set,2," not in calls
    assert calls.count("--pfc 0,0,1,0,0,0,0,0") == 8
    assert calls.count("--trust dscp") == 8
    assert sorted(re.findall(r"cma_roce_tos -d (\S+) -p 1 -t 200", calls)) == [f"mlx5_{n}" for n in range(8)]
    assert (tmp_path / "dcqcn").read_text().split() == ["16", "0"]


def test_the_classes_are_set_after_the_connection_manager_and_again_after_a_reset(tmp_path: Path) -> None:
    _write(plan_of("lab-roce"), "gpu-p00r00n0", tmp_path)
    units = tmp_path / "etc/systemd/system"
    unit = (units / "roce-qos.service").read_text().splitlines()
    assert unit.index("ExecStartPre=/usr/sbin/modprobe rdma_cm") < unit.index("ExecStart=/usr/local/sbin/roce-qos")
    assert {"Wants=sys-kernel-config.mount rdma-names.service", "StartLimitIntervalSec=0"} <= {*unit}
    rules = (tmp_path / "etc/udev/rules.d/85-roce-qos.rules").read_text()
    backend = plan_of("lab-roce").spec.catalogue["grand-teton-h100"].nic_groups[0]
    assert re.findall(r'KERNELS=="([^"]+)".*\{SYSTEMD_WANTS\}\+="roce-qos-again.service"', rules) == [
        nic.pci for nic in backend.nics
    ]
    again = (tmp_path / "usr/local/sbin/roce-qos-again").read_text()
    for state in ("active", "failed", "inactive", "activating"):
        program = f'systemctl() {{ [ "$1" = show ] && echo {state} || echo "$@"; }}; {again.replace("exec ", "")}'
        said = subprocess.run(["sh", "-c", program], capture_output=True, text=True, check=True).stdout
        restarts = "--no-block restart rdma-names.service roce-qos.service\n"
        assert said == (restarts if state in {"active", "failed"} else "")


def test_dscps_outside_a_class_have_the_number_of_the_default_class() -> None:
    fabric = plan_of("roce-24k").spec.fabric("backend")
    assert fabric is not None
    named = {dscp for traffic_class in fabric.classes for dscp in traffic_class.dscp}
    assert dscp_moves(fabric)[0] == tuple(dscp for dscp in range(8, 64) if dscp not in named)


@pytest.mark.parametrize(
    "mountpoint", ["/home", "/mnt/tectonic", "/mnt/with-dash", "/srv/.hidden", "/.top", "/a b", "/é"]
)
def test_mount_units_are_named_as_systemd_does(mountpoint: str) -> None:
    result = subprocess.run(
        ["systemd-escape", "--path", "--suffix=mount", mountpoint], check=True, capture_output=True, text=True
    )
    assert unit_name(mountpoint) == result.stdout.strip()


@pytest.mark.parametrize(("name", "node"), [("lab-roce", "gpu-p00r00n0"), ("lab-ib", "gpu-s00r00n0")])
def test_golden_tree(name: str, node: str) -> None:
    for artifact in Rendering(plan_of(name)).of_device(node):
        if not artifact.path.startswith("usr/local/lib/"):  # a program, copied as it is
            assert_golden(f"node/{name}/{node}/{artifact.path}", artifact.content)


@pytest.mark.parametrize(("name", "node"), [("lab-roce", "svc-v00n0")])
def test_golden_service_tree(name: str, node: str) -> None:
    for artifact in Rendering(plan_of(name)).of_device(node):
        if artifact.kind != boot_server.KIND:  # archives of the nodes' files, which are here already
            assert_golden(f"node/{name}/{node}/{artifact.path}", artifact.content)


@pytest.mark.parametrize("name", ["roce-24k", "ib-24k", "rsc-phase1", "rsc"])
def test_golden_digests_at_full_size(name: str) -> None:
    """Too many files to keep: one digest for each renderer over all nodes says whether any of them changed."""
    plan = plan_of(name)
    digests: dict[str, hashlib._Hash] = {}
    counts: Counter[str] = Counter()
    for device in plan.devices:
        if device.kind == "node":
            for artifact in Rendering(plan).of_device(device.name):
                digests.setdefault(artifact.kind, hashlib.sha256()).update(
                    f"{artifact.device} {artifact.path} {artifact.sha256}\n".encode()
                )
                counts[artifact.kind] += 1
    lines = [f"{kind} {counts[kind]} {digest.hexdigest()}\n" for kind, digest in sorted(digests.items())]
    assert_golden(f"node/{name}.digests", "".join(lines).encode())


def test_files_do_not_depend_on_hash_order() -> None:
    program = (
        "import sys, hashlib\n"
        "from tests.plans import plan_of\n"
        "from clusterwright.output.rendering import Rendering\n"
        "for name in ('lab-ib', 'lab-roce'):\n"
        "    plan = plan_of(name)\n"
        "    for device in plan.devices:\n"
        "        if device.kind == 'node':\n"
        "            for a in Rendering(plan).of_device(device.name):\n"
        "                print(a.device, a.path, a.mode, a.sha256)\n"
    )
    root = Path(__file__).resolve().parents[2]
    seen = {
        subprocess.run(
            [sys.executable, "-c", program],
            cwd=root,
            env={**os.environ, "PYTHONHASHSEED": seed, "LC_ALL": locale, "PYTHONPATH": str(root)},
            check=True,
            capture_output=True,
        ).stdout
        for seed, locale in (("0", "C"), ("4711", "C.UTF-8"))
    }
    assert len(seen) == 1
    assert seen.pop().count(b"\n") > 500
