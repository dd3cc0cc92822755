"""PyTorch itself: the ranks of two nodes meet and add up, with gloo, through every filter as it was rendered.

Outside of `make test`: Debian's PyTorch takes 640 MB. `make test-torch` installs and runs it. A rank starts on each
node, in the environment that Slurm's TaskProlog gives tasks, on the port that torchrun takes when nobody names one
(torchrun itself does not start under Debian's Python 3.11).
"""

from __future__ import annotations

import os
import re
import subprocess
from functools import cache
from ipaddress import ip_interface
from pathlib import Path

import pytest
from tests.rendezvous.rack import dropped, rack, switches_of, texts_of, uplinks, write

from clusterwright import data_files
from clusterwright.extras.lab.namespaces import inside
from clusterwright.plan.build import build_plan
from clusterwright.plan.model import Plan
from clusterwright.rules.engine import lint_path
from clusterwright.spec.load import load_spec

pytestmark = [pytest.mark.torch, pytest.mark.slow, pytest.mark.timeout(300)]

NODES = ("gpu-p00r00n0", "gpu-p00r00n1")
HOSTS, PROLOG = "etc/hosts", "usr/local/libexec/clusterwright/task-environment"
PATIENCE_S = 10
BASE = f"extends: {data_files.folder('inventory') / 'lab-roce.yaml'}\n"
IPV4 = """\
site: {dns: ["10.96.240.53"], ntp: ["10.96.240.123"], syslog: ["10.96.240.14"]}
fabrics:
  - name: frontend
    addressing: {loopbacks: "10.96.255.0/25", links: "10.96.255.128/25", hosts: "10.96.0.0/22", hosts_per_switch: 25}
zones: [{name: site-services, prefixes: ["10.96.240.0/24"]}]
"""
BOOTS_OVER_IPV4 = '  - {name: boot-firmware, ports: [67, 69], reason: "addresses by DHCP, relayed, and iPXE by TFTP"}\n'
PROGRAM = f"""\
from datetime import timedelta
import os, sys, torch, torch.distributed as ranks
from torch.distributed.run import get_args_parser
port = get_args_parser().parse_args(["-"]).master_port
os.environ.update(RANK=sys.argv[1], WORLD_SIZE="2", MASTER_ADDR=sys.argv[2], MASTER_PORT=str(port))
ranks.init_process_group("gloo", timeout=timedelta(seconds={PATIENCE_S}))
numbers = torch.full((100_000,), float(ranks.get_rank() + 1))
ranks.all_reduce(numbers)
print("sum", int(numbers[0]), int(numbers[-1]), "on", ranks.get_rank(), "of", ranks.get_world_size(), flush=True)
"""
# A mount namespace of its own, so that no other process sees the node's names and folder for records.
NODE = """\
set -eu
hostname "$1"
mount --bind "$2/etc/hosts" /etc/hosts
mount -t tmpfs records /var/log
mkdir -m 1777 /var/log/nccl
export SLURM_JOB_ID=7
eval "$(sh "$2/usr/local/libexec/clusterwright/task-environment")"
shift 2
exec "$@"
"""


@cache
def spec(version: int, without: tuple[str, ...], folder: Path) -> Path:
    """The small RoCE cluster with a frontend of an IP version, without some flows."""
    path = folder / f"v{version}-{'-'.join(without)}.yaml"
    flows = "".join(f"  - {{name: {flow}, remove: true}}\n" for flow in without)
    flows = (BOOTS_OVER_IPV4 if version == 4 else "") + flows
    path.write_text(f"{BASE}{IPV4 if version == 4 else ''}" + (f"flows:\n{flows}" if flows else ""))
    return path


@cache
def plan_of(path: Path) -> Plan:
    return build_plan(load_spec(path))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("specs")


def run(plan: Plan, filters: Plan, lists: Plan, folder: Path) -> tuple[list[str], list[str]]:
    """What all nodes write, each to its end or until nobody waits any more; and what was dropped meanwhile."""
    prefix = f"gloo{os.getpid()}."
    (folder / "program.py").write_text(PROGRAM)
    first = uplinks(plan, NODES[0], "frontend")[0].a
    with rack(prefix, plan, NODES, "frontend", filters, lists):
        running = []
        for index, node in enumerate(NODES):
            write(texts_of(plan, node), (HOSTS, PROLOG), folder / node)
            if index:  # whom a node's own file does not name DNS knows
                with (folder / node / HOSTS).open("a") as hosts:
                    hosts.write(f"{ip_interface((first.address or 0, first.prefix_length)).ip} {NODES[0]}\n")
            python = ["/usr/bin/python3", str(folder / "program.py"), str(index), NODES[0]]
            command = ["unshare", "--mount", "--uts", "sh", "-c", NODE, "sh", node, str(folder / node), *python]
            with inside(f"{prefix}{node}"):
                running.append(
                    subprocess.Popen(
                        ["timeout", "--kill-after=1", str(2 * PATIENCE_S), *command],
                        stdout=subprocess.PIPE,
                        stderr=subprocess.STDOUT,
                        text=True,
                        env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "PYTHONDONTWRITEBYTECODE": "1"},
                    )
                )
        said = [process.communicate()[0] for process in running]
        names = (*NODES, *switches_of(plan, NODES, "frontend"))
        version = plan.address_version("frontend")
        lost = [f"{name}: {rule}" for name in names for rule in dropped(f"{prefix}{name}", version)]
    return said, lost


def results(said: list[str]) -> list[str]:
    return sorted(line for text in said for line in re.findall(r"^sum .*$", text, re.MULTILINE))


@pytest.mark.parametrize("version", [4, 6])
def test_two_nodes_add_up(version: int, folder: Path, tmp_path: Path) -> None:
    path = spec(version, (), folder)
    assert lint_path(path).findings == ()
    plan = plan_of(path)
    said, lost = run(plan, plan, plan, tmp_path)
    assert results(said) == [f"sum 3 3 on {rank} of 2" for rank in range(2)], (said, lost)
    assert lost == []


@pytest.mark.parametrize("version", [4, 6])
@pytest.mark.parametrize(("flow", "code"), [("rendezvous", "CW624"), ("nccl-bootstrap", "CW614")])
def test_without_a_flow_they_do_not_and_lint_said_so(
    version: int, flow: str, code: str, folder: Path, tmp_path: Path
) -> None:
    path = spec(version, (flow,), folder)
    assert code in {finding.code for finding in lint_path(path).findings}
    plan = plan_of(path)
    said, lost = run(plan, plan, plan, tmp_path)
    assert results(said) == []
    assert any(rule.startswith(NODES) for rule in lost)


def test_the_rack_switch_alone_keeps_them_apart(folder: Path, tmp_path: Path) -> None:
    """FBOSS passes a long range of ports with all of TCP: only without each flow of the kind does its list deny."""
    whole, part = (plan_of(spec(6, flows, folder)) for flows in ((), ("rendezvous", "nccl-bootstrap", "steps")))
    said, lost = run(whole, whole, part, tmp_path)
    assert results(said) == []
    assert lost
    assert not any(rule.startswith(NODES) for rule in lost)
