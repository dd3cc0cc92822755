"""The GUIDs that a scan found, as the CSV file that a fabric's ``guids`` names in the spec."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from clusterwright.observe.expected import expected_subnet
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
    """The file's lines, in the order of the plan: one for each switch chip and adapter that the scans identify.

    They are identified as in a comparison: by GUID, by name, by their cables. What nobody saw has no line and keeps the
    GUID that stands in for it. A labelled place keeps its label where only cables say that another device is in it.
    Raises ClusterwrightError for a fabric that is not InfiniBand.
    """
    expected = expected_subnet(plan, fabric)
    subnet = merge(scans)
    first = identify(expected, subnet, names or {}, by_name=by_name, domain=plan.spec.site.domain)
    identities, _ = relocate(expected, subnet, first)
    port_guids = {end: guid for guid, end in subnet.by_port_guid.items()}
    lines = [HEADER]
    for at, site in enumerate(expected.sites):
        if not identities.seen[at]:
            continue
        base = identities.base[at]
        guid = subnet.nodes[base >> PORT_BITS].guid if site.switch else port_guids.get(base + 1)
        if site.scanned and not first.seen[at]:
            guid = site.guid  # another device stands there, told by its cables alone: the label stays true
        if guid is not None:
            where = f"{site.names[0]}," if site.switch else f"{site.device.name},{site.port_names[1]}"
            lines.append(f"{where},{format_guid(guid)}")
    return tuple(lines)
