"""Complete check of opensm.conf: every option against the spec and the assumptions of other claims."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Set

from clusterwright.facts.unread import Unread
from clusterwright.hosts.opensm.reader.lists import Option
from clusterwright.proofs.infiniband.declared import DeclaredLanes, DeclaredSubnet
from clusterwright.proofs.infiniband.option_meaning import (
    FILES,
    FIXED,
    HIGHEST_PRIORITY,
    OPENSM_FIXED,
    OPENSM_FREE,
    QOS_FREE,
    SECRETS,
    STORAGE_FILE,
    UFM_FIXED,
    UFM_FREE,
    Fixed,
    Free,
)
from clusterwright.proofs.tree import RenderedTree

OPEN_FOLDER = "etc/opensm"
UFM_FOLDER = "opt/ufm/files/conf/opensm"  # NVIDIA's subnet manager, as UFM runs it
CONFIG = "opensm.conf"
Fault = tuple[int, str]  # the line, 0 for a missing one, and the mistake
_NUMBER = re.compile(r"(0x[0-9a-fA-F]+|0|[1-9][0-9]*)$")  # opensm reads a number with a leading zero as octal


def instance_of(folder: str) -> str:
    """The name of one of several managers on a host, by its folder; "" for the only one there, and for UFM's."""
    parent, _, name = folder.rpartition("/")
    return name if parent == OPEN_FOLDER else ""


def places(tree: RenderedTree) -> Iterator[tuple[str, str]]:
    """The device and folder of each subnet manager's configuration; a device may have several."""
    folders = {path.rpartition("/")[0] for path in tree.paths if path.endswith(f"/{CONFIG}")}
    instances = sorted(folder for folder in folders if instance_of(folder))
    for folder in (OPEN_FOLDER, *instances, UFM_FOLDER):
        for device in tree.devices_with(f"{folder}/{CONFIG}"):
            yield device, folder


def every_option(text: str) -> Iterator[tuple[str, Option]]:
    """Every option line of an opensm.conf, duplicates included."""
    for number, line in enumerate(text.split("\n"), 1):
        words = line.split(None, 1)
        if words and not words[0].startswith("#"):
            yield words[0], Option(words[1].strip() if len(words) > 1 else "", number)


def option_faults(text: str, *, folder: str, wanted: DeclaredSubnet | None) -> Iterator[Fault]:
    """Faults of an opensm.conf. Without a spec, values set only by a spec are not compared."""
    options: dict[str, Option] = {}
    for name, option in every_option(text):
        if name in options:
            yield option.line, f"{name} stands on line {options[name].line} too; opensm takes the last one"
        options[name] = option
    yield from _known_faults(options, folder=folder, wanted=wanted)
    yield from _own_faults(options)
    for name in FILES:
        if name not in options:
            yield 0, f"{name} is missing: {_without(name)}"
    if wanted is not None:
        yield from _storage_faults(options, wanted)
        if wanted.qos is not None:
            yield from _qos_faults(options, wanted.qos)


def _known_faults(options: Mapping[str, Option], *, folder: str, wanted: DeclaredSubnet | None) -> Iterator[Fault]:
    """Options without a key of the spec, and values contrary to the spec or to other claims."""
    is_open = folder != UFM_FOLDER
    fixed = {**FIXED, **_of_program(folder), **_of_spec(wanted, is_open=is_open)}
    free = {**(OPENSM_FREE if is_open else UFM_FREE)}
    if wanted is None:
        free |= {name: rule for name, rule in QOS_FREE.items() if name in options}
    elif wanted.qos is not None:
        free |= QOS_FREE
    for name, option in options.items():
        if name in SECRETS:
            yield option.line, f"{name} stands here in clear, for every reader of the file; it belongs into a secret"
        elif _has_meaning(name) and not _is_known(name, fixed, free, wanted):
            yield option.line, f"{name} is asked for by nothing in the spec, and no claim knows what it changes"
    yield from fixed_faults(options, fixed)
    yield from free_faults(options, free)


