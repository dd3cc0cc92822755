"""Partitions and keys of InfiniBand subnets in the rendered text of their managers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from clusterwright.and_more import and_more
from clusterwright.evidence.answer import AnswerKind, Basis, Evidence, ProofResult, open_proofs, proof_notes
from clusterwright.evidence.suite import SDN04_KEYS, SDN04_TENANTS
from clusterwright.hosts.opensm.reader.partitions import DEFAULT_PKEY, BadStatement, parse_partitions
from clusterwright.proofs.check import Cases
from clusterwright.proofs.declaration import Declaration
from clusterwright.proofs.infiniband.manager import MANAGERS
from clusterwright.proofs.infiniband.partitions import FULL, PARTITIONS, Matrix, matrix_of
from clusterwright.proofs.infiniband.subnet import ManagedSubnet, has_subnet, subnets
from clusterwright.proofs.isolation.proof import ISOLATION
from clusterwright.proofs.tree import RenderedTree

NEEDED = (PARTITIONS, MANAGERS, ISOLATION)
_SHOWN = 3
_TENANT_KIND = "compute"
# Other keys of the suite, with the programs that hold them.
_OTHER_KEYS = {
    "aggregation_management_key": "the aggregation manager (sharp_am)",
    "vendor_specific_key": "the subnet manager",
    "congestion_control_key": "the congestion control manager",
    "node2node_key": "the subnet manager",
    "manager2node_key": "the subnet manager",
}
_NOT_CHECKED = (
    "which partitions the running subnet manager has given to ports: `smpquery pkeys` shows those of a port",
)


def infiniband_evidence(
    tree: RenderedTree, declaration: Declaration, proofs: Sequence[ProofResult], basis: Basis
) -> Iterator[Evidence]:
    """Answers about InfiniBand subnets; none for a tree without them."""
    if not has_subnet(tree):
        return
    by_subnet = _matrix_by_subnet(tree, declaration)
    needed = [result for result in proofs if result[0] in NEEDED]
    yield _tenants(tree.cluster, by_subnet, declaration, needed, basis)
    yield _keys(tree.cluster, by_subnet, declaration, needed, basis)


def _matrix_by_subnet(tree: RenderedTree, declaration: Declaration) -> Mapping[str, tuple[ManagedSubnet, Matrix]]:
    """Members of partitions by subnet, from the first manager's file; the others repeat it (MANAGERS)."""
    matrix_by_subnet: dict[str, tuple[ManagedSubnet, Matrix]] = {}
    for subnet in subnets(tree):
        name = declaration.subnet_with(adapter.guid for adapter in subnet.fabric.adapters)
        if name is None or name in matrix_by_subnet:
            continue
        option = subnet.options.get("partition_config_file")
        text = tree.text(subnet.device, option.value.lstrip("/")) if option is not None else None
        try:
            matrix_by_subnet[name] = (subnet, matrix_of(subnet, parse_partitions(text or "")))
        except BadStatement:
            matrix_by_subnet[name] = (subnet, {})
    return matrix_by_subnet


def _tenants(
    cluster: str,
    by_subnet: Mapping[str, tuple[ManagedSubnet, Matrix]],
    declaration: Declaration,
    proofs: Sequence[ProofResult],
    basis: Basis,
) -> Evidence:
    partitions: list[dict[str, str]] = []
    problems = list(open_proofs(proofs))
    if declaration.isolation is None:
        problems.append("the spec has no zones: nothing assigns nodes to tenants")
    for fabric, (subnet, matrix) in by_subnet.items():
        for pkey, seats in sorted(matrix.items()):
            if pkey == DEFAULT_PKEY and not _is_shared(subnet, matrix):
                continue
            tenants = _tenants_of(declaration, seats)
            for tenant in tenants or ("",):
                partition = {
                    "name": f"{fabric}-0x{pkey:04x}",
                    "partition_key": f"0x{pkey:x}",
                    "tenant_id": tenant,
                    "status": "Ready",
                }
                partitions.append(partition)
            if len(tenants) > 1:
                problems.append(f"{fabric}: P_Key 0x{pkey:04x} joins the tenants {and_more(list(tenants), _SHOWN)}")
            if pkey == DEFAULT_PKEY:
                problems.append(f"{fabric}: nodes are full members of the default partition")
    if not partitions:
        problems.append("no subnet has a partition beside the default one")
    return Evidence(
        test=SDN04_TENANTS,
        answer=AnswerKind.FAILS if problems else AnswerKind.HOLDS,
        basis=basis,
        claim="No partition joins two compute zones, and managers alone are full members of the default one.",
        cases=Cases("partitions", len(partitions)),
        output={"site_id": cluster, "partitions_checked": len(partitions), "partitions": partitions},
        problems=tuple(problems),
        not_checked=(*_NOT_CHECKED, *proof_notes(proofs)),
        proofs=tuple(proofs),
    )


