"""What an update does to boot servers that lack the image which their next scripts name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pytest
from tests.plans import plan_of, plan_with

from clusterwright.deploy.pulumi.automation import Engine
from clusterwright.deploy.pulumi.recorded_stack import RecordedStack
from clusterwright.deploy.pulumi.units import Stack, choose, cut
from clusterwright.deploy.store import Store
from clusterwright.deploy.targets import TARGETS, TargetSettings
from clusterwright.hosts.boot.served import built_files, is_for_boots
from clusterwright.output.rendering import Rendering
from clusterwright.plan.model import Plan
from clusterwright.rollout.prepare import Prepared, prepare_update
from clusterwright.rollout.unbuilt_images import unbuilt_lines

SERVER, LAYER, STACK = "svc-v00n0", "services-rack0", "lab-roce-services-rack0"
PACKAGE = "images:\n  - {name: training, packages: [ibverbs-utils, rdma-core, nano]}\n"
SYSCTL = "images:\n  - {name: training, sysctl: {vm.zone_reclaim_mode: 1}}\n"


@dataclass(frozen=True)
class State:
    """Stands where the engine stands."""

    given: Mapping[str, RecordedStack]

    def all_given(self, stacks: Iterable[Stack]) -> dict[str, RecordedStack]:
        return {stack.name: self.given[stack.name] for stack in stacks if stack.name in self.given}


@dataclass(frozen=True)
class Deployment:
    """The lab's services, of which a boot server holds what ``before`` gives it."""

    target: TargetSettings
    given: Mapping[str, RecordedStack]

    def prepare(self, plan: Plan) -> Prepared:
        stacks = choose(cut(plan), (LAYER,))
        return prepare_update(
            plan, plan.spec.rollout, self.target, engine=cast("Engine", State(self.given)), stacks=stacks
        )

    def paths(self, prepared: Prepared) -> Mapping[str, str]:
        listing = Store(self.target.root / "objects").listing(prepared.manifests[STACK].trees[SERVER])
        return {file["path"]: file["sha256"] for file in listing}


@pytest.fixture
def deployed(tmp_path: Path) -> Deployment:
    before = plan_of("lab-roce")
    target = TargetSettings(TARGETS[0], tmp_path / "up", None, None)
    store = Store(target.root / "objects")
    (stack,) = choose(cut(before), (LAYER,))
    trees = {name: store.put_tree(Rendering(before).of_device(name)) for unit in stack.units for name in unit.devices}
    return Deployment(target, {STACK: RecordedStack({name: digest for name, digest in trees.items() if digest}, {})})


def test_a_server_keeps_what_nodes_boot_until_the_image_is_there(deployed: Deployment, tmp_path: Path) -> None:
    before = {artifact.path: artifact.sha256 for artifact in Rendering(plan_of("lab-roce")).of_device(SERVER)}
    plan = plan_with(tmp_path, "lab-roce", PACKAGE)
    wanted = {artifact.path: artifact.sha256 for artifact in Rendering(plan).of_device(SERVER)}
    definition = "srv/images/training/mkosi.conf"
    assert before[definition] != wanted[definition]

    held = deployed.prepare(plan)
    (image,) = held.unbuilt
    assert (image.servers, image.keeps_former) == ((SERVER,), True)
    assert any(image.release in line and SERVER in line for line in unbuilt_lines(held.unbuilt))
    paths = deployed.paths(held)
    assert {path: digest for path, digest in paths.items() if is_for_boots(path)} == {
        path: digest for path, digest in before.items() if is_for_boots(path)
    }
    assert paths[definition] == wanted[definition], "nobody could build it there"

    flash = deployed.target.root / "flash" / SERVER
    for path in built_files(image.release):
        (flash / path).parent.mkdir(parents=True, exist_ok=True)
        (flash / path).touch()
    built = deployed.prepare(plan)
    assert built.unbuilt == ()
    assert deployed.paths(built) == wanted


def test_a_changed_file_waits_for_no_image(deployed: Deployment, tmp_path: Path) -> None:
    prepared = deployed.prepare(plan_with(tmp_path, "lab-roce", SYSCTL))
    assert prepared.unbuilt == ()
    assert SERVER in prepared.effects


def test_a_new_server_is_told_and_nothing_is_kept(deployed: Deployment) -> None:
    prepared = Deployment(deployed.target, {}).prepare(plan_of("lab-roce"))
    (image,) = prepared.unbuilt
    assert not image.keeps_former
    assert "no node of it boots" in "".join(unbuilt_lines(prepared.unbuilt))
