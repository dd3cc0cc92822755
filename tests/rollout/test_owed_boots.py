"""Which nodes wait for a boot: by what the record says they were given, and by what they say of their last boot."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest
from tests.plans import plan_of

from clusterwright.artifact import Artifact
from clusterwright.deploy.ansible.query import CommandResult, Devices
from clusterwright.deploy.store import Store
from clusterwright.deploy.target import Unreachable
from clusterwright.rollout.device_history import DeviceEvent
from clusterwright.rollout.visit.boots import NodeBoot, last_boots, owed_boot

NODE = "gpu-p00r00n0"
NOON = 1_796_126_400  # 2026-12-01T12:00 UTC
HOUR = 3600


@pytest.fixture
def history(tmp_path: Path) -> tuple[Store, tuple[DeviceEvent, ...]]:
    """A node that got its files at ten, another kernel line at noon, a live change at one, and failed at two."""
    store = Store(tmp_path)
    trees = []
    for line, sysctl in (("a", "1"), ("b", "1"), ("b", "2")):
        files = {
            "etc/default/grub.d/90-clusterwright.cfg": line,
            "etc/sysctl.d/90-clusterwright.conf": f"vm.x = {sysctl}",
        }
        trees.append(store.put_tree(tuple(Artifact(NODE, path, text.encode(), "t") for path, text in files.items())))
    events = [_event("10", trees[0]), _event("12", trees[1]), _event("13", trees[2])]
    return store, (*events, _event("14", trees[2], result="unreachable"))


def _event(hour: str, tree: str, result: str = "ok") -> DeviceEvent:
    return DeviceEvent(
        at=f"2026-12-01T{hour}:00:00.000+00:00",
        rollout="r",
        action="up",
        who="a@b",
        reason="",
        program="",
        commit="",
        is_modified=False,
        result=result,
        tree=tree,
    )


@pytest.mark.parametrize(
    ("boot", "says"),
    [
        (None, "deployed 2026-12-01T12:00: "),
        (NodeBoot(booted=NOON - HOUR, given=NOON + HOUR), "booted 2026-12-01T11:00, before the deployment of: "),
        (NodeBoot(booted=NOON + HOUR // 2, given=NOON + HOUR), ""),
        (NodeBoot(booted=NOON + 2 * HOUR, given=NOON + HOUR), ""),
        (NodeBoot(booted=NOON - 5 * HOUR, given=NOON + HOUR), "booted 2026-12-01T07:00, before the deployment of: "),
    ],
)
def test_a_boot_is_owed_for_what_came_after_the_last_one(
    history: tuple[Store, tuple[DeviceEvent, ...]], boot: NodeBoot | None, says: str
) -> None:
    store, events = history
    told = owed_boot(plan_of("lab-roce").by_name[NODE], events, store, boot)
    assert told.startswith(says) if says else told == "", told


def test_a_change_that_was_taken_back_before_the_boot_owes_nothing(
    history: tuple[Store, tuple[DeviceEvent, ...]],
) -> None:
    store, events = history
    back = (*events, _event("15", events[0].tree))
    boot = NodeBoot(booted=NOON - HOUR, given=NOON + 3 * HOUR)
    assert owed_boot(plan_of("lab-roce").by_name[NODE], back, store, boot) == ""


def test_an_answer_that_is_none_is_told() -> None:
    class GateSummary:
        def run(self, questions: dict[str, object]) -> dict[str, CommandResult | Unreachable]:
            answers = (CommandResult(0, "12\n34\n", ""), CommandResult(1, "", "sed: denied"), Unreachable("no route"))
            return dict(zip(questions, answers, strict=True))

    assert last_boots(cast("Devices", GateSummary()), ["a", "b", "c"]) == {
        "a": NodeBoot(12, 34),
        "b": "sed: denied",
        "c": "no route",
    }
