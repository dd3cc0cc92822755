"""NCCL's settings on nodes against the classes of switches and NICs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from ipaddress import ip_address, ip_network
from itertools import chain

from clusterwright.facts.router import Prefix, covers
from clusterwright.hosts.linux.reader.network import SCRIPT, ConfiguredQos
from clusterwright.proofs.ethernet.qos.majority import ClassSettings, priorities
from clusterwright.spec.runtime.switches import RDMA, c_number, switched_off

ECN_BITS = 2  # below the DSCP in the traffic class byte
Settings = Mapping[str, str]
_CLEAR_TO_SEND = "NCCL_IB_FIFO_TC"
_VERSION = "NCCL_IB_ROCE_VERSION_NUM"


def marks_of(settings: Settings) -> tuple[tuple[str, str | None], ...]:
    """The configured traffic classes of NCCL, None for one without a setting."""
    return tuple((name, settings.get(name)) for name in ("NCCL_IB_TC", "NCCL_IB_FIFO_TC"))


def unusual(settings: Settings, usual: tuple[tuple[str, str | None], ...]) -> Iterator[tuple[str, str]]:
    """Traffic classes of a node's NCCL unlike those of most nodes."""
    for name, value in usual:
        if settings.get(name) != value:
            yield name, f"{name} is {settings.get(name) or 'not set'} here, {value or 'not set'} on most nodes"


def _used_devices(settings: Settings) -> frozenset[str]:
    """The RDMA devices listed by whole names in NCCL's settings."""
    value = settings.get("NCCL_IB_HCA", "")
    if not value.startswith("="):
        return frozenset()
    return frozenset(word.partition(":")[0] for word in value[1:].split(","))


def is_elsewhere(settings: Settings, blocks_here: Sequence[ConfiguredQos], all_blocks: Sequence[ConfiguredQos]) -> bool:
    """True when NCCL uses the NICs of another fabric, so that its settings must fit the classes there."""
    used = _used_devices(settings)
    if not used:
        return False
    here = frozenset(chain.from_iterable(block.devices for block in blocks_here))
    others = frozenset(chain.from_iterable(block.devices for block in all_blocks if block not in blocks_here))
    # Devices of an InfiniBand fabric are in no block; a setting used only with InfiniBand shows them.
    is_on_infiniband = used.isdisjoint(here | others) and "NCCL_COLLNET_ENABLE" in settings
    return used <= others or is_on_infiniband


def _devices(settings: Settings, blocks: Sequence[ConfiguredQos]) -> Iterator[tuple[str, str]]:
    """RDMA devices used by NCCL without a class for their connections, and devices with a class but unused."""
    used = _used_devices(settings)
    devices = frozenset(chain.from_iterable(block.devices for block in blocks))
    if used and devices and used != devices:
        unmatched = ", ".join(sorted(used ^ devices))
        yield "NCCL_IB_HCA", f"NCCL and {SCRIPT} do not name the same RDMA devices: {unmatched}"


def nccl_faults(
    settings: Settings, classes: ClassSettings, blocks: Sequence[ConfiguredQos], addresses: Sequence[bytes]
) -> Iterator[tuple[str, str]]:
    """Differences between NCCL's settings and the switches, or the node's NICs on the fabric with ``addresses``."""
    yield from _class_faults(settings, classes)
    yield from _devices(settings, blocks)
    yield from _transport(settings)
    yield from _addresses(settings, addresses)


def _transport(settings: Settings) -> Iterator[tuple[str, str]]:
    """Settings that keep data off RoCE version 2, the only transport with a class."""
    for switch in switched_off(settings):
        if switch.stops == RDMA:
            value = settings[switch.name]
            yield switch.name, f"{switch.name}={value} {switch.effect}, which no lossless class protects"
    if c_number(settings.get(_VERSION, "2")) != 2:
        otherwise = "packets of another version have no DSCP, and no switch routes them"
        yield _VERSION, f"{_VERSION}={settings[_VERSION]}: {otherwise}"


def _family(address: bytes) -> str:
    return "AF_INET" if len(address) == 4 else "AF_INET6"


def _addresses(settings: Settings, addresses: Sequence[bytes]) -> Iterator[tuple[str, str]]:
    """Address families and ranges excluding addresses of the node's NICs on the fabric."""
    family = settings.get("NCCL_IB_ADDR_FAMILY")
    families = {_family(address) for address in addresses}
    if family is not None and families and {family} != families:
        yield "NCCL_IB_ADDR_FAMILY", f"NCCL_IB_ADDR_FAMILY={family}: no NIC on this fabric has such an address"
    address_range = settings.get("NCCL_IB_ADDR_RANGE")
    if address_range is None:
        return
    try:
        network = _network(address_range)
    except ValueError:
        yield "NCCL_IB_ADDR_RANGE", f"NCCL_IB_ADDR_RANGE={address_range} is no network"
        return
    outside = [address for address in addresses if not covers(network, (address, 8 * len(address)))]
    if outside:
        message = f"NCCL_IB_ADDR_RANGE={address_range} leaves out {ip_address(outside[0])}, which a NIC here has"
        yield "NCCL_IB_ADDR_RANGE", message


@lru_cache(maxsize=64)
def _network(text: str) -> Prefix:
    """The network of an address range of NCCL. Raises ValueError."""
    network = ip_network(text)
    return network.network_address.packed, network.prefixlen


def _class_faults(settings: Settings, expected: ClassSettings) -> Iterator[tuple[str, str]]:
    """Traffic classes of data outside a lossless class, and of clear-to-send messages in the default class."""
    classes, _, lossless = expected
    if "NCCL_IB_TC" not in settings and settings:
        yield "NCCL_IB_TC", "NCCL's data has no traffic class, so it travels without protection from loss"
    for name in ("NCCL_IB_TC", _CLEAR_TO_SEND, "NCCL_GIN_IB_TC"):
        value = settings.get(name)
        if value is None:
            continue
        if not value.isdigit() or int(value) > 255 or int(value) % (1 << ECN_BITS):
            yield name, f"{name}={value} is no DSCP times 4"
            continue
        dscp = int(value) >> ECN_BITS
        number = classes[dscp]
        if number in lossless:
            continue
        if name != _CLEAR_TO_SEND:
            yield name, f"DSCP {dscp} is traffic class {number}, which is not lossless: {priorities(lossless)} is"
        elif number == classes[0]:
            message = f"DSCP {dscp} is traffic class {number} like everything else: clear-to-send would wait behind it"
            yield name, message