def _of_program(folder: str) -> Mapping[str, Fixed]:
    """Options with one value for all specs; several managers on a host write no common file."""
    if folder == UFM_FOLDER:
        return UFM_FIXED
    instance = instance_of(folder)
    if not instance:
        return OPENSM_FIXED
    logs = f"/var/log/opensm/{instance}"
    return {
        **OPENSM_FIXED,
        "log_file": Fixed(f"{logs}/opensm.log", OPENSM_FIXED["log_file"].otherwise),
        "dump_files_dir": Fixed(f"{logs}/", OPENSM_FIXED["dump_files_dir"].otherwise),
        "log_prefix": Fixed(instance, "log lines do not show which manager of the host wrote them"),
    }


def _storage_faults(options: Mapping[str, Option], wanted: DeclaredSubnet) -> Iterator[Fault]:
    """Faults of the file of nodes without GPUs: it is named if and only if there are such nodes."""
    option = options.get(STORAGE_FILE)
    if wanted.storage and option is None:
        yield 0, f"{STORAGE_FILE} is missing, and the fabric has nodes without GPUs"
    if not wanted.storage and option is not None:
        yield option.line, f"{STORAGE_FILE} is named, and the fabric has no node without GPUs"


def options_unread(path: str, text: str) -> tuple[Unread, ...]:
    """The options of unknown effect; UFM writes every option of its subnet manager."""
    unknown = [(name, option) for name, option in every_option(text) if not _has_meaning(name)]
    return tuple(Unread(path, option.line, f"{name} {option.value}".strip()) for name, option in unknown)


def _has_meaning(name: str) -> bool:
    """Whether the effect of an option is known here, with any spec or without one."""
    return name in _MEANING or name.startswith("m_key_")


def _of_spec(wanted: DeclaredSubnet | None, *, is_open: bool) -> Mapping[str, Fixed]:
    """The options with a value of the spec."""
    if wanted is None:
        return {}
    by_spec = "the spec wants otherwise"
    engine = wanted.engine
    if is_open and "no_fallback" not in engine:
        engine += ",no_fallback"
    fixed = {
        "subnet_prefix": Fixed(f"0x{wanted.prefix:016x}", "the subnet has another prefix than the spec's"),
        "routing_engine": Fixed(engine, by_spec),
    }
    if wanted.m_key is not None:
        protection, lease = wanted.m_key
        fixed["m_key_protection_level"] = Fixed(str(protection), "ports are not protected as the spec asks")
        fixed["m_key_lease_period"] = Fixed(str(lease), "ports forget the key at another time than the spec says")
        if is_open:
            fixed["m_key_lookup"] = Fixed("TRUE", "a standby does not find the key of a port that it was not given")
    if wanted.qos is not None:
        fixed["qos"] = Fixed("TRUE", "all service levels share one lane")
        fixed["qos_max_vls"] = Fixed(str(wanted.qos.lanes), "there are not the lanes that the classes are in")
    if not is_open:
        fixed["sharp_enabled"] = Fixed("2" if wanted.sharp else "1", by_spec)
        if wanted.adaptive:
            fixed["ar_sl_mask"] = Fixed("0xFFFF", "not all service levels are routed adaptively")
            fixed["use_optimized_slvl"] = Fixed("TRUE", "maps of levels to lanes are written port by port")
    return fixed


def _is_known(name: str, fixed: Mapping[str, Fixed], free: Mapping[str, Free], wanted: DeclaredSubnet | None) -> bool:
    if name in fixed or name in free or name in (*FILES, STORAGE_FILE, "guid", "sm_priority"):
        return True
    if wanted is None:  # only a spec tells whether these were asked for
        return name in _SPEC_ONLY or name.startswith("m_key_")
    return wanted.qos is not None and name in _QOS_TABLES


_QOS_TABLES = ("qos_high_limit", "qos_vlarb_high", "qos_vlarb_low", "qos_sl2vl")
_SPEC_ONLY = (
    *_QOS_TABLES, "subnet_prefix", "routing_engine", "qos", "qos_max_vls", "sharp_enabled", "ar_sl_mask",
    "use_optimized_slvl",
)  # fmt: skip


_MEANING = frozenset(
    {*FIXED, *OPENSM_FIXED, *UFM_FIXED, *OPENSM_FREE, *UFM_FREE, *QOS_FREE, *FILES, *SECRETS, *_SPEC_ONLY,
     STORAGE_FILE, "guid", "sm_priority", "qos_policy_file", "log_prefix"}
)  # fmt: skip


