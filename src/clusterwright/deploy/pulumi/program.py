"""The Pulumi program: one stack of a cluster as components cluster -> pod -> rack or switch.

The stack of the upper layer exports its switches' offers to the pods. Every other stack refers to it, and registers
nothing if the deployed offers differ from the planned ones.

Run by Pulumi through ``stacks/__main__.py``, or by the engine's driver in a process with all modules imported. The
stack's configuration has the spec, the layer, the target and the folder; paths are relative to the Pulumi project's
folder.

Pulumi's SDK is kept from sending more about a stack's resources than the engine needs. With every resource it sends the
call stack of its registration. All units come from one loop, so that has no information; but it is half of a pod's
state, which the engine rewrites with each step, and it names folders of the last deploying machine.

For ``--debug`` it also reports the progress of every registration to the engine, in four calls. That is a tenth of the
cost of a preview without changes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pulumi
from pulumi.runtime import resource
from pulumi.runtime.proto import source_pb2

from clusterwright.deploy.pulumi.cache import TargetLayer, recall
from clusterwright.deploy.pulumi.manifest import Manifest
from clusterwright.deploy.pulumi.units import KINDS, UPPER
from clusterwright.deploy.pulumi.upper_layer import Downlinks, require_downlinks
from clusterwright.deploy.store import Store
from clusterwright.deploy.targets import DIRECTORY, TargetSettings
from clusterwright.finding import ClusterwrightError


@dataclass(frozen=True, slots=True)
class Settings:
    """A stack's configuration: ``layer`` is ``upper``, ``pod0``, ..."""

    spec: Path
    layer: str
    target: TargetSettings


class TargetProvider(pulumi.ProviderResource):
    """The provider with its target."""

    def __init__(
        self, target: TargetSettings, name: str = "target", options: pulumi.ResourceOptions | None = None
    ) -> None:
        stack = {"project": str(target.stack.project), "stack": target.stack.name} if target.stack else {}
        super().__init__("clusterwright", name, {**target.provider_settings, **stack}, options)


class UnitResource(pulumi.CustomResource):
    """A unit; ``trees`` maps its devices to the digests of their trees in the object store.

    ``downlinks`` are the offers of the unit, a switch of the upper layer, to each pod. Its output has the deployed
    ones: a switch with its previous configuration keeps its previous offers. ``about`` is for readers of inputs, such
    as policy packs: it is not compared. ``former`` are the former names of renamed devices, under which the state may
    have the unit or its devices. Nothing is sent to devices ``away``, nor to devices skipped by this update
    (``left_alone``).
    """

    downlinks: pulumi.Output[Mapping[str, str]]

    def __init__(
        self,
        kind: str,
        name: str,
        *,
        trees: Mapping[str, str],
        downlinks: Mapping[str, str],
        options: pulumi.ResourceOptions,
        about: Mapping[str, Any] | None = None,
        former: Mapping[str, str] | None = None,
        away: Collection[str] = (),
        left_alone: Collection[str] = (),
    ) -> None:
        properties: dict[str, Any] = {"devices": dict(trees)}
        if downlinks:
            properties["downlinks"] = dict(downlinks)
        if former_names := {device: former[device] for device in trees if former and device in former}:
            properties["former"] = former_names
        if silent := {device: "" for device in trees if device in away}:
            properties["away"] = silent
        if untouched := {device: "" for device in trees if device in left_alone}:
            properties["left_alone"] = untouched
        if name in former_names:
            alias = pulumi.ResourceOptions(aliases=[pulumi.Alias(name=former_names[name])])
            options = pulumi.ResourceOptions.merge(options, alias)
        if about:
            properties["about"] = dict(about)
        super().__init__(f"clusterwright:index:{KINDS[kind]}", name, properties, options)


def run() -> None:
    """Run the program. A mistake in spec or configuration ends it with one message, never with a traceback.

    The provider changes no running device for it: `clusterwright up` does that, in waves.
    """
    _declare(Path.cwd(), lambda settings: recall(_asked(settings)) or _rendered(settings), None)


def program_of(manifest: Manifest, project: Path, accepted: Downlinks | None) -> Callable[[], None]:
    """The program of the stack of ``manifest``, configured in ``project``, without planning and rendering.

    ``accepted`` are offers of the upper layer accepted beside the planned ones.
    """
    return lambda: _declare(project, lambda _settings: manifest, accepted)


def _declare(project: Path, manifest_of: Callable[[Settings], Manifest], accepted: Downlinks | None) -> None:
    """Register every unit of the running stack's layer. Raises pulumi.RunError."""
    leave_out_call_stacks()
    leave_out_debug_messages()
    try:
        settings = read_settings(project)
        manifest = manifest_of(settings)
        store = Store(settings.target.root / "objects")
        reference = deployed_upper(manifest, store, accepted)
        _register(manifest, TargetProvider(settings.target), reference)
    except ClusterwrightError as error:
        raise pulumi.RunError(str(error)) from None


