"""Specs whose answers tests look at: labs, and labs with a part written otherwise."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.cli.in_process import command

from clusterwright import data_files

INVENTORY = data_files.folder("inventory")
WITH_KEY = """
fabrics:
  - {name: backend, subnet_manager: {m_key: {secret: m-key, protection: 2, lease_s: 60}}}
"""
# The nodes are of two compute zones, both on the InfiniBand fabric.
TWO_ZONES = """
zones:
  - {name: second, kind: compute, isolated: true, nodes: [compute], fabrics: [backend]}
"""
SECOND_WAY_TO_BMCS = """
flows:
  - {name: watch, from: site-services, to: management, protocol: udp, ports: [161], reason: "a poller", owner: netops}
"""


def written(folder: Path, base: str, added: str = "") -> Path:
    """A spec that extends a lab."""
    spec = folder / f"{base}-changed.yaml"
    spec.write_text(f"version: 1\nextends: {INVENTORY / base}.yaml\n{added}", encoding="utf-8")
    return spec


def answers_of(spec: Path, *options: str) -> dict[str, Any]:
    """By test, what `evidence --format ncp` writes."""
    done = command("evidence", spec, "--format", "ncp", *options, cwd=spec.parent)
    assert done.returncode in {0, 1}, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found
