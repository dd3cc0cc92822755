"""Isolation of tenants and of BMCs, and logs of switches: proofs of text, before the suite's own probes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, permutations

from clusterwright.and_more import and_more
from clusterwright.evidence.answer import AnswerKind, Basis, Evidence, ProofResult, open_proofs, passed, proof_notes
from clusterwright.evidence.suite import (
    CNP10,
    SDN09_FAULTS,
    SDN09_FILTERS,
    SDN09_LATENCY,
    SEC11,
    SEC12_BASTION,
    SEC12_NETWORK,
    SEC12_TENANTS,
    SuiteTest,
)
from clusterwright.facts.reader import GNMI, LOGS
from clusterwright.packets.ranges import values
from clusterwright.plan.model import Plan
from clusterwright.proofs.check import Cases
from clusterwright.proofs.isolation.declared import DeclaredFlow, DeclaredIsolation, DeclaredZone
from clusterwright.proofs.isolation.proof import ISOLATION
from clusterwright.proofs.management import MANAGEMENT
from clusterwright.proofs.tree import RenderedTree
from clusterwright.spec.hardware.systems import systems
from clusterwright.switches.readers import READERS, ROUTERS

NEEDED = (ISOLATION, MANAGEMENT)
_SHOWN = 3
_TENANT_KIND = "compute"
_OUTSIDE_KINDS = frozenset({"internet"})
# Ports of IPMI and plain HTTP, closed on BMCs.
_UNSAFE_PORTS = (("udp", 623, "IPMI"), ("tcp", 80, "HTTP"))


def isolation_evidence(
    plan: Plan, tree: RenderedTree, isolation: DeclaredIsolation, proofs: Sequence[ProofResult], basis: Basis
) -> Iterator[Evidence]:
    """Answers about zones and BMCs; none about BMCs without a fabric of management ports."""
    proofs = [result for result in proofs if result[0] is ISOLATION]
    tenants = [zone for zone in isolation.zones if zone.kind == _TENANT_KIND]
    if len(tenants) > 1:
        yield _tenants_apart(isolation, tenants, proofs, basis)
    fabrics = _management_fabrics(plan)
    if fabrics:
        yield _management_network(plan, tree, isolation, proofs, basis)
        yield _tenants_to_bmcs(isolation, fabrics, tenants, proofs, basis)
        yield _bastion(isolation, fabrics, proofs, basis)
        yield _protocols(isolation, fabrics, proofs, basis)


def _management_fabrics(plan: Plan) -> list[str]:
    return [fabric.name for fabric in plan.spec.fabrics if fabric.is_management]


def logging_evidence(
    tree: RenderedTree, isolation: DeclaredIsolation, proofs: Sequence[ProofResult], basis: Basis
) -> Iterator[Evidence]:
    """Answers about the configured log servers and collectors of switches; the suite queries these."""
    proofs = [result for result in proofs if result[0] is MANAGEMENT]
    if not proofs:
        return
    has_servers = any(managed.servers.get(LOGS) for managed in isolation.managed.values())
    unlogged = [] if has_servers else ["the spec names no log server"]
    yield _logged(
        SDN09_FAULTS,
        [*unlogged, *_silent_systems(tree, LOGS)],
        proofs,
        basis,
        claim="Every switch sends its log to the spec's servers.",
    )
    uncollected = [] if isolation.collecting is not None else ["the spec has no telemetry (`site.telemetry`)"]
    yield _logged(
        SDN09_LATENCY,
        [*uncollected, *_silent_systems(tree, GNMI)],
        proofs,
        basis,
        claim="Every switch gives its counters to collectors over gNMI.",
    )
    yield Evidence(
        test=SDN09_FILTERS,
        answer=AnswerKind.NOT_CHECKED,
        basis=basis,
        claim=(
            "No text names the author of a filter change; the record of rollouts does, if `up` is the only way to"
            " devices."
        ),
        cases=Cases("records", 0),
        output={"test_name": SDN09_FILTERS.step, "tests": SDN09_FILTERS.unprobed},
        problems=("read the record of rollouts: `clusterwright audit show`",),
    )


def _silent_systems(tree: RenderedTree, service: str) -> Iterator[str]:
    """Switches of systems without support for a service in their files."""
    for reader in READERS:
        devices = tree.devices_with(reader.file)
        if devices and service not in reader.manages:
            title = systems()[reader.system].title
            yield f"files of {len(devices):,} switches with {title}, as {devices[0]}, say nothing of {service}"


def _logged(
    test: SuiteTest, lacking: Sequence[str], proofs: Sequence[ProofResult], basis: Basis, *, claim: str
) -> Evidence:
    problems = (*lacking, *open_proofs(proofs))
    return Evidence(
        test=test,
        answer=AnswerKind.FAILS if problems else AnswerKind.PRE_CHECK,
        basis=basis,
        claim=claim,
        cases=Cases("switches", max((verdict.cases.count for _, verdict in proofs), default=0)),
        output={"test_name": test.step, "tests": test.unprobed},
        problems=problems,
        not_checked=("that the servers keep the logs they get", *proof_notes(proofs)),
        proofs=tuple(proofs),
    )


def _tenants_apart(
    isolation: DeclaredIsolation, tenants: Sequence[DeclaredZone], proofs: Sequence[ProofResult], basis: Basis
) -> Evidence:
    names = {zone.name for zone in tenants}
    between_tenants = [flow for flow in isolation.flows if {flow.source, flow.target} <= names]
    joining = [flow for flow in between_tenants if flow.source != flow.target]
    problems = [f"flow {flow.name} leads from {flow.source} to {flow.target}" for flow in joining]
    problems += open_proofs(proofs)
    return Evidence(
        test=SEC11,
        answer=AnswerKind.FAILS if problems else AnswerKind.PRE_CHECK,
        basis=basis,
        claim="No packet passes from one compute zone to another.",
        cases=Cases("ordered pairs of compute zones", len(list(permutations(tenants, 2)))),
        output={
            "test_name": SEC11.step,
            "tenant_a_id": tenants[0].name,
            "tenant_b_id": tenants[1].name,
            "tests": {"network_isolated": passed(not problems, "; ".join(problems)), **SEC11.unprobed},
        },
        problems=tuple(problems),
        not_checked=("accounts, keys, machines and volumes of tenants", *proof_notes(proofs)),
        proofs=tuple(proofs),
    )


def _management_network(
    plan: Plan,
    tree: RenderedTree,
    isolation: DeclaredIsolation,
    proofs: Sequence[ProofResult],
    basis: Basis,
) -> Evidence:
    fabrics = _management_fabrics(plan)
    shared: list[str] = []
    for fabric in plan.spec.fabrics:
        if fabric.name in fabrics:
            attachments = [attach for attach in fabric.attach if not attach.is_management]
            shared += [f"{fabric.name} also serves {attach.nodes} {attach.nics}" for attach in attachments]
    tenants: list[str] = []
    for zone in isolation.zones:
        if zone.kind == _TENANT_KIND:
            tenants += [f"{zone.name} is on {name}" for name in fabrics if zone.on(name)]
    routes = [*_leading_outside(isolation, fabrics)]
    unfiltered = [*_without_filters(tree, isolation, fabrics), *open_proofs(proofs)]
    problems = (*shared, *tenants, *routes, *unfiltered)
    return Evidence(
        test=SEC12_NETWORK,
        answer=AnswerKind.FAILS if problems else AnswerKind.HOLDS,
        basis=basis,
        claim="Management ports have fabrics of their own, and filters pass there what declared flows name, no more.",
        cases=Cases("management fabrics", len(fabrics)),
        output={
            "test_name": SEC12_NETWORK.step,
            "management_networks_checked": len(fabrics),
            "tests": {
                "dedicated_management_network": passed(not shared, and_more(shared, _SHOWN)),
                "restricted_management_routes": passed(not routes, and_more(routes, _SHOWN)),
                "tenant_network_not_management": passed(not tenants, and_more(tenants, _SHOWN)),
                "management_acl_enforced": passed(not unfiltered, and_more(unfiltered, _SHOWN)),
            },
        },
        problems=problems,
        not_checked=proof_notes(proofs),
        proofs=tuple(proofs),
    )


def _leading_outside(isolation: DeclaredIsolation, fabrics: Sequence[str]) -> Iterator[str]:
    """Flows and borders between management ports and tenants or the internet."""
    kind_of_zone = {zone.name: zone.kind for zone in isolation.zones}
    forbidden = _OUTSIDE_KINDS | {_TENANT_KIND}
    managed = _zones_on(isolation, fabrics)
    for flow in isolation.flows:
        ends = {flow.source, flow.target}
        kinds_beyond = {kind_of_zone.get(end) for end in ends - managed}
        if ends & managed and kinds_beyond & forbidden:
            yield f"flow {flow.name} joins {flow.source} and {flow.target}"
    for border in isolation.borders:
        outside = [zone for zone in border.zones if kind_of_zone.get(zone) in _OUTSIDE_KINDS]
        if border.fabric in fabrics and outside:
            yield f"border {border.name} of {border.fabric} leads to {outside[0]}"


def _without_filters(tree: RenderedTree, isolation: DeclaredIsolation, fabrics: Sequence[str]) -> Iterator[str]:
    """Edge switches of management ports without a readable file, and fabrics in no zone."""
    read = set(chain.from_iterable(tree.devices_with(reader.file) for reader in ROUTERS))
    for edge in isolation.edges:
        if edge.fabric in fabrics and edge.switch not in read:
            yield f"{edge.switch} has no file that is read"
    isolated_zones = [zone for zone in isolation.zones if zone.isolated]
    for fabric in fabrics:
        if not any(zone.on(fabric) for zone in isolated_zones):
            yield f"no isolated zone is on {fabric}"


def _zones_on(isolation: DeclaredIsolation, fabrics: Sequence[str]) -> set[str]:
    names = set()
    for zone in isolation.zones:
        if any(zone.on(fabric) for fabric in fabrics):
            names.add(zone.name)
    return names


def _flows_to(isolation: DeclaredIsolation, fabrics: Sequence[str]) -> list[DeclaredFlow]:
    """Flows into zones of management ports from other zones."""
    managed = _zones_on(isolation, fabrics)
    return [flow for flow in isolation.flows if flow.target in managed and flow.source not in managed]


def _tenants_to_bmcs(
    isolation: DeclaredIsolation,
    fabrics: Sequence[str],
    tenants: Sequence[DeclaredZone],
    proofs: Sequence[ProofResult],
    basis: Basis,
) -> Evidence:
    names = {zone.name for zone in tenants}
    flows = [flow for flow in isolation.flows if {flow.source, flow.target} & names]
    managed = _zones_on(isolation, fabrics)
    joining = [flow for flow in flows if {flow.source, flow.target} & managed]
    problems = [f"flow {flow.name} joins {flow.source} and {flow.target}" for flow in joining]
    return _bmc_pre_check(
        SEC12_TENANTS,
        problems,
        proofs,
        basis,
        claim="No packet passes between a compute zone and a management port, either way.",
        cases=Cases("compute zones", len(tenants)),
    )


def _bastion(
    isolation: DeclaredIsolation, fabrics: Sequence[str], proofs: Sequence[ProofResult], basis: Basis
) -> Evidence:
    sources = sorted({flow.source for flow in _flows_to(isolation, fabrics)})
    problems = []
    if len(sources) > 1:
        problems.append(f"management ports are reached from {len(sources)} zones: {and_more(sources, _SHOWN)}")
    problems += _leading_outside(isolation, fabrics)
    return _bmc_pre_check(
        SEC12_BASTION,
        problems,
        proofs,
        basis,
        claim="Management ports are reached from one zone alone, and neither from nor to the internet.",
        cases=Cases("zones that reach them", len(sources)),
    )


def _protocols(
    isolation: DeclaredIsolation, fabrics: Sequence[str], proofs: Sequence[ProofResult], basis: Basis
) -> Evidence:
    flows = _flows_to(isolation, fabrics)
    problems = []
    for protocol, port, word in _UNSAFE_PORTS:
        for flow in flows:
            is_open = flow.ports is None or bool(flow.ports & values(port))
            if flow.protocol in {protocol, "any"} and is_open:
                problems.append(f"flow {flow.name} from {flow.source} passes {word} ({protocol} {port})")
    return _bmc_pre_check(
        CNP10,
        problems,
        proofs,
        basis,
        claim="Filters pass neither IPMI nor HTTP to management ports.",
        cases=Cases("flows to management ports", len(flows)),
    )


def _bmc_pre_check(
    test: SuiteTest,
    problems_found: Sequence[str],
    proofs: Sequence[ProofResult],
    basis: Basis,
    *,
    claim: str,
    cases: Cases,
) -> Evidence:
    problems = (*problems_found, *open_proofs(proofs))
    return Evidence(
        test=test,
        answer=AnswerKind.FAILS if problems else AnswerKind.PRE_CHECK,
        basis=basis,
        claim=claim,
        cases=cases,
        output={"test_name": test.step, "tests": test.unprobed},
        problems=problems,
        not_checked=("what BMCs themselves answer", *proof_notes(proofs)),
        proofs=tuple(proofs),
    )
