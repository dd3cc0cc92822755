"""Small planned fabrics to simulate on: the lab's, with changes."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from clusterwright import data_files
from clusterwright.extras.simulate.network import FabricGraph, build_network
from clusterwright.plan.build import build_plan
from clusterwright.spec.load import load_spec

# Pod p00 alone is then two racks of two nodes, each rack with one uplink to each of two cluster switches.
TWO_UPLINKS = "fabrics: [{name: backend, tiers: [{role: rtsw, up: {links: 2}}]}]"
DRAINED = "exceptions: [{device: ctsw-p00-01, state: drained, reason: a test}]"


def inventory(name: str) -> Path:
    return data_files.folder("inventory") / f"{name}.yaml"


def overlay(folder: Path, changes: str) -> Path:
    """A spec on top of lab-roce."""
    path = folder / "lab.yaml"
    path.write_text(f"version: 1\nextends: {inventory('lab-roce')}\nname: lab\n{changes}\n")
    return path


@cache
def network(changes: str = "") -> FabricGraph:
    """The backend of lab-roce with changes."""
    with TemporaryDirectory() as folder:
        return build_network(build_plan(load_spec(overlay(Path(folder), changes))), "backend")
