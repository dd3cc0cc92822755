"""CW323 and CW325: what no proof can follow, so that `verify` would refute a spec that lint calls clean."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.finding import Severity
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.rules.topology.drains import UP_DOWN
from clusterwright.spec.encryption import MUTUAL_TLS


@rule(
    code="CW323",
    severity=Severity.WARNING,
    title="routing engine whose paths nothing proves",
    why="Whether its routes can lock up is decided by opensm at run time; `verify` cannot tell beforehand and says so.",
    mend="Use ftree, updn, ar_ftree or ar_updn, which climb and then descend.",
    docs="Up-down routing is free of credit loops on any cabling, which `ib-up-down` proves from the planned"
    " one. `minhop`"
    " and `sssp` take no care of loops; `dfsssp`, `lash` and `nue` break them with virtual lanes that opensm"
    " assigns when"
    " it runs. `verify` says that `ib-up-down` is not proven, because nobody knows those paths"
    " before they are taken.",
)
def unproven_engine(subject: Subject) -> Iterator[Problem]:
    """Routing engines other than those that keep to up-down paths."""
    for fabric in subject.spec.fabrics:
        manager = fabric.subnet_manager
        if manager is not None and manager.routing_engine not in UP_DOWN:
            yield Problem(
                (*manager.path, "routing_engine"),
                f"No proof follows the paths of {manager.routing_engine} on {fabric.name}.",
                f"Use {' or '.join(UP_DOWN)}.",
            )


@rule(
    code="CW325",
    severity=Severity.ERROR,
    title="certificates that nobody can withdraw",
    why="Without a list of withdrawn certificates a node that was stolen mounts on until its certificate expires.",
    mend="Name the list under `encryption.tls.crl`.",
)
def without_withdrawal(subject: Subject) -> Iterator[Problem]:
    """Mounts with certificates on both sides, and no list of withdrawn ones."""
    spec = subject.spec
    tls = spec.encryption.tls
    if tls is None or tls.crl is not None:
        return
    mount = next((each for each in spec.mounts if each.protection and each.protection.kind == MUTUAL_TLS), None)
    if mount is not None:
        message = f"{mount.mountpoint} is mounted with certificates, and none of them could be withdrawn."
        yield Problem(tls.path, message, "Add `crl: /path/on/the/node.pem`.")
