"""The RoCE reference cluster cut or grown to a number of pods: what every benchmark runs on."""

from __future__ import annotations

from pathlib import Path

import yaml

from clusterwright.data_files import folder
from clusterwright.spec.load import load_spec

NODES_PER_POD = 384
SERVERS_PER_POD = 900  # Tectonic servers that go with a pod, rounded to whole racks
BASE = "roce-24k.yaml"


def write_scaled_spec(pods: int, out: Path) -> Path:
    """Write a spec of ``pods`` RoCE pods that extends the reference spec; returns its path.

    The layers above the pods get chassis that 16 pods fit on, at every size, so that sizes compare.
    """
    base = folder("inventory") / BASE
    expected = [item.figure for item in load_spec(base).expectations]
    overlay = {
        "version": 1,
        "extends": str(base),
        "name": f"roce-{pods}-pods",
        "nodes": [
            {"name": "compute", "count": NODES_PER_POD * pods},
            {"name": "tectonic", "count": SERVERS_PER_POD * pods},
        ],
        "fabrics": [
            {"name": "backend", "tiers": [{"role": "atsw", "model": "dcs-7808r3"}]},
            {"name": "frontend", "tiers": [{"role": "ssw", "model": "dcs-7816r3"}]},
        ],
        # the published figures are those of 8 pods
        "expect": [{"figure": figure, "remove": True} for figure in expected if not figure.startswith("oversub")],
    }
    path = out / f"roce-{pods}-pods.yaml"
    path.write_text(yaml.safe_dump(overlay, sort_keys=False))
    return path
