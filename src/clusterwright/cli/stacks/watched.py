"""Listeners of a rollout beside its operator: the metrics' file, and the server that the spec names."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import TYPE_CHECKING

from clusterwright.cli.stacks.metrics import Metrics

if TYPE_CHECKING:
    from clusterwright.cli.stacks.options import ChosenStacks
    from clusterwright.deploy.pulumi.events import Event, Listener
    from clusterwright.rollout.ledger import UnderWay


@contextmanager
def watched(listen: Listener, site: ChosenStacks, rollout: UnderWay, *, is_quiet: bool) -> Iterator[Listener]:
    """``listen``, with everybody else who is told of ``rollout``; nobody is told of one that changes nothing."""
    if is_quiet:
        yield listen
        return
    cluster = site.plan.name
    with ExitStack() as opened:
        others: list[Listener] = [
            Metrics(site.root, cluster=cluster, rollout=rollout.name, finished=len(rollout.finished))
        ]
        notify = site.spec.rollout.notify
        if notify is not None:
            from clusterwright.cli.stacks.webhook import Webhook

            hook = Webhook(notify, site.target.fetch_secrets, cluster=cluster, rollout=rollout.name)
            others.append(opened.enter_context(closing(hook)))

        def tell(event: Event) -> None:
            listen(event)
            for other in others:
                other(event)

        yield tell
