"""Complete check of the subnet managers' files: options, lists, names, statements on partitions, and units.

All managers of a fabric are compared with each other, since the takeover by a standby must not change anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from itertools import chain

from clusterwright.hosts.opensm.reader.lists import Option, parse_options
from clusterwright.proofs.check import Cases, Counterexample, Fact, ProofCheck, Verdict
from clusterwright.proofs.declaration import Declaration
from clusterwright.proofs.infiniband.declared import DeclaredSubnet
from clusterwright.proofs.infiniband.manager_lists import list_faults, name_faults, partition_faults
from clusterwright.proofs.infiniband.manager_options import (
    CONFIG,
    OPEN_FOLDER,
    UFM_FOLDER,
    every_option,
    instance_of,
    option_faults,
    places,
)
from clusterwright.proofs.infiniband.manager_ufm import (
    EXTENSION,
    GLOBAL,
    SHARP,
    extension_faults,
    global_faults,
    sharp_faults,
    watching_notes,
)
from clusterwright.proofs.infiniband.manager_units import (
    BOOT,
    UNIT,
    boot_faults,
    instances_faults,
    script_notes,
    script_path,
    unit_faults,
    unit_path,
)
from clusterwright.proofs.infiniband.option_meaning import FILES, HIGHEST_PRIORITY, OWN, STORAGE_FILE
from clusterwright.proofs.infiniband.subnet import FABRIC, KINDS, SUBNET_INTENT, has_subnet
from clusterwright.proofs.tree import RenderedTree

_GUID = re.compile(r"0x[0-9a-fA-F]{1,16}")
_PORT_GUID = re.compile(r"^\[1\]\(([0-9a-f]+)\)", re.M)
_SWITCH = re.compile(r'^Switch\s+\d+\s+"S-([0-9a-f]+)"\s+# "(.*)"', re.M)


@dataclass(frozen=True, eq=False)
class _Manager:
    """The files of one manager on a host; ``named`` has the paths of files by their option."""

    tree: RenderedTree
    device: str
    folder: str
    text: str
    options: Mapping[str, Option]
    ports: frozenset[int]
    subnet: str | None
    wanted: DeclaredSubnet | None

    @property
    def config(self) -> str:
        return f"{self.folder}/{CONFIG}"

    @property
    def instance(self) -> str:
        """The manager's name among several on its host; "" for the only one."""
        return instance_of(self.folder)

    @property
    def cabling(self) -> str:
        return f"{self.folder}/{FABRIC}"

    @property
    def chips(self) -> Mapping[int, str]:
        """Names of switch chips by GUID: the spec's, or those of the cabled fabric."""
        if self.wanted is not None:
            return self.wanted.chips
        return {int(guid, 16): name for guid, name in _SWITCH.findall(self.file(self.cabling) or "")}

    @property
    def guid(self) -> int:
        """The manager's port GUID, 0 for an option without a number."""
        value = self.options["guid"].value if "guid" in self.options else ""
        return int(value, 16) if _GUID.fullmatch(value) else 0

    @property
    def named(self) -> Mapping[str, str]:
        names = (*FILES, STORAGE_FILE)
        return {name: self.options[name].value.lstrip("/") for name in names if name in self.options}

    def file(self, path: str) -> str | None:
        return self.tree.text(self.device, path)

    def at(self, path: str, line: int, message: str) -> Counterexample:
        return Counterexample(device=self.device, file=path, line=line, message=message)


def _run(tree: RenderedTree) -> Verdict:
    managers = [_manager(tree, device, folder) for device, folder in places(tree)]
    counterexamples = list(chain.from_iterable(map(_own, managers)))
    by_ports: dict[str | frozenset[int], list[_Manager]] = {}
    for manager in managers:
        by_ports.setdefault(manager.subnet or manager.ports, []).append(manager)
    for group in by_ports.values():
        guids = frozenset(manager.guid for manager in group if manager.guid)
        for manager in group:
            counterexamples += _files(manager, guids)
        counterexamples += [*_priorities(group), *_differences(group)]
    if tree.declaration is not None:
        counterexamples += _too_few(tree.declaration, by_ports)
    facts = (
        Fact("subnet managers", len(managers)),
        Fact("options read", sum(len(list(every_option(manager.text))) for manager in managers)),
        Fact("subnets whose managers say the same", len(by_ports)),
    )
    notes: list[str] = []
    for manager in managers:
        notes += script_notes(manager.device, manager.folder, manager.file(script_path(manager.folder)) is not None)
    for device in dict.fromkeys(manager.device for manager in managers):
        notes += watching_notes(device, tree.text(device, GLOBAL))
    return Verdict(
        facts=facts,
        counterexamples=tuple(counterexamples),
        cases=Cases("subnet managers", len(managers)),
        notes=tuple(notes),
    )