def _is_shared(subnet: ManagedSubnet, matrix: Matrix) -> bool:
    """Whether ports other than a manager's are full members of the default partition."""
    members = matrix.get(DEFAULT_PKEY, {})
    full_members = [guid for guid, seat in members.items() if seat.membership in FULL]
    return any(guid not in subnet.managers for guid in full_members)


def _tenants_of(declaration: Declaration, guids: Mapping[int, object]) -> tuple[str, ...]:
    """Compute zones of adapters; without any, their other zones as one tenant: machines of the site."""
    isolation = declaration.isolation
    if isolation is None:
        return ()
    kind_of_zone = {zone.name: zone.kind for zone in isolation.zones}
    zones: set[str] = set()
    for guid in guids:
        host, _ = declaration.endpoints.get(guid, ("", ""))
        zones.update(isolation.zones_of.get(host, ()))
    tenants = sorted(zone for zone in zones if kind_of_zone.get(zone) == _TENANT_KIND)
    if tenants:
        return tuple(tenants)
    return (", ".join(sorted(zones)),) if zones else ()


def _keys(
    cluster: str,
    by_subnet: Mapping[str, tuple[ManagedSubnet, Matrix]],
    declaration: Declaration,
    proofs: Sequence[ProofResult],
    basis: Basis,
) -> Evidence:
    problems = list(open_proofs(proofs))
    unpartitioned = [fabric for fabric, (_, matrix) in by_subnet.items() if not matrix.keys() - {DEFAULT_PKEY}]
    unkeyed = [fabric for fabric in by_subnet if declaration.subnets[fabric].m_key is None]
    on_appliances = [fabric for fabric, (subnet, _) in by_subnet.items() if not subnet.is_open]
    if unpartitioned:
        problems.append(f"no partition beside the default one: {and_more(unpartitioned, _SHOWN)}")
    if unkeyed:
        problems.append(f"no management key (`subnet_manager.m_key`): {and_more(unkeyed, _SHOWN)}")
    has_key: bool | None = not problems
    if has_key and on_appliances:
        has_key = None  # the key is set on the UFM appliance, in no file
    keys: dict[str, dict[str, object]] = {
        "p_key": {
            "configured": not unpartitioned and not open_proofs(proofs),
            "source": "partitions.conf",
            "detail": f"no partition on {', '.join(unpartitioned)}" if unpartitioned else "",
        },
        "management_key": {
            "configured": has_key,
            "source": "opensm.conf and the script that adds the key at each start",
            "detail": _key_detail(unkeyed, on_appliances),
        },
    }
    for name, holder in _OTHER_KEYS.items():
        keys[name] = {"configured": None, "source": "", "detail": f"no file here sets it; ask {holder}"}
    partitions = sum(len(matrix.keys() - {DEFAULT_PKEY}) for _, matrix in by_subnet.values())
    return Evidence(
        test=SDN04_KEYS,
        answer=_answer(problems, has_key),
        basis=basis,
        claim="Every subnet has partitions and a management key.",
        cases=Cases("subnets", len(by_subnet)),
        output={"site_id": cluster, "partitions_with_pkey": partitions, "keys": keys},
        problems=tuple(problems),
        not_checked=(
            "that the key's value lies on the managers, and that ports have taken it",
            *(f"{name}: ask {holder}" for name, holder in _OTHER_KEYS.items()),
        ),
        proofs=tuple(proofs),
    )


def _key_detail(unkeyed: Sequence[str], on_appliances: Sequence[str]) -> str:
    if unkeyed:
        return f"the spec has none for {', '.join(unkeyed)}"
    if on_appliances:
        return f"set on the appliances of {', '.join(on_appliances)}: no file has it"
    return ""


def _answer(problems: Sequence[str], has_key: bool | None) -> AnswerKind:
    if problems:
        return AnswerKind.FAILS
    return AnswerKind.NOT_CHECKED if has_key is None else AnswerKind.HOLDS
