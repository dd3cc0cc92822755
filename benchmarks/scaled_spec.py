"""The RoCE reference cluster cut or grown to a number of pods: what every benchmark runs on."""

from __future__ import annotations

from pathlib import Path

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
