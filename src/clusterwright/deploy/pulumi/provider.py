"""The Pulumi provider: units of a cluster as resources, served by ``pulumi-resource-clusterwright``.

A resource's inputs and state have each device's tree by digest; the bytes come from the object store. The former and
the wanted files of a device are therefore known with every target, and a preview shows the differing lines.

The engine's requests, one a resource, are joined into batches for the target: one run of Ansible costs seconds for any
number of devices, and the engine updates racks independently of each other. Requests during a run, or within a moment
of the first one, become the next run.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

from pulumi.provider.experimental.property_value import PropertyValue
from pulumi.provider.experimental.provider import (
    CheckFailure,
    CheckRequest,
    CheckResponse,
    ConfigureRequest,
    ConfigureResponse,
    CreateRequest,
    CreateResponse,
    DeleteRequest,
    DiffRequest,
    DiffResponse,
    PropertyDiff,
    PropertyDiffKind,
    Provider,
    ReadRequest,
    ReadResponse,
    UpdateRequest,
    UpdateResponse,
)

from clusterwright.and_more import and_more
from clusterwright.deploy.pulumi.batching import BatchingTarget
from clusterwright.deploy.pulumi.changes import bounded, changed_lines, drift_lines
from clusterwright.deploy.pulumi.permission import may_change_what_runs, refusal, require_may_clear
from clusterwright.deploy.pulumi.project import ADOPTS
from clusterwright.deploy.pulumi.serving import EngineLog, PartialFailure
from clusterwright.deploy.secrets.versions import version_changes
from clusterwright.deploy.store import MissingObject, Store
from clusterwright.deploy.target import DeviceTree, Holding, Outcome, Target, Unreachable, holding_digest, tree_digest
from clusterwright.deploy.targets import TargetSettings
from clusterwright.finding import ClusterwrightError

SHOWN_LINES = 40
"""Most lines of configuration of one unit in a preview; `clusterwright diff` shows all."""

_NOTED_IN_THE_STATE_ALONE = (
    "devices were compared and not changed; differences are recorded in the state alone. `clusterwright refresh` also "
    "records who asked, and what was found"
)

Properties = Mapping[str, PropertyValue]


def text_of(properties: Properties, name: str) -> str:
    """A text property; "" if it is absent."""
    text = properties.get(name)
    return text.value if text is not None and isinstance(text.value, str) else ""


def map_of(properties: Properties, name: str) -> dict[str, str]:
    """A property mapping texts to texts; empty if it is absent."""
    mapping = properties.get(name)
    if mapping is None or not isinstance(mapping.value, Mapping):
        return {}
    return {key: item.value for key, item in mapping.value.items() if isinstance(item.value, str)}


def as_map(values: Mapping[str, str]) -> PropertyValue:
    """The property for ``map_of``."""
    return PropertyValue({key: PropertyValue(value) for key, value in sorted(values.items())})


class ClusterwrightProvider(Provider):
    """Creates, updates, reads and deletes units. ``devices`` maps device to tree digest; "" is a drifted device."""

    def __init__(self, log: EngineLog) -> None:
        self._log = log
        self._store: Store | None = None
        self._target: Target | None = None
        self._batching: BatchingTarget | None = None

    async def configure(self, request: ConfigureRequest) -> ConfigureResponse:
        """Open the store and the target of the stack's configuration."""
        root = Path(text_of(request.args, "root"))
        self._store = Store(root / "objects")
        access, secrets = (text_of(request.args, name) for name in ("access", "secrets"))
        chosen = TargetSettings(text_of(request.args, "target"), root, Path(access) if access else None)
        if secrets:
            from clusterwright.deploy.secrets.sources import PulumiStack

            stack = PulumiStack(Path(text_of(request.args, "project")), text_of(request.args, "stack"))
            chosen = replace(chosen, secrets=Path(secrets), stack=stack)
        self._target = chosen.open()
        self._batching = BatchingTarget(self._target)
        return ConfigureResponse(accept_secrets=False, supports_preview=True, accept_resources=False)

    async def diff_config(self, request: DiffRequest) -> DiffResponse:
        """Report no change: another place of the same store and target changes no device."""
        return DiffResponse(changes=False)

    async def check(self, request: CheckRequest) -> CheckResponse:
        """Refuse a unit without devices."""
        if not map_of(request.new_inputs, "devices"):
            return CheckResponse(request.new_inputs, [CheckFailure("devices", "a unit without devices")])
        return CheckResponse(request.new_inputs)

    async def diff(self, request: DiffRequest) -> DiffResponse:
        """Compare tree digests, and show the changed lines."""
        old, new = _held(request.old_state, request.new_inputs), map_of(request.new_inputs, "devices")
        failed = _held(request.old_state, request.new_inputs, "failed")
        away = _untouched(request.new_inputs)
        named = [name for name in sorted(old.keys() | new.keys()) if name not in away]
        changed = [name for name in named if old.get(name) != new.get(name) or name in failed]
        if not changed:
            both = (request.old_state, request.new_inputs)
            others = [key for key in ("downlinks", "away") if map_of(both[0], key) != map_of(both[1], key)]
            return DiffResponse(changes=bool(others), diffs=others or ["downlinks"])
        if os.environ.get(ADOPTS):  # an adoption compares with the devices themselves
            return DiffResponse(changes=True, diffs=["devices"])
        running = [name for name in changed if name in old and name in new]
        if running and not may_change_what_runs():
            await self._log.warning(request.urn, refusal(running))
        digests = {name: (old.get(name), new.get(name)) for name in changed}
        lines = await asyncio.to_thread(self._all_lines, digests)
        await self._log.info(request.urn, "\n".join(lines))
        return DiffResponse(
            changes=True,
            diffs=["devices"],
            detailed_diff={f"devices[{name!r}]".replace("'", '"'): _kind(name, old, new) for name in changed},
        )

    async def create(self, request: CreateRequest) -> CreateResponse:
        """Bring the unit's devices to their trees. Raises PartialFailure if one of them fails."""
        if request.preview:
            return CreateResponse(request.name, dict(request.properties))
        if os.environ.get(ADOPTS):
            return CreateResponse(request.name, await self._adopt(request.urn, request.properties))
        if not may_change_what_runs():
            wanted = map_of(request.properties, "devices")
            compared = await asyncio.to_thread(self._holding_otherwise, wanted)
            if compared:
                raise ClusterwrightError(refusal(compared))
        state = await self._bring_about(request.urn, request.properties, {})
        return CreateResponse(request.name, state)

    async def _adopt(self, urn: str, properties: Properties) -> dict[str, PropertyValue]:
        """Record the files of a unit's devices as given, without a change on them. A later update mends differences.

        Devices skipped by the update keep their recorded trees.
        """
        wanted = map_of(properties, "devices")
        untouched = _untouched(properties)
        asked = {name: digest for name, digest in wanted.items() if name not in untouched}
        given = await asyncio.to_thread(self._given, asked)
        trees = {name: tree for name, tree in given.items() if tree is not None}
        compared = await asyncio.to_thread(self._compare, trees, sorted(asked.keys() - trees.keys()))
        outcomes = compared or {}
        drift = {name: outcome for name, outcome in outcomes.items() if outcome.changed}
        if drift:
            shown = await asyncio.to_thread(self._drift_lines, trees, drift)
            await self._log.info(urn, "\n".join(shown))
        kept = (outcomes.keys() - drift.keys()) | untouched
        held = {name: digest if name in kept else "" for name, digest in wanted.items()}
        return {"devices": as_map(held), **_beside(properties)}

    async def update(self, request: UpdateRequest) -> UpdateResponse:
        """Bring the unit's devices to their trees; devices no longer in the unit lose their files.

        Raises PartialFailure if one of them fails.
        """
        if request.preview:
            return UpdateResponse(dict(request.news))
        if os.environ.get(ADOPTS):
            failed = _held(request.olds, request.news, "failed")
            adopted = await self._adopt(request.urn, request.news)
            if failed:
                adopted["failed"] = as_map(failed)
            return UpdateResponse(adopted)
        old, new = _held(request.olds, request.news), map_of(request.news, "devices")
        # A device without any tree so far is tried once more.
        never_taken = {name for name in _held(request.olds, request.news, "failed") if not old.get(name)}
        running = [name for name, digest in new.items() if name in old and old[name] != digest]
        running = [name for name in running if name not in never_taken]
        if running and not may_change_what_runs():
            raise ClusterwrightError(refusal(running))
        require_may_clear(name for name in old if name not in new)
        return UpdateResponse(await self._bring_about(request.urn, request.news, request.olds))

    async def delete(self, request: DeleteRequest) -> None:
        """Remove the files put on the unit's devices.

        Raises ClusterwrightError for Pulumi's own command: Pulumi runs no program for `destroy`, and
        calls the provider alone.
        """
        require_may_clear(map_of(request.properties, "devices"))
        await self._bring_about(request.urn, {}, request.properties)

    async def read(self, request: ReadRequest) -> ReadResponse:
        """Compare devices with their last trees; the next update mends drifted ones.

        The comparison covers everything set by an update: files with their modes, the running kernel's state, a
        switch's running configuration. Differing lines are shown under the unit. Devices drifted before are only read,
        and so are those with trees lost in the object store.
        """
        wanted = map_of(request.properties, "devices")
        away = map_of(request.properties, "away")
        asked = {name: digest for name, digest in wanted.items() if digest and name not in away}
        given = await asyncio.to_thread(self._given, asked)
        if lost := [name for name, tree in given.items() if tree is None]:
            await self._log.warning(request.urn, _lost_trees_message(lost))
            wanted |= dict.fromkeys(lost, "")
        trees = {name: tree for name, tree in given.items() if tree is not None}
        different = sorted(name for name, digest in wanted.items() if not digest and name not in away)
        compared = await asyncio.to_thread(self._compare, trees, different) if trees or different else {}
        if compared is None:
            return ReadResponse()
        if not may_change_what_runs():
            await self._log.warning(request.urn, _NOTED_IN_THE_STATE_ALONE)
        await self._warn(request.urn, compared)
        drift = {name: outcome for name, outcome in compared.items() if outcome.changed}
        if drift:
            shown = await asyncio.to_thread(self._drift_lines, trees, drift)
            await self._log.info(request.urn, "\n".join(shown))
        held = {name: "" if name in drift else digest for name, digest in wanted.items()}
        state = {"devices": as_map(held), **_beside(request.properties)}
        return ReadResponse(request.resource_id, state, state)

    def _given(self, digests: Mapping[str, str]) -> dict[str, DeviceTree | None]:
        """Last trees of devices; None for a tree lost in the object store."""
        store, _, _ = self._opened()
        given: dict[str, DeviceTree | None] = {}
        for name, digest in digests.items():
            try:
                given[name] = store.get_tree(name, digest)
            except MissingObject:
                given[name] = None
        return given

    def _compare(self, given: Mapping[str, DeviceTree], different: Collection[str]) -> Mapping[str, Outcome] | None:
        """Compare devices with their last trees; ``different`` ones are only read.

        None if no device has any files. Raises ClusterwrightError.
        """
        _, target, _ = self._opened()
        compared = target.apply(given, check=True) if given else {}
        holdings = target.read(different) if different else {}
        silent = {name: outcome.message for name, outcome in compared.items() if not outcome.ok}
        silent |= {name: held.message for name, held in holdings.items() if isinstance(held, Unreachable)}
        if silent:
            reasons = "; ".join(f"{name} could not be read: {message}" for name, message in sorted(silent.items()))
            raise ClusterwrightError(reasons)
        digests = {outcome.digest for outcome in compared.values()}
        digests |= {held.digest for held in holdings.values() if isinstance(held, Holding)}
        if digests == {holding_digest({})}:
            return None
        return compared

    def _holding_otherwise(self, wanted: Mapping[str, str]) -> list[str]:
        """Devices with other files than wanted, though without a recorded state."""
        store, target, _ = self._opened()
        names = []
        for name, answer in target.read(sorted(wanted)).items():
            if not isinstance(answer, Holding) or not answer.files:
                continue
            if answer.digest != tree_digest(store.get_tree(name, wanted[name])):
                names.append(name)
        return names

    async def _warn(self, urn: str, outcomes: Mapping[str, Outcome]) -> None:
        for notice in sorted({outcome.notice for outcome in outcomes.values()} - {""}):
            await self._log.warning(urn, notice)

    async def _bring_about(self, urn: str, news: Properties, olds: Properties) -> dict[str, PropertyValue]:
        store, target, batching = self._opened()
        wanted, before = map_of(news, "devices"), _held(olds, news)
        deployed, former = map_of(olds, "devices"), map_of(news, "former")
        await asyncio.to_thread(target.rename, {was: now for now, was in former.items() if was in deployed})
        away = _untouched(news)
        batch = {name: store.get_tree(name, digest) for name, digest in wanted.items() if name not in away}
        batch |= {name: () for name in before if name not in wanted}
        outcomes = await batching.apply(batch)
        await self._warn(urn, outcomes)
        failed = {name: _complaint(outcome) for name, outcome in outcomes.items() if not outcome.ok}
        left_alone = map_of(news, "left_alone")
        still_failed = {name: why for name, why in _held(olds, news, "failed").items() if name in left_alone}
        if not failed:
            state = {"devices": as_map(wanted), **_beside(news)}
            if still_failed:
                state["failed"] = as_map(still_failed)
            return state
        # A device with its previous configuration keeps its previous digest: the next diff starts from there.
        kept = {name: before.get(name, "") if name in failed else digest for name, digest in wanted.items()}
        kept |= {name: before[name] for name in failed if name not in wanted}
        unit = urn.rpartition("::")[2]
        reasons = "; ".join(f"{name}: {reason}" for name, reason in sorted(failed.items()))
        raise PartialFailure(
            f"{len(failed)} of {len(batch)} devices of {unit} did not reach the wanted state: {reasons}. "
            "The others did. Fix the cause and run the same command again.",
            unit,
            {"devices": as_map(kept), "failed": as_map(failed | still_failed), **_beside(olds)},
        )

    def _all_lines(self, changed: Mapping[str, tuple[str | None, str | None]]) -> list[str]:
        lines = chain.from_iterable(self._lines(name, *digests) for name, digests in changed.items())
        return bounded(lines, SHOWN_LINES)

    def _lines(self, name: str, old: str | None, new: str | None) -> Iterator[str]:
        store, target, _ = self._opened()
        try:
            after = store.get_tree(name, new) if new else ()
        except MissingObject:  # after a refresh, the engine compares with the last tree
            yield f"{name}: the object store has lost the lines"
            return
        try:
            before = store.get_tree(name, old) if old else ()
        except MissingObject:
            before, old = (), ""
        if old == "":
            # The device's files are not in the store: query the device itself.
            outcome = target.apply({name: after}, check=True)[name]
            yield from drift_lines(name, outcome, after)
            return
        yield f"{name}:"
        yield from (f"  {words}" for words in version_changes(before, after))
        yield from (f"  {line}" for line in changed_lines(before, after))

    def _drift_lines(self, given: Mapping[str, DeviceTree], drift: Mapping[str, Outcome]) -> list[str]:
        lines = (drift_lines(name, outcome, given[name]) for name, outcome in sorted(drift.items()))
        return bounded(chain.from_iterable(lines), SHOWN_LINES)

    def _opened(self) -> tuple[Store, Target, BatchingTarget]:
        if self._store is None or self._target is None or self._batching is None:
            raise ClusterwrightError("the provider was not configured: the stack names no target")
        return self._store, self._target, self._batching


