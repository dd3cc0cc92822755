"""Requests of the engine, gathered into batches."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Collection, Mapping

import pytest

from clusterwright.deploy.pulumi.batching import BatchingTarget
from clusterwright.deploy.target import DeviceTree, Holding, Outcome, Status, Unreachable
from clusterwright.finding import ClusterwrightError


class Recorder:
    """A target that notes its batches and waits for ``go``; a device called ``down`` breaks a whole batch."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.go = threading.Event()

    def apply(self, batch: Mapping[str, DeviceTree], *, check: bool = False) -> Mapping[str, Outcome]:
        self.batches.append(sorted(batch))
        self.go.wait(10)
        if "down" in batch:
            raise ClusterwrightError("nothing could be tried")
        return {device: Outcome(Status.APPLIED, message=device) for device in batch}

    def rename(self, names: object) -> None:
        raise AssertionError("nothing was renamed")

    def read(self, devices: Collection[str]) -> Mapping[str, Holding | Unreachable]:
        return {}


def test_what_arrives_together_and_what_arrives_during_a_run_are_one_batch_each() -> None:
    target = Recorder()

    async def scenario() -> list[Mapping[str, Outcome]]:
        batching = BatchingTarget(target)
        first = [asyncio.create_task(batching.apply({name: ()})) for name in ("a", "b")]
        while not target.batches:
            await asyncio.sleep(0.01)
        second = [asyncio.create_task(batching.apply({name: ()})) for name in ("c", "d", "e")]
        await asyncio.sleep(0.01)
        target.go.set()
        return list(await asyncio.gather(*first, *second))

    answers = asyncio.run(scenario())

    assert target.batches == [["a", "b"], ["c", "d", "e"]]
    assert [list(answer) for answer in answers] == [["a"], ["b"], ["c"], ["d"], ["e"]]
    assert [answer[name].message for name, answer in zip("abcde", answers, strict=True)] == list("abcde")


def test_a_run_that_could_not_start_fails_its_own_callers_only() -> None:
    target = Recorder()
    target.go.set()

    async def scenario() -> Mapping[str, Outcome]:
        batching = BatchingTarget(target)
        with pytest.raises(ClusterwrightError, match="nothing could be tried"):
            await batching.apply({"down": ()})
        return await batching.apply({"a": ()})

    assert asyncio.run(scenario())["a"].status is Status.APPLIED