def _manager(tree: RenderedTree, device: str, folder: str) -> _Manager:
    text = tree.text(device, f"{folder}/{CONFIG}") or ""
    ports = frozenset(int(word, 16) for word in _PORT_GUID.findall(tree.text(device, f"{folder}/{FABRIC}") or ""))
    subnet = tree.declaration.subnet_with(ports) if tree.declaration is not None else None
    wanted = tree.declaration.subnets.get(subnet or "") if tree.declaration is not None else None
    return _Manager(
        tree=tree,
        device=device,
        folder=folder,
        text=text,
        options=parse_options(text),
        ports=ports,
        subnet=subnet,
        wanted=wanted,
    )


def _own(manager: _Manager) -> Iterator[Counterexample]:
    """Faults of opensm.conf."""
    for line, message in option_faults(manager.text, folder=manager.folder, wanted=manager.wanted):
        yield manager.at(manager.config, line, message)
    guid, number = manager.options.get("guid"), manager.guid
    declaration = manager.tree.declaration
    if guid is None or declaration is None:
        return  # reported above, or nothing to compare with
    if number not in manager.ports or declaration.endpoints.get(number, ("", ""))[0] != manager.device:
        message = f"guid {guid.value} is no port of {manager.device} that is cabled to this subnet"
        yield manager.at(manager.config, guid.line, message)


def _partition_faults(manager: _Manager, text: str, guids_of_managers: Set[int]) -> Iterable[tuple[int, str]]:
    declaration = manager.tree.declaration
    if declaration is None:
        return partition_faults(text, None, guids_of_managers, is_limited=None, carrying=None)
    partitions = [partition for partition in declaration.partitions if partition.subnet == manager.subnet]
    return partition_faults(
        text,
        {partition.pkey: partition.name for partition in partitions},
        guids_of_managers,
        is_limited=manager.subnet not in declaration.open_default,
        carrying={partition.pkey for partition in partitions if partition.ipoib},
    )


def _files(manager: _Manager, guids_of_managers: Set[int]) -> Iterator[Counterexample]:
    """Faults of the files of a manager: those named by opensm.conf, those starting it, and unknown ones."""
    yield from _named_files(manager, guids_of_managers)
    if manager.file(manager.cabling) is None:
        message = "the file is missing: the cabling is not known, and no claim about the subnet can be checked"
        yield manager.at(manager.cabling, 0, message)
    known_paths = {*manager.named.values(), manager.config, manager.cabling, script_path(manager.folder)}
    # opensm reads no folder below its own; one of several managers reads the common folder too.
    folders = {manager.folder, OPEN_FOLDER} if manager.instance else {manager.folder}
    strange = {path for path in manager.tree.paths if path.rpartition("/")[0] in folders} - known_paths
    if strange:
        for device, path in manager.tree.files:
            if device == manager.device and path in strange:
                yield manager.at(path, 0, f"{CONFIG} names no such file, and opensm reads some by its own names")
    if manager.folder != UFM_FOLDER:
        yield from _start(manager)
    else:
        yield from _ufm(manager)


def _named_files(manager: _Manager, guids_of_managers: Set[int]) -> Iterator[Counterexample]:
    """Faults of the files named by opensm.conf."""
    wanted = manager.wanted
    for name, path in manager.named.items():
        text = manager.file(path)
        if text is None:
            line = manager.options[name].line
            yield manager.at(manager.config, line, f"{name} names /{path}, which this host is not given")
        elif name == "node_name_map_name":
            by = "the spec" if wanted is not None else f"/{manager.cabling}"
            yield from (manager.at(path, *fault) for fault in name_faults(text, manager.chips, by))
        elif name == "partition_config_file":
            faults = _partition_faults(manager, text, guids_of_managers)
            yield from (manager.at(path, *fault) for fault in faults)
        else:
            guids = _listed(name, wanted) if wanted is not None else None
            yield from (manager.at(path, *fault) for fault in list_faults(text, guids))


def _start(manager: _Manager) -> Iterator[Counterexample]:
    """Faults of opensm's unit, of its start at boot, and of the script adding its key."""
    script, unit = script_path(manager.folder), unit_path(manager.instance)
    has_script = manager.file(script) is not None
    has_key = manager.wanted.m_key is not None if manager.wanted is not None else has_script
    faults = unit_faults(manager.file(unit), instance=manager.instance, has_key=has_key)
    yield from (manager.at(unit, *fault) for fault in faults)
    if manager.instance:
        beside = (instance_of(folder) for device, folder in places(manager.tree) if device == manager.device)
        names = frozenset(name for name in beside if name)
        yield from (manager.at(UNIT, *fault) for fault in instances_faults(manager.file(UNIT), names))
    yield from (manager.at(BOOT, *fault) for fault in boot_faults(manager.file(BOOT)))
    if has_key and not has_script:
        yield manager.at(script, 0, "the script that adds the M_Key is missing: opensm does not start")