def _without(name: str) -> str:
    return {
        "root_guid_file": "ranks have no beginning",
        "cn_guid_file": "every adapter counts as a compute node's",
        "partition_config_file": "opensm reads another file, or makes every adapter a full member",
        "node_name_map_name": "logs and dumps name switches by their model",
    }[name]


def fixed_faults(options: Mapping[str, Option], fixed: Mapping[str, Fixed]) -> Iterator[Fault]:
    """Missing options, and options with another value than their fixed one."""
    for name, rule in fixed.items():
        option = options.get(name)
        if option is None:
            yield 0, f"{name} is missing, which ought to be {rule.value}: else {rule.otherwise}"
        elif _normal(option.value) != _normal(rule.value):
            yield option.line, f"{name} {option.value} ought to be {rule.value}: so {rule.otherwise}"


def _normal(value: str) -> str:
    """A value in comparable form: numbers in decimal, other text without spaces."""
    if re.fullmatch(r"0x[0-9a-fA-F]+|0|[1-9][0-9]*", value):
        return str(int(value, 0))
    return value.replace(" ", "")


def free_faults(options: Mapping[str, Option], free: Mapping[str, Free]) -> Iterator[Fault]:
    """Options outside their range, or missing."""
    for name, bounds in free.items():
        option = options.get(name)
        if option is None:
            yield 0, f"{name} is missing: opensm's own value suits a hundred ports"
        elif _NUMBER.match(option.value) is None or not bounds.least <= int(option.value, 0) <= bounds.most:
            yield option.line, f"{name} {option.value} is no number from {bounds.least} to {bounds.most:,}"


def _own_faults(options: Mapping[str, Option]) -> Iterator[Fault]:
    for name, most in (("guid", (1 << 64) - 1), ("sm_priority", HIGHEST_PRIORITY)):
        option = options.get(name)
        if option is None:
            yield 0, f"{name} is missing"
        elif _NUMBER.match(option.value) is None or not 0 <= int(option.value, 0) <= most:
            yield option.line, f"{name} {option.value} is no number that opensm takes"


_MISSING = Option(value="missing", line=0)


def _qos_faults(options: Mapping[str, Option], qos: DeclaredLanes) -> Iterator[Fault]:
    levels = options.get("qos_sl2vl", _MISSING)
    wanted = ",".join(map(str, qos.lane_of_level))
    if levels.value.replace(" ", "") != wanted:
        yield levels.line, f"qos_sl2vl is {levels.value}, the spec's classes want {wanted}"
    all_lanes = {*qos.high, *qos.low}
    for name, table in (("qos_vlarb_high", qos.high), ("qos_vlarb_low", qos.low)):
        option = options.get(name, _MISSING)
        fault = _arbitration_fault(option.value, table, all_lanes)
        if fault:
            yield option.line, f"{name} {fault}"
    limit = options.get("qos_high_limit")
    if limit is not None and qos.low and limit.value == "255":
        yield limit.line, "qos_high_limit 255: the high table sends without end, and the low one never"


def _arbitration_fault(value: str, table: Mapping[int, int], all_lanes: Set[int]) -> str:
    """The fault of an arbitration table whose lanes are to have the weights of ``table``; "" for none."""
    weights = _weights(value)
    used = {} if weights is None else {lane: weight for lane, weight in weights.items() if weight}
    if weights is None or used != dict(table):
        wanted = ",".join(f"{lane}:{weight}" for lane, weight in sorted(table.items())) or "no lane"
        return f"is {value}, the spec's classes want {wanted} and nothing for the other lanes"
    left_out = sorted(all_lanes - weights.keys())
    if left_out:
        return f"leaves out lane {left_out[0]}: opensm fills in a weight of its own"
    return ""


def _weights(text: str) -> dict[int, int] | None:
    """Weights by lane; None if the table is no list of ``lane:weight`` with each lane once."""
    weights: dict[int, int] = {}
    for item in text.replace(" ", "").split(","):
        match = re.fullmatch(r"(\d+):(\d+)", item)
        if match is None or int(match[1]) in weights:
            return None
        weights[int(match[1])] = int(match[2])
    return weights
