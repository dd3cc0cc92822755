"""The site's settings within the limits of one switch system: values beyond a limit are dropped for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from clusterwright.spec.hardware.systems import System
from clusterwright.spec.site import Operator, Services, Site
from clusterwright.spec.text.document import Path

OPERATOR_KEYS = "site.operators[].keys"
OPERATOR_END = "site.operators[].until"


@dataclass(frozen=True, slots=True)
class DroppedValue:
    """A value of the site beyond a system's limit: the place of the first such value, and the reason."""

    path: Path
    key: str
    reason: str


def site_for(site: Site, system: System) -> Site:
    """The site within the limits of ``system``: the first values of a list too long for it."""
    if ends_accounts(system) and not list(untold(site, system)):
        return site
    limits = system.limits
    servers = site.management
    aaa = site.aaa
    if aaa is not None:
        aaa = replace(aaa, servers=aaa.servers[: limits.aaa_servers])
    return replace(
        site,
        operators=tuple(_operator(operator, system) for operator in site.operators),
        management=Services(servers.dns[: limits.dns_servers], servers.ntp[: limits.ntp_servers], servers.syslog),
        aaa=aaa,
        snmp=None if _has_bad_snmp_user(site, system) else site.snmp,
    )


def untold(site: Site, system: System) -> Iterator[DroppedValue]:
    """Values of the site beyond those limits."""
    limits = system.limits
    for operator in site.operators:
        most = limits.operator_keys
        if most is not None and len(operator.keys) > most:
            reason = f"it keeps {most} of the {len(operator.keys)} keys of {operator.name}"
            yield DroppedValue((*operator.path, "keys", most), OPERATOR_KEYS, reason)
        if operator.until is not None and operator.password is not None and ends_accounts(system):
            reason = f"the password of {operator.name} opens its console until an `up` without the operator"
            yield DroppedValue((*operator.path, "until"), OPERATOR_END, reason)
    for name, most in (("dns", limits.dns_servers), ("ntp", limits.ntp_servers)):
        servers = getattr(site.management, name)
        if most is not None and len(servers) > most:
            place = (*site.path, *(("management", name) if name in site.own_management else (name,)), most)
            yield DroppedValue(place, f"site.{name}", f"it takes {most} of {len(servers)} {name} servers")
    if site.aaa is not None and limits.aaa_servers is not None and len(site.aaa.servers) > limits.aaa_servers:
        reason = f"it takes {limits.aaa_servers} of {len(site.aaa.servers)} AAA servers"
        yield DroppedValue((*site.aaa.path, "servers", limits.aaa_servers), "site.aaa.servers", reason)
    if site.snmp is not None and limits.snmp_user is not None and _has_bad_snmp_user(site, system):
        low, high = limits.snmp_user
        reason = (
            f'it wants {low} to {high} characters in an SNMP user, not "{site.snmp.user}", and answers no SNMP request'
        )
        yield DroppedValue((*site.snmp.path, "user"), "site.snmp", reason)


def ends_accounts(system: System) -> bool:
    """True if the switches of a system refuse an operator's keys after the last day."""
    return all(unheard.key != OPERATOR_END for unheard in system.unheard)


def _operator(operator: Operator, system: System) -> Operator:
    until = operator.until if ends_accounts(system) else None
    return replace(operator, keys=operator.keys[: system.limits.operator_keys], until=until)


def _has_bad_snmp_user(site: Site, system: System) -> bool:
    bounds = system.limits.snmp_user
    if site.snmp is None or bounds is None:
        return False
    return not bounds[0] <= len(site.snmp.user) <= bounds[1]
