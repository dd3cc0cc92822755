"""Prepare an update: the trees of devices, the effect on each device, and the waves.

Each platform decides the effect of changed files on its device while they are applied.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain

from clusterwright.deploy.pulumi.automation import Engine
from clusterwright.deploy.pulumi.manifest import Manifest, joint_digest
from clusterwright.deploy.pulumi.recorded_stack import RecordedStack
from clusterwright.deploy.pulumi.rendering import Source, make_manifests
from clusterwright.deploy.pulumi.units import Stack
from clusterwright.deploy.store import MissingObject, Store
from clusterwright.deploy.target import DeviceTree
from clusterwright.deploy.targets import TargetSettings
from clusterwright.device_files.effect import Effect
from clusterwright.finding import ClusterwrightError
from clusterwright.plan.model import Plan
from clusterwright.plan.service import OUT_OF_SERVICE
from clusterwright.rollout import ledger
from clusterwright.rollout.activation import require_activation
from clusterwright.rollout.consequences import effect_of
from clusterwright.rollout.deployed import recorded
from clusterwright.rollout.drifted import running_tree
from clusterwright.rollout.ledger import UnderWay
from clusterwright.rollout.running import ask_devices
from clusterwright.rollout.unbuilt_images import UnbuiltImage, keep_former_boots
from clusterwright.rollout.waves import Wave, plan_waves
from clusterwright.spec.rollout import RolloutPolicy


@dataclass(frozen=True)
class Prepared:
    """An update ready to be shown and approved.

    ``manifests`` and ``given`` are by stack. ``effects`` are by device changed in waves, ``removed`` are devices no
    longer in the spec. ``rollout`` is a new one, or the current one to be resumed. ``runs`` are devices with files but
    without a recorded state, ``silent`` devices without a recorded state or an answer. ``away`` are devices out of
    service: no file is sent to them, and they get their changes once they are back. ``only`` are the devices of a
    partial update: all others keep their files, and no stack is recorded as updated; empty for all. ``unbuilt`` are
    images missing on boot servers. ``settled`` are stacks with a state equal to the update: no engine is started for
    them.
    """

    stacks: tuple[Stack, ...]
    manifests: Mapping[str, Manifest]
    given: Mapping[str, RecordedStack]
    effects: Mapping[str, Effect]
    removed: tuple[str, ...]
    rollout: UnderWay
    runs: frozenset[str] = frozenset()
    silent: tuple[str, ...] = ()
    away: frozenset[str] = frozenset()
    only: frozenset[str] = frozenset()
    unbuilt: tuple[UnbuiltImage, ...] = ()
    settled: frozenset[str] = frozenset()

    @property
    def held(self) -> dict[str, str]:
        """Digests of the last trees of devices, without those away: proofs take them as planned."""
        trees: dict[str, str] = {}
        for given in self.given.values():
            trees.update(given.trees)
        return {name: digest for name, digest in trees.items() if name not in self.away}

    @property
    def wanted(self) -> dict[str, str]:
        """Digests of the next trees of devices, without those away."""
        trees: dict[str, str] = {}
        for manifest in self.manifests.values():
            trees.update(manifest.trees)
        return {name: digest for name, digest in trees.items() if name not in self.away}

    @property
    def is_quiet(self) -> bool:
        """Whether every device holds its tree."""
        return not self.effects and not self.removed and not self.first

    @property
    def first(self) -> frozenset[str]:
        """The stacks updated as a whole, since nothing runs on them."""
        return frozenset(self.rollout.first)

    @cached_property
    def waves(self) -> tuple[Wave, ...]:
        """The remaining waves."""
        return tuple(wave for _, wave in self.rollout.left)

    @property
    def digest(self) -> str:
        """One digest over every byte to be sent."""
        return self.rollout.manifest

    @property
    def base(self) -> str:
        """One digest over the last trees of devices."""
        lines: list[str] = []
        for given in self.given.values():
            lines += [f"{name}\0{digest}\n" for name, digest in given.trees.items()]
        return hashlib.sha256("".join(sorted(lines)).encode()).hexdigest()

    @property
    def breaks(self) -> tuple[Wave, ...]:
        """The waves breaking the policy."""
        return tuple(wave for wave in self.waves if wave.breaks)


def prepare_update(
    plan: Plan,
    policy: RolloutPolicy,
    target: TargetSettings,
    *,
    engine: Engine,
    stacks: tuple[Stack, ...],
    source: Source | None = None,
    begun: UnderWay | None = None,
    only: frozenset[str] = frozenset(),
) -> Prepared:
    """Render the trees of ``stacks`` and compare them with the last trees of devices in their state.

    A damaged object is removed from the store and rendered anew.

    With the ``source`` of the plan, stacks already rendered from it are not rendered again. ``begun`` is the unfinished
    rollout: if it is the same, its waves are kept, and other changes get waves behind them. Devices without a recorded
    state are queried: those with files run, and change in waves. With ``only``, no other device is rendered or changed;
    then every stack has to be deployed.
    Nothing is changed on any device. Raises ClusterwrightError.
    """
    try:
        return _prepared(plan, policy, target, engine=engine, stacks=stacks, source=source, begun=begun, only=only)
    except MissingObject:  # the store has removed all damaged objects
        return _prepared(plan, policy, target, engine=engine, stacks=stacks, source=source, begun=begun, only=only)


def _prepared(
    plan: Plan,
    policy: RolloutPolicy,
    target: TargetSettings,
    *,
    engine: Engine,
    stacks: tuple[Stack, ...],
    source: Source | None,
    begun: UnderWay | None,
    only: frozenset[str],
) -> Prepared:
    require_activation(plan, target, stacks)
    manifests = make_manifests(plan, target, stacks, source, only)
    read = engine.all_given(stacks)
    if only:
        _require_deployed(stacks, read)
    away = frozenset(device.name for device in plan.devices if device.state == OUT_OF_SERVICE)
    given: dict[str, RecordedStack] = {}
    unknown: set[str] = set()
    for stack in stacks:
        stack_given = _given(stack, read, manifests)
        given[stack.name] = stack_given
        is_begun_first = begun is not None and stack.name in begun.first and stack.name in read
        if not is_begun_first:  # an unfinished first update of a stack goes on as a whole
            unknown |= manifests[stack.name].trees.keys() - stack_given.trees.keys() - away
    asked = ask_devices(target, sorted(unknown & only if only else unknown))
    runs = asked.running
    given = {stack.name: given[stack.name].with_running(runs & manifests[stack.name].trees.keys()) for stack in stacks}
    manifests = {name: manifest.leaving_out(away, given[name].trees) for name, manifest in manifests.items()}
    if only:
        manifests = {name: manifest.alone(only - away, given[name].trees) for name, manifest in manifests.items()}
    manifests, unbuilt = keep_former_boots(plan, target, manifests, _former(target, stacks, given))
    store = Store(target.root / "objects")
    for manifest in manifests.values():
        store.put(manifest.content())
    new = frozenset(stack.name for stack in stacks if stack.name not in read and not given[stack.name].trees)
    begun_first = frozenset(begun.first) if begun is not None else frozenset[str]()
    idle = frozenset(name for name in begun_first & given.keys() if not _runs(given[name], manifests[name]))
    first = tuple(stack.name for stack in stacks if stack.name in new | idle)
    later = tuple(stack for stack in stacks if stack.name not in first)
    held: dict[str, str] = {}
    wanted: dict[str, str] = {}
    all_failed: set[str] = set()
    for stack in later:
        held.update(given[stack.name].trees)
        wanted.update(manifests[stack.name].trees)
        all_failed.update(given[stack.name].failed)
    unasked = away if not only else away | (held.keys() - only)
    failed = frozenset(all_failed - unasked)
    effects = dict(_effects(plan, target, held, wanted, failed))
    removed = () if only else _removed(given, manifests)
    digest, names = joint_digest(manifests), tuple(stack.name for stack in stacks)
    rollout = ledger.resumed(begun, digest, names) or UnderWay(
        name=ledger.rollout_name(digest), manifest=digest, stacks=names, waves=()
    )
    covered = set(chain.from_iterable(wave.devices for _, wave in rollout.left))
    uncovered_effects = {name: effect for name, effect in effects.items() if name not in covered}
    rollout = replace(rollout.with_more(plan_waves(plan, later, uncovered_effects, policy)), first=first)
    settled = frozenset(name for name in names if _is_settled(given[name], manifests[name], target))
    return Prepared(
        stacks=stacks,
        manifests=manifests,
        given=given,
        effects=effects,
        removed=removed,
        rollout=rollout,
        runs=runs,
        silent=asked.silent,
        away=away,
        only=only,
        unbuilt=unbuilt,
        settled=settled,
    )


def _given(stack: Stack, read: Mapping[str, RecordedStack], manifests: Mapping[str, Manifest]) -> RecordedStack:
    """The state of a stack under the devices' present names; empty for a new stack."""
    if stack.name not in read:
        return RecordedStack({}, {})
    return read[stack.name].under(manifests[stack.name].former)


