"""Preview of a change: its sentences, files, disturbance and proofs, without touching a device."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path

from clusterwright import __version__
from clusterwright.deploy.pulumi.units import Stack
from clusterwright.deploy.secrets.versions import Versions, version_changes
from clusterwright.deploy.store import MissingObject, Store
from clusterwright.device_files.effect import Effect
from clusterwright.finding import ClusterwrightError
from clusterwright.plan.model import Device, Plan
from clusterwright.plan.service import ACTIVE, DRAINED
from clusterwright.proofs.declaration import Declaration
from clusterwright.rollout.deployed import Deployed, in_force, kept_plan, recorded
from clusterwright.rollout.disturbance import Disturbance, disturbance
from clusterwright.rollout.guard import Guarded, guard
from clusterwright.rollout.preview.grouping import GroupKind, kinds_of
from clusterwright.rollout.preview.sentences import Sentence, sentences
from clusterwright.rollout.preview.services import service_sentences
from clusterwright.rollout.preview.spec_lines import SpecChange, spec_changes
from clusterwright.rollout.running_jobs import RunningJob, planned_jobs
from clusterwright.rollout.trees import Trees, trees_of
from clusterwright.rollout.unbuilt_images import UnbuiltImage
from clusterwright.rollout.waves import Wave
from clusterwright.spec.model import SpecException
from clusterwright.spec.rollout import RolloutPolicy

_RENDERED_OTHERWISE = "no value of the spec changed: this program, or a file that the spec names, gives other files now"


@dataclass(frozen=True, slots=True)
class Preview:
    """All results about a change. ``basis`` is the base of the comparison, in words.

    ``sentences`` and ``spec`` are the changes of the model, empty without a recorded spec. ``devices`` is the number of
    devices of the chosen stacks in the target's reach.
    """

    cluster: str
    layers: tuple[str, ...]
    basis: str
    devices: int
    spec: tuple[SpecChange, ...]
    sentences: tuple[Sentence, ...]
    kinds: tuple[GroupKind, ...]
    waves: tuple[Wave, ...]
    disturbance: Disturbance
    guarded: Guarded
    unbuilt: tuple[UnbuiltImage, ...] = ()
    """Images missing on boot servers."""
    policy_in_force: RolloutPolicy | None = None
    """The `rollout:` of the spec in force; None without a recorded spec."""
    moves_state_alone: bool = False
    """Whether the change consists of starting and ending drains, and every device takes it while it runs."""

    @property
    def changed(self) -> tuple[str, ...]:
        """The changed devices, kind by kind."""
        return tuple(chain.from_iterable(kind.devices for kind in self.kinds))


@dataclass(frozen=True, slots=True)
class Change:
    """An update of the ``chosen`` stacks among ``every`` stack.

    ``held`` maps devices to the digest of their last tree ("" for a device with other files), ``wanted`` maps devices
    in the target's reach to the digest of their next tree; both trees are in the object store. ``effects`` are by
    device; the first of ``waves`` has the number ``next_wave``. ``versions`` are the versions of present secrets. An
    update of some devices alone is partial. ``known_plans`` are plans of kept specs, by digest.
    """

    plan: Plan
    every: Sequence[Stack]
    chosen: Sequence[Stack]
    held: Mapping[str, str]
    wanted: Mapping[str, str]
    effects: Mapping[str, Effect]
    waves: Sequence[Wave]
    versions: Versions = field(default_factory=dict)
    next_wave: int = 1
    unbuilt: tuple[UnbuiltImage, ...] = ()
    is_partial: bool = False
    known_plans: Mapping[str, Plan] = field(default_factory=dict)


def preview(change: Change, root: Path, jobs: Sequence[RunningJob] | None = None) -> Preview:
    """The preview of ``change`` against the deployment under ``root``.

    ``jobs`` are the running ones; None stands for the spec's jobs, placed on nodes. Raises ClusterwrightError.
    """
    store = Store(root / "objects")
    plan = change.plan
    deployed = recorded(root, change.every)
    force = in_force(deployed, change.held)
    before, basis = _recorded_plan(store, force, change.held, change.known_plans)
    # Other stacks than the chosen ones keep the trees of their last complete update.
    kept = force.trees if force is not None else {}
    held = {name: digest for name, digest in kept.items() if name in plan.by_name} | dict(change.held)
    trees = trees_of(plan, held, change.wanted, store, change.versions)
    if jobs is None:
        placed, notes = planned_jobs(before if before is not None else plan)
    else:
        placed, notes = tuple(jobs), tuple[str, ...]()
    was = Declaration(before) if before is not None else None
    values = spec_changes(before.spec.document, plan.spec.document) if before is not None else ()
    meaning = tuple(_rotated(trees))
    if before is not None:
        meaning = (*sentences(before, plan), *service_sentences(before, plan), *meaning)
    if before is not None and not values and not meaning:
        unedited = [name for name in trees.changed if trees.before[name] and kept.get(name) == held.get(name)]
        basis += f"; {_RENDERED_OTHERWISE}" if unedited else ""
    return Preview(
        cluster=plan.name,
        layers=tuple(stack.layer for stack in change.chosen),
        basis=basis,
        devices=len(change.wanted),
        spec=values,
        sentences=meaning,
        kinds=kinds_of(plan, before, trees, change.effects),
        waves=tuple(change.waves),
        disturbance=disturbance(
            (before, plan), change.waves, change.effects, jobs=placed, notes=notes, first=change.next_wave
        ),
        guarded=guard(
            plan.name,
            trees,
            (was, Declaration(plan)),
            change.waves,
            drained_alone(before, plan, values),
            is_partial=change.is_partial,
        ),
        unbuilt=change.unbuilt,
        policy_in_force=before.spec.rollout if before is not None else None,
        moves_state_alone=_moves_state_alone(change, before, values)
        and force is not None
        and force.program == __version__,
    )


def _moves_state_alone(change: Change, before: Plan | None, values: Sequence[SpecChange]) -> bool:
    """Whether only drains start or end, and each changed device takes that while it runs."""
    if before is None or not _are_exceptions_alone(values):
        return False
    if any(effect is not Effect.LIVE for effect in change.effects.values()):
        return False
    former, present = _placeless_exceptions(before), _placeless_exceptions(change.plan)
    changed = (*(former - present), *(present - former))
    return all(item.state == DRAINED and item.image is None for item in changed)


def _placeless_exceptions(plan: Plan) -> Counter[SpecException]:
    return Counter(replace(item, path=(), reason="") for item in plan.spec.exceptions)


def drained_alone(before: Plan | None, after: Plan, values: Sequence[SpecChange]) -> tuple[str, ...]:
    """The drained switches and cables of a change without any other effect, if the rest of each group is in service.

    A group consists of the upper switches of one tier and pod: they replace each other, and so do the cables to them.
    () for any other change.
    """
    if before is None or not _are_exceptions_alone(values):
        return ()
    switches, ports = _newly_drained_switches(before, after), _newly_drained_ports(before, after)
    if switches is None or ports is None:
        return ()
    away_switches = [device for device in after.devices if device.kind == "switch" and device.state != ACTIVE]
    away = Counter(_group_of(after, device) for device in away_switches)
    away.update(_group_of(after, _upper_end(after, *port)) for port in _stopped_ports(after))
    group_sizes = Counter(_group_of(after, device) for device in after.devices)
    drained_groups = [_group_of(after, switch) for switch in switches]
    drained_groups += [_group_of(after, _upper_end(after, *port)) for port in ports]
    for group in drained_groups:
        if not group or group_sizes[group] < 2 or away[group] > 1:
            return ()
    return (*(switch.name for switch in switches), *(" ".join(port) for port in ports))


def _are_exceptions_alone(values: Sequence[SpecChange]) -> bool:
    """True for a change of the spec in its exceptions and nowhere else."""
    return bool(values) and all(value.key.startswith("exceptions") for value in values)


def _newly_drained_switches(before: Plan, after: Plan) -> list[Device] | None:
    """The switches drained by a change; None if it also drains nodes, or takes devices out of service."""
    former_states = {device.name: device.state for device in before.devices}
    drained: list[Device] = []
    for device in after.devices:
        if device.state in (former_states.get(device.name), ACTIVE):
            continue
        if device.kind != "switch" or device.state != DRAINED:
            return None
        drained.append(device)
    return drained


def _newly_drained_ports(before: Plan, after: Plan) -> list[tuple[str, str]] | None:
    """The ports drained by a change; None if it also changes others or takes ports out of service."""
    states, former_states = _stopped_ports(after), _stopped_ports(before)
    if not former_states.items() <= states.items():
        return None
    ports = [port for port in states if port not in former_states]
    if any(states[port] != DRAINED for port in ports):
        return None
    return ports


_Group = tuple[str, ...]


def _group_of(plan: Plan, device: Device | None) -> _Group:
    """The group of an upper switch; () for every other device."""
    if device is None or device.kind != "switch" or plan.level(device) == 0:
        return ()
    return (device.fabric, device.role, device.pod)


def _stopped_ports(plan: Plan) -> dict[tuple[str, str], str]:
    """The state of each port in an exception."""
    states: dict[tuple[str, str], str] = {}
    for item in plan.spec.exceptions:
        if item.device and item.port and item.state:
            states[item.device, item.port] = item.state
    return states


def _upper_end(plan: Plan, device: str, port: str) -> Device | None:
    """The upper switch of the cable at a port; None for any cable but one between two tiers of switches."""
    for cable in plan.cables_of.get(device, ()):
        if (device, port) not in ((cable.a.device, cable.a.port), (cable.b.device, cable.b.port)):
            continue
        ends = sorted((plan.by_name[cable.a.device], plan.by_name[cable.b.device]), key=lambda end: end.tier)
        is_between_tiers = all(end.kind == "switch" and end.fabric == cable.fabric for end in ends)
        return ends[1] if is_between_tiers else None
    return None


def _rotated(trees: Trees) -> Iterator[Sentence]:
    """Secrets with another version than on the devices."""
    devices_by_sentence: dict[str, list[str]] = defaultdict(list)
    for name, before in trees.before.items():
        for words in version_changes(before, trees.after[name]):
            devices_by_sentence[words].append(name)
    yield from (Sentence(words, frozenset(names)) for words, names in sorted(devices_by_sentence.items()))


def _recorded_plan(
    store: Store, force: Deployed | None, held: Mapping[str, str], known_plans: Mapping[str, Plan]
) -> tuple[Plan | None, str]:
    """The plan of the spec in force, and a phrase about its age."""
    if force is None:
        if not held:
            return None, "nothing is deployed yet"
        unknown = sum(digest == "" for digest in held.values())
        words = f"; {unknown:,} devices hold files that no state knows of" if unknown else ""
        return None, f"no complete update is recorded yet{words}"
    try:
        plan = known_plans.get(force.spec) or kept_plan(store, force.spec)
    except MissingObject:
        return None, "the spec of the last complete update is lost or damaged; the next complete update stores it again"
    except ClusterwrightError as error:
        return None, f"the recorded spec cannot be read by this version: {str(error).splitlines()[0]}"
    words = "compared with the last complete update"
    if force.program != __version__:
        words += f", by version {force.program} (this is {__version__})"
    moved = sum(1 for name, digest in force.trees.items() if name in held and held[name] not in (digest, ""))
    if moved:
        devices, pronoun = ("1 device holds", "it") if moved == 1 else (f"{moved:,} devices hold", "them")
        words += f"; {devices} something newer, which an update that did not end gave {pronoun}"
    return plan, words
