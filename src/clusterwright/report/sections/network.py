"""The chapters on fabrics, addresses and isolation."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from clusterwright.intent.needs.table import needs_of
from clusterwright.plan.zone_addresses import ZoneEnforcement, zone_enforcement
from clusterwright.report.page import Block, Cell, PageTable, Section, bandwidth, code, number, plural
from clusterwright.report.topology_svg import links_text, topology_drawing
from clusterwright.spec.zone_reach import members_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clusterwright.plan.model import Plan
    from clusterwright.report.totals import TierTotals
    from clusterwright.spec.fabric import Fabric
    from clusterwright.spec.isolation import Flow, Zone

_TECHNOLOGY = {"roce": "Ethernet, RoCE v2", "ethernet": "Ethernet", "infiniband": "InfiniBand"}
_FULL_SHARE = 0.9995
_WHO_ENFORCES = (
    "Edges are the ports of Ethernet switches that hosts hang on: they filter what every host sends and receives. A "
    "host with an image filters as well, by itself. What is rendered for both is proven by clusterwright verify."
)
_HOW_TO_READ = (
    "Oversubscription is the bandwidth of all NICs at or below a tier over that of the tier's uplinks. Bisection is "
    "what crosses between two halves of the cluster by way of a tier; full bisection is half of all NICs at full rate."
)


def fabrics_section(plan: Plan, tiers: tuple[TierTotals, ...]) -> Section:
    """A picture and a table of tiers for every fabric."""
    blocks = [_fabric_block(plan, fabric, tiers) for fabric in plan.spec.fabrics]
    return Section("fabrics", "Fabrics", (Block("", _HOW_TO_READ), *blocks))


def addresses_section(plan: Plan) -> Section:
    """Address pools and their use."""
    used: Counter[tuple[str, str]] = Counter()
    for device in plan.devices:
        if device.loopback is not None:
            used[device.fabric, "loopbacks"] += 1
    for cable in plan.cables:
        pool = "links" if cable.a.side == "up" else "hosts"
        used[cable.fabric, pool] += (cable.a.address is not None) + (cable.b.address is not None)
    rows = []
    for fabric in plan.spec.fabrics:
        if fabric.addressing is None:
            continue
        for name, network in fabric.addressing.pools:
            count = used[fabric.name, name]
            rows.append(
                (
                    Cell(fabric.name),
                    Cell(name),
                    code(str(network)),
                    number(count),
                    Cell(_pool_size(network.max_prefixlen - network.prefixlen), "number"),
                    Cell(_percent(count / network.num_addresses), "number"),
                )
            )
    table = PageTable(
        name="pools",
        caption="Address pools",
        columns=("Fabric", "Pool", "Prefix", "Addresses used", "Addresses in the pool", "Use"),
        rows=tuple(rows),
        note="Every single address is in addresses.csv.",
    )
    return Section("addresses", "Addresses", (Block(heading="", text="", drawings=(), tables=(table,)),))


def isolation_section(plan: Plan) -> Section:
    """Zones with their enforcement, and the permitted traffic between them; all other traffic is denied."""
    zones = plan.spec.zones
    enforced = {enforcement.zone: enforced_by(enforcement) for enforcement in zone_enforcement(plan)}
    zone_table = PageTable(
        name="zones",
        caption="Zones",
        columns=("Zone", "Kind", "Closed to the internet", "Node groups", "Fabrics", "Prefixes outside", "Enforced by"),
        rows=tuple(_zone_row(plan, zone, enforced[zone.name]) for zone in zones),
        note=_WHO_ENFORCES,
    )
    matrix_rows = []
    for source in zones:
        cells = [Cell(source.name, "head")]
        for target in zones:
            flows_between = [f for f in plan.spec.flows if (f.source, f.target) == (source.name, target.name)]
            cells.append(_matrix_cell(flows_between))
        matrix_rows.append(tuple(cells))
    matrix = PageTable(
        name="flow-matrix",
        caption="From (rows) to (columns)",
        columns=("From \\ to", *(zone.name for zone in zones)),
        rows=tuple(matrix_rows),
        note="Everything else is denied.",
    )
    flows = PageTable(
        name="flows",
        caption="Allowed flows",
        columns=("Flow", "From", "To", "Protocol", "Ports", "Reason", "Owner", "Wanted until"),
        rows=tuple(_flow_row(flow) for flow in plan.spec.flows),
    )
    tables = (zone_table, matrix, flows, _needs(plan))
    blocks = tuple(Block(heading="", text="", drawings=(), tables=(table,)) for table in tables)
    return Section("isolation", "Zones and flows", blocks)


def _zone_row(plan: Plan, zone: Zone, enforced: str) -> tuple[Cell, ...]:
    return (
        Cell(zone.name),
        Cell(zone.kind),
        Cell("yes" if zone.isolated else "no"),
        Cell(", ".join(members_of(plan.spec, zone)) or "–"),
        Cell(", ".join(zone.fabrics) or "–"),
        code(", ".join(str(prefix) for prefix in zone.prefixes) or "–"),
        Cell(enforced or "–"),
    )


def _flow_row(flow: Flow) -> tuple[Cell, ...]:
    return (
        Cell(flow.name),
        Cell(flow.source),
        Cell(flow.target),
        Cell(flow.protocol),
        code(_ports(flow)),
        Cell(flow.reason),
        Cell(flow.owner or "–"),
        Cell("–" if flow.expires is None else str(flow.expires)),
    )


def _needs(plan: Plan) -> PageTable:
    """The traffic needed by machines; flows are checked against it."""
    needs = needs_of(plan.spec, {device.name: device.node_group for device in plan.devices})
    rows = ((need.who.name, need.whom.name, need.port, need.why, need.unit, need.booting) for need in needs)
    return PageTable(
        name="needs",
        caption="What machines need of each other",
        columns=("Who", "Asks whom", "Over", "Because", "By", "When"),
        rows=tuple(
            (Cell(who), Cell(whom), Cell(port), Cell(why), Cell(unit), Cell("at boot" if booting else "always"))
            for who, whom, port, why, unit, booting in dict.fromkeys(rows)
        ),
        note="Lint asks for a flow for each of these rows.",
    )


def enforced_by(enforcement: ZoneEnforcement) -> str:
    """The enforcement of a zone, in the words of ``clusterwright verify --check isolation``; "" without hosts."""
    filtering, trusting = enforcement.filtering, enforcement.trusting
    parts = [f"hosts and edges ({plural(len(filtering), 'host')})"] if filtering else []
    if trusting:
        parts.append(f"edges alone ({plural(len(trusting), 'host')} without an image, as {trusting[0]})")
    return " and ".join(parts)


def _fabric_block(plan: Plan, fabric: Fabric, tiers: tuple[TierTotals, ...]) -> Block:
    fabric_tiers = [tier for tier in tiers if tier.fabric == fabric.name]
    table = PageTable(
        name=f"tiers-{fabric.name}",
        caption=f"Tiers of {fabric.name}",
        columns=(
            "Tier",
            "Model",
            "Switches",
            "Links from below",
            "Ports used",
            "Ports available",
            "Oversubscription",
            "Bisection",
            "Of full bisection",
        ),
        rows=tuple(_tier_row(tier) for tier in reversed(fabric_tiers)),
    )
    return Block(
        heading=fabric.name,
        text=f"{_TECHNOLOGY.get(fabric.technology, fabric.technology)}, MTU {fabric.mtu:,} bytes",
        drawings=(topology_drawing(plan, fabric),),
        tables=(table,),
    )


def _tier_row(tier: TierTotals) -> tuple[Cell, ...]:
    return (
        Cell(tier.role),
        Cell(tier.model),
        number(tier.switches),
        Cell(links_text(tier.speeds) or "0", "number"),
        number(tier.ports_used),
        number(tier.ports_available),
        Cell("–" if tier.oversubscription is None else f"{tier.oversubscription:,.2f} : 1", "number"),
        Cell(bandwidth(tier.bisection_tbps * 1000), "number"),
        Cell("100 %" if tier.bisection_share >= _FULL_SHARE else _percent(tier.bisection_share), "number"),
    )


def _percent(share: float) -> str:
    if 0 < share < 0.0001:
        return "< 0.01 %"
    return f"{share * 100:,.1f} %" if share >= 0.01 else f"{share * 100:,.2f} %"


def _pool_size(bits: int) -> str:
    """The size of a pool; IPv6 pools as powers of two, because their sizes have twenty digits."""
    return f"{2**bits:,}" if bits <= 24 else f"2^{bits}"


def _matrix_cell(flows: Iterable[Flow]) -> Cell:
    text = "; ".join(f"{flow.protocol} {_ports(flow)}".strip() for flow in flows)
    return Cell(text, "good") if text else Cell("denied", "quiet")


def _ports(flow: Flow) -> str:
    texts = []
    for low, high in flow.ports:
        texts.append(str(low) if low == high else f"{low}–{high}")
    return ", ".join(texts)
