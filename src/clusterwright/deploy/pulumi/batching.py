"""One run of a target for many resources that change at once."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from clusterwright.deploy.target import DeviceTree, Outcome, Target

MOMENT_S = 0.05
"""Long enough for the engine's parallel requests to arrive, short beside any deployment."""


class BatchingTarget:
    """``Target.apply`` for many callers at once, none of which names a device that another one names."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._waiting: list[tuple[Mapping[str, DeviceTree], asyncio.Future[Mapping[str, Outcome]]]] = []
        self._worker: asyncio.Task[None] | None = None

    async def apply(self, batch: Mapping[str, DeviceTree]) -> Mapping[str, Outcome]:
        """The outcomes of ``batch``, perhaps carried out together with others. Raises what the target raises."""
        answer: asyncio.Future[Mapping[str, Outcome]] = asyncio.get_running_loop().create_future()
        self._waiting.append((batch, answer))
        if self._worker is None:
            self._worker = asyncio.create_task(self._work())
        return await answer

    async def _work(self) -> None:
        while self._waiting:
            await asyncio.sleep(MOMENT_S)
            taken, self._waiting = self._waiting, []
            together: dict[str, DeviceTree] = {}
            for batch, _ in taken:
                together.update(batch)
            try:
                outcomes = await asyncio.to_thread(self._target.apply, together)
            except Exception as error:  # each caller gets it; the worker lives on for the next batch
                for _, answer in taken:
                    answer.set_exception(error)
            else:
                for batch, answer in taken:
                    answer.set_result({device: outcomes[device] for device in batch})
        self._worker = None
