"""Several callers at once become one batch, so that Ansible is started once for many racks."""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import pytest

from clusterwright.deploy.gathering import GatheringTarget
from clusterwright.deploy.target import DeviceTree, Holding, Outcome, Status, Unreachable
from clusterwright.finding import ClusterwrightError


@dataclass
class Counting:
    """A target that notes the batches it was given."""

    batches: list[frozenset[str]] = field(default_factory=list)

    def apply(self, batch: Mapping[str, DeviceTree], *, check: bool = False) -> Mapping[str, Outcome]:
        self.batches.append(frozenset(batch))
        return {device: Outcome(Status.UNCHANGED if check else Status.APPLIED) for device in batch}

    def read(self, devices: Collection[str]) -> Mapping[str, Holding | Unreachable]:
        raise ClusterwrightError("out of order")


def test_callers_at_once_become_one_batch_and_a_device_never_comes_twice_in_it() -> None:
    inner = Counting()
    target = GatheringTarget(inner, wait_s=0.3)
    together = threading.Barrier(5)

    def call(number: int) -> Mapping[str, Outcome]:
        together.wait()
        return target.apply({f"n{number % 4}": (), f"only{number}": ()})

    with ThreadPoolExecutor(5) as pool:
        answers = list(pool.map(call, range(5)))
    assert [sorted(answer) for answer in answers] == [sorted((f"n{n % 4}", f"only{n}")) for n in range(5)]
    assert [len(batch) for batch in inner.batches] == [8, 2]
    assert target.apply({"n0": ()}, check=True)["n0"].status is Status.UNCHANGED


def test_an_error_reaches_everybody_who_waits() -> None:
    with ThreadPoolExecutor(3) as pool:
        target = GatheringTarget(Counting(), wait_s=0.1)
        for answer in [pool.submit(target.read, [f"n{number}"]) for number in range(3)]:
            with pytest.raises(ClusterwrightError, match="out of order"):
                answer.result()
