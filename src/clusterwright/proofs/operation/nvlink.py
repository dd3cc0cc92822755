"""NVLink domains: IMEX members list exactly each other; NCCL and Slurm use their shared memory.

An instance refuses others with a different list, and a job with an unlisted node silently uses the network. No file
shows whether switch trays join these nodes: the node check asks the driver.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address

from clusterwright.and_more import and_more
from clusterwright.hosts.linux.reader.memory_exchange import MEMBERS, SETTINGS, read_members, read_settings
from clusterwright.hosts.linux.reader.nccl import CONF_FILES, read_nccl
from clusterwright.hosts.linux.reader.network import DEVICES, NETWORKS, read_nics
from clusterwright.proofs.check import Cases, Counterexample, Fact, ProofCheck, Verdict
from clusterwright.proofs.tree import RenderedTree

Address = IPv4Address | IPv6Address
# NCCL, user guide, Environment Variables: values that disable NVLink between nodes (MNNVL needs cuMem and P2P).
_OFF = {
    "NCCL_MNNVL_ENABLE": ("0",),
    "NCCL_CUMEM_ENABLE": ("0",),
    "NCCL_P2P_DISABLE": ("1",),
    "NCCL_P2P_LEVEL": ("LOC", "0"),
}
_SHOWN = 3
# Settings required to connect instances: the list read here, and one port for all.
_LIST, _PORT = "IMEX_NODE_CONFIG_FILE", "SERVER_PORT"


@dataclass(frozen=True, slots=True)
class _Instance:
    """IMEX on a node according to its files."""

    members: tuple[Address, ...]
    addresses: frozenset[Address]
    port: str


def _check(tree: RenderedTree) -> Verdict:
    domains = tree.declaration.nvlink_domains if tree.declaration is not None else {}
    wanted: dict[str, str] = {}
    for domain, names in domains.items():
        wanted.update(dict.fromkeys(names, domain))
    counterexamples: list[Counterexample] = []
    instances: dict[str, _Instance] = {}
    networks = _networks(tree)
    for device in sorted({*tree.devices_with(MEMBERS), *wanted}):
        try:
            instances[device] = _read(tree, device, networks.get(device, {}))
        except _UnreadError as error:
            counterexamples.append(Counterexample(device=device, file=error.file, line=error.line, message=str(error)))
    holders = _holders(instances)
    for device, instance in instances.items():
        counterexamples += _member_faults(device, instance, instances, holders)
        counterexamples += _nccl_faults(tree, device)
        if tree.declaration is not None:
            counterexamples += _domain_faults(device, instance, holders, domains, wanted)
    lists = {instance.members for instance in instances.values()}
    facts = (Fact("NVLink domains", len(lists)), Fact("nodes that share memory over NVLink", len(instances)))
    return Verdict(
        facts=facts,
        counterexamples=tuple(counterexamples),
        cases=Cases("nodes of NVLink domains", len(instances)),
    )


class _UnreadError(Exception):
    """A file that IMEX does not read, or reads otherwise."""

    def __init__(self, file: str, line: int, message: str) -> None:
        super().__init__(message)
        self.file, self.line = file, line


def _read(tree: RenderedTree, device: str, networks: Mapping[str, str]) -> _Instance:
    texts = {}
    for path in (MEMBERS, SETTINGS):
        text = tree.text(device, path)
        if text is None:
            raise _UnreadError(path, 0, "the file is missing: the node shares no memory over NVLink")
        texts[path] = text
    try:
        members = tuple(address for _, address in read_members(texts[MEMBERS]))
    except ValueError as error:
        raise _UnreadError(MEMBERS, 0, f"IMEX does not start: {error}") from None
    try:
        settings = read_settings(texts[SETTINGS])
    except ValueError as error:
        raise _UnreadError(SETTINGS, 0, f"IMEX does not start: {error}") from None
    line, file = settings.get(_LIST, (0, f"/{MEMBERS}"))
    if file != f"/{MEMBERS}":
        raise _UnreadError(SETTINGS, line, f"the members are those of {file}, which is not read")
    nics = read_nics(device, networks)
    return _Instance(
        members=members,
        addresses=frozenset(ip_address(nic.address) for nic in nics),
        port=settings.get(_PORT, (0, ""))[1],
    )


def _networks(tree: RenderedTree) -> Mapping[str, dict[str, str]]:
    """Texts of each device's networks, by path."""
    texts: dict[str, dict[str, str]] = {}
    for device, path in tree.below((NETWORKS, DEVICES)):
        if path.endswith((".network", ".netdev")):
            texts.setdefault(device, {})[path] = tree.text(device, path) or ""
    return texts


