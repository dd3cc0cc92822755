"""The Pulumi program: one stack of a cluster as components cluster -> pod -> rack or switch.

Run by Pulumi through ``stacks/__main__.py``. The stack's configuration says which spec, which layer, which target and
which folder; relative paths count from the Pulumi project's folder.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pulumi

from clusterwright.deploy.manifest import VARIABLE, Manifest, load_manifest
from clusterwright.deploy.secret_sources import PulumiStack
from clusterwright.deploy.store import Store
from clusterwright.deploy.targets import DIRECTORY, Chosen
from clusterwright.deploy.units import KINDS
from clusterwright.finding import ClusterwrightError


@dataclass(frozen=True, slots=True)
class Settings:
    """A stack's configuration: ``layer`` is ``upper``, ``pod0``, ..."""

    spec: Path
    layer: str
    target: Chosen


class TargetProvider(pulumi.ProviderResource):
    """The provider with its target."""

    def __init__(self, target: Chosen) -> None:
        access = {"access": str(target.access)} if target.access else {}
        secrets = {"secrets": str(target.secrets)} if target.secrets else {}
        stack = {"project": str(target.stack.project), "stack": target.stack.name} if target.stack else {}
        place = {"root": str(target.root), "target": target.name}
        super().__init__("clusterwright", "target", {**place, **access, **secrets, **stack})


class UnitResource(pulumi.CustomResource):
    """A unit; ``trees`` maps its devices to the digests of their trees in the object store."""

    def __init__(self, kind: str, name: str, trees: Mapping[str, str], options: pulumi.ResourceOptions) -> None:
        super().__init__(f"clusterwright:index:{KINDS[kind]}", name, {"devices": dict(trees)}, options)


def run() -> None:
    """The whole program. A mistake in spec or configuration ends it with one message, never with a traceback."""
    try:
        declare(read_settings())
    except ClusterwrightError as error:
        raise pulumi.RunError(str(error)) from None


def read_settings() -> Settings:
    """The running stack's configuration."""
    config = pulumi.Config("clusterwright")
    access, secrets = config.get("access"), config.get("secrets")
    target = Chosen(
        config.get("target", DIRECTORY),
        Path(config.require("root")).resolve(),
        Path(access).resolve() if access else None,
        Path(secrets).resolve() if secrets else None,
        PulumiStack(Path.cwd(), pulumi.get_stack()) if secrets else None,
    )
    return Settings(Path(config.require("spec")).resolve(), config.require("layer"), target)


def declare(settings: Settings) -> None:
    """Registers every unit of the stack's layer: as the manifest says that was approved, else as the spec says.

    Raises ClusterwrightError for a spec or layer that is not sound.
    """
    digest = os.environ.get(VARIABLE)
    if digest:
        manifest = load_manifest(Store(settings.target.root / "objects"), digest)
        if manifest.layer != settings.layer:
            raise ClusterwrightError(
                f"the manifest {digest[:12]} is of {manifest.layer}, this stack is {settings.layer}"
            )
    else:
        manifest = _rendered(settings)
    _register(manifest, TargetProvider(settings.target))


def _rendered(settings: Settings) -> Manifest:
    # Imported only here: a program that was given its manifest neither plans nor renders.
    from clusterwright.deploy.rendering import make_manifests
    from clusterwright.deploy.units import choose, cut
    from clusterwright.finding import Severity, SpecError
    from clusterwright.plan.build import build_plan
    from clusterwright.rules.engine import lint_path
    from clusterwright.spec.load import load_spec

    errors = [finding for finding in lint_path(settings.spec).findings if finding.severity is Severity.ERROR]
    if errors:
        raise SpecError(errors)
    plan = build_plan(load_spec(settings.spec))
    (stack,) = choose(cut(plan), [settings.layer])
    return make_manifests(plan, settings.target, [stack])[stack.name]


def _register(manifest: Manifest, provider: pulumi.ProviderResource) -> None:
    options = pulumi.ResourceOptions(providers={"clusterwright": provider})
    parent: pulumi.Resource = pulumi.ComponentResource("clusterwright:index:Cluster", manifest.cluster, None, options)
    if manifest.pod:
        below = pulumi.ResourceOptions(parent=parent)
        parent = pulumi.ComponentResource("clusterwright:index:Pod", manifest.pod, None, below)
    for unit in manifest.units:
        UnitResource(unit.kind, unit.name, unit.devices, pulumi.ResourceOptions(parent=parent))
    pulumi.export("units", len(manifest.units))
    pulumi.export("devices", len(manifest.trees))