def _ufm(manager: _Manager) -> Iterator[Counterexample]:
    """Faults of UFM's own files; without a spec, compared with the subnet manager's files beside them."""
    wanted, option = manager.wanted, manager.options.get("sharp_enabled")
    has_sharp = wanted.sharp if wanted is not None else option is not None and option.value == "2"
    partitions = manager.file(manager.named.get("partition_config_file", ""))
    declaration = manager.tree.declaration
    is_full = partitions is not None and re.search(r"\bALL=full\b", partitions) is not None
    if declaration is not None:
        is_full = manager.subnet in declaration.open_default
    global_file_faults = global_faults(manager.file(GLOBAL), has_sharp, "full" if is_full else "limited")
    yield from (manager.at(GLOBAL, *fault) for fault in global_file_faults)
    yield from (manager.at(EXTENSION, *fault) for fault in extension_faults(manager.file(EXTENSION), partitions))
    yield from (manager.at(SHARP, *fault) for fault in sharp_faults(manager.file(SHARP), wanted, has_sharp))


def _listed(name: str, wanted: DeclaredSubnet) -> frozenset[int]:
    return {"root_guid_file": wanted.roots, "cn_guid_file": wanted.compute}.get(name, wanted.storage)


def _too_few(
    declaration: Declaration, by_subnet: Mapping[str | frozenset[int], list[_Manager]]
) -> Iterator[Counterexample]:
    """Subnets with fewer managers than in the spec; without any, no port of a subnet comes up."""
    if not all(isinstance(subnet, str) for subnet in by_subnet):
        return  # the missing cabling of a manager is reported by itself
    for name, (_, count) in declaration.managers.items():
        group = by_subnet.get(name, [])
        if len(group) < count:
            message = f"{name} has {len(group)} subnet managers, and the spec asks for {count}"
            first = group[0] if group else None
            yield Counterexample(
                device=first.device if first is not None else "",
                file=first.config if first is not None else "",
                line=0,
                message=message,
            )


def _priorities(group: list[_Manager]) -> Iterator[Counterexample]:
    """Faults of priorities: managers have different ones, the highest possible, so that the master is determined."""
    device_by_priority: dict[str, str] = {}
    priorities = [str(max(HIGHEST_PRIORITY - index, 0)) for index in range(len(group))]
    for manager in group:
        option = manager.options.get("sm_priority")
        if option is None:
            continue  # reported above
        priority = option.value
        if priority in device_by_priority and priority != "0":
            device = device_by_priority[priority]
            message = f"sm_priority {priority} is that of {device} too: the lower GUID decides who is master"
            yield manager.at(manager.config, option.line, message)
        elif priority not in priorities:
            message = (
                f"sm_priority {priority} is none of {', '.join(priorities)}, which {len(group)} managers share out"
            )
            yield manager.at(manager.config, option.line, message)
        device_by_priority.setdefault(priority, manager.device)


def _differences(group: list[_Manager]) -> Iterator[Counterexample]:
    """Differences between a standby's files and the first manager's; a takeover would change the subnet."""
    first = group[0]
    for standby in group[1:]:
        yield from _option_differences(first, standby)
        for name, path in {**standby.named, FABRIC: standby.cabling}.items():
            if name in standby.named and first.named.get(name) != path:
                continue  # another path is a difference of options
            text, standby_text = first.file(path), standby.file(path)
            if text is None or standby_text is None or text == standby_text:
                continue  # missing files are reported above
            message = f"differs from the file of {first.device} from here on: taking over changes the subnet"
            yield standby.at(path, _first_difference(text, standby_text), message)


def _option_differences(first: _Manager, standby: _Manager) -> Iterator[Counterexample]:
    for name in sorted((first.options.keys() | standby.options.keys()) - OWN):
        expected, option = first.options.get(name), standby.options.get(name)
        expected_value = expected.value if expected is not None else "nothing"
        if option is None:
            message = f"{name} is missing, on {first.device} {expected_value}: taking over changes it"
            yield standby.at(standby.config, 0, message)
        elif expected is None or option.value != expected.value:
            message = f"{name} is {option.value}, on {first.device} {expected_value}: taking over changes it"
            yield standby.at(standby.config, option.line, message)


def _first_difference(text: str, other: str) -> int:
    """The first line, from 1, with a difference between two texts; the line after the shorter one's end."""
    lines, other_lines = text.split("\n"), other.split("\n")
    for number, (line, other_line) in enumerate(zip(lines, other_lines, strict=False), 1):
        if line != other_line:
            return number
    return min(len(lines), len(other_lines))


MANAGERS = ProofCheck(
    name="ib-managers",
    claim=(
        "Every line that a subnet manager reads matches the spec, and all managers of a fabric have the same lines."
    ),
    kinds=KINDS,
    intent=SUBNET_INTENT | {"endpoints", "managers", "open_default", "partitions"},
    applies=has_subnet,
    check=_run,
    spec_only="whether options, lists and names are those of the spec",
)
