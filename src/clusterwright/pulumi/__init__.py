"""A layer of a cluster as a component for other Pulumi programs.

``ClusterLayer`` registers the same resources as ``clusterwright up`` in a stack of its own: a rack, a switch or a
service machine is one resource, and the provider ``pulumi-resource-clusterwright``, found on the PATH, applies it to
the devices.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pulumi

import clusterwright
from clusterwright.deploy.pulumi.program import TargetProvider, UnitResource, deployed_upper, units_of
from clusterwright.deploy.pulumi.rendering import make_manifests
from clusterwright.deploy.pulumi.units import UPPER, Unit, choose, cut
from clusterwright.deploy.secrets.sources import PulumiStack
from clusterwright.deploy.store import Store
from clusterwright.deploy.targets import DIRECTORY, TargetSettings
from clusterwright.finding import ClusterwrightError
from clusterwright.plan.model import Plan

__all__ = ["ClusterLayer"]


class ClusterLayer(pulumi.ComponentResource):
    """A layer of the cluster in the file ``spec``: ``upper``, ``pod0``, ... (``clusterwright preview`` lists them).

    ``root`` has the rendered files, by digest; ``target`` is the transport to devices (``directory``, or ``ansible``
    with an ``access`` file), ``secrets`` a file with the sources of secrets. Paths are relative to the program's
    folder. ``upper`` is the layer above, if the same program has it: its units go first.

    Outputs: ``units`` by name, ``devices`` (their number) and ``manifest``, the digest of all trees. Each unit's inputs
    describe it to policy packs: cluster, layer, kind and racks, and role and model by device.

    Raises pulumi.RunError for a spec with errors, for an unknown layer, and if the deployed upper layer differs from
    the one in the pod's plan.
    """

    units: Mapping[str, UnitResource]
    devices: int
    manifest: str

    def __init__(
        self,
        name: str,
        spec: str | os.PathLike[str],
        layer: str,
        *,
        root: str | os.PathLike[str] = "up",
        target: str = DIRECTORY,
        access: str | os.PathLike[str] | None = None,
        secrets: str | os.PathLike[str] | None = None,
        upper: ClusterLayer | None = None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("clusterwright:index:Layer", name, None, opts)
        access_file = Path(access).resolve() if access else None
        chosen = TargetSettings(name=target, root=Path(root).resolve(), access=access_file)
        if secrets:
            stack = PulumiStack(Path.cwd(), pulumi.get_stack())
            chosen = replace(chosen, secrets=Path(secrets).resolve(), stack=stack)
        try:
            plan = clusterwright.plan(clusterwright.load(Path(spec).resolve()))
            (cut_out,) = choose(cut(plan), [layer])
            manifest = make_manifests(plan, chosen, [cut_out])[cut_out.name]
            reference = None if upper else deployed_upper(manifest, Store(chosen.root / "objects"))
        except ClusterwrightError as error:
            raise pulumi.RunError(str(error)) from None
        provider = TargetProvider(chosen, f"{name}-target", pulumi.ResourceOptions(parent=self))
        first = list(upper.units.values()) if upper else [reference] if reference else []
        options = pulumi.ResourceOptions(parent=self, provider=provider, depends_on=first)
        about = {unit.name: _about(plan, unit) for unit in cut_out.units}
        self.units = units_of(manifest, options, about)
        self.devices, self.manifest = len(manifest.trees), manifest.digest
        self.register_outputs({"devices": self.devices, "manifest": self.manifest})


def _about(plan: Plan, unit: Unit) -> dict[str, Any]:
    """Properties of a unit for policy packs."""
    devices = {name: plan.by_name[name] for name in unit.devices}
    return {
        "cluster": plan.name,
        "layer": unit.pod or UPPER,
        "kind": unit.kind,
        "racks": sorted({device.rack for device in devices.values() if device.rack}),
        "roles": {name: device.role for name, device in devices.items()},
        "models": {name: device.model for name, device in devices.items()},
    }
