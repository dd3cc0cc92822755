"""CW404, CW406 to CW408, CW436 to CW438: NCCL profiles, compared with the fabrics."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from clusterwright.finding import Severity
from clusterwright.intent.traffic_classes import data_levels
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.rules.spec.references import named_twice
from clusterwright.rules.transport.transport import spans
from clusterwright.spec.job import NcclProfile
from clusterwright.spec.model import ClusterSpec

# NCCL, src/misc/param.cc: the longest value of a line of nccl.conf.
LONGEST_VALUE = 1023
# Variables of nccl.conf set by the plan or by a key of the profile.
DERIVED_VARIABLES = {
    "NCCL_COLLNET_ENABLE": "`subnet_manager.sharp`",
    "NCCL_CROSS_NIC": "the cabling, or `cross_nic`",
    "NCCL_IB_ADAPTIVE_ROUTING": "`subnet_manager.adaptive_routing`, and the technology",
    "NCCL_IB_ADDR_FAMILY": "the address pools",
    "NCCL_IB_ADDR_RANGE": "the address pools",
    "NCCL_IB_FIFO_TC": "`control_dscp`",
    "NCCL_IB_GID_INDEX": "the address pools: GIDs are chosen by family and range",
    "NCCL_IB_HCA": "the NICs on `fabric`",
    "NCCL_IB_PKEY": "`partition`",
    "NCCL_IB_PKEY_VALUE": "`partition`",
    "NCCL_IB_QPS_PER_CONNECTION": "`qps_per_connection`",
    "NCCL_IB_RETRY_CNT": "`retry_count`",
    "NCCL_IB_SL": "`service_level`",
    "NCCL_IB_SPLIT_DATA_ON_QPS": "`split_data_on_qps`",
    "NCCL_IB_TC": "the DSCPs of `data_class`",
    "NCCL_IB_TIMEOUT": "`timeout`",
    "NCCL_SOCKET_FAMILY": "the address pools of `sockets`",
    "NCCL_SOCKET_IFNAME": "the NICs on `sockets`",
    "NCCL_TOPO_FILE": "`topology_file`",
    "NCCL_TUNER_CONFIG_FILE": "`tuner`",
    "NCCL_TUNER_PLUGIN": "`tuner`",
    "TORCH_FR_BUFFER_SIZE": "`flight_recorder`",
    "TORCH_FR_DUMP_TEMP_FILE": "`flight_recorder`",
    "TORCH_NCCL_DEBUG_INFO_TEMP_FILE": "`flight_recorder`",
    "TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC": "`heartbeat_timeout_s`",
    "TORCH_NCCL_TRACE_BUFFER_SIZE": "`flight_recorder`",
}


@rule("CW404", Severity.ERROR)
def control_dscp(subject: Subject) -> Iterator[Problem]:
    """NCCL's control DSCP, compared with the classes of its fabric."""
    for nccl in subject.spec.nccl_profiles:
        fabric = subject.spec.fabric(nccl.fabric)
        if fabric is None or nccl.control_dscp is None:
            continue
        if fabric.technology != "roce":
            message = f"{fabric.name} is {fabric.technology}: NCCL's control messages have no DSCP there."
            yield Problem((*nccl.path, "control_dscp"), message, "Remove `control_dscp`.", key=True)
            continue
        protected = (item for item in fabric.classes if item.strict or item.priority is not None)
        safe = set(chain.from_iterable(item.dscp for item in protected))
        if nccl.control_dscp not in safe:
            yield Problem(
                (*nccl.path, "control_dscp"),
                f"DSCP {nccl.control_dscp} of NCCL's control messages is in no lossless or strict class of"
                f" {fabric.name}.",
                f"Choose one of {_spans(safe)}.",
            )


def _spans(codes: set[int]) -> str:
    return spans(sorted(codes)) or "none"


