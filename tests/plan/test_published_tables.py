"""Tables of published designs that no reference spec is of, met by an overlay of a lab."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.generated.ports import TWO_PORTS

from clusterwright import data_files
from clusterwright.plan.figures import figures
from clusterwright.plan.skeleton import build_skeleton
from clusterwright.spec.load import load_spec

# A node of the last unit is left out, and two managers take four of the ports that it frees.
SUPERPOD = """extends: {lab}
nodes:
  - name: compute
    count: {nodes}
    levels: [{{name: rack, of: 4, within: su}}, {{name: su, of: 8}}]
  - {{name: ufm, model: ufm-appliance, role: ufm, count: 2, levels: [{{name: rack, of: 2, code: u}}]}}
fabrics:
  - name: backend
    attach: [{{nodes: compute, nics: backend}}, {{nodes: ufm, nics: fabric, to: leaf}}]
    tiers:
      - {{role: leaf, up: {{links: 32}}}}
      - {{role: spine, count: {spines}}}
"""


@pytest.mark.parametrize(
    ("units", "nodes", "leaves", "spines", "below", "between"),
    [(1, 31, 8, 4, 252, 256), (2, 63, 16, 8, 508, 512), (3, 95, 24, 16, 764, 768), (4, 127, 32, 16, 1020, 1024)],
)
def test_scalable_units_of_h100_on_ndr(  # NVIDIA's reference architecture of the DGX SuperPOD with H100, table 4
    units: int, nodes: int, leaves: int, spines: int, below: int, between: int, tmp_path: Path
) -> None:
    file = tmp_path / "superpod.yaml"
    lab = data_files.folder("inventory") / "lab-ib.yaml"
    file.write_text(SUPERPOD.format(lab=lab, nodes=nodes, spines=spines))
    spec = load_spec(file)
    found = figures(spec, build_skeleton(spec))
    assert found["gpus"] == 8 * nodes
    assert found["groups.su.compute"] == units
    assert (found["switches.leaf"], found["switches.spine"]) == (leaves, spines)
    assert (found["links.backend.leaf"], found["links.backend.spine"]) == (below, between)


# A switch for each port of each rail of a segment, here a pod: 128 hosts below it, and 60 links to as many switches of
# its plane above.
DUAL_PLANE = """extends: {lab}
hardware: ["{hardware}"]
nodes:
  - name: compute
    model: two-port-node
    count: 1920
    levels: [{{name: rack, of: 4}}, {{name: pod, of: 32}}, {{name: building, of: 15}}]
fabrics:
  - name: backend
    tiers:
      - {{role: rtsw, per: pod, join: rail, up: {{links: 60}}}}
      - {{role: ctsw, per: building, join: port, count: 60, up: null}}
      - {{role: atsw, remove: true}}
"""


def test_a_pod_of_two_planes(tmp_path: Path) -> None:
    """15,360 GPUs in 15 segments of 1,024, two planes of 60 switches, as published of Alibaba's HPN at SIGCOMM 2024."""
    file = tmp_path / "planes.yaml"
    file.write_text(DUAL_PLANE.format(lab=data_files.folder("inventory") / "lab-nvue.yaml", hardware=TWO_PORTS))
    spec = load_spec(file)
    found = figures(spec, build_skeleton(spec))
    assert found["gpus"] == 15_360
    assert (found["switches.rtsw"], found["switches.ctsw"]) == (240, 120)
    assert found["links.backend.ctsw"] == 240 * 60
    assert round(found["oversubscription.backend.rtsw"], 3) == 1.067
