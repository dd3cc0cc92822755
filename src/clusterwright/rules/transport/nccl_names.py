"""CW418 to CW422, CW424: NCCL and PyTorch variables, and the tuner's table, compared with releases and fabric."""

from __future__ import annotations

from collections.abc import Iterator, Set
from typing import NamedTuple

from clusterwright.finding import Severity
from clusterwright.nearest_name import SURE, did_you_mean
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.fabric import Fabric
from clusterwright.spec.infiniband import DEFAULT_PKEY
from clusterwright.spec.job import NcclProfile, TunerRow
from clusterwright.spec.model import ClusterSpec, NodeGroup
from clusterwright.spec.runtime.names import known_names, known_versions, minor_of, release
from clusterwright.spec.runtime.switches import is_switch, plugin_names
from clusterwright.spec.zone_reach import memberships_of

# NCCL's sources by release (ext-tuner/example/plugin.c, plugins/tuner/example/plugin.c): a table is read since 2.27.5;
# before the fix in 2.30.3, getCollInfo takes the table of costs as one of pointers.
_READS_TABLE, _MENDED = (2, 27, 5), (2, 30)


@rule("CW419", Severity.WARNING)
def unknown_variable(subject: Subject) -> Iterator[Problem]:
    """Entries of `variables` missing in every table of the profile's releases."""
    for nccl in subject.spec.nccl_profiles:
        variable_names = _known(nccl)
        if variable_names is None:
            continue
        # No switch is suggested: an operator who follows the suggestion would turn a function off.
        guesses = sorted(name for name in variable_names if not is_switch(name))
        for name in nccl.variables:
            if name in variable_names or name in plugin_names():
                continue
            # Most of these names share a prefix: unrelated ones are similar too.
            hint = did_you_mean(name, guesses, "Remove it, or name the release that reads it.", likeness=SURE)
            yield Problem((*nccl.path, "variables", name), f"{_programs(nccl)} {name}.", hint, key=True)


@rule("CW420", Severity.WARNING)
def unknown_release(subject: Subject) -> Iterator[Problem]:
    """`version` and `pytorch` of the profile without a table."""
    for nccl in subject.spec.nccl_profiles:
        for library, key, version in (("nccl", "version", nccl.version), ("torch", "pytorch", nccl.pytorch)):
            if version is None or known_names(library, version) is not None:
                continue
            name = "NCCL" if library == "nccl" else "PyTorch"
            versions = ", ".join(known_versions(library))
            message = f"The variables of {name} {minor_of(version)} are not known; there are tables of {versions}."
            yield Problem((*nccl.path, key), message, "Name one of these, or add a table.")


@rule("CW421", Severity.ERROR)
def too_old(subject: Subject) -> Iterator[Problem]:
    """Keys of the profile, and its fabric's technology, with a variable missing in the profile's releases."""
    for nccl in subject.spec.nccl_profiles:
        fabric = subject.spec.fabric(nccl.fabric)
        if fabric is None:
            continue
        for need in _needed_variables(nccl, fabric):
            version = nccl.version if need.library == "nccl" else nccl.pytorch
            path, is_key = (*nccl.path, need.key), need.key != "version"
            if version is None:
                message = f"{need.variable} is PyTorch's, and the profile names no PyTorch."
                yield Problem(path, message, "Name the release under `pytorch`.", key=True)
                continue
            names = known_names(need.library, version)
            if names is not None and need.variable not in names:
                title = "NCCL" if need.library == "nccl" else "PyTorch"
                hint = "Name a newer release, or remove the key." if is_key else "Name a newer release."
                yield Problem(path, f"{title} {version} has no {need.variable}, {need.use}.", hint, key=is_key)


class _NeededVariable(NamedTuple):
    """A variable set for a key of the profile."""

    library: str
    variable: str
    key: str
    use: str = "which this sets"


