"""Management of switches: accounts of operators, servers of the spec, and services for monitoring.

Additional accounts and servers outside the spec are checked by `isolation`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import chain, product

from clusterwright.and_more import and_more
from clusterwright.facts.reader import (
    EAPI,
    GNMI,
    LOGINS,
    LOGS,
    NAMES,
    PASSWORDS,
    SNMP,
    SSH,
    TIME,
    Fault,
    Login,
    SystemReader,
    Unsupported,
)
from clusterwright.packets.phrases import count
from clusterwright.proofs.check import Cases, Counterexample, Fact, ProofCheck, Verdict
from clusterwright.proofs.isolation.declared import DeclaredIsolation, DeclaredLogin
from clusterwright.proofs.isolation.managed import Answers, line_at, managed, management_read
from clusterwright.proofs.tree import RenderedTree
from clusterwright.spec.hardware.systems import systems
from clusterwright.switches.readers import READERS

_SENTENCES = {
    NAMES: "does not use {} as a name server",
    TIME: "does not use {} as a time server",
    LOGS: "does not send its log to {}",
    LOGINS: "does not use {} for logins",
}
_SPEC_ONLY = "the planned operators, servers and monitoring"
_UNCHECKED = "not checked on switches: accounting, time-outs, locks, values of secrets."


def _check(tree: RenderedTree) -> Verdict:
    declared = None if tree.declaration is None else tree.declaration.isolation
    switches = sum(len(tree.devices_with(reader.file)) for reader in READERS)
    cases = Cases("switches", switches)
    if declared is None:
        return Verdict(
            facts=(Fact("switches", switches),),
            counterexamples=(),
            cases=cases,
            notes=(),
            unjudged=f"not checked: only a spec sets {_SPEC_ONLY}",
        )
    counterexamples = (
        *_missing_servers(tree, declared),
        *_locked_out(tree, declared),
        *_unanswered(tree, declared),
    )
    facts = (
        Fact("switches", switches),
        Fact("operators", len(declared.logins)),
        Fact("servers", sum(map(len, _used_servers(tree, declared).values()))),
    )
    return Verdict(
        facts=facts, counterexamples=counterexamples, cases=cases, notes=(*_notes(tree, declared), _UNCHECKED)
    )


def _readable_switches(tree: RenderedTree, reader: SystemReader) -> Iterator[str]:
    """Switches of a system with readable text."""
    unread = tree.left_open_for("management")
    return (device for device in tree.devices_with(reader.file) if device not in unread)


def _missing_servers(tree: RenderedTree, declared: DeclaredIsolation) -> Iterator[Counterexample]:
    """Servers of the spec missing from a switch, or named there without effect."""
    used: dict[tuple[str, str], list[str]] = {}
    named: dict[tuple[str, str, str], tuple[str, int]] = {}
    servers = chain.from_iterable(part.servers for part in managed(tree))
    for device, file, server, is_relay in servers:
        if server.is_asked and not is_relay:
            used.setdefault((device, server.what), []).append(server.address)
        elif not is_relay:
            named[device, server.what, server.address] = (file, server.at)
    for reader in READERS:
        services = [service for service in _SENTENCES if service in reader.manages]
        for device, service in product(_readable_switches(tree, reader), services):
            for address in declared.managed[reader.system].missing_servers(service, used.get((device, service), ())):
                file, position = named.get((device, service, address), (reader.file, None))
                line = 0 if position is None else line_at(tree, device, file, position)
                reason = "although this line names it" if line else "the spec's server for that"
                message = f"the switch {_SENTENCES[service].format(address)}, {reason}"
                yield Counterexample(device=device, file=file, line=line, message=message)


def _locked_out(tree: RenderedTree, declared: DeclaredIsolation) -> Iterator[Counterexample]:
    """Operators' accounts missing from a switch or different from the spec, and missing SNMP users."""
    logins_by_switch: dict[str, list[Login]] = {}
    for part in managed(tree):
        for device, _, login, _ in part.logins:
            logins_by_switch.setdefault(device, []).append(login)
    for reader in READERS:
        for device in _readable_switches(tree, reader):
            managed_as = declared.managed[reader.system]
            planned = declared.added_logins.get(device, managed_as.logins)
            users = managed_as.snmp_users if SNMP in reader.manages else frozenset()
            logins = logins_by_switch.get(device, [])
            for message in _lacks(logins, planned, users, has_passwords=PASSWORDS in reader.manages):
                yield Counterexample(device=device, file=reader.file, line=0, message=message)