def _holders(instances: Mapping[str, _Instance]) -> Mapping[Address, str]:
    """Node with each address."""
    holders = {}
    for device, instance in instances.items():
        for address in instance.addresses:
            holders[address] = device
    return holders


def _member_faults(
    device: str, instance: _Instance, instances: Mapping[str, _Instance], holders: Mapping[Address, str]
) -> Iterator[Counterexample]:
    """Lists without the node itself, with repeated or unknown members, or different from those of other members."""
    if instance.addresses.isdisjoint(instance.members):
        yield Counterexample(
            device=device, file=MEMBERS, line=0, message="the node is no member of its own domain: IMEX does not start"
        )
    twice = sorted({str(member) for member in instance.members if instance.members.count(member) > 1})
    if twice:
        yield Counterexample(device=device, file=MEMBERS, line=0, message=f"{and_more(twice, _SHOWN)} stands twice")
    strangers = [str(member) for member in instance.members if member not in holders]
    if strangers:
        yield Counterexample(
            device=device,
            file=MEMBERS,
            line=0,
            message=f"{and_more(strangers, _SHOWN)}: no node with IMEX has the address",
        )
    peers = (holders[member] for member in instance.members if member in holders)
    for name in peers:
        peer = instances[name]
        if peer.members != instance.members:
            message = f"its members are not those of {name}, which refuses it"
            yield Counterexample(device=device, file=MEMBERS, line=0, message=message)
            break
        if peer.port != instance.port:
            message = f"it listens at {instance.port or 'its own port'}, {name} at {peer.port or 'its own port'}"
            yield Counterexample(device=device, file=SETTINGS, line=0, message=message)
            break


def _nccl_faults(tree: RenderedTree, device: str) -> Iterator[Counterexample]:
    for path in CONF_FILES:
        settings = read_nccl(tree.text(device, path) or "")
        for name, values in _OFF.items():
            if settings.get(name) in values:
                message = f"{name} is {settings[name]}: jobs go by the network inside the domain"
                yield Counterexample(device=device, file=path, line=0, message=message)


def _domain_faults(
    device: str,
    instance: _Instance,
    holders: Mapping[Address, str],
    domains: Mapping[str, frozenset[str]],
    wanted: Mapping[str, str],
) -> Iterator[Counterexample]:
    if device not in wanted:
        yield Counterexample(device=device, file=MEMBERS, line=0, message="the spec has no NVLink domain here")
        return
    domain = wanted[device]
    members = {holders[member] for member in instance.members if member in holders}
    strange = sorted(members ^ domains[domain])
    if strange:
        yield Counterexample(
            device=device, file=MEMBERS, line=0, message=f"the list and {domain} differ in {and_more(strange, _SHOWN)}"
        )


def _applies(tree: RenderedTree) -> bool:
    return bool(tree.devices_with(MEMBERS)) or (tree.declaration is not None and bool(tree.declaration.nvlink_domains))


NVLINK_DOMAINS = ProofCheck(
    name="nvlink-domains",
    claim="Nodes that share NVLink's switch trays list exactly each other, all alike; NCCL uses NVLink between them.",
    kinds=frozenset({"node-memory-exchange", "node-network", "nccl"}),
    intent=frozenset({"nvlink_domains"}),
    applies=_applies,
    check=_check,
    spec_only="the nodes that share switch trays",
)
