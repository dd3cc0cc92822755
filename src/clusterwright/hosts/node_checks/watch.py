"""The isolation watch: its program, the addresses it tries, its timer.

The program is the package ``clusterwright.node_watch`` in an archive beside that of the node check; it uses the check's
reading of packet filters and routes.
"""

from __future__ import annotations

from clusterwright.device_files.writer import SharedFile, Writer
from clusterwright.hosts.node_checks.health import PACKAGE as NODE_HEALTH
from clusterwright.hosts.node_checks.program_archive import archive_of, archive_path
from clusterwright.intent.credentials import WATCH_KEY
from clusterwright.intent.device_kind import NodeKind
from clusterwright.intent.node_nics import is_managed
from clusterwright.intent.per_plan import per_plan
from clusterwright.plan.model import Device, Plan
from clusterwright.spec.zone_reach import internet_flows
from clusterwright.text.json_lines import dump_lines
from clusterwright.text.templates import template

KIND = "node-watch"
PROGRAM = "usr/local/sbin/isolation-watch"
PACKAGE = "clusterwright.node_watch"
_UNITS = "etc/systemd/system"
_INTERVAL_S = 900
_DNS, _HTTPS = 53, 443
# A server that always answers: a.root-servers.net (IANA, named.root).
_ROOT_SERVER = (("198.41.0.4", _DNS), ("2001:503:ba3e::2:30", _DNS))
# Documentation addresses of no host (RFC 5737, RFC 3849): an answer from them is a proxy's or a middlebox's.
_UNUSED = (("192.0.2.1", _HTTPS), ("2001:db8::1", _HTTPS))


def applies(plan: Plan, device: Device) -> bool:
    """Nodes with an image."""
    return is_managed(device)


def shared(plan: Plan, kind: NodeKind) -> tuple[SharedFile, ...]:
    """The same files for every node: the watch reads a node's own values from the node check's expectations."""
    return _files(plan)


WRITER = Writer(KIND, applies, shared=shared)


def _probes(plan: Plan) -> tuple[tuple[str, int], ...]:
    """Addresses outside the cluster to try; the root server only without a flow to the internet."""
    if any(internet.is_outward and internet.flow.opens("tcp", _DNS) for internet in internet_flows(plan.spec)):
        return _UNUSED
    return (*_ROOT_SERVER, *_UNUSED)


@per_plan
def _files(plan: Plan) -> tuple[SharedFile, ...]:
    archives = [f"/{archive_path(package)}" for package in (NODE_HEALTH, PACKAGE)]
    program = template("watch/program.py.j2").render(archives=archives)
    service = template("watch/isolation-watch.service.j2").render(program=PROGRAM, key=WATCH_KEY)
    timer = template("watch/isolation-watch.timer.j2").render(interval_s=_INTERVAL_S, spread_s=_INTERVAL_S // 10)
    watch = {"cluster": plan.name, "egress": [{"address": address, "port": port} for address, port in _probes(plan)]}
    wants = template("watch/wants.conf.j2").render()
    files = [
        (archive_path(PACKAGE), archive_of(PACKAGE), 0o644),
        (PROGRAM, program.encode(), 0o755),
        ("etc/clusterwright/isolation-watch.json", dump_lines(watch, 2), 0o644),
        (f"{_UNITS}/isolation-watch.service", service.encode(), 0o644),
        (f"{_UNITS}/isolation-watch.timer", timer.encode(), 0o644),
        (f"{_UNITS}/multi-user.target.d/96-isolation-watch.conf", wants.encode(), 0o644),
    ]
    return tuple(sorted(files))