def _needed_variables(nccl: NcclProfile, fabric: Fabric) -> Iterator[_NeededVariable]:
    if fabric.technology == "roce":
        yield _NeededVariable("nccl", "NCCL_IB_ADDR_RANGE", "version", use="which chooses GIDs on RoCE")
    if nccl.control_dscp is not None:
        yield _NeededVariable("nccl", "NCCL_IB_FIFO_TC", "control_dscp")
    if nccl.tuner is not None:
        yield _NeededVariable("nccl", "NCCL_TUNER_PLUGIN", "tuner")
    if nccl.heartbeat_timeout_s is not None:
        yield _NeededVariable("torch", "TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC", "heartbeat_timeout_s")
    if nccl.flight_recorder is not None:
        yield _NeededVariable("torch", "TORCH_NCCL_DUMP_ON_TIMEOUT", "flight_recorder", use="which this needs")


def _known(nccl: NcclProfile) -> frozenset[str] | None:
    """The variables of the profile's releases together; None without a table: CW420 reports it."""
    tables = [known_names("nccl", nccl.version)]
    if nccl.pytorch is not None:
        tables.append(known_names("torch", nccl.pytorch))
    return None if None in tables else frozenset().union(*(table for table in tables if table is not None))


def _programs(nccl: NcclProfile) -> str:
    if nccl.pytorch is None:
        return f"NCCL {nccl.version} does not read"
    return f"Neither NCCL {nccl.version} nor PyTorch {nccl.pytorch} reads"


@rule("CW418", Severity.ERROR)
def contradicting_variable(subject: Subject) -> Iterator[Problem]:
    """NCCL_IB_HCA, and on InfiniBand NCCL_IB_PKEY and NCCL_IB_SL, contradicting the fabric."""
    for nccl in subject.spec.nccl_profiles:
        fabric = subject.spec.fabric(nccl.fabric)
        if fabric is None or fabric.technology == "ethernet":
            continue
        for name, fault in list(_variable_faults(subject.spec, nccl, fabric)):
            if fault is not None:
                path = (*nccl.path, "variables", name)
                yield Problem(path, f"{name}={nccl.variables[name]} {fault}.", "Remove it.")


def _variable_faults(spec: ClusterSpec, nccl: NcclProfile, fabric: Fabric) -> Iterator[tuple[str, str | None]]:
    """The fault of each variable, None for a missing or correct one."""
    is_infiniband = fabric.technology == "infiniband"
    if is_infiniband:
        yield "NCCL_IB_SL", _level(nccl, fabric)
    for group in spec.node_groups:
        if group.name not in nccl.nodes:
            continue
        yield "NCCL_IB_HCA", _adapters(group, nccl, fabric)
        if is_infiniband:
            yield "NCCL_IB_PKEY", _partition(spec, group.name, nccl, fabric)


def _adapters(group: NodeGroup, nccl: NcclProfile, fabric: Fabric) -> str | None:
    value = nccl.variables.get("NCCL_IB_HCA")
    if value is None:
        return None
    cabled = {attach.nics for attach in fabric.attach if attach.nodes == group.name}
    nics: list[tuple[str, str]] = []
    for nic_group in group.model.nic_groups:
        nics += [(nic_group.name, nic.rdma_device) for nic in nic_group.nics if nic.rdma_device]
    wanted = {device for name, device in nics if name in cabled}
    chosen = _chosen(value, {device for _, device in nics})
    if chosen == wanted:
        return None
    extra, left_out = sorted(chosen - wanted), sorted(wanted - chosen)
    if extra:
        return f"chooses {', '.join(extra)}, which {fabric.name} does not serve"
    return f"leaves out {', '.join(left_out)} on {fabric.name}"


def _chosen(value: str, devices: Set[str]) -> set[str]:
    """The devices selected by NCCL: ``^`` excludes, ``=`` compares whole names, ``:PORT`` may follow a name."""
    names = value.removeprefix("^")
    is_exact = names.startswith("=")
    words = tuple(word.partition(":")[0] for word in names.removeprefix("=").split(",") if word)
    named = {device for device in devices if (device in words if is_exact else device.startswith(words))}
    return set(devices) - named if value.startswith("^") else named


def _partition(spec: ClusterSpec, nodes: str, nccl: NcclProfile, fabric: Fabric) -> str | None:
    value = nccl.variables.get("NCCL_IB_PKEY")
    manager = fabric.subnet_manager
    if value is None or manager is None:
        return None
    is_full = [manager.default_membership == "full", *_memberships(spec, nodes, fabric)]
    if not value.isdecimal() or int(value) >= len(is_full):
        return f"is no index of {nodes}: its ports on {fabric.name} have {len(is_full)}, from 0"
    if is_full[int(value)]:
        return None
    return f"is the index of a partition of {fabric.name} in which {nodes} is a limited member"