def _removed(given: Mapping[str, RecordedStack], manifests: Mapping[str, Manifest]) -> tuple[str, ...]:
    """Devices with a tree and without a manifest, sorted."""
    held = set(chain.from_iterable(stack_given.trees for stack_given in given.values()))
    wanted = set(chain.from_iterable(manifest.trees for manifest in manifests.values()))
    return tuple(sorted(held - wanted))


def _is_settled(given: RecordedStack, manifest: Manifest, target: TargetSettings) -> bool:
    """Whether a stack has exactly this manifest, by the same provider settings and without failures."""
    if given.manifest != manifest.digest or given.trees != manifest.trees or given.failed:
        return False
    settings = target.provider_settings
    return {name: given.provider.get(name) for name in settings} == settings


def _former(target: TargetSettings, stacks: Iterable[Stack], given: Mapping[str, RecordedStack]) -> dict[str, str]:
    """The last tree of each device, even if it holds other files by now."""
    trees: dict[str, str] = {}
    for deployed in recorded(target.root, stacks).values():
        trees.update(deployed.trees)
    for stack_given in given.values():
        trees.update((name, digest) for name, digest in stack_given.trees.items() if digest)
    return trees


def _require_deployed(stacks: Iterable[Stack], read: Mapping[str, RecordedStack]) -> None:
    """Raises ClusterwrightError for a partial update of a stack without a deployment."""
    absent = [stack.layer for stack in stacks if stack.name not in read]
    if absent:
        raise ClusterwrightError(
            f"{', '.join(absent)} was never deployed: `clusterwright up` brings it up as a whole, or `clusterwright "
            "refresh` takes up what runs. Nothing was touched."
        )


