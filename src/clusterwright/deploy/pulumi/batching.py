"""One run of a target for many resources changed at once."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from clusterwright.deploy.target import DeviceTree, Outcome, Target

MOMENT_S = 0.05
"""Long enough for the engine's parallel requests to arrive, short compared with any deployment."""


class BatchingTarget:
    """``Target.apply`` for many concurrent callers, each with its own devices."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._waiting: list[tuple[Mapping[str, DeviceTree], asyncio.Future[Mapping[str, Outcome]]]] = []
        self._worker: asyncio.Task[None] | None = None

    async def apply(self, batch: Mapping[str, DeviceTree]) -> Mapping[str, Outcome]:
        """Outcomes of ``batch``, perhaps applied together with others. Raises ClusterwrightError like the target."""
        answer: asyncio.Future[Mapping[str, Outcome]] = asyncio.get_running_loop().create_future()
        self._waiting.append((batch, answer))
        if self._worker is None:
            self._worker = asyncio.create_task(self._work())
        return await answer

    async def _work(self) -> None:
        while self._waiting:
            await asyncio.sleep(MOMENT_S)
            requests, self._waiting = self._waiting, []
            joint_batch: dict[str, DeviceTree] = {}
            for batch, _ in requests:
                joint_batch.update(batch)
            try:
                outcomes = await asyncio.to_thread(self._target.apply, joint_batch)
            except Exception as error:  # each caller gets it; the worker lives on for the next batch
                for _, answer in requests:
                    answer.set_exception(error)
            else:
                for batch, answer in requests:
                    answer.set_result({device: outcomes[device] for device in batch})
        self._worker = None
