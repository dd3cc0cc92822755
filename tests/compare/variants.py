"""Overlays on the reference specs, written where a test wants them."""

from __future__ import annotations

from pathlib import Path

from clusterwright import data_files
from clusterwright.plan.build import build_plan
from clusterwright.plan.model import Plan
from clusterwright.spec.load import load_spec


def inventory(name: str) -> Path:
    """The path of ``inventory/<name>.yaml``."""
    return data_files.folder("inventory") / f"{name}.yaml"


def overlay(folder: Path, base: str, changes: str) -> Path:
    """A spec on top of ``inventory/<base>.yaml`` under the same name."""
    path = folder / f"{base}-changed.yaml"
    path.write_text(f"version: 1\nextends: {inventory(base)}\nname: {base}\n{changes}")
    return path


def overlaid(folder: Path, base: str, changes: str) -> Plan:
    """The plan of such a spec."""
    return build_plan(load_spec(overlay(folder, base, changes)))
