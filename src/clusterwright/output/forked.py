"""Work shared out to forked processes, which have the plan in memory already and send only their answers back."""

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
    """Compute the values that every worker looks up, once, before they are forked."""
    for plan in plans:
        for lookup in ("by_name", "group_by_name", "cables_of", "host_subnet_of"):
            getattr(plan, lookup)


def fan_out(work: Callable[[Share], Sequence[Answer]], shares: Sequence[Share]) -> list[Answer]:
    """One forked process for each share; the answers of all, in the order of the shares.

    Raises what a worker raised, and ClusterwrightError when one ended without an answer; the others are ended then.
    """
    # The collector would touch, and so copy, every page that the workers share.
    gc.freeze()
    context = multiprocessing.get_context("fork")
    running: list[tuple[ForkProcess, Connection]] = []
    try:
        # Ctrl-C goes to every process: none may meet it before it knows that the parent ends its workers.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            for share in shares:
                receiver, sender = context.Pipe(duplex=False)
                receivers = [receiver, *(other_receiver for _, other_receiver in running)]
                process = context.Process(target=_answer, args=(work, share, sender, receivers), daemon=True)
                process.start()
                sender.close()
                running.append((process, receiver))
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
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
    """A worker's life: it sends its answer, or the exception that stopped it."""
    for receiver in receivers:  # copies of the parent's: while any is open, sending to a parent that was killed waits
        receiver.close()
    gc.disable()  # a worker keeps what it makes, sends it and ends: there is next to nothing to collect
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is the parent's to handle; it ends its workers
    answer: Sequence[Answer] | Exception
    try:
        answer = work(share)
    except Exception as error:  # carried to the parent, which raises it
        answer = error
    with suppress(BrokenPipeError):  # nobody is left who asked
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
