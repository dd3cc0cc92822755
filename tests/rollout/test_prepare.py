"""How an update goes out: at once where nothing runs, in waves where something does, and on from where one was left."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import cast

import pytest

from clusterwright.data_files import folder
from clusterwright.deploy.pulumi.automation import Engine
from clusterwright.deploy.pulumi.recorded_stack import RecordedStack
from clusterwright.deploy.pulumi.units import Stack, choose, cut
from clusterwright.deploy.targets import TARGETS, TargetSettings
from clusterwright.plan.build import build_plan
from clusterwright.plan.model import Plan
from clusterwright.rollout.ledger import UnderWay
from clusterwright.rollout.prepare import Prepared, prepare_update
from clusterwright.spec.load import load_spec

POD = "lab-roce-pod0"
CHANGED = "gpu-p00r00n0"


@dataclass(frozen=True)
class State:
    """Stands where the engine stands: what the state says that the devices of a stack were given."""

    stacks: Mapping[str, RecordedStack]

    def all_given(self, stacks: Iterable[Stack]) -> dict[str, RecordedStack]:
        return {stack.name: self.stacks[stack.name] for stack in stacks if stack.name in self.stacks}


@dataclass(frozen=True)
class Site:
    plan: Plan
    stacks: tuple[Stack, ...]
    target: TargetSettings

    def prepare(self, given: RecordedStack | None = None, begun: UnderWay | None = None) -> Prepared:
        engine = cast("Engine", State({} if given is None else {POD: given}))
        return prepare_update(
            self.plan, self.plan.spec.rollout, self.target, engine=engine, stacks=self.stacks, begun=begun
        )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    plan = build_plan(load_spec(folder("inventory") / "lab-roce.yaml"))
    target = TargetSettings(TARGETS[0], tmp_path_factory.mktemp("prepare"), None, None)
    return Site(plan, choose(cut(plan), ("pod0",)), target)


@pytest.fixture(scope="module")
def new(site: Site) -> Prepared:
    """The first update of all."""
    return site.prepare()


@pytest.fixture(scope="module")
def wanted(new: Prepared) -> dict[str, str]:
    return dict(new.manifests[POD].trees)


def test_a_stack_without_state_goes_out_at_once(new: Prepared) -> None:
    assert (new.first, new.waves, new.is_quiet) == (frozenset({POD}), (), False)


def test_a_first_update_that_did_not_end_goes_on_at_once(site: Site, new: Prepared, wanted: dict[str, str]) -> None:
    held = {name: digest for name, digest in wanted.items() if "r01" not in name}
    given = RecordedStack({**held, CHANGED: ""}, {CHANGED: "failed, full disk"})

    again = site.prepare(given, new.rollout)

    assert (again.first, again.waves, again.rollout.name) == (frozenset({POD}), (), new.rollout.name)
    # Under another manifest it is another rollout, and nothing runs there all the same.
    other = site.prepare(given, replace(new.rollout, name="other", manifest="other"))
    assert (other.first, other.waves) == (frozenset({POD}), ())
    assert other.rollout.name != "other"


def test_what_runs_already_changes_in_waves_though_the_first_update_did_not_end(
    site: Site, new: Prepared, wanted: dict[str, str]
) -> None:
    held = {name: digest for name, digest in wanted.items() if "r01" not in name}

    for runs in (
        RecordedStack({**held, CHANGED: ""}, {}),
        RecordedStack({**held, CHANGED: "another"}, {CHANGED: "failed, full disk"}),
    ):
        again = site.prepare(runs, new.rollout)

        assert again.first == frozenset()
        waving = {name for wave in again.waves for name in wave.devices}
        assert waving == {CHANGED, *(wanted.keys() - held.keys())} == again.effects.keys()


def test_without_a_note_of_the_first_update_the_rest_goes_out_in_waves(site: Site, wanted: dict[str, str]) -> None:
    prepared = site.prepare(RecordedStack({name: digest for name, digest in wanted.items() if "r01" not in name}, {}))

    assert prepared.first == frozenset()
    assert prepared.waves


def test_what_changed_beside_the_waves_that_are_left_gets_waves_behind_them(site: Site, wanted: dict[str, str]) -> None:
    begun = site.prepare(RecordedStack(dict.fromkeys(wanted, "before"), {})).rollout
    assert len(begun.waves) > 1
    first, rest = begun.waves[0], begun.waves[1:]
    done = dict.fromkeys(wanted, "before") | {name: wanted[name] for name in first.devices}
    drifted = first.devices[0]

    paused = begun.with_finished(1)
    assert site.prepare(RecordedStack(done, {}), paused).rollout == paused
    more = site.prepare(RecordedStack({**done, drifted: ""}, {}), paused)

    assert more.rollout.name == begun.name
    assert more.waves[:-1] == rest
    assert more.waves[-1].devices == (drifted,)
    assert [number for number, _ in more.rollout.left] == list(range(2, len(begun.waves) + 2))


def test_devices_that_the_spec_no_longer_has_are_named(site: Site, wanted: dict[str, str]) -> None:
    prepared = site.prepare(RecordedStack({**wanted, "gpu-p00r09n0": "before"}, {}))

    assert (prepared.removed, prepared.effects, prepared.is_quiet) == (("gpu-p00r09n0",), {}, False)