def _runs(given: RecordedStack, manifest: Manifest) -> bool:
    """Whether a stack with an unfinished first update would change a device with files."""
    for name, digest in manifest.trees.items():
        if name not in given.trees or given.trees[name] == digest:
            continue
        if given.trees[name] or name not in given.failed:
            return True
    return False


def _effects(
    plan: Plan, target: TargetSettings, held: Mapping[str, str], wanted: Mapping[str, str], failed: Collection[str]
) -> Iterator[tuple[str, Effect]]:
    """The effect on each changed device. A device without files is new: its change disturbs no other."""
    store = Store(target.root / "objects")
    unknown: dict[str, DeviceTree] = {}
    for name, digest in wanted.items():
        if held.get(name) == digest and name not in failed:
            continue
        if name not in held:
            yield name, Effect.LIVE
            continue
        try:
            before, after = store.get_differing(name, held[name], digest) if held[name] else ((), ())
        except MissingObject:
            before, after = (), ()
        effect = effect_of(plan.by_name[name], before, after)
        if effect is None:
            unknown[name] = store.get_tree(name, digest)
        else:
            yield name, effect
    if unknown:
        yield from _effects_on_unknown(plan, target, unknown)


def _effects_on_unknown(
    plan: Plan, target: TargetSettings, wanted: Mapping[str, DeviceTree]
) -> Iterator[tuple[str, Effect]]:
    """Effects on devices with other files than their last tree, by the differing files in their answers to a trial."""
    for name, outcome in target.open().apply(wanted, check=True).items():
        yield name, effect_of(plan.by_name[name], running_tree(wanted[name], outcome), wanted[name]) or Effect.LIVE
