"""Managed InfiniBand switches: names, addresses, time, logs and logins, for MLNX-OS and NVOS.

Such a switch forwards without any of this: its subnet manager sets it up in band. The configuration is for its own CPU,
with well-known accounts and a subnet manager of its own by default.

No secret is written. Operators log in with SSH keys. An SNMP password appears as ``<secret NAME>``: the blank makes the
switch's parser refuse the line until the deployment has put the password there, so that it never fails open.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from clusterwright.artifact import Artifact
from clusterwright.intent.edge import management_reach
from clusterwright.intent.switch import site_of_system
from clusterwright.intent.switch_links import ManagementPort, links_of, management_port
from clusterwright.plan.model import Device, Plan
from clusterwright.spec.isolation import Network
from clusterwright.spec.site import Operator, Site, SnmpAccess
from clusterwright.switches.managed.filters import Acl, mlnxos_filter, nvos_acls
from clusterwright.text.templates import template

KIND = "managed-switch"
MLNX_OS = "mlnx-os"
NVOS = "nvos"
# Paths of a stored configuration, to be applied with `configuration text file clusterwright apply` on MLNX-OS and
# `nv config replace` on NVOS.
PATHS = {MLNX_OS: "var/opt/tms/text-configs/clusterwright", NVOS: "etc/nvue.d/startup.yaml"}
TEMPLATES = {MLNX_OS: "mlnxos/configuration.j2", NVOS: "nvos/startup.yaml.j2"}


@dataclass(frozen=True, slots=True)
class Account:
    """An operator's account; ``keys`` are (name, type, key) of public SSH keys."""

    name: str
    role: str
    keys: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True, slots=True)
class ManagedSwitch:
    """All values of one switch's configuration; ``port`` is None without a management network at it.

    ``routes`` are the prefixes behind the port's gateway, in IPv4 as address and mask. ``filters`` are MLNX-OS's
    commands for its port, ``acls`` NVOS's lists; both are empty without a zone of management ports.
    """

    name: str
    part: str
    site: Site
    accounts: tuple[Account, ...]
    snmp: SnmpAccess | None
    port: ManagementPort | None = None
    routes: tuple[str, ...] = ()
    filters: tuple[str, ...] = ()
    acls: tuple[Acl, ...] = ()


def applies(plan: Plan, device: Device) -> bool:
    """True for InfiniBand switches with a system of their own."""
    return device.kind == "switch" and plan.spec.catalogue[device.model].network_os in PATHS


def render(plan: Plan, device: Device) -> Iterator[Artifact]:
    """The configuration of one switch."""
    system = plan.spec.catalogue[device.model].network_os or ""
    text = template(TEMPLATES[system]).render(sw=managed_switch(plan, device))
    yield Artifact(device=device.name, path=PATHS[system], source=text.encode(), kind=KIND)


def managed_switch(plan: Plan, device: Device) -> ManagedSwitch:
    """A managed switch's values."""
    model = plan.spec.catalogue[device.model]
    site = site_of_system(plan, model.network_os or "")
    switch = ManagedSwitch(
        name=device.name,
        part=model.part,
        site=site,
        accounts=tuple(_account(operator) for operator in site.operators),
        snmp=site.snmp,
    )
    link = next((link for link in links_of(plan, device) if link.port.side == "management"), None)
    if link is None:
        return switch
    fabric = link.port.fabric
    return replace(
        switch,
        port=management_port(plan, link),
        routes=tuple(_destination(network) for network in management_reach(plan, fabric)),
        filters=mlnxos_filter(plan, fabric),
        acls=nvos_acls(plan, fabric),
    )


def _destination(network: Network) -> str:
    """A route's destination: address and mask in IPv4, the prefix in IPv6."""
    return f"{network.network_address} {network.netmask}" if network.version == 4 else str(network)


def _account(operator: Operator) -> Account:
    keys = []
    for number, text in enumerate(operator.keys):
        kind, key = text.split(" ")[:2]
        keys.append((f"key{number}", kind, key))
    return Account(name=operator.name, role=operator.role, keys=tuple(keys))