def _held(olds: Properties, news: Properties, key: str = "devices") -> dict[str, str]:
    """Devices' values of a property in a state, under their present names."""
    new_names = {old: new for new, old in map_of(news, "former").items()}
    return {new_names.get(name, name): value for name, value in map_of(olds, key).items()}


def _untouched(news: Properties) -> frozenset[str]:
    """Devices that get nothing: those out of service, and those skipped by an update of others."""
    return frozenset((*map_of(news, "away"), *map_of(news, "left_alone")))


def _beside(properties: Properties) -> dict[str, PropertyValue]:
    """Properties of a unit beside its devices' trees: the devices away, and the offers of a switch of the upper layer.

    A unit with offers has that one device alone.
    """
    return {key: properties[key] for key in ("downlinks", "away") if key in properties}


def _kind(name: str, old: Mapping[str, str], new: Mapping[str, str]) -> PropertyDiff:
    if name not in old:
        return PropertyDiff(PropertyDiffKind.ADD, input_diff=True)
    if name not in new:
        return PropertyDiff(PropertyDiffKind.DELETE, input_diff=True)
    return PropertyDiff(PropertyDiffKind.UPDATE, input_diff=True)


def _lost_trees_message(names: Sequence[str]) -> str:
    return (
        f"{and_more(names, 3)}: not compared, because the object store has lost the deployed files. The next `up` "
        "compares with the spec instead"
    )


def _complaint(outcome: Outcome) -> str:
    return f"{outcome.status.value}, {outcome.message}" if outcome.message else outcome.status.value
