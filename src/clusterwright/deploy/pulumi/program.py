"""The Pulumi program: one stack of a cluster as components cluster -> pod -> rack or switch.

The stack of the upper layer exports what its switches offer the pods. Every other stack refers to it, and registers
nothing when what is deployed there is not what it was planned against.

Run by Pulumi through ``stacks/__main__.py``, or by the engine's driver in a process that has all of it imported. The
stack's configuration says which spec, which layer, which target and which folder; relative paths count from the Pulumi
project's folder.

Pulumi's SDK is kept from saying more of a stack's resources than the engine needs. With every resource it notes from
where in the program it was registered, frame by frame. All units come from one loop, so that says nothing; but it is
half of a pod's state, which the engine writes anew with each step, and it names folders of the machine that deployed
last.

Of every resource it also tells the engine four times how far its registration is, as a call each, for ``--debug``.
That is a tenth of what a preview costs which changes nothing.
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
from clusterwright.deploy.targets import DIRECTORY, Chosen
from clusterwright.finding import ClusterwrightError


@dataclass(frozen=True, slots=True)
class Settings:
    """A stack's configuration: ``layer`` is ``upper``, ``pod0``, ..."""

    spec: Path
    layer: str
    target: Chosen


class TargetProvider(pulumi.ProviderResource):
    """The provider with its target."""

    def __init__(self, target: Chosen, name: str = "target", options: pulumi.ResourceOptions | None = None) -> None:
        stack = {"project": str(target.stack.project), "stack": target.stack.name} if target.stack else {}
        super().__init__("clusterwright", name, {**target.provider_settings, **stack}, options)


class UnitResource(pulumi.CustomResource):
    """A unit; ``trees`` maps its devices to the digests of their trees in the object store.

    ``downlinks`` is what the unit, a switch of the upper layer, offers each pod. Its output says what the switch holds:
    a switch that kept its previous configuration offers what it did before. ``about`` is for those who read inputs,
    such as policy packs: nothing is compared by it. ``former`` are the earlier names of devices that were renamed: the
    state may know the unit, or what its devices hold, by these. Nothing is sent to devices that are ``away``, nor to
    those that this update leaves alone (``left_alone``).
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
        properties = {"devices": dict(trees), **({"downlinks": dict(downlinks)} if downlinks else {})}
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
    """The whole program. A mistake in spec or configuration ends it with one message, never with a traceback.

    The provider changes no device that runs for it: `clusterwright up` does that, in waves.
    """
    _declare(Path.cwd(), lambda settings: recall(_asked(settings)) or _rendered(settings), None)


def program_of(manifest: Manifest, project: Path, accepted: Downlinks | None) -> Callable[[], None]:
    """The program of the stack of ``manifest``, whose configuration ``project`` holds: it neither plans nor renders.

    ``accepted`` is what the upper layer may offer this stack, though it was planned against something else.
    """
    return lambda: _declare(project, lambda _settings: manifest, accepted)


def _declare(project: Path, manifest_of: Callable[[Settings], Manifest], accepted: Downlinks | None) -> None:
    """Registers every unit of the running stack's layer. Raises pulumi.RunError."""
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
    target = Chosen(name, root, Path(access).resolve() if access else None)
    if secrets:
        from clusterwright.deploy.secrets.sources import PulumiStack

        stack = PulumiStack(project, pulumi.get_stack())
        target = replace(target, secrets=Path(secrets).resolve(), stack=stack)
    return Settings(Path(config.require("spec")).resolve(), config.require("layer"), target)


def _asked(settings: Settings) -> TargetLayer:
    return TargetLayer(settings.spec, settings.layer, settings.target)


def _rendered(settings: Settings) -> Manifest:
    # Imported only here: a program that has its manifest neither plans nor renders.
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
    """The stack of the upper layer, when it offers the downlinks that this one needs; None where it is not deployed.

    What is ``accepted`` is good enough as well: what that layer held when a rollout over both was prepared, whose waves
    say in which order both change.

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
    """Exports of the upper layer's stack; None when there is no such stack, or nothing in it."""
    outputs = _outputs_of(upper)
    downlinks = outputs.get("downlinks") if outputs is not None else None
    # What a switch offers is not known to Pulumi after an update of it that failed.
    return (
        None if downlinks is None else {name: of if isinstance(of, Mapping) else {} for name, of in downlinks.items()}
    )


def _outputs_of(stack: str) -> Mapping[str, Any] | None:
    """Exports of a stack; None when there is no such stack.

    Asked before a reference is made: one to a stack that is not there would end the program.
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
    """Resources of all units by name, each with its texts of ``about``."""
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
    """Register resources without it from here on, in this process."""
    resource._get_stack_trace = source_pb2.StackTrace


def leave_out_debug_messages() -> None:
    """Tell the engine nothing for ``--debug`` from here on, in this process."""
    pulumi.log.debug = _say_nothing


def _say_nothing(*_: object, **__: object) -> None:
    pass
