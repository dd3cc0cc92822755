"""Checks of hardware models beyond the schema: blocks of ports, and contradictory figures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from clusterwright.finding import Finding, Position, Severity, SpecError
from clusterwright.nearest_name import did_you_mean
from clusterwright.spec.hardware.cages import PortBlock, PortMode, expand
from clusterwright.spec.hardware.models import DEVICE, Cpu, HardwareModel
from clusterwright.spec.hardware.platform_files import read_platform
from clusterwright.spec.hardware.platform_ports import MachinePorts
from clusterwright.spec.hardware.platforms import BadPlatform, platforms
from clusterwright.spec.hardware.systems import UNMANAGED, WITHOUT_FILES, systems
from clusterwright.spec.structuring import Structuring
from clusterwright.spec.text.document import Document, Path, format_path

INCONSISTENT_MODEL = "CW131"
BAD_PLATFORM_FILE = "CW180"

_CPUID = "x86_64"
_CABLED = ("switch", "director")  # kinds with links on port blocks; the others have NICs
_OF_MACHINES = ("ports", "nics", "gpus", "host", "parts", "pcie", "chips", "buffer", "capacity_tb", "macsec")


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """A model with its place, for findings about it."""

    model: HardwareModel
    document: Document
    path: Path

    @property
    def name_position(self) -> Position:
        """The place of its name."""
        return self.document.locate((*self.path, "name"))


def load_models(document: Document) -> tuple[list[LoadedModel], list[Finding]]:
    """The consistent models in ``document``, and findings about the others (CW131)."""
    models: list[LoadedModel] = []
    findings: list[Finding] = []
    for index, data in enumerate(document.data["models"]):
        path: Path = ("models", index)
        reading = _ModelReading(document, path)
        model = reading.model(data)
        if reading.findings:
            findings += reading.findings
        else:
            models.append(LoadedModel(model, document, path))
    return models, findings


class _ModelReading(Structuring):
    """Reader of the model at ``path`` that collects its contradictions."""

    def __init__(self, document: Document, path: Path) -> None:
        super().__init__("hardware")
        self.document = document
        self.path = path
        self.findings: list[Finding] = []

    def model(self, data: Mapping[str, Any]) -> HardwareModel:
        platform = self._platform(data)
        blocks = self._blocks(data) if "ports" in data or platform is None else platform.blocks
        fields = {"blocks": blocks, "platform_ports": platform, "assumed": tuple(_assumed(data))}
        model = self.fields(HardwareModel, data, self.path, **fields)
        self._check_nics(model)
        self._check_management(model, data)
        self._check_chips(model)
        if model.kind == DEVICE:
            self._check_device(data)
        else:
            self._check_kind(data, blocks)
        model = replace(model, asic=self._chip(model))
        self._check_pcie(model)
        if model.buffer is not None and model.buffer.pool_cells > model.buffer.cells:
            pool, size, cells = model.buffer.pool_cells, model.buffer.size_bytes, model.buffer.cells
            message = f"A pool has {pool:,} cells, but the buffer of {size:,} bytes has {cells:,}."
            self.object(("buffer", "pool_cells"), message, "Fix bytes: or pool_cells:.")
        return model

    def object(self, path: Path, message: str, hint: str) -> None:
        """Record a finding: the value at ``path`` inside the model contradicts the rest of it."""
        full = (*self.path, *path)
        self.findings.append(
            Finding(
                code=INCONSISTENT_MODEL,
                severity=Severity.ERROR,
                message=message,
                hint=hint,
                position=self.document.locate(full),
                path=format_path(full, self.document.data),
            )
        )

    def _platform(self, data: Mapping[str, Any]) -> MachinePorts | None:
        """Port names of the machine in its network OS, from the vendor's files or by its name; None for an unknown
        machine."""
        name = data.get("platform", "")
        if "platform_file" not in data:
            return platforms().get((data.get("network_os", ""), name))
        if not name:
            self.object(("platform_file",), "The files describe a platform without a name.", "Name it: platform: NAME.")
            return None
        system = systems().get(data.get("network_os", ""))
        if system is None or not system.takes_platform_files:
            message = f"{data.get('network_os', 'Nothing')} has no files that describe a platform."
            self.object(("platform_file",), message, "Remove it, or name the system that the machine runs.")
            return None
        path: Path = (*self.path, "platform_file")
        named = data["platform_file"]
        places = [path] if isinstance(named, str) else [(*path, index) for index in range(len(named))]
        try:
            return read_platform(name, [self.document.named_file(place) for place in places])
        except BadPlatform as error:
            message, hint = f"{error}.", "Name the vendor's own platform.json, hwsku.json or port_config.ini."
            place, shown = self.document.locate(path), format_path(path, self.document.data)
            self.findings.append(
                Finding(
                    code=BAD_PLATFORM_FILE,
                    severity=Severity.ERROR,
                    message=message,
                    hint=hint,
                    position=place,
                    path=shown,
                )
            )
        except SpecError as error:
            self.findings += error.findings
        return None

    def _blocks(self, data: Mapping[str, Any]) -> tuple[PortBlock, ...]:
        blocks: list[PortBlock] = []
        places: list[Path] = []
        for index, ports in enumerate(data.get("ports", ())):
            entry_blocks = self._expanded(ports, ("ports", index))
            blocks += entry_blocks
            places += [("ports", index)] * len(entry_blocks)
        self._check_unique((block.name for block in blocks), places, "block", "block")
        cages: list[str] = []
        cage_places: list[Path] = []
        for block, place in zip(blocks, places, strict=True):
            cages += block.cages
            cage_places += [place] * len(block.cages)
        self._check_unique(cages, cage_places, "cages", "cage")
        self._check_disables(blocks, places)
        return tuple(blocks)

    def _expanded(self, ports: Mapping[str, Any], path: Path) -> list[PortBlock]:
        """The blocks of one entry of ``ports``: its cages divided evenly among its blocks."""
        names = self._names(ports["block"], (*path, "block"))
        cages = self._names(ports["cages"], (*path, "cages"))
        modes = [self._modes(mode, len(names), (*path, "modes", index)) for index, mode in enumerate(ports["modes"])]
        self._check_unique(
            (mode["name"] for mode in ports["modes"]),
            [(*path, "modes", index) for index in range(len(ports["modes"]))],
            "name",
            "mode",
        )
        if not names or not cages:
            return []
        share, rest = divmod(len(cages), len(names))
        if rest:
            self.object(
                (*path, "cages"),
                f"{len(cages)} cages cannot be dealt evenly to {len(names)} blocks.",
                "Write as many blocks as divide the cages, or one entry for each block.",
            )
            return []
        together = ports.get("ports_per_cage", 1)
        if share % together:
            message = f"{share} ports of a block are not whole cages of {together}."
            self.object((*path, "ports_per_cage"), message, "Correct it, or the cages.")
        return [
            PortBlock(
                name=name,
                cages=cages[number * share : (number + 1) * share],
                connector=ports["connector"],
                modes=tuple(mode[number] for mode in modes),
                ports_per_cage=together,
            )
            for number, name in enumerate(names)
        ]

    def _modes(self, mode: Mapping[str, Any], blocks: int, path: Path) -> list[PortMode]:
        """The mode for each of ``blocks`` equal blocks: only ``disables`` differs between them."""
        disabled: tuple[str | None, ...] = (None,) * blocks
        if "disables" in mode:
            named = self._names(mode["disables"], (*path, "disables"))
            if len(named) != blocks:
                self.object(
                    (*path, "disables"),
                    f"disables: stands for {len(named)} of the blocks, block: for {blocks}.",
                    "Write the same brackets in both.",
                )
            else:
                disabled = named
        name, speed_gbps, subports = mode["name"], mode["speed_gbps"], tuple(mode["subports"])
        return [
            PortMode(name=name, speed_gbps=speed_gbps, subports=subports, disables=block_name)
            for block_name in disabled
        ]

    def _names(self, pattern: str, path: Path) -> tuple[str, ...]:
        try:
            return expand(pattern)
        except ValueError as error:
            self.object(path, f'"{pattern}" cannot be expanded: {error}.', "Write ranges such as [1-16] or [1-15:2].")
            return ()

    def _check_unique(self, names: Iterable[str], places: list[Path], key: str, what: str) -> None:
        """Record a finding for each repeated name; ``places`` are those of the names."""
        seen: set[str] = set()
        objected: set[Path] = set()
        for name, place in zip(names, places, strict=True):
            if name in seen and place not in objected:
                objected.add(place)
                self.object((*place, key), f'The {what} "{name}" comes twice.', f"Give every {what} its own name.")
            seen.add(name)

    def _check_disables(self, blocks: list[PortBlock], places: list[Path]) -> None:
        by_name = {block.name: block for block in blocks}
        objected: set[tuple[Path, str]] = set()
        for block, place in zip(blocks, places, strict=True):
            for mode in block.modes:
                if mode.disables is None or (place, mode.name) in objected:
                    continue
                disabled = by_name.get(mode.disables)
                if disabled is None:
                    message = f'There is no block "{mode.disables}" to disable.'
                    hint = f"Blocks of this model: {', '.join(sorted(by_name))}."
                elif disabled is block or len(disabled.cages) != len(block.cages):
                    message = (
                        f'A cage of "{block.name}" ({len(block.cages)} cages) cannot disable the one with the same '
                        f'index in "{disabled.name}" ({len(disabled.cages)} cages).'
                    )
                    hint = "Name another block with as many cages."
                else:
                    continue
                objected.add((place, mode.name))
                index = [candidate.name for candidate in block.modes].index(mode.name)
                self.object((*place, "modes", index, "disables"), message, hint)

    def _check_nics(self, model: HardwareModel) -> None:
        gpus = model.gpus.count if model.gpus else 0
        paths_by_key: dict[str, list[tuple[str, Path]]] = {"interface": [], "rdma_device": [], "pci": []}
        for index, group in enumerate(model.nic_groups):
            for number, nic in enumerate(group.nics):
                place: Path = ("nics", index, "devices", number)
                if nic.gpu is not None and nic.gpu >= gpus:
                    self.object(
                        (*place, "gpu"),
                        f"The NIC sits beside GPU {nic.gpu}, but the model has {gpus or 'none'}.",
                        "Count GPUs from 0, or fix gpus.count.",
                    )
                for key, names in paths_by_key.items():
                    if getattr(nic, key):
                        names.append((getattr(nic, key), place))
        groups = [group.name for group in model.nic_groups]
        self._check_unique(groups, [("nics", index) for index in range(len(groups))], "group", "NIC group")
        for key, names in paths_by_key.items():
            self._check_unique((name for name, _ in names), [place for _, place in names], key, key)

    def _check_management(self, model: HardwareModel, data: Mapping[str, Any]) -> None:
        """Check that management ports have unique names and one speed, and that a switch has one port."""
        ports = model.management
        is_list = isinstance(data.get("management"), list)
        places: list[Path] = [("management",)] * len(ports)
        if is_list:
            places = [("management", index) for index in range(len(ports))]
        interfaces = {nic.interface for nic in model.nics}
        for name, place in zip(model.management_names, places, strict=True):
            if name in interfaces:
                self.object((*place, "name"), f"{name} is a NIC as well.", "Rename the port.")
        if len(ports) < 2:
            return
        if data["kind"] in _CABLED:
            message = f"A {data['kind']} with {len(ports)} management ports: systems are managed by one here."
            self.object(places[1], message, "Keep the port that is cabled.")
        self._check_unique(model.management_names, places, "name", "management port")
        for port, place in zip(ports, places, strict=True):
            if port.speed_gbps != ports[0].speed_gbps:
                message = f"{port.name} runs at {port.speed_gbps}G, {ports[0].name} at {ports[0].speed_gbps}G."
                hint = "Write the speed that both run at on the management switch, or make it a group of `nics`."
                self.object((*place, "speed_gbps"), message, hint)

    def _check_device(self, data: Mapping[str, Any]) -> None:
        """Check that a device has management ports only."""
        for key in (*_OF_MACHINES, "network_os", "asic", "platform", "platform_file", "release"):
            if key in data:
                message = f"A device has management ports alone, and no {key}:."
                self.object((key,), message, "Remove it, or write `kind: node`, `storage` or `switch`.")

    def _check_chips(self, model: HardwareModel) -> None:
        chips = model.chips
        if chips is None:
            return
        cages = sum(len(block.cages) for block in model.blocks)
        if chips.leaves * chips.external != cages:
            self.object(
                ("chips",),
                f"{chips.leaves} leaf chips with {chips.external} front ports each make "
                f"{chips.leaves * chips.external} ports, but the model has {cages} cages.",
                "Fix leaves:, external: or the cages.",
            )
        if chips.leaves % chips.modules:
            self.object(
                ("chips", "modules"),
                f"{chips.leaves} leaf chips do not divide by {chips.modules} modules.",
                "Every module carries equally many.",
            )

    def _chip(self, model: HardwareModel) -> str | None:
        """The switch chip by its name in the system's file, with or without dashes: rendered text depends on the
        name."""
        system = systems().get(model.network_os or "")
        if system is None or model.asic is None:
            return model.asic
        by_letters = {chip.replace("-", ""): chip for chip in system.chips}
        chip = by_letters.get(model.asic.replace("-", ""))
        if chip is None:
            suggestion = did_you_mean(model.asic, system.chips, f"Chips of {system.title}: {', '.join(system.chips)}.")
            hint = f"{suggestion} Leave `asic` out where it is another: what holds for every chip is then taken."
            self.object(("asic",), f'"{model.asic}" is no chip that {system.title} is known to run on.', hint)
        return chip

    def _check_pcie(self, model: HardwareModel) -> None:
        """Check a node's PCI layout: every GPU of the model, the same NVLinks, and each NIC's NUMA node."""
        inside, gpus = model.pcie, model.gpus.count if model.gpus else 0
        if inside is None:
            return
        self._check_cpu(inside.cpu)
        if len(inside.gpus) != gpus:
            message = f"pcie: places {len(inside.gpus)} GPUs, but the model has {gpus or 'none'}."
            self.object(("pcie", "gpus"), message, "Write one address for each GPU, by local index.")
        if inside.nvlinks and inside.nvlinks != model.nvlinks:
            message = f"pcie: counts {inside.nvlinks} NVLinks of a GPU, gpus.nvlink: {model.nvlinks}."
            self.object(("pcie", "nvlinks"), message, "Write it under gpus.nvlink alone.")
        highest = max((nic.numa for nic in model.nics if nic.numa is not None), default=0)
        if highest >= len(inside.numa_cpus):
            message = f"A NIC sits at NUMA node {highest}, but numa_cpus: ends at {len(inside.numa_cpus) - 1}."
            self.object(("pcie", "numa_cpus"), message, "Write the threads of every NUMA node, from 0.")

    def _check_cpu(self, cpu: Cpu) -> None:
        """Check that exactly the processors of x86_64 have CPUID's identification."""
        words = {"vendor": cpu.vendor, "family": cpu.family, "model": cpu.model}
        for name, value in words.items():
            if cpu.arch == _CPUID and value is None:
                self.object(
                    ("pcie", "cpu"), f"{_CPUID} has a {name}, by which NCCL takes its bandwidth.", f"Add {name}:."
                )
            elif cpu.arch != _CPUID and value is not None:
                self.object(("pcie", "cpu", name), f"{cpu.arch} has no {name} of CPUID.", f"Remove {name}:.")

    def _check_kind(self, data: Mapping[str, Any], blocks: tuple[PortBlock, ...]) -> None:
        kind = data["kind"]
        if not data["power_w"]["value"]:
            self.object(("power_w", "value"), f"A {kind} draws power.", "Write the highest draw to plan for.")
        needed, unused = ("ports", "nics") if kind in _CABLED else ("nics", "ports")
        if needed not in data and not (blocks and needed == "ports") and not self.findings:
            is_node = needed == "nics"
            device_hint = " What has management ports alone is `kind: device`." if is_node else ""
            self.object((), f"A {kind} needs {needed}: to be cabled by.", f"Describe its {needed}.{device_hint}")
        if unused in data:
            self.object((unused,), f"A {kind} is cabled by {needed}:, never by {unused}:.", f"Remove {unused}:.")
        if (kind == "director") != ("chips" in data):
            place, verb = (("chips",), "has no") if "chips" in data else ((), "needs")
            self.object(
                place,
                f"A {kind} {verb} chips:.",
                "Directors, and only they, are seen by the subnet manager as the chips inside them.",
            )
        system_names = sorted({*systems(), *WITHOUT_FILES})
        if kind in _CABLED and "network_os" not in data:
            self.object((), f"A {kind} needs network_os:.", "Name what it runs, or write external or unmanaged.")
        elif data.get("network_os", UNMANAGED) not in system_names:
            message = f'"{data["network_os"]}" is no system that is known.'
            others = f"Use one of: {', '.join(system_names)}; external is any that another owner configures."
            self.object(("network_os",), message, did_you_mean(data["network_os"], system_names, others))


def _assumed(data: Mapping[str, Any]) -> Iterable[str]:
    """Assumptions of the model, as ``figure: reason``."""
    for key, value in data.items():
        if isinstance(value, dict) and "assumed" in value:
            yield f"{key}: {value['assumed']}"
    for key, name in (("ports", "block"), ("nics", "group"), ("management", "name")):
        items = data.get(key, ())
        if not isinstance(items, list):
            continue
        for item in items:
            if "assumed" in item:
                yield f"{key}.{item[name]}: {item['assumed']}"
