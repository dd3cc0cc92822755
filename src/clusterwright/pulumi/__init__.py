"""A layer of a cluster as a component of anybody's Pulumi program, beside whatever else that program holds.

``ClusterLayer`` registers what ``clusterwright up`` would in a stack of its own: a rack, a switch or a service machine
is one resource, and the provider ``pulumi-resource-clusterwright``, found on the PATH, brings it onto the devices.
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
from clusterwright.deploy.targets import DIRECTORY, Chosen
from clusterwright.finding import ClusterwrightError
from clusterwright.plan.model import Plan

__all__ = ["ClusterLayer"]


class ClusterLayer(pulumi.ComponentResource):
    """A layer of the cluster in the file ``spec``: ``upper``, ``pod0``, ... (``clusterwright preview`` lists them).

    ``root`` keeps the rendered files, by digest; ``target`` says how they reach devices (``directory``, or ``ansible``
    with an ``access`` file), ``secrets`` is a file that says where secrets come from. Relative paths count from the
    program's folder. ``upper`` is the layer above, where the same program has it: its units go first.

    Outputs: ``units`` by name, ``devices`` (their number) and ``manifest``, the digest of all that is brought about.
    Each unit's inputs tell policy packs what it is: cluster, pod, rack, and role, model and system by device.

    Raises pulumi.RunError for a spec with errors, for a layer that it does not have, and where the upper layer that is
    deployed is not the one that the pod was planned against.
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
        chosen = Chosen(target, Path(root).resolve(), Path(access).resolve() if access else None)
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
    """What a unit is, in words of the spec."""
    devices = {name: plan.by_name[name] for name in unit.devices}
    return {
        "cluster": plan.name,
        "layer": unit.pod or UPPER,
        "kind": unit.kind,
        "racks": sorted({device.rack for device in devices.values() if device.rack}),
        "roles": {name: device.role for name, device in devices.items()},
        "models": {name: device.model for name, device in devices.items()},
    }