def _memberships(spec: ClusterSpec, nodes: str, fabric: Fabric) -> list[bool]:
    """For each partition of a node group, in the order of the P_Keys, whether it is a full member."""
    is_full_by_pkey: list[tuple[int, bool]] = []
    for partition in fabric.partitions:
        if partition.pkey == DEFAULT_PKEY:
            continue
        membership = memberships_of(spec, partition).get(nodes)
        if membership:
            is_full_by_pkey.append((partition.pkey, membership == "full"))
    return [is_full for _, is_full in sorted(is_full_by_pkey)]


def _level(nccl: NcclProfile, fabric: Fabric) -> str | None:
    value = nccl.variables.get("NCCL_IB_SL")
    if value is None:
        return None
    levels = {item.service_level for item in fabric.classes} or {0}
    if value.isdecimal() and int(value) in levels:
        return None
    return f"is the service level of no class of {fabric.name}"


@rule("CW422", Severity.ERROR)
def idle_row(subject: Subject) -> Iterator[Problem]:
    """Rows of the tuner's table never used by a collective."""
    for nccl in subject.spec.nccl_profiles:
        rows = nccl.tuner.rows if nccl.tuner is not None else ()
        for index, row in enumerate(rows):
            reason = _idle(subject.spec, nccl, row)
            if reason is not None:
                yield Problem(row.path, f"This row never applies: {reason}.", "Fix it, or remove it.")
                continue
            for number, earlier in enumerate(rows[:index], 1):
                if _covers(earlier, row):
                    message = f"This row never applies: row {number} matches everything that it matches."
                    yield Problem(row.path, message, f"Put it before row {number}, or remove it.")
                    break


def _idle(spec: ClusterSpec, nccl: NcclProfile, row: TunerRow) -> str | None:
    groups = [group for group in spec.node_groups if group.name in nccl.nodes]
    fabric = spec.fabric(nccl.fabric)
    if row.min_bytes > row.max_bytes:
        return f"its smallest message has {row.min_bytes:,} bytes, its largest {row.max_bytes:,}"
    served = {attach.nodes for attach in fabric.attach} if fabric is not None else set()
    count = sum(group.count for group in groups)
    if served.issuperset(nccl.nodes) and row.nodes is not None and row.nodes > count:  # CW406 says the rest
        has = "has" if len(nccl.nodes) == 1 else "have"
        return f"it is for {row.nodes:,} nodes, and {' and '.join(nccl.nodes)} {has} {count:,}"
    manager = fabric.subnet_manager if fabric is not None else None
    if row.algorithm.startswith("collnet") and not (manager is not None and manager.sharp):
        return f"{row.algorithm} needs switches that reduce, and {nccl.fabric} has no SHARP"
    return None


def _covers(earlier: TunerRow, row: TunerRow) -> bool:
    """True if an earlier row fits every collective of a later one."""
    return (
        earlier.collective == row.collective
        and earlier.min_bytes <= row.min_bytes
        and earlier.max_bytes >= row.max_bytes
        and earlier.nodes in (None, row.nodes)
        and earlier.ranks in (None, row.ranks)
    )


@rule("CW424", Severity.ERROR)
def broken_tuner(subject: Subject) -> Iterator[Problem]:
    """Tuners of a profile with a missing or broken example plugin in NCCL's release."""
    for nccl in subject.spec.nccl_profiles:
        version = release(nccl.version)
        if nccl.tuner is None or version >= _MENDED:
            continue
        if version < _READS_TABLE and version != _READS_TABLE[:2]:  # a minor release stands for its last patch
            does = "reads no table: these rows have no effect"
        else:
            does = "crashes each job at the first collective that matches a row (SIGSEGV)"
        message = f"The example tuner of NCCL {nccl.version} {does}."
        hint = "Name NCCL 2.30 or later, or build the plugin with its fix."
        yield Problem(nccl.tuner.path, message, hint, key=True)
