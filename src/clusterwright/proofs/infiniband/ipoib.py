"""IP over InfiniBand on nodes: its interfaces, their partitions and addresses, and no routes beyond them.

Other claims, on partitions and filters, decide which nodes it reaches. This one compares it with the spec, and checks
that the subnet manager creates the partition's broadcast group, without which ARP finds no server.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from ipaddress import ip_interface

from clusterwright.hosts.linux.reader.ipoib import LNET, MODULES, NAMED, ConfiguredIpoib, read_ipoib, read_lnet
from clusterwright.hosts.linux.reader.network import DEVICES, NETWORKS
from clusterwright.hosts.opensm.reader.partitions import PKEY_MASK, BadStatement, parse_partitions
from clusterwright.proofs.check import Cases, Counterexample, Fact, ProofCheck, Verdict
from clusterwright.proofs.infiniband.partitions import FULL, Matrix, matrix_of
from clusterwright.proofs.infiniband.subnet import KINDS, subnets
from clusterwright.proofs.tree import RenderedFile, RenderedTree

_Carried = tuple[Matrix, frozenset[int]]  # members, and the P_Keys with IP


def _devices(tree: RenderedTree) -> tuple[str, ...]:
    """Nodes with such an interface in its own file or in an adapter's, and nodes with a planned one."""
    declared = tree.declaration.ipoib if tree.declaration is not None else {}
    names_by_file: dict[RenderedFile, bool] = {}
    nodes: set[str] = {*tree.devices} & declared.keys()
    for device, path in tree.below((NETWORKS, DEVICES)):
        file = tree.files[device, path]
        if file not in names_by_file:
            names_by_file[file] = NAMED.search(file.read()) is not None
        if names_by_file[file]:
            nodes.add(device)
    return tuple(sorted(nodes))


def _run(tree: RenderedTree) -> Verdict:
    devices = frozenset(_devices(tree))
    texts: dict[str, dict[str, str]] = {device: {} for device in devices}
    for device, path in tree.below((NETWORKS, DEVICES)):
        if device in devices:
            texts[device][path] = tree.files[device, path].read()
    carried, lack = _carried(tree)
    counterexamples: list[Counterexample] = []
    taken: dict[tuple[int, str], str] = {}
    tried = 0
    for device in sorted(devices):
        interfaces = read_ipoib(texts[device])
        tried += len(interfaces)
        for interface in interfaces:
            counterexamples += _alone(device, interface)
            counterexamples += _in_partition(device, interface, carried) if not lack else ()
            for address in interface.addresses:
                pkey = _number(interface.pkey.value) or 0
                first = taken.setdefault((pkey, address.value), device)
                if first != device:
                    counterexamples.append(
                        Counterexample(
                            device=device,
                            file=address.file,
                            line=address.line,
                            message=f"{address.value} is {first}'s as well",
                        )
                    )
        counterexamples += _differences_from_spec(tree, device, interfaces)
        lnet, unread = _lnet(tree, device, interfaces)
        counterexamples += lnet
        lack = lack or unread
    facts = (Fact("interfaces of IP over InfiniBand", tried), Fact("addresses on them", len(taken)))
    return Verdict(facts, tuple(counterexamples), Cases("interfaces of IP over InfiniBand", tried), unjudged=lack)


def _carried(tree: RenderedTree) -> tuple[Mapping[tuple[str, str], tuple[int, _Carried]], str]:
    """By host and adapter its GUID and its fabric's partitions; the reason why they are unknown, or ""."""
    carried_by_adapter: dict[tuple[str, str], tuple[int, _Carried]] = {}
    for subnet in subnets(tree):
        option = subnet.options.get("partition_config_file")
        path = option.value.lstrip("/") if option is not None else ""
        text = tree.text(subnet.device, path)
        lack = subnet.lack()
        if lack or text is None:
            return carried_by_adapter, lack or f"not proven, because {subnet.device} has no file of partitions"
        try:
            statements = parse_partitions(text)
        except BadStatement as error:
            return carried_by_adapter, f"not proven, because {subnet.device}:/{path}:{error.line} does not read"
        with_ipoib = [statement for statement in statements if "ipoib" in statement.flags]
        flagged = frozenset(statement.pkey for statement in with_ipoib if statement.pkey is not None)
        carried = (matrix_of(subnet, statements), flagged)
        for adapter in subnet.fabric.adapters:
            carried_by_adapter[adapter.host, adapter.label] = (adapter.guid, carried)
    return carried_by_adapter, "" if carried_by_adapter else "not proven, because no subnet manager's files are there"


def _alone(device: str, interface: ConfiguredIpoib) -> Iterator[Counterexample]:
    """Faults of an interface in any fabric."""
    key = _number(interface.pkey.value)
    if not interface.pkey.line:
        yield Counterexample(
            device=device,
            file=interface.pkey.file,
            line=0,
            message=f"nothing makes {interface.name}, or without a P_Key of its own",
        )
    elif key is None or not key & ~PKEY_MASK or not key & PKEY_MASK:
        message = f"{interface.pkey.value} is no P_Key of a full member: the interface is in no group for broadcasts"
        yield Counterexample(device=device, file=interface.pkey.file, line=interface.pkey.line, message=message)
    if len(interface.parents) != 1:
        message = f"{interface.name} is on {len(interface.parents)} adapters, not on one"
        yield Counterexample(device=device, file=interface.pkey.file, line=0, message=message)
    if len(interface.addresses) != 1:
        message = f"{interface.name} has {len(interface.addresses)} addresses, not one"
        yield Counterexample(device=device, file=f"{NETWORKS}{interface.name}.network", line=0, message=message)
    for address in interface.addresses:
        try:
            ip_interface(address.value)
        except ValueError:
            yield Counterexample(
                device=device, file=address.file, line=address.line, message=f"{address.value} is no address"
            )
    for route in interface.routes:
        yield Counterexample(
            device=device,
            file=route.file,
            line=route.line,
            message=f"a route leads over {interface.name}, which carries no flow",
        )


