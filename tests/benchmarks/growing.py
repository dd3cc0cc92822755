"""What lint, plan, render and each proof do for a lab of pods: `python -m tests.benchmarks.growing PODS FOLDER`.

Each size is counted in a process of its own, so that nothing is known of the sizes before. Prints what `work` counts,
by stage, as JSON.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from tests.benchmarks.counting import Work, work

from clusterwright.data_files import folder
from clusterwright.output.rendering import Rendering
from clusterwright.plan.build import build_plan
from clusterwright.plan.model import Plan
from clusterwright.proofs.declaration import Declaration
from clusterwright.proofs.registry import CHECKS
from clusterwright.proofs.tree import RenderedTree, tree_of
from clusterwright.rules.engine import lint_path
from clusterwright.spec.load import load_spec

OVERLAY = """version: 1
extends: {base}
nodes:
  - name: compute
    count: {nodes}
    levels: [{{name: rack, of: 2}}, {{name: row, code: w, of: 2}}, {{name: pod, of: 1}}]
  - {{name: storage, count: {pods}}}
fabrics:
  - {{name: frontend, tiers: [{{role: ssw, model: dcs-7816r3}}]}}
  - name: management
    tiers:
      - role: mgmt
        per: row
        down: {{blocks: [access]}}
        up: {{links: 2, speed_gbps: 10, medium: mmf, length_m: 100}}
        asn: {{base: 4200300000, per: switch}}
      - role: mcore
        model: dcs-7050sx3-48yc8
        per: cluster
        count: 2
        down: {{blocks: [access], medium: mmf, length_m: 100}}
        asn: {{base: 4200000300, per: tier}}
    addressing: {{hosts: "10.98.0.0/17", hosts_per_switch: 25}}
expect:
  - {{figure: gpus, remove: true}}
  - {{figure: switches.rtsw, remove: true}}
  - {{figure: oversubscription.backend.ctsw, remove: true}}
jobs: [{{name: small-llm, remove: true}}]
"""
"""The lab with room for more pods at every size, and with management switches by row as in large builds."""


def spec_of(pods: int, out: Path) -> Path:
    """Write the lab with so many pods of four nodes; returns its path."""
    path = out / f"lab-{pods}-pods.yaml"
    path.write_text(OVERLAY.format(base=folder("inventory") / "lab-roce.yaml", nodes=4 * pods, pods=pods))
    return path


def stages(spec: Path) -> Mapping[str, Work]:
    """What each stage does for a spec. Raises VerifyError where a text cannot be read."""
    found = {"lint": work(partial(lint_path, spec)), "plan": work(lambda: build_plan(load_spec(spec)))}
    trees: list[RenderedTree] = []
    found["render"] = work(lambda: trees.append(_rendered(build_plan(load_spec(spec)))))
    for check in CHECKS:
        if check.applies(trees[0]):
            found[check.name] = work(partial(check.run, trees[0]))
    return found


def _rendered(plan: Plan) -> RenderedTree:
    rendered, images = Rendering(plan).of_kinds_by_image({kind for check in CHECKS for kind in check.kinds})
    return tree_of(plan.name, rendered, Declaration(plan), ((image.members, image.files) for image in images))


if __name__ == "__main__":
    json.dump(stages(spec_of(int(sys.argv[1]), Path(sys.argv[2]))), sys.stdout)
