"""Congestion notifications: adapters' replies to marked packets, neither delayed nor lost.

Adapters send them with DSCP 48 by default, and no file here changes that (NVIDIA, "Explicit Congestion Notification":
cnp_dscp in /sys/class/net/<interface>/ecn/roce_np). In the paused class they wait behind the congestion they report; in
the default class any other traffic can displace them.
"""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.proofs.check import Counterexample, example
from clusterwright.proofs.ethernet.network import RoutedFabric
from clusterwright.proofs.ethernet.qos.congestion import Usual
from clusterwright.proofs.ethernet.qos.majority import ClassSettings, class_mark
from clusterwright.proofs.tree import RenderedTree

NOTIFICATION_DSCP = 48
_DEFAULT_DSCP = 0


def notification_faults(
    tree: RenderedTree, fabric: RoutedFabric, settings: ClassSettings, usual: Usual
) -> Iterator[Counterexample]:
    """A wrong class of congestion notifications, once a fabric, if a queue of a lossless class marks packets."""
    classes, queues, lossless = settings
    marked_queues = {queue for queue, _ in usual.marking}
    paused_queues = {queues[dscp] for dscp, number in enumerate(classes) if number in lossless}
    number = classes[NOTIFICATION_DSCP]
    if marked_queues.isdisjoint(paused_queues) or number is None:
        return
    if number in lossless:
        fault = "with the data that they slow down, and wait behind it"
    elif queues[NOTIFICATION_DSCP] == queues[_DEFAULT_DSCP]:
        fault = "with all traffic that no class names, which crowds them out"
    else:
        return
    message = f"switches mark, and congestion notifications (DSCP {NOTIFICATION_DSCP}) are in class {number} {fault}"
    for router in fabric.routers:
        if router.qos is not None:
            marks = router.qos.marks
            mark = marks.get(f"dscp {NOTIFICATION_DSCP}") or class_mark(marks, classes, NOTIFICATION_DSCP)
            yield example(tree, router.device, router.ports_file, mark, message)
            return