def _lacks(
    logins: list[Login], planned: Mapping[str, DeclaredLogin], users: frozenset[str], *, has_passwords: bool
) -> Iterator[str]:
    snmp_users = {login.name for login in logins if login.is_snmp}
    accounts_by_name: dict[str, list[Login]] = defaultdict(list)
    for login in logins:
        if not login.is_snmp:
            accounts_by_name[login.name].append(login)
    for name, wanted in planned.items():
        accounts = accounts_by_name[name]
        if not accounts:
            yield f"the operator {name} has no account"
            continue
        if wanted.keys - {""} - {login.key for login in accounts}:
            yield f"a key of the operator {name} does not open the account"
        may_have_one = any(login.has_password or login.hides_password for login in accounts)
        if has_passwords and wanted.has_password and not may_have_one:
            yield f"the operator {name} has no password, which the spec names"
        if wanted.is_admin and not any(login.is_admin for login in accounts):
            yield f"the operator {name} may not change the switch, and is an admin"
    for name in sorted(users - snmp_users):
        yield f"there is no user {name} of SNMP: no manager can watch the switch"


def _unanswered(tree: RenderedTree, declared: DeclaredIsolation) -> Iterator[Counterexample]:
    """Services without an answer for operators or monitoring."""
    answers: dict[tuple[str, str], Answers] = {}
    for part in managed(tree):
        answers.update(part.answers)
    for reader in READERS:
        wanted = _watched(declared, reader.system)
        for device in tree.devices_with(reader.file):
            answer = answers.get((device, reader.file))
            if answer is None:
                continue
            place = " at the management port" if device in declared.management else ""
            for position, name in _silent(answer, reader, wanted):
                line = line_at(tree, device, reader.file, position) if position > 0 else 0
                message = f"{name} does not answer{place}"
                yield Counterexample(device=device, file=reader.file, line=line, message=message)


def _watched(declared: DeclaredIsolation, system: str) -> Mapping[str, int | None]:
    """Services required of switches of a system, with the port if the spec sets it."""
    wanted: dict[str, int | None] = {}
    if declared.logins:
        wanted |= {SSH: None, EAPI: None}
    if declared.managed[system].snmp_users:
        wanted[SNMP] = None
    if declared.collecting is not None:
        wanted[GNMI] = declared.collecting
    return wanted


def _used_servers(tree: RenderedTree, declared: DeclaredIsolation) -> Mapping[str, frozenset[tuple[int, int]]]:
    """Servers used by switches of any system, by service."""
    servers_by_service: dict[str, frozenset[tuple[int, int]]] = {}
    for reader in READERS:
        if not tree.devices_with(reader.file):
            continue
        for service, servers in declared.managed[reader.system].servers.items():
            servers_by_service[service] = servers_by_service.get(service, frozenset()) | servers
    return servers_by_service


def _silent(answers: Answers, reader: SystemReader, wanted: Mapping[str, int | None]) -> Iterator[Fault]:
    yield from (fault for fault in answers.silent if fault[1] in wanted)
    if isinstance(reader.services, Unsupported):
        return
    ports = {service.name: service.port for service in answers.services}
    for name, port in wanted.items():
        answers_there = name in ports and port in {None, ports[name]}
        if name in reader.manages and not answers_there:
            yield 0, name if port is None else f"{name} at port {port}"


def _configured_services(tree: RenderedTree, declared: DeclaredIsolation) -> list[str]:
    """Management services set in the spec."""
    servers = _used_servers(tree, declared)
    services = [service for service in _SENTENCES if servers.get(service)]
    if any(login.has_password for login in declared.logins.values()):
        services.append(PASSWORDS)
    if declared.snmp_users:
        services.append(SNMP)
    if declared.collecting is not None:
        services.append(GNMI)
    return services


def _notes(tree: RenderedTree, declared: DeclaredIsolation) -> Iterator[str]:
    """Notes on settings of the spec without a counterpart in a system's files."""
    configured = _configured_services(tree, declared)
    for reader in READERS:
        switches = tree.devices_with(reader.file)
        if not switches:
            continue
        system = systems()[reader.system]
        unmanaged = [service for service in configured if service not in reader.manages]
        if unmanaged:
            subject = f"{count(len(switches), 'switch')} with {system.title}, as {switches[0]}"
            services = and_more(unmanaged, len(unmanaged))
            yield f"not checked for {subject}, whose files have no setting for it: {services}."
        for unheard in system.unheard:
            if declared.collecting is not None and unheard.said_by == "verify":
                yield f"{system.title} does not get {unheard.key}: {unheard.reason}."
        for values in declared.managed[reader.system].unsupported:
            yield f"{system.title} does not get all of {values}."


MANAGEMENT = ProofCheck(
    name="management",
    claim=("Switches know every operator, use every server of the spec, send it their log, and answer monitoring."),
    kinds=frozenset().union(*(reader.kinds for reader in READERS)),
    intent=frozenset({"isolation"}),
    applies=lambda tree: any(tree.devices_with(reader.file) for reader in READERS),
    check=_check,
    spec_only=_SPEC_ONLY,
    readings=management_read,
)