def _in_partition(
    device: str, interface: ConfiguredIpoib, carried: Mapping[tuple[str, str], tuple[int, _Carried]]
) -> Iterator[Counterexample]:
    """Adapters of an interface outside its partition, and partitions without a broadcast group."""
    key = _number(interface.pkey.value)
    if key is None:
        return
    pkey = key & PKEY_MASK
    at_pkey = partial(Counterexample, device=device, file=interface.pkey.file, line=interface.pkey.line)
    for parent in interface.parents:
        adapter = carried.get((device, parent.value))
        if adapter is None:
            message = f"{parent.value} carries {interface.name}, and is on no InfiniBand fabric"
            yield Counterexample(device=device, file=parent.file, line=parent.line, message=message)
            continue
        guid, (matrix, pkeys_with_ip) = adapter
        seat = matrix.get(pkey, {}).get(guid)
        if seat is None or seat.membership not in FULL:
            message = f"{parent.value} is no full member of partition 0x{pkey:04x}, which {interface.name} is in"
            yield at_pkey(message=message)
        if pkey not in pkeys_with_ip:
            group = f"group for broadcasts in partition 0x{pkey:04x}"
            yield at_pkey(message=f"the subnet manager makes no {group}: ARP finds no node")


def _differences_from_spec(
    tree: RenderedTree, device: str, interfaces: tuple[ConfiguredIpoib, ...]
) -> Iterator[Counterexample]:
    """Differences between the interfaces and the spec's."""
    if tree.declaration is None:
        return
    wanted = {planned.name: planned for planned in tree.declaration.ipoib.get(device, ())}
    read = {interface.name: interface for interface in interfaces}
    for name in sorted(wanted.keys() - read.keys()):
        yield Counterexample(
            device=device, file=f"{DEVICES}{name}.netdev", line=0, message=f"{name} is missing, which the spec asks for"
        )
    for name in sorted(read.keys() - wanted.keys()):
        yield Counterexample(
            device=device, file=read[name].pkey.file, line=0, message=f"{name} is none that the spec asks for"
        )
    for name in sorted(wanted.keys() & read.keys()):
        planned, interface = wanted[name], read[name]
        file = f"{NETWORKS}{name}.network"
        pairs = (
            ("P_Key", f"0x{planned.pkey:04x}", (interface.pkey,)),
            ("adapter", planned.parent, interface.parents),
            ("address", planned.address, interface.addresses),
        )
        for what, value, places in pairs:
            for place in places:
                is_same = _number(place.value) == planned.pkey if what == "P_Key" else place.value == value
                if not is_same:
                    message = f"{what} of {name} is {place.value or 'none'}, {value} by the spec"
                    yield Counterexample(device=device, file=place.file or file, line=place.line, message=message)


def _lnet(tree: RenderedTree, device: str, interfaces: tuple[ConfiguredIpoib, ...]) -> tuple[list[Counterexample], str]:
    """Faults of LNet's networks over these interfaces, and of their module; with the reason for unread text."""
    counterexamples = []
    if interfaces and "\nib_ipoib\n" not in f"\n{tree.text(device, MODULES) or ''}":
        counterexamples.append(
            Counterexample(
                device=device, file=MODULES, line=0, message="ib_ipoib is not loaded: there is no adapter's interface"
            )
        )
    read, unread = read_lnet(tree.text(device, LNET) or "")
    names = {interface.name for interface in interfaces}
    for network, (name, line) in read.items():
        if name not in names:
            message = f"{network} is over {name}, which is no interface of IP over InfiniBand"
            counterexamples.append(Counterexample(device=device, file=LNET, line=line, message=message))
    if tree.declaration is not None:
        wanted = tree.declaration.lnet.get(device, "")
        configured = ",".join(f"{network}({name})" for network, (name, _) in sorted(read.items()))
        if configured != wanted:
            message = f"LNet has {configured or 'no network over InfiniBand'}, by the spec {wanted or 'none'}"
            first_line = min((line for _, line in read.values()), default=0)
            counterexamples.append(Counterexample(device=device, file=LNET, line=first_line, message=message))
    lack = f"not proven, because no reader knows {device}:/{LNET}:{unread[0]}" if unread else ""
    return counterexamples, lack


def _number(text: str) -> int | None:
    try:
        return int(text, 0)
    except ValueError:
        return None


IPOIB_CHECK = ProofCheck(
    name="ib-ipoib",
    claim="Interfaces of IP over InfiniBand are those of the spec, in partitions that carry it, and lead no further.",
    kinds=KINDS | {"node-network"},
    intent=frozenset({"ipoib", "lnet"}),
    applies=lambda tree: bool(_devices(tree)),
    check=_run,
    spec_only="whether interfaces and addresses are those of the spec",
)
