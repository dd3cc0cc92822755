"""Network boot: machines get their planned addresses, and boot in order from files of their own boot servers.

Disks are at stake: a machine with an installer first requests its mark, and boots from its disk without one. The
contents of an installer are not read; archives are a claim of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from clusterwright.and_more import and_more
from clusterwright.hosts.boot.reader.network_boot import (
    FIRST_SCRIPT,
    KEA,
    SCRIPTS,
    BootScript,
    DhcpServer,
    FetchedFile,
    read_dhcp,
    read_script,
    server_of,
)
from clusterwright.proofs.check import Cases, Counterexample, Fact, ProofCheck, Verdict, line_with
from clusterwright.proofs.operation.contact import OWNER
from clusterwright.proofs.operation.declared_boot import DeclaredBoot, DeclaredMachine
from clusterwright.proofs.tree import RenderedTree

Fault = tuple[str, int, str]
"""Path, line (0 for the whole file), and message."""
_SHOWN = 3


@dataclass(frozen=True, slots=True)
class _BootServer:
    """Files of a boot server, with scripts by MAC address."""

    dhcp_path: str
    dhcp: str | None
    first: str | None
    scripts: dict[str, str]


def _check(tree: RenderedTree) -> Verdict:
    declared = tree.declaration.boot if tree.declaration is not None else None
    counterexamples: list[Counterexample] = []
    unknown: list[str] = []
    adapters: set[str] = set()
    for device in _servers(tree):
        server = _server(tree, device)
        for mac, text in server.scripts.items():
            script = read_script(text)
            unknown += [f'{device}:/{_path(mac)}:{number}: "{line}"' for number, line in script.unknown]
        counterexamples += [Counterexample(device, *fault) for fault in _faults(device, server, declared)]
        adapters.update(server.scripts)
    reason = f"not proven, because no reader knows {and_more(unknown, _SHOWN, '; ')}" if unknown else ""
    facts = [Fact("adapters that get an address and a script", len(adapters))]
    if declared is not None:
        facts.insert(0, Fact("machines that start over the network", len(declared.machines)))
    return Verdict(
        tuple(facts), tuple(counterexamples), Cases("adapters that machines start by", len(adapters)), unjudged=reason
    )


def _servers(tree: RenderedTree) -> list[str]:
    """Boot servers of the plan, and all other servers that could answer a machine.

    A boot server without racks of its own has a first script, and neither leases nor scripts of machines.
    """
    devices = set(chain.from_iterable(map(tree.devices_with, KEA.values()))) | tree.devices_below(SCRIPTS)
    if tree.declaration is not None and tree.declaration.boot is not None:
        devices.update(tree.declaration.boot.addresses)
    else:
        devices.update(tree.devices_with(FIRST_SCRIPT))
    return sorted(devices - {OWNER})


def _path(mac: str) -> str:
    return f"{SCRIPTS}{mac.replace(':', '-')}.ipxe"


def _server(tree: RenderedTree, device: str) -> _BootServer:
    path = next((path for path in KEA.values() if (device, path) in tree.files), KEA[6])
    scripts = {}
    for place in tree.paths:
        if place.startswith(SCRIPTS) and (device, place) in tree.files:
            mac = place.removeprefix(SCRIPTS).removesuffix(".ipxe").replace("-", ":").lower()
            scripts[mac] = tree.text(device, place) or ""
    return _BootServer(
        dhcp_path=path, dhcp=tree.text(device, path), first=tree.text(device, FIRST_SCRIPT), scripts=scripts
    )


def _faults(device: str, server: _BootServer, declared: DeclaredBoot | None) -> Iterator[Fault]:
    dhcp = None
    if server.dhcp is None:
        yield server.dhcp_path, 0, "the file is missing: no machine gets an address"
    else:
        try:
            dhcp = read_dhcp(server.dhcp)
        except ValueError as error:
            yield server.dhcp_path, 0, f"Kea does not start: {error}"
    if dhcp is not None:
        yield from _dhcp_faults(server, dhcp)
        if declared is not None:
            yield from _address_faults(device, server, dhcp, declared)
    if declared is not None:
        yield from _script_faults(device, server, declared)


def _dhcp_faults(server: _BootServer, dhcp: DhcpServer) -> Iterator[Fault]:
    for pool in dhcp.open_pools:
        yield server.dhcp_path, 0, f"adapters that the spec does not list get addresses of {pool}"
    by_mac: dict[str, set[str]] = {}
    for reserved in dhcp.reservations:
        by_mac.setdefault(reserved.mac, set()).add(reserved.address)
    for mac, addresses in by_mac.items():
        if len(addresses) > 1:
            yield server.dhcp_path, 0, f"{mac} has several addresses: {', '.join(sorted(addresses))}"
    without = sorted(by_mac.keys() - server.scripts.keys())
    if without:
        yield SCRIPTS.rstrip("/"), 0, f"no script for {and_more(without, _SHOWN)}"


def _address_faults(device: str, server: _BootServer, dhcp: DhcpServer, declared: DeclaredBoot) -> Iterator[Fault]:
    planned: set[tuple[str, str, str]] = set()
    for name, machine in declared.machines.items():
        if device in machine.servers:
            planned.update((mac, address, name) for mac, address in machine.adapters.items())
    reserved = {(reservation.mac, reservation.address, reservation.machine) for reservation in dhcp.reservations}
    for mac, address, name in sorted(reserved - planned):
        line = line_with(server.dhcp or "", mac)
        yield server.dhcp_path, line, f"{mac} gets {address} as {name}, which is not planned"
    for mac, address, name in sorted(planned - reserved):
        yield server.dhcp_path, 0, f"{mac} of {name} does not get {address}"
    addresses = declared.addresses.get(device, frozenset())
    for url in dhcp.urls:
        if server_of(url) not in addresses:
            line = line_with(server.dhcp or "", url)
            yield server.dhcp_path, line, f"machines are sent to {url}, which is another machine's"


def _script_faults(device: str, server: _BootServer, declared: DeclaredBoot) -> Iterator[Fault]:
    server_addresses = declared.addresses.get(device, frozenset())
    if server.first is None:
        yield FIRST_SCRIPT, 0, "the file is missing: no machine finds its script"
    else:
        for fetched in read_script(server.first).fetched:
            if fetched.server not in server_addresses:
                yield FIRST_SCRIPT, fetched.line, f"machines are sent on to {fetched.server}, which is another machine"
    machine_of: dict[str, str] = {}
    for machine_name, machine in declared.machines.items():
        machine_of.update(dict.fromkeys(machine.adapters, machine_name))
    for mac, text in server.scripts.items():
        name = machine_of.get(mac)
        if name is None or device not in declared.machines[name].servers:
            yield _path(mac), 0, f"{mac} is no adapter of a machine that this server serves"
            continue
        for line, message in _machine_faults(name, read_script(text), declared.machines[name], declared):
            yield _path(mac), line, message


def _machine_faults(
    name: str, script: BootScript, machine: DeclaredMachine, declared: DeclaredBoot
) -> Iterator[tuple[int, str]]:
    """Faults of the boot script of one machine, as line and message."""
    yield from _start_faults(name, script, machine, declared)
    for fetched in script.fetched:
        if _server_name(fetched, declared) not in machine.servers:
            yield fetched.line, f"{fetched.server} is no boot server of {name}"
    for fetched in script.fetched:
        if fetched.command == "kernel":
            yield from _kernel_faults(name, fetched, machine)
    for fetched in script.fetched:
        if fetched.command == "imgfetch" and fetched.path.rpartition("/")[2] != name:
            yield fetched.line, f"{name} asks for the mark {fetched.path}, which is another machine's"
        if fetched.command == "initrd" and "/nodes/" in fetched.path and fetched.path != f"/nodes/{name}.cpio":
            yield fetched.line, f"{name} gets the files of another machine, {fetched.path}"


def _start_faults(
    name: str, script: BootScript, machine: DeclaredMachine, declared: DeclaredBoot
) -> Iterator[tuple[int, str]]:
    """Faults of a script in starting a kernel, installing only with a mark, and trying servers in order."""
    kernels = [fetched for fetched in script.fetched if fetched.command == "kernel"]
    if not kernels:
        yield 0, "no kernel is started"
    if machine.is_installed and not script.needs_mark:
        yield 0, f"{name} is installed whether or not its mark is there: its disks are wiped at every start"
    order = [_server_name(fetched, declared) for fetched in kernels]
    if order and order != [server for server in machine.servers if server in order]:
        yield kernels[0].line, f"servers are asked in another order than {', '.join(machine.servers)}"


def _kernel_faults(name: str, kernel: FetchedFile, machine: DeclaredMachine) -> Iterator[tuple[int, str]]:
    """Faults of a kernel command: another machine's name, or another image's kernel."""
    if kernel.node != name:
        yield kernel.line, f"the kernel gets the node name {kernel.node or '(none)'}, and {name} is planned"
    folder = "/install/" if machine.is_installed else f"/images/{machine.image}_"
    if not kernel.path.startswith(folder):
        yield kernel.line, f"{name} starts {kernel.path}, which is no kernel of {machine.image}"


def _server_name(fetched: FetchedFile, declared: DeclaredBoot) -> str:
    for name, addresses in declared.addresses.items():
        if fetched.server in addresses:
            return name
    return fetched.server


def _applies(tree: RenderedTree) -> bool:
    return bool(_servers(tree))


NETWORK_BOOT = ProofCheck(
    name="network-boot",
    claim=(
        "Machines get their planned addresses and start their image from their own boot servers; none"
        " wipes disks unless marked."
    ),
    kinds=frozenset({"boot"}),
    intent=frozenset({"boot"}),
    applies=_applies,
    check=_check,
    spec_only="the planned machines, addresses, images and servers",
)
