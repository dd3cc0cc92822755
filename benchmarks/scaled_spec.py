"""The reference clusters cut or grown: the RoCE one to a number of pods, the InfiniBand one to a number of units."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import yaml

from clusterwright.data_files import folder
from clusterwright.spec.load import load_spec
from clusterwright.spec.model import ClusterSpec

NODES_PER_POD = 384
SERVERS_PER_POD = 900  # Tectonic servers that go with a pod, rounded to whole racks
BASE = "roce-24k.yaml"
LAST_PORT = "Ethernet18/36/1"  # of a dcs-7816r3, whose sixteen line cards are numbered from 3


def write_scaled_spec(pods: int, out: Path) -> Path:
    """Write a spec of ``pods`` RoCE pods that extends the reference spec; returns its path.

    The layers above the pods and the pools get the room that 43 pods (131,072 GPUs) need, at every size, so that sizes
    compare; a border keeps the last port of its chassis.
    """
    base = folder("inventory") / BASE
    reference = load_spec(base)
    figures = [item.figure for item in reference.expectations]
    overlay = {
        "version": 1,
        "extends": str(base),
        "name": f"roce-{pods}-pods",
        "nodes": [
            {"name": "compute", "count": NODES_PER_POD * pods},
            {"name": "tectonic", "count": SERVERS_PER_POD * pods},
        ],
        "fabrics": [
            {
                "name": "backend",
                "tiers": [{"role": "atsw", "model": "dcs-7816r3", "count": 36}],
                "addressing": {"hosts": "fd24:7a1c:b000::/49"},
            },
            {
                "name": "frontend",
                "tiers": [{"role": "ssw", "model": "dcs-7816r3", "count": 8}],
                "addressing": {"hosts": "fd24:7a1c:f000::/49"},
            },
            {
                "name": "management",
                "addressing": {"hosts": "10.204.0.0/14", "links": "10.201.64.0/18"},
            },
        ],
        "borders": [
            {"name": border.name, "port": LAST_PORT} for border in reference.borders if border.device.startswith("ssw-")
        ],
        "execution": {"nodes": _shares(reference, pods)},
        # the published jobs need more than a pod has, and the published figures are those of 8 pods
        "jobs": [{"name": job.name, "remove": True} for job in reference.jobs],
        "expect": [{"figure": figure, "remove": True} for figure in figures if not figure.startswith("oversub")],
    }
    path = out / f"roce-{pods}-pods.yaml"
    path.write_text(yaml.safe_dump(overlay, sort_keys=False))
    return path


def _shares(reference: ClusterSpec, pods: int) -> list[dict[str, object]]:
    """The pods, dealt out to the reference's execution nodes; those that get none are left out."""
    devices = [node.device for node in reference.execution.nodes] if reference.execution else []
    shares = [[f"p{pod:02d}" for pod in range(first, pods, len(devices))] for first in range(len(devices))]
    return [
        {"device": device, "pods": share} if share else {"device": device, "remove": True}
        for device, share in zip(devices, shares, strict=True)
    ]


NODES_PER_UNIT = 32
UNITS_PER_SUBNET = 128  # 32,768 GPUs below 2,560 switches: what a subnet's 49,151 LIDs (CW307) leave room for


def write_scaled_subnets(units: int, out: Path) -> Path:
    """Write a spec of ``units`` scalable units on as few subnets as LIDs allow, a multiple of 8 in each.

    Returns its path.

    Each subnet is a fabric of its own with a node group, a subnet manager and an NCCL profile of its own; frontend,
    management and storage are everybody's.
    """
    spec: dict[str, Any] = yaml.safe_load((folder("inventory") / "ib-24k.yaml").read_text())
    count = -(-units // UNITS_PER_SUBNET)
    marks = "abcdefghijklmnop"[:count]
    groups = {mark: f"compute-{mark}" for mark in marks}
    compute, backend = spec["nodes"][0], spec["fabrics"][0]
    frontend, management = spec["fabrics"][1:]
    subnets = {mark: _subnet(backend, mark, groups[mark], units // count) for mark in marks}
    nodes = [
        compute | {"name": name, "count": NODES_PER_UNIT * units // count, "prefix": f"gpu{mark}"}
        for mark, name in groups.items()
    ]
    names = list(groups.values())
    frontend["attach"][:1] = [{"nodes": name, "nics": "frontend"} for name in names]
    frontend["tiers"][-1] |= {"model": "dcs-7816r3", "count": 8}
    frontend["addressing"]["hosts"] = "fd24:1b24:f000::/49"
    management["addressing"] |= {"hosts": "10.204.0.0/14", "links": "10.201.64.0/18", "loopbacks": "10.201.0.0/18"}
    for border in spec["borders"]:
        border["port"] = LAST_PORT if border["device"].startswith("ssw-") else border["port"]
    for mount in spec["mounts"]:
        mount["nodes"] = names
    spec["zones"][0] |= {"nodes": names, "fabrics": [*(each["name"] for each in subnets.values()), "frontend"]}
    scaled = spec | {
        "name": f"ib-{units}-units",
        "nodes": [*nodes, *spec["nodes"][1:]],
        "fabrics": [*subnets.values(), frontend, management],
        "nccl": [
            spec["nccl"] | {"name": name, "nodes": name, "fabric": subnets[mark]["name"]}
            for mark, name in groups.items()
        ],
        "scheduler": spec["scheduler"] | {"nodes": names},
        "jobs": [],
        "expect": [],
    }
    path = out / f"ib-{units}-units.yaml"
    path.write_text(yaml.dump(scaled, Dumper=_WithoutAnchors, sort_keys=False))
    return path


def _subnet(backend: Mapping[str, Any], mark: str, nodes: str, units: int) -> dict[str, Any]:
    """The backend of one node group, with as many cores as its spines fill."""
    fabric = deepcopy(dict(backend)) | {"name": f"backend-{mark}", "attach": [{"nodes": nodes, "nics": "backend"}]}
    for tier in fabric["tiers"]:
        tier["role"] += f"-{mark}"
    fabric["tiers"][-1]["count"] = units // 8
    fabric["subnet_manager"]["nodes"] = nodes
    return fabric


class _WithoutAnchors(yaml.SafeDumper):
    """What occurs twice is written twice: specs use no aliases (CW103)."""

    def ignore_aliases(self, data: object) -> bool:
        return True
