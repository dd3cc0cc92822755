"""GUIDs of a scan, in the CSV format of a fabric's ``guids`` file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from clusterwright.observe.expected import ExpectedNode, expected_subnet
from clusterwright.observe.ibnetdiscover import Scan
from clusterwright.observe.identity import identify
from clusterwright.observe.relocation import relocate
from clusterwright.observe.subnet import PORT_BITS, merge
from clusterwright.plan.model import Plan, format_guid

HEADER = "device,port,guid"


def label_lines(
    plan: Plan,
    fabric: str,
    scans: Sequence[Scan],
    *,
    names: Mapping[int, str] | None = None,
    by_name: bool = False,
) -> tuple[str, ...]:
    """Lines of the file, in the order of the plan: one for each switch chip and adapter identified in the scans.

    They are identified as in a comparison: by GUID, by name, by their cables. A device absent from the scans has no
    line and keeps its stand-in GUID. A labelled place keeps its label if only cables suggest another device there.
    Raises ClusterwrightError for a fabric that is not InfiniBand.
    """
    expected = expected_subnet(plan, fabric)
    subnet = merge(scans)
    first = identify(expected, subnet, names or {}, by_name=by_name, domain=plan.spec.site.domain)
    identities, _ = relocate(expected, subnet, first)
    guid_by_end = {end: guid for guid, end in subnet.by_port_guid.items()}
    lines = [HEADER]
    guid: int | None
    for index, site in enumerate(expected.sites):
        if not identities.seen[index]:
            continue
        base = identities.base[index]
        if site.scanned and not first.seen[index]:
            guid = site.guid  # only its cables identify another device there: the label stays valid
        elif site.switch:
            guid = subnet.nodes[base >> PORT_BITS].guid
        else:
            guid = guid_by_end.get(base + 1)
        if guid is not None:
            lines.append(f"{_labelled_columns(site)},{format_guid(guid)}")
    return tuple(lines)


def _labelled_columns(site: ExpectedNode) -> str:
    """The columns ``device,port``; the port of a switch chip is empty."""
    if site.switch:
        return f"{site.names[0]},"
    return f"{site.device.name},{site.port_names[1]}"