@rule("CW406", Severity.ERROR)
def nccl_fabric(subject: Subject) -> Iterator[Problem]:
    """NCCL's nodes, compared with the attachments of its two fabrics."""
    for nccl in subject.spec.nccl_profiles:
        yield from _unattached(subject.spec, nccl, "fabric", nccl.fabric)
        yield from _unattached(subject.spec, nccl, "sockets", nccl.sockets)
        data = subject.spec.fabric(nccl.fabric)
        if data is not None and data.technology == "ethernet":
            message = f"{nccl.fabric} carries no RDMA."
            yield Problem((*nccl.path, "fabric"), message, "Name a RoCE or InfiniBand fabric.")
        sockets = subject.spec.fabric(nccl.sockets)
        if sockets is not None and sockets.addressing is None and sockets.addresses is None:
            message = f"{nccl.sockets} has no IP addresses."
            if any(partition.ipoib is not None for partition in sockets.partitions):
                message = f"{nccl.sockets} has IP for Lustre alone: nodes let no packet of it through their filter."
            yield Problem((*nccl.path, "sockets"), message, "Name an Ethernet fabric.")


def _unattached(spec: ClusterSpec, nccl: NcclProfile, key: str, name: str) -> Iterator[Problem]:
    fabric = spec.fabric(name)
    if fabric is None:
        return
    attached = {attach.nodes for attach in fabric.attach}
    for nodes in nccl.nodes:
        if nodes not in attached:
            yield Problem((*nccl.path, key), f"{name} serves no NIC of {nodes}.", _serving(spec, nodes))


def _serving(spec: ClusterSpec, nodes: str) -> str:
    names = [fabric.name for fabric in spec.fabrics if any(attach.nodes == nodes for attach in fabric.attach)]
    if not names:
        return f"Attach {nodes} to a fabric."
    return f"{nodes} is attached to {' and '.join(names)}."


@rule("CW407", Severity.ERROR)
def misread_value(subject: Subject) -> Iterator[Problem]:
    """NCCL variables with surrounding blanks, quotes, a comment, or too long a value."""
    for nccl in subject.spec.nccl_profiles:
        for name, value in nccl.variables.items():
            wrong = _misread(value) if name.startswith("NCCL_") else None
            if wrong:
                message = f"{name} {wrong}, and NCCL reads the line literally."
                yield Problem((*nccl.path, "variables", name), message, "Write the bare value.")


def _misread(value: str) -> str | None:
    if not value:
        return "is empty"
    if value != value.strip() or "\n" in value:
        return "has blanks or line breaks around it"
    if value[0] in "'\"":
        return "is in quotes"
    if " #" in value:
        return "has a comment behind it"
    return f"is longer than {LONGEST_VALUE:,} characters" if len(value) > LONGEST_VALUE else None


@rule("CW408", Severity.WARNING)
def variable_by_hand(subject: Subject) -> Iterator[Problem]:
    """Entries of `variables` already set by the plan or another key of the profile."""
    for nccl in subject.spec.nccl_profiles:
        for name in nccl.variables:
            if name not in DERIVED_VARIABLES:
                continue
            yield Problem(
                (*nccl.path, "variables", name),
                f"{name} is derived from {DERIVED_VARIABLES[name]}; the value set by hand would override it.",
                "Remove it.",
                key=True,
            )


@rule("CW436", Severity.ERROR)
def nodes_of_two(subject: Subject) -> Iterator[Problem]:
    """Node groups of two profiles."""
    for name, path in named_twice(subject.spec, subject.spec.nccl_profiles):
        yield Problem(path, f"Another NCCL profile is for {name} already.", "Name it in one of them.")


@rule("CW437", Severity.ERROR)
def mixed_partition(subject: Subject) -> Iterator[Problem]:
    """Slurm partitions of node groups with different NCCL profiles."""
    spec = subject.spec
    for part in chain.from_iterable(scheduler.partitions for scheduler in spec.schedulers):
        profiles = [spec.nccl(name) for name in part.nodes]
        if any(profile != profiles[0] for profile in profiles):
            message = f"A job in {part.name} may get nodes of {' and '.join(part.nodes)}, whose NCCL settings differ."
            yield Problem((*part.path, "nodes"), message, "Give them one profile, or a partition each.")


@rule("CW438", Severity.ERROR)
def sums_of_several_levels(subject: Subject) -> Iterator[Problem]:
    """Profiles on one InfiniBand fabric with SHARP and data in different service levels."""
    spec = subject.spec
    for fabric in spec.fabrics:
        manager = fabric.subnet_manager
        if manager is not None and manager.sharp and len(levels := data_levels(spec, fabric)) > 1:
            level_names = " and ".join(map(str, levels))
            message = f"NCCL's data on {fabric.name} travels in service levels {level_names}, and SHARP's sums in one."
            yield Problem((*manager.path, "sharp"), message, "Give the profiles one `data_class`.")
