"""nccl.conf: names that NCCL itself knows, NCCL's own reading of the file, values that follow from the plan."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.render.plans import plan_of

from clusterwright.plan.model import Plan
from clusterwright.render import nccl

SPECS = {
    "lab-roce": "gpu-p00r00n0",
    "lab-ib": "gpu-s00r00n0",
    "roce-24k": "gpu-p00r000n0",
    "ib-24k": None,
    "rsc": None,
}


def _read(text: str) -> dict[str, str]:
    """The file as NCCL reads it: comments only with # in the first column, nothing trimmed, nothing unquoted."""
    found: dict[str, str] = {}
    for line in text.split("\n"):
        if line.startswith("#") or "=" not in line:
            continue
        name, _, value = line.partition("=")
        found.setdefault(name, value)
    return found


def _conf(plan: Plan, node: str | None) -> str:
    device = plan.by_name[node] if node else next(d for d in plan.devices if nccl.applies(plan, d))
    return next(a.content for a in nccl.render(plan, device) if a.path == "etc/nccl.conf").decode()


def _library() -> bytes:
    found = find_spec("nvidia.nccl")
    folders = found.submodule_search_locations if found is not None else None
    assert folders, "NCCL is missing: make .cache/stamps/nccl"
    return (Path(next(iter(folders))) / "lib" / "libnccl.so.2").read_bytes()


def test_nccl_knows_every_variable() -> None:
    known = {name.decode() for name in re.findall(rb"NCCL_[A-Z0-9_]+", _library())}
    for name, node in SPECS.items():
        for variable in _read(_conf(plan_of(name), node)):
            assert variable in known, f"{variable} of {name} is unknown to NCCL"


@pytest.mark.parametrize("name", SPECS)
def test_the_file_says_what_it_seems_to_say(name: str) -> None:
    text = _conf(plan_of(name), SPECS[name])
    assert text.endswith("\n")
    for line in text.splitlines():
        assert line.startswith("# ") or re.fullmatch(r"NCCL_[A-Z0-9_]+=[^\s\"'#]+", line), line
        assert len(line) < 1024
    names = [line.partition("=")[0] for line in text.splitlines() if not line.startswith("#")]
    assert names == sorted(set(names))


def test_roce_values_follow_the_plan() -> None:
    found = _read(_conf(plan_of("roce-24k"), "gpu-p00r000n0"))
    assert found["NCCL_IB_TC"] == str(50 * 4)
    assert found["NCCL_IB_FIFO_TC"] == "224"
    assert found["NCCL_CROSS_NIC"] == "1"  # all eight NICs of a node end at one rack switch
    assert found["NCCL_IB_ADDR_FAMILY"] == "AF_INET6"
    assert found["NCCL_IB_ADDR_RANGE"] == "fd24:7a1c:b000::/52"
    assert found["NCCL_IB_QPS_PER_CONNECTION"] == "16"
    assert found["NCCL_IB_SPLIT_DATA_ON_QPS"] == "0"
    assert found["NCCL_SOCKET_IFNAME"] == "=fe0,fe1"
    assert "NCCL_IB_GID_INDEX" not in found  # indexes move; family, range and version choose the GID


def test_rails_do_not_cross() -> None:
    found = _read(_conf(plan_of("lab-ib"), "gpu-s00r00n0"))
    assert found["NCCL_CROSS_NIC"] == "0"
    assert found["NCCL_IB_HCA"] == "=mlx5_0,mlx5_3,mlx5_4,mlx5_5,mlx5_6,mlx5_9,mlx5_10,mlx5_11"
    assert "NCCL_IB_TC" not in found
    assert "NCCL_IB_ADDR_RANGE" not in found


def test_pytorch_variables_go_to_the_shell() -> None:
    plan = plan_of("roce-24k")
    files = {a.path: a.content.decode() for a in nccl.render(plan, plan.by_name["gpu-p00r000n0"])}
    assert "TORCH" not in files["etc/nccl.conf"]
    assert "export TORCH_NCCL_TRACE_BUFFER_SIZE=20000\n" in files["etc/profile.d/clusterwright-torch.sh"]
