"""Order of operations over stacks, and their number at once."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING

from clusterwright.deploy.pulumi.units import SERVICE, UPPER, Stack
from clusterwright.finding import ClusterwrightError

if TYPE_CHECKING:  # the engine's own library takes long to import
    from clusterwright.deploy.pulumi.automation import Ran

STACKS_AT_ONCE = 2
"""Each stack keeps about one core busy: the engine, the program and the provider take turns."""


def _is_ok(ran: Ran) -> bool:
    return ran.ok


def drive_stacks(
    stacks: Iterable[Stack],
    run: Callable[[Stack], Ran],
    at_once: int = STACKS_AT_ONCE,
    *,
    upper_last: bool = False,
    is_stopped: Callable[[], bool] = lambda: False,
    allows: Callable[[Ran], bool] = _is_ok,
) -> tuple[Ran, ...]:
    """Run an operation over stacks; results of the started ones, in the order of ``stacks``.

    The upper layer goes first, then stacks with machines of services, needed by nodes to boot and log in, then all
    others; in the reverse order with ``upper_last``. Stacks of one group run ``at_once`` in parallel. After a result
    refused by ``allows``, or once ``is_stopped``, no further stack is started; running ones end.
    """
    all_stacks = tuple(stacks)
    groups = _groups(all_stacks)
    if upper_last:
        groups.reverse()
    results: dict[str, Ran] = {}
    for group in groups:
        results |= _run_in_parallel(group, run, at_once, is_stopped, allows)
        if not all(allows(ran) for ran in results.values()):
            break
    return tuple(results[stack.name] for stack in all_stacks if stack.name in results)


def _groups(stacks: Iterable[Stack]) -> list[list[Stack]]:
    """Stacks of the upper layer, stacks with machines of services, and all others."""
    upper: list[Stack] = []
    with_services: list[Stack] = []
    others: list[Stack] = []
    for stack in stacks:
        if stack.layer == UPPER:
            upper.append(stack)
        elif any(unit.kind == SERVICE for unit in stack.units):
            with_services.append(stack)
        else:
            others.append(stack)
    return [upper, with_services, others]


def require_none_left(stacks: Collection[Stack], every: Collection[Stack], deployed: Collection[str]) -> None:
    """Raises ClusterwrightError for destroying the upper layer in ``stacks`` without all deployed pods."""
    upper = [stack.name for stack in stacks if stack.layer == UPPER]
    if not upper:
        return
    destroyed = {stack.name for stack in stacks}
    pods = [stack.name for stack in every if stack.layer != UPPER and stack.name in deployed]
    remaining_pods = [name for name in pods if name not in destroyed]
    if remaining_pods:
        verb = "depend" if len(remaining_pods) > 1 else "depends"
        raise ClusterwrightError(
            f"{', '.join(remaining_pods)} {verb} on {upper[0]}: destroy that before or with it. Nothing was touched."
        )


def _run_in_parallel(
    stacks: list[Stack],
    run: Callable[[Stack], Ran],
    at_once: int,
    is_stopped: Callable[[], bool],
    allows: Callable[[Ran], bool],
) -> dict[str, Ran]:
    results: dict[str, Ran] = {}
    waiting = deque(stacks)
    running: set[Future[Ran]] = set()

    def may_start() -> bool:
        return not is_stopped() and all(allows(ran) for ran in results.values())

    with ThreadPoolExecutor(max(at_once, 1), "stack") as pool:
        while True:
            while waiting and len(running) < at_once and may_start():
                running.add(pool.submit(run, waiting.popleft()))
            if not running:
                return results
            done, running = wait(running, return_when=FIRST_COMPLETED)
            results |= {future.result().stack: future.result() for future in done}
