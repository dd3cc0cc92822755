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
from clusterwright.proofs.ethernet.qos.majority import Said, class_mark
from clusterwright.proofs.tree import RenderedTree

NOTIFICATION_DSCP = 48
_DEFAULT_DSCP = 0


def notification_faults(
    tree: RenderedTree, fabric: RoutedFabric, truth: Said, usual: Usual
) -> Iterator[Counterexample]:
    """A wrong class of congestion notifications, once a fabric, if a queue of a lossless class marks packets."""
    classes, queues, lossless = truth
    marked = {queue for queue, _ in usual.marking}
    paused = {queues[dscp] for dscp, number in enumerate(classes) if number in lossless}
    number = classes[NOTIFICATION_DSCP]
    if not marked & paused or number is None:
        return
    if number in lossless:
        fault = "with the data that they slow down, and wait behind it"
    elif queues[NOTIFICATION_DSCP] == queues[_DEFAULT_DSCP]:
        fault = "with all traffic that no class names, which crowds them out"
    else:
        return
    router = next((router for router in fabric.routers if router.qos is not None), None)
    if router is None or router.qos is None:
        return
    mark = router.qos.marks.get(f"dscp {NOTIFICATION_DSCP}") or class_mark(router.qos.marks, classes, NOTIFICATION_DSCP)
    message = f"switches mark, and congestion notifications (DSCP {NOTIFICATION_DSCP}) are in class {number} {fault}"
    yield example(tree, router.device, router.ports_file, mark, message)
