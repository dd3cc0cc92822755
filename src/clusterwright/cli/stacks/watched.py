"""Further listeners of a rollout: the file of metrics, and the webhook of the spec."""

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
    """``listen`` and the further listeners of ``rollout``; only ``listen`` for a rollout without changes."""
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
            for listener in others:
                listener(event)

        yield tell
