"""Many callers, one batch: what several resources ask of a target at the same time goes to it in one piece.

Pulumi updates resources side by side, each with a rack's few devices. A target that pays for each start (Ansible: a
second of the control node's time) would pay for every rack.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from clusterwright.deploy.target import DeviceTree, Holding, Outcome, Target, Unreachable

Wanted = TypeVar("Wanted")
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True, eq=False)
class _Request(Generic[Wanted, Answer]):
    batch: Mapping[str, Wanted]
    answer: Future[Mapping[str, Answer]] = field(default_factory=Future)


class _Gate(Generic[Wanted, Answer]):
    """Collects requests for ``wait_s`` seconds from the first on, then has ``work`` do them as one."""

    def __init__(self, work: Callable[[Mapping[str, Wanted]], Mapping[str, Answer]], wait_s: float) -> None:
        self._work = work
        self._wait_s = wait_s
        self._lock = threading.Lock()
        self._waiting: list[_Request[Wanted, Answer]] = []

    def ask(self, batch: Mapping[str, Wanted]) -> Mapping[str, Answer]:
        """What ``work`` answers for the devices of ``batch``, and what it raises."""
        request: _Request[Wanted, Answer] = _Request(batch)
        with self._lock:
            self._waiting.append(request)
            leads = len(self._waiting) == 1
        if leads:
            time.sleep(self._wait_s)
            with self._lock:
                requests, self._waiting = self._waiting, []
            while requests:
                requests = self._serve(requests)
        return request.answer.result()

    def _serve(self, requests: list[_Request[Wanted, Answer]]) -> list[_Request[Wanted, Answer]]:
        """Do as many as go together and return the others: no device may be in one batch twice."""
        merged: dict[str, Wanted] = {}
        together, later = [], []
        for request in requests:
            if merged.keys().isdisjoint(request.batch):
                merged.update(request.batch)
                together.append(request)
            else:
                later.append(request)
        try:
            answers = self._work(merged)
            for request in together:
                request.answer.set_result({device: answers[device] for device in request.batch})
        except BaseException as error:  # everybody who waits is told, the leader among them
            for request in together:
                request.answer.set_exception(error)
        return later


class GatheringTarget:
    """Another target, whose concurrent calls are gathered for ``wait_s`` seconds; implements ``Target``."""

    def __init__(self, target: Target, wait_s: float = 0.2) -> None:
        self._changing: _Gate[DeviceTree, Outcome] = _Gate(target.apply, wait_s)
        self._checking: _Gate[DeviceTree, Outcome] = _Gate(lambda batch: target.apply(batch, check=True), wait_s)
        self._reading: _Gate[None, Holding | Unreachable] = _Gate(target.read, wait_s)

    def apply(self, batch: Mapping[str, DeviceTree], *, check: bool = False) -> Mapping[str, Outcome]:
        """See ``Target.apply``."""
        return (self._checking if check else self._changing).ask(batch)

    def read(self, devices: Collection[str]) -> Mapping[str, Holding | Unreachable]:
        """See ``Target.read``."""
        return self._reading.ask(dict.fromkeys(devices))
