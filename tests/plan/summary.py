"""A plan as text for reviewers: who stands where, and every cable with its ports and addresses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from clusterwright.plan.model import Interface, Plan, format_address, format_guid


def summary(plan: Plan) -> str:
    """Groups, devices, host subnets and cables, one to a line, in the plan's order."""
    sections = [
        ("groups", _groups(plan)),
        ("devices", _devices(plan)),
        ("host subnets", _subnets(plan)),
        *((f"cables of {fabric.name}", _cables(plan, fabric.name)) for fabric in plan.spec.fabrics),
    ]
    return "\n".join("\n".join([f"# {title}", *_aligned(rows)]) + "\n" for title, rows in sections)


def _aligned(rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    table = list(rows)
    widths = [max(len(row[column]) for row in table) for column in range(len(table[0]))] if table else []
    for row in table:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _groups(plan: Plan) -> Iterator[tuple[str, ...]]:
    for group in plan.groups:
        yield group.level, group.name, f"in {group.parent or 'the cluster'}", group.node_group or "network"


def _devices(plan: Plan) -> Iterator[tuple[str, ...]]:
    for device in plan.devices:
        yield (
            device.name,
            device.model,
            f"rack {device.rack}",
            f"unit {device.unit:g}",
            f"pod {device.pod or '-'}",
            f"rail {_text(device.rail)}",
            f"rank {_text(device.rank)}",
            f"AS {_text(device.asn)}",
            _address(plan, device.fabric, device.loopback) if device.loopback is not None else _guid(device.guid),
            device.state,
        )


def _subnets(plan: Plan) -> Iterator[tuple[str, ...]]:
    for subnet in plan.subnets:
        network = f"{format_address(subnet.network, subnet.version)}/{subnet.prefix_length}"
        gateway = "-" if subnet.gateway is None else format_address(subnet.gateway, subnet.version)
        yield subnet.fabric, subnet.device, network, f"gateway {gateway}"


def _cables(plan: Plan, fabric: str) -> Iterator[tuple[str, ...]]:
    for cable in plan.cables:
        if cable.fabric == fabric:
            yield (
                f"{cable.a.device}:{cable.a.port}",
                f"{cable.b.device}:{cable.b.port}",
                f"{cable.speed_gbps}G {cable.medium} {cable.length_m:g} m",
                _end(plan, cable.a),
                _end(plan, cable.b),
            )


def _end(plan: Plan, end: Interface) -> str:
    if end.address is None:
        return _guid(end.guid)
    return f"{_address(plan, end.fabric, end.address)}/{end.prefix_length}"


def _address(plan: Plan, fabric: str, value: int) -> str:
    return format_address(value, plan.address_version(fabric))


def _guid(value: int | None) -> str:
    return "-" if value is None else format_guid(value)


def _text(value: int | None) -> str:
    return "-" if value is None else str(value)
