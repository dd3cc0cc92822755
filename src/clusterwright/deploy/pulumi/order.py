"""In which order stacks are driven, and how many at once."""

from __future__ import annotations

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
    """Results of ``run`` for each started stack, in the order of ``stacks``.

    The upper layer goes first, then stacks with machines of services, which nodes boot and log in by, then all others;
    the other way round with ``upper_last``. Those of one group go ``at_once`` side by side. After an answer that is not
    ``allows``, or when ``is_stopped``, none is started any more; those that run end.
    """
    every = tuple(stacks)
    upper = [stack for stack in every if stack.layer == UPPER]
    services = [stack for stack in every if stack not in upper and _has_services(stack)]
    others = [stack for stack in every if stack not in upper and stack not in services]
    groups = [upper, services, others]
    if upper_last:
        groups.reverse()
    answers: dict[str, Ran] = {}
    for group in groups:
        answers |= _side_by_side(group, run, at_once, is_stopped, allows)
        if not all(allows(ran) for ran in answers.values()):
            break
    return tuple(answers[stack.name] for stack in every if stack.name in answers)


def _has_services(stack: Stack) -> bool:
    return any(unit.kind == SERVICE for unit in stack.units)


def require_none_left(stacks: Collection[Stack], every: Collection[Stack], deployed: Collection[str]) -> None:
    """Raises ClusterwrightError when ``stacks``, to be destroyed, has the upper layer without one that leans on it."""
    chosen = {stack.name for stack in stacks}
    dependants = [
        stack for stack in every if stack.name in deployed and stack.name not in chosen and stack.layer != UPPER
    ]
    upper = [stack.name for stack in stacks if stack.layer == UPPER]
    if upper and dependants:
        raise ClusterwrightError(
            f"{', '.join(stack.name for stack in dependants)} {'lean' if len(dependants) > 1 else 'leans'} on "
            f"{upper[0]}: destroy that before or with it. Nothing was touched."
        )


def _side_by_side(
    stacks: list[Stack],
    run: Callable[[Stack], Ran],
    at_once: int,
    is_stopped: Callable[[], bool],
    allows: Callable[[Ran], bool],
) -> dict[str, Ran]:
    answers: dict[str, Ran] = {}
    waiting = iter(stacks)
    with ThreadPoolExecutor(max(at_once, 1), "stack") as pool:
        running: set[Future[Ran]] = set()
        while True:
            while len(running) < at_once and not is_stopped() and all(allows(ran) for ran in answers.values()):
                stack = next(waiting, None)
                if stack is None:
                    break
                running.add(pool.submit(run, stack))
            if not running:
                return answers
            done, running = wait(running, return_when=FIRST_COMPLETED)
            answers |= {future.result().stack: future.result() for future in done}