def read_settings(project: Path) -> Settings:
    """The configuration of the running stack of ``project``."""
    config = pulumi.Config("clusterwright")
    access, secrets = config.get("access"), config.get("secrets")
    name, root = config.get("target", DIRECTORY), Path(config.require("root")).resolve()
    target = TargetSettings(name, root, Path(access).resolve() if access else None)
    if secrets:
        from clusterwright.deploy.secrets.sources import PulumiStack

        stack = PulumiStack(project, pulumi.get_stack())
        target = replace(target, secrets=Path(secrets).resolve(), stack=stack)
    return Settings(Path(config.require("spec")).resolve(), config.require("layer"), target)


def _asked(settings: Settings) -> TargetLayer:
    return TargetLayer(settings.spec, settings.layer, settings.target)


def _rendered(settings: Settings) -> Manifest:
    # Imported only here: a program with a manifest neither plans nor renders.
    from clusterwright.deploy.pulumi.rendering import Source, make_manifests
    from clusterwright.deploy.pulumi.units import choose, cut
    from clusterwright.plan.build import build_plan
    from clusterwright.rules.engine import load_sound
    from clusterwright.spec.text.source import noting_reads

    with noting_reads() as read:
        plan = build_plan(load_sound(settings.spec))
    (stack,) = choose(cut(plan), [settings.layer])
    return make_manifests(plan, settings.target, [stack], Source(settings.spec, read))[stack.name]


def deployed_upper(manifest: Manifest, store: Store, accepted: Downlinks | None = None) -> pulumi.StackReference | None:
    """The stack of the upper layer with the downlinks of this one; None if it is not deployed.

    ``accepted`` offers are sufficient as well: those of the upper layer at the preparation of a rollout over both, with
    waves ordering both changes.

    Raises UnmetReferenceError.
    """
    upper = f"{manifest.cluster}-{UPPER}"
    if not manifest.downlinks or manifest.stack == upper:
        return None
    deployed = _deployed_downlinks(upper)
    if deployed is None:
        pulumi.log.warn(f"{upper} is not deployed, or not to its end: uplinks of {manifest.pod} stay down until then")
        return None
    require_downlinks(manifest.downlinks, deployed, accepted, upper, store)
    return pulumi.StackReference(upper)


def _deployed_downlinks(upper: str) -> Downlinks | None:
    """Exported downlinks of the upper layer's stack; None without the stack, and without exports."""
    outputs = _outputs_of(upper)
    if outputs is None or outputs.get("downlinks") is None:
        return None
    downlinks: dict[str, Mapping[str, str]] = {}
    for name, offers in outputs["downlinks"].items():
        # After a failed update of a switch, Pulumi does not know its offers.
        downlinks[name] = offers if isinstance(offers, Mapping) else {}
    return downlinks


def _outputs_of(stack: str) -> Mapping[str, Any] | None:
    """Exports of a stack; None without the stack.

    Read before a reference is made: a reference to a missing stack would end the program.
    """
    try:
        answer = pulumi.runtime.invoke("pulumi:pulumi:readStackOutputs", {"name": stack}).value
    except Exception as error:
        if "unknown stack" in str(error):
            return None
        raise ClusterwrightError(f"the state of {stack} cannot be read: {error}") from None
    outputs: Mapping[str, Any] = answer["outputs"]
    return outputs


def _register(manifest: Manifest, provider: pulumi.ProviderResource, reference: pulumi.StackReference | None) -> None:
    options = pulumi.ResourceOptions(providers={"clusterwright": provider})
    parent: pulumi.Resource = pulumi.ComponentResource("clusterwright:index:Cluster", manifest.cluster, None, options)
    if manifest.pod:
        below = pulumi.ResourceOptions(parent=parent)
        parent = pulumi.ComponentResource("clusterwright:index:Pod", manifest.pod, None, below)
    of_unit = pulumi.ResourceOptions(parent=parent, depends_on=[reference] if reference else [])
    units = units_of(manifest, of_unit)
    downlinks = {} if manifest.pod else {name: units[name].downlinks for name in manifest.downlinks if name in units}
    pulumi.export("units", len(manifest.units))
    pulumi.export("devices", len(manifest.trees))
    pulumi.export("manifest", manifest.digest)
    if downlinks:
        pulumi.export("downlinks", downlinks)
    if reference:
        pulumi.export("upper", reference.get_output("manifest"))


def units_of(
    manifest: Manifest, options: pulumi.ResourceOptions, about: Mapping[str, Mapping[str, Any]] | None = None
) -> dict[str, UnitResource]:
    """Resources of all units by name, each with its entry of ``about``."""
    return {
        unit.name: UnitResource(
            unit.kind,
            unit.name,
            trees=unit.devices,
            downlinks={} if manifest.pod else manifest.downlinks.get(unit.name, {}),
            options=options,
            about=about.get(unit.name) if about else None,
            former=manifest.former,
            away=manifest.away,
            left_alone=manifest.left_alone,
        )
        for unit in manifest.units
    }


def leave_out_call_stacks() -> None:
    """Register resources without call stacks from here on, in this process."""
    resource._get_stack_trace = source_pb2.StackTrace


def leave_out_debug_messages() -> None:
    """Send the engine no messages for ``--debug`` from here on, in this process."""
    pulumi.log.debug = _say_nothing


def _say_nothing(*_: object, **__: object) -> None:
    pass
