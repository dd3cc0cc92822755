"""The unit that names RDMA devices, run against a machine's folders with an ``rdma`` that renames like the kernel."""

from __future__ import annotations

import itertools
import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.plans import plan_of
from tests.proofs.test_port_planes import dual_plane

from clusterwright.hosts.linux.writer import rdma as node_rdma
from clusterwright.intent.device_kind import kind_of

# Renames a device below $ROOT, and refuses a name that is taken: what the kernel does for `rdma dev set OLD name NEW`.
# `rdma dev show` has devices in the order in which the kernel does: here the one that a test writes down.
RDMA = """#!/bin/sh
set -eu
if [ "$*" = "dev show" ]; then
    nl -v 0 -w 1 -s ": " "$ROOT/order" | sed 's/$/: node_type ca fw 28.39.1002 node_guid a088:c203:0091:0000/'
    exit
fi
[ "$1 $2 $4" = "dev set name" ]
[ -e "$ROOT/sys/class/infiniband/$3" ] || { echo "no $3" >&2; exit 1; }
[ ! -e "$ROOT/sys/class/infiniband/$5" ] || { echo "$5 exists" >&2; exit 1; }
where=$(dirname "$(readlink -f "$ROOT/sys/class/infiniband/$3")")
mv "$where/$3" "$where/$5"
rm "$ROOT/sys/class/infiniband/$3"
ln -s "$where/$5" "$ROOT/sys/class/infiniband/$5"
"""
COUNT = itertools.count()


def _script() -> tuple[str, dict[str, str]]:
    plan = plan_of("lab-roce")
    device = plan.by_name["gpu-p00r00n0"]
    files = {artifact.path: artifact.content.decode() for artifact in node_rdma.WRITER.render(plan, device)}
    return files["usr/local/sbin/rdma-names"], dict(node_rdma.names_of(kind_of(plan, device)))


def _machine(root: Path, names: dict[str, str]) -> None:
    """A machine whose RDMA devices, by PCI address, have these names."""
    (root / "sys/class/infiniband").mkdir(parents=True)
    for pci, name in names.items():
        device = root / "sys/bus/pci/devices" / pci / "infiniband" / name
        device.mkdir(parents=True)
        (root / "sys/class/infiniband" / name).symlink_to(device)
    (root / "bin").mkdir()
    (root / "bin/rdma").write_text(RDMA)
    (root / "bin/rdma").chmod(0o755)


def _run(root: Path, script: str) -> subprocess.CompletedProcess[str]:
    env = {"PATH": f"{root}/bin:{os.environ['PATH']}", "ROOT": str(root)}
    return subprocess.run(
        ["sh", "-c", script, "rdma-names", str(root)], env=env, capture_output=True, text=True, check=False
    )


def _names(root: Path) -> dict[str, str]:
    folders = (root / "sys/bus/pci/devices").glob("*/infiniband/*")
    return {folder.parent.parent.name: folder.name for folder in folders}


@given(order=st.permutations(range(10)), style=st.sampled_from(["mlx5_{}", "rocep{}s0"]))
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_devices_get_their_planned_names_in_whatever_order_they_were_found(
    order: list[int], style: str, tmp_path: Path
) -> None:
    script, planned = _script()
    root = tmp_path / str(next(COUNT))
    _machine(root, {pci: style.format(number) for pci, number in zip(planned, order, strict=True)})
    for _ in range(2):  # the second run has nothing to do
        done = _run(root, script)
        assert done.returncode == 0, done.stderr
        assert _names(root) == planned


def test_an_unplanned_device_gives_way(tmp_path: Path) -> None:
    script, planned = _script()
    found = {pci: f"mlx5_{number + 1}" for number, pci in enumerate(planned)}
    _machine(tmp_path, {"0000:01:00.0": "mlx5_0", **found})
    assert _run(tmp_path, script).returncode == 0
    assert _names(tmp_path) == {"0000:01:00.0": "unplanned_mlx5_0", **planned}


@pytest.mark.parametrize("lost", [0, 9])
def test_a_missing_device_is_told(lost: int, tmp_path: Path) -> None:
    script, planned = _script()
    gone = list(planned)[lost]
    _machine(tmp_path, {pci: name for pci, name in planned.items() if pci != gone})
    done = _run(tmp_path, script)
    assert done.returncode == 1
    assert gone in done.stderr


def test_ports_of_a_gpu_in_planes_apart_keep_their_order(tmp_path: Path) -> None:
    """Another order of GPUs is none of its business: NCCL finds the adapters beside each GPU."""
    plan = dual_plane()
    device = plan.by_name["gpu-p00r00n0"]
    kind = kind_of(plan, device)
    script = next(
        artifact.content.decode()
        for artifact in node_rdma.WRITER.render(plan, device)
        if artifact.path == "usr/local/sbin/rdma-names"
    )
    planned = dict(node_rdma.names_of(kind))
    assert node_rdma.ports_apart(plan, kind) == tuple((f"mlx5_{2 * gpu}", f"mlx5_{2 * gpu + 1}") for gpu in range(8))
    _machine(tmp_path, planned)
    pairs = [tuple(planned.values())[index : index + 2] for index in range(0, len(planned), 2)]
    for order in (pairs, pairs[::-1]):
        (tmp_path / "order").write_text("".join(f"{name}\n" for pair in order for name in pair))
        assert _run(tmp_path, script).stderr == ""
    swapped = "".join(f"{name}\n" for pair in pairs for name in (pair[::-1] if "mlx5_6" in pair else pair))
    (tmp_path / "order").write_text(swapped)
    done = _run(tmp_path, script)
    assert done.returncode == 1
    assert done.stderr.startswith("the kernel has mlx5_7 mlx5_6 in this order, and other nodes mlx5_6 mlx5_7: ")


def test_one_port_to_a_gpu_has_no_order_to_keep() -> None:
    plan = plan_of("lab-roce")
    assert node_rdma.ports_apart(plan, kind_of(plan, plan.by_name["gpu-p00r00n0"])) == ()
