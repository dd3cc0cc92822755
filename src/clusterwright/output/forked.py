"""Work shared among forked processes: they have the plan in memory, and send only their results back."""

from __future__ import annotations

import gc
import multiprocessing
import signal
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar

from clusterwright.finding import ClusterwrightError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from multiprocessing.connection import Connection
    from multiprocessing.context import ForkProcess

    from clusterwright.plan.model import Plan

Share = TypeVar("Share")
Answer = TypeVar("Answer")


def prepare(*plans: Plan) -> None:
    """Compute the values used by every worker once, before the fork."""
    for plan in plans:
        for lookup in ("by_name", "group_by_name", "cables_of", "host_subnet_of"):
            getattr(plan, lookup)


def fan_out(work: Callable[[Share], Sequence[Answer]], shares: Sequence[Share]) -> list[Answer]:
    """The results of ``work`` on all shares, one forked process each, in the order of the shares.

    Raises the exception of a worker, and ClusterwrightError for a worker without a result; the others are ended then.
    """
    # The collector would touch, and so copy, every page shared by the workers.
    gc.freeze()
    context = multiprocessing.get_context("fork")
    running: list[tuple[ForkProcess, Connection]] = []
    try:
        # Ctrl-C goes to every process: a worker must not receive it before it ignores the signal.
        previous_mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            for share in shares:
                receiver, sender = context.Pipe(duplex=False)
                receivers = [receiver, *(other_receiver for _, other_receiver in running)]
                process = context.Process(target=_answer, args=(work, share, sender, receivers), daemon=True)
                process.start()
                sender.close()
                running.append((process, receiver))
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, previous_mask)
        return list(chain.from_iterable(_receive(receiver) for _, receiver in running))
    finally:
        for process, receiver in running:
            receiver.close()
            process.terminate()
            process.join()
        gc.unfreeze()


def _answer(
    work: Callable[[Share], Sequence[Answer]], share: Share, sender: Connection, receivers: Sequence[Connection]
) -> None:
    """Run a worker: send its result, or the exception that stopped it."""
    for receiver in receivers:  # copies of the parent's: while any is open, sending to a killed parent blocks
        receiver.close()
    gc.disable()  # a worker's results live until it ends: there is next to nothing to collect
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles an interrupt, and ends its workers
    answer: Sequence[Answer] | Exception
    try:
        answer = work(share)
    except Exception as error:  # carried to the parent, which raises it
        answer = error
    with suppress(BrokenPipeError):  # the parent is gone
        sender.send(answer)
    sender.close()


def _receive(receiver: Connection) -> list[Any]:
    try:
        answer = receiver.recv()
    except EOFError:
        raise ClusterwrightError("a rendering process ended without a result; nothing was changed, try again") from None
    if isinstance(answer, Exception):
        raise answer
    return list(answer)
