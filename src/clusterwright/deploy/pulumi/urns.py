"""Pulumi's names of a stack's resources."""

from __future__ import annotations

from clusterwright.deploy.pulumi.manifest import Manifest
from clusterwright.deploy.pulumi.project import PROJECT
from clusterwright.deploy.pulumi.units import KINDS, Stack, Unit


def unit_urn(stack: Stack, unit: Unit) -> str:
    """Pulumi's name of a unit's resource."""
    parents = "clusterwright:index:Cluster$" + ("clusterwright:index:Pod$" if stack.pod else "")
    return f"urn:pulumi:{stack.name}::{PROJECT}::{parents}clusterwright:index:{KINDS[unit.kind]}::{unit.name}"


def parent_urns(stack: Stack, manifest: Manifest) -> list[str]:
    """Pulumi's names of the parents of a stack's units; a first update of some units has to create them too."""
    start = f"urn:pulumi:{stack.name}::{PROJECT}::clusterwright:index:Cluster"
    cluster = f"{start}::{manifest.cluster}"
    return [cluster, f"{start}$clusterwright:index:Pod::{manifest.pod}"] if manifest.pod else [cluster]
