"""From a catalogue document that its JSON Schema accepts to hardware models, with what no schema can say checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from clusterwright.finding import Finding, Position, Severity, SpecError
from clusterwright.spec.hardware.bracket import expand
from clusterwright.spec.hardware.cages import PortBlock, PortMode
from clusterwright.spec.hardware.models import (
    Buffer,
    Chips,
    Cpu,
    Gpus,
    HardwareModel,
    Host,
    Nic,
    NicGroup,
    OutOfBandPort,
    Pcie,
)
from clusterwright.spec.hardware.platform_files import read_platform
from clusterwright.spec.hardware.platform_ports import MachinePorts
from clusterwright.spec.hardware.platforms import BadPlatform, platforms
from clusterwright.spec.hardware.systems import systems
from clusterwright.spec.text.document import Document, Path, format_path

INCONSISTENT_MODEL = "CW131"
BAD_PLATFORM_FILE = "CW180"

_CABLED = ("switch", "director")  # kinds whose links plug into port blocks; the others have NICs


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """A model and where it stands, for findings about it."""

    model: HardwareModel
    document: Document
    path: Path

    @property
    def name_position(self) -> Position:
        """Where its name is written."""
        return self.document.locate((*self.path, "name"))


def load_models(document: Document) -> tuple[list[LoadedModel], list[Finding]]:
    """The models in ``document``, and what is inconsistent in them (CW131); such models are left out."""
    models: list[LoadedModel] = []
    findings: list[Finding] = []
    for index, data in enumerate(document.data["models"]):
        path: Path = ("models", index)
        loader = _Loader(document, path)
        model = loader.model(data)
        if loader.findings:
            findings += loader.findings
        else:
            models.append(LoadedModel(model, document, path))
    return models, findings


@dataclass(slots=True)
class _Loader:
    """Types one model and collects what contradicts itself in it."""

    document: Document
    path: Path
    findings: list[Finding] = field(default_factory=list)

    def model(self, data: Mapping[str, Any]) -> HardwareModel:
        platform = self._platform(data)
        blocks = self._blocks(data) if "ports" in data or platform is None else platform.blocks
        groups = self._nic_groups(data)
        chips = self._chips(data, blocks)
        self._check_kind(data, blocks)
        management, gpus, buffer = data.get("management"), data.get("gpus"), data.get("buffer")
        return HardwareModel(
            name=data["name"],
            kind=data["kind"],
            manufacturer=data["manufacturer"],
            part=data["part"],
            technology=tuple(data["technology"]),
            network_os=data.get("network_os"),
            platform=data.get("platform"),
            asic=data.get("asic"),
            units=data["units"]["value"],
            power_w=data["power_w"]["value"],
            weight_kg=data["weight_kg"]["value"],
            blocks=blocks,
            management=management and OutOfBandPort(management["name"], management["speed_gbps"]),
            nic_groups=groups,
            gpus=gpus and Gpus(gpus["count"], gpus["model"], gpus["memory_gb"]),
            chips=chips,
            capacity_tb=data["capacity_tb"]["value"] if "capacity_tb" in data else 0,
            assumed=tuple(_assumed(data)),
            buffer=buffer and self._buffer(buffer),
            macsec=tuple(data["macsec"]["ciphers"]) if "macsec" in data else (),
            host=_host(data["host"]) if "host" in data else None,
            pcie=self._pcie(data, groups) if "pcie" in data else None,
            platform_ports=platform,
        )

    def object(self, path: Path, message: str, hint: str) -> None:
        """Notes that the value at ``path`` inside the model contradicts the rest of it."""
        full = (*self.path, *path)
        self.findings.append(
            Finding(
                INCONSISTENT_MODEL,
                Severity.ERROR,
                message,
                hint,
                self.document.locate(full),
                format_path(full, self.document.data),
            )
        )

    def _platform(self, data: Mapping[str, Any]) -> MachinePorts | None:
        """What its network OS calls the machine's ports: by its vendor's files, or by its name; None where unknown."""
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
            self.findings.append(Finding(BAD_PLATFORM_FILE, Severity.ERROR, message, hint, place, shown))
        except SpecError as error:
            self.findings += error.findings
        return None

    def _blocks(self, data: Mapping[str, Any]) -> tuple[PortBlock, ...]:
        blocks: list[PortBlock] = []
        places: list[Path] = []
        for index, ports in enumerate(data.get("ports", ())):
            made = self._expanded(ports, ("ports", index))
            blocks += made
            places += [("ports", index)] * len(made)
        self._check_unique((block.name for block in blocks), places, "block", "block")
        self._check_unique(
            (cage for block in blocks for cage in block.cages),
            [place for block, place in zip(blocks, places, strict=True) for _ in block.cages],
            "cages",
            "cage",
        )
        self._check_disables(blocks, places)
        return tuple(blocks)

    def _expanded(self, ports: Mapping[str, Any], path: Path) -> list[PortBlock]:
        """The blocks that one entry of ``ports`` stands for: its cages dealt evenly to the names of its blocks."""
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
        return [
            PortBlock(
                name,
                cages[number * share : (number + 1) * share],
                ports["connector"],
                tuple(mode[number] for mode in modes),
            )
            for number, name in enumerate(names)
        ]

    def _modes(self, mode: Mapping[str, Any], blocks: int, path: Path) -> list[PortMode]:
        """The mode as each of ``blocks`` equal blocks has it: only ``disables`` differs between them."""
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
        return [PortMode(mode["name"], mode["speed_gbps"], tuple(mode["subports"]), other) for other in disabled]

    def _names(self, pattern: str, path: Path) -> tuple[str, ...]:
        try:
            return expand(pattern)
        except ValueError as error:
            self.object(path, f'"{pattern}" cannot be expanded: {error}.', "Write ranges such as [1-16] or [1-15:2].")
            return ()

    def _check_unique(self, names: Iterable[str], places: list[Path], key: str, what: str) -> None:
        """Objects to each name that comes again; ``places`` are where each stands."""
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
                other = by_name.get(mode.disables)
                if other is None:
                    message = f'There is no block "{mode.disables}" to disable.'
                    hint = f"Blocks of this model: {', '.join(sorted(by_name))}."
                elif other is block or len(other.cages) != len(block.cages):
                    message = (
                        f'A cage of "{block.name}" ({len(block.cages)} cages) cannot disable the one with the same '
                        f'index in "{other.name}" ({len(other.cages)} cages).'
                    )
                    hint = "Name another block with as many cages."
                else:
                    continue
                objected.add((place, mode.name))
                index = [candidate.name for candidate in block.modes].index(mode.name)
                self.object((*place, "modes", index, "disables"), message, hint)

    def _nic_groups(self, data: Mapping[str, Any]) -> tuple[NicGroup, ...]:
        groups: list[NicGroup] = []
        gpus = data["gpus"]["count"] if "gpus" in data else 0
        places: list[Path] = []
        for index, group in enumerate(data.get("nics", ())):
            for number, device in enumerate(group["devices"]):
                places.append(("nics", index, "devices", number))
                if device.get("gpu", -1) >= gpus:
                    self.object(
                        (*places[-1], "gpu"),
                        f"The NIC sits beside GPU {device['gpu']}, but the model has {gpus or 'none'}.",
                        "Count GPUs from 0, or mend gpus.count.",
                    )
            groups.append(NicGroup(group["group"], group["speed_gbps"], tuple(_nic(nic) for nic in group["devices"])))
        self._check_unique(
            (group.name for group in groups), [("nics", index) for index in range(len(groups))], "group", "NIC group"
        )
        nics = [nic for group in groups for nic in group.nics]
        self._check_unique((nic.interface for nic in nics), places, "interface", "interface")
        for key in ("rdma_device", "pci"):
            known = [(getattr(nic, key), place) for nic, place in zip(nics, places, strict=True) if getattr(nic, key)]
            self._check_unique((name for name, _ in known), [place for _, place in known], key, key)
        return tuple(groups)

    def _chips(self, data: Mapping[str, Any], blocks: tuple[PortBlock, ...]) -> Chips | None:
        if "chips" not in data:
            return None
        inside = data["chips"]
        chips = Chips(inside["leaves"], inside["external"], inside["spines"], inside.get("modules", inside["leaves"]))
        cages = sum(len(block.cages) for block in blocks)
        if chips.leaves * chips.external != cages:
            self.object(
                ("chips",),
                f"{chips.leaves} leaf chips with {chips.external} front ports each make "
                f"{chips.leaves * chips.external} ports, but the model has {cages} cages.",
                "Mend leaves:, external: or the cages.",
            )
        if chips.leaves % chips.modules:
            self.object(
                ("chips", "modules"),
                f"{chips.leaves} leaf chips do not divide by {chips.modules} modules.",
                "Every module carries equally many.",
            )
        return chips

    def _pcie(self, data: Mapping[str, Any], groups: tuple[NicGroup, ...]) -> Pcie:
        """The node's PCI layout; it has every GPU of the model, and each NIC's NUMA node."""
        inside, gpus = data["pcie"], data["gpus"]["count"] if "gpus" in data else 0
        if len(inside["gpus"]) != gpus:
            message = f"pcie: places {len(inside['gpus'])} GPUs, but the model has {gpus or 'none'}."
            self.object(("pcie", "gpus"), message, "Write one address for each GPU, by local index.")
        highest = max((nic.numa for group in groups for nic in group.nics if nic.numa is not None), default=0)
        if highest >= len(inside["numa_cpus"]):
            message = f"A NIC sits at NUMA node {highest}, but numa_cpus: ends at {len(inside['numa_cpus']) - 1}."
            self.object(("pcie", "numa_cpus"), message, "Write the threads of every NUMA node, from 0.")
        return Pcie(
            cpu=Cpu(**inside["cpu"]),
            numa_cpus=tuple(inside["numa_cpus"]),
            link_speed_gts=inside["link_speed_gts"],
            link_width=inside["link_width"],
            gpus=tuple(inside["gpus"]),
            gpus_per_switch=inside.get("gpus_per_switch", 1),
            nvlinks=inside.get("nvlinks", 0),
        )

    def _buffer(self, data: Mapping[str, Any]) -> Buffer:
        """The packet buffer; no pool has more cells than there are."""
        cells = data["bytes"] // data["cell_bytes"]
        pool = data.get("pool_cells", cells)
        if pool > cells:
            message = f"A pool has {pool:,} cells, but the buffer of {data['bytes']:,} bytes has {cells:,}."
            self.object(
                ("buffer", "pool_cells" if "pool_cells" in data else "bytes"), message, "Mend bytes: or pool_cells:."
            )
        return Buffer(data["bytes"], data["cell_bytes"], pool)

    def _check_kind(self, data: Mapping[str, Any], blocks: tuple[PortBlock, ...]) -> None:
        kind = data["kind"]
        needed, unused = ("ports", "nics") if kind in _CABLED else ("nics", "ports")
        if needed not in data and not (blocks and needed == "ports") and not self.findings:
            self.object((), f"A {kind} needs {needed}: to be cabled by.", f"Describe its {needed}.")
        if unused in data:
            self.object((unused,), f"A {kind} is cabled by {needed}:, never by {unused}:.", f"Remove {unused}:.")
        if (kind == "director") != ("chips" in data):
            self.object(
                ("chips",) if "chips" in data else (),
                f"A {kind} {'has no' if 'chips' in data else 'needs'} chips:.",
                "Directors, and only they, are seen by the subnet manager as the chips inside them.",
            )
        if kind in _CABLED and "network_os" not in data:
            self.object((), f"A {kind} needs network_os:.", "Name what it runs, or write unmanaged.")


def _nic(data: Mapping[str, Any]) -> Nic:
    return Nic(data["interface"], data.get("rdma_device"), data.get("pci"), data.get("gpu"), data.get("numa"))


def _host(data: Mapping[str, Any]) -> Host:
    return Host(data["sockets"], data["cores_per_socket"], data["threads_per_core"], data["memory_gb"])


def _assumed(data: Mapping[str, Any]) -> Iterable[str]:
    """What the model assumes, as ``figure: reason``."""
    for key, value in data.items():
        if isinstance(value, dict) and "assumed" in value:
            yield f"{key}: {value['assumed']}"
    for key, name in (("ports", "block"), ("nics", "group")):
        yield from (f"{key}.{item[name]}: {item['assumed']}" for item in data.get(key, ()) if "assumed" in item)
