"""A node as a virtual machine: UEFI, adapters at their places, those of the boot fabric at the rack, a disk or none.

Firmware starts from the first adapter on the boot fabric, as the order of boot in a real machine's firmware has it.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.network_boot.rack import MTU, RackSwitch, port_name
from tests.virtual_processor import processor

from clusterwright.extras.lab.namespaces import inside
from clusterwright.intent.node_nics import nics_of
from clusterwright.plan.boot import boot_nics, format_mac
from clusterwright.plan.model import Plan

FIRMWARE = Path("/usr/share/OVMF")
MEMORY_MB = 2560


@dataclass(frozen=True, slots=True)
class Machine:
    """A running machine: its console, and what the probe in its image says."""

    node: str
    folder: Path

    @property
    def console(self) -> str:
        """What firmware and iPXE wrote."""
        return (self.folder / "console").read_text(errors="replace")

    @property
    def said(self) -> str:
        """What the node's own system wrote on the second serial port."""
        return (self.folder / "said").read_text(errors="replace")

    def reset(self) -> None:
        """Power-cycle it, as its BMC would."""
        with socket.socket(socket.AF_UNIX) as monitor:
            monitor.connect(str(self.folder / "monitor"))
            for command in (b"system_reset\n", b""):
                heard = b""
                while not heard.endswith(b"(qemu) "):  # it has done what it was told before
                    heard += monitor.recv(4096)
                monitor.sendall(command)


@contextmanager
def powered_on(plan: Plan, node: str, switch: RackSwitch, folder: Path, disk: Path | None = None) -> Iterator[Machine]:
    """Within, the machine runs, and boots over the network whenever it is reset; from its ``disk`` where that fails.

    One with a disk has the first adapter alone: firmware asks over each of them, for minutes, before it tries a disk.
    """
    folder.mkdir()
    for name in ("console", "said"):
        (folder / name).touch()
    variables = folder / "variables.fd"
    shutil.copy(FIRMWARE / "OVMF_VARS_4M.fd", variables)
    command = [
        "qemu-system-x86_64",
        *processor(),
        *("-m", str(MEMORY_MB), "-nodefaults", "-display", "none", "-device", "virtio-rng-pci"),
        *("-drive", f"if=pflash,format=raw,readonly=on,file={FIRMWARE}/OVMF_CODE_4M.fd"),
        *("-drive", f"if=pflash,format=raw,file={variables}"),
        *("-serial", f"file:{folder}/console", "-serial", f"file:{folder}/said"),
        *("-fw_cfg", f"name=opt/org.tianocore/IPv{10 - switch.version}PXESupport,string=n"),
        *("-monitor", f"unix:{folder}/monitor,server,nowait"),
        *_nic_options(plan, node, switch, alone=disk is not None),
        *(() if disk is None else _disk_options(disk)),
    ]
    with (folder / "qemu").open("w") as log, inside(switch.namespace):
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
    try:
        yield Machine(node, folder)
    finally:
        process.kill()
        process.wait()


def _disk_options(disk: Path) -> tuple[str, ...]:
    """A disk that firmware tries after the network."""
    drive = f"if=none,id=disk,format=raw,file={disk}"
    return ("-drive", drive, "-device", "virtio-blk-pci,drive=disk,bus=pci.0,bootindex=2")


def _nic_options(plan: Plan, node: str, switch: RackSwitch, *, alone: bool) -> list[str]:
    macs = {nic.interface.port: nic.mac for nic in boot_nics(plan)[node]}
    taps = {cable.a.port: port_name(cable) for cable in switch.cables if cable.a.device == node}
    options: list[str] = []
    for index, nic in enumerate(nics_of(plan, plan.by_name[node])):
        assert nic.pci is not None
        if alone and nic.interface != next(iter(taps)):
            continue
        bus = int(nic.pci.split(":")[1], 16)
        # the bridge of a pxb takes its own bus; its NIC stands on the next one
        mac = macs.get(nic.interface, 0x06_00_00_00_00_00 + index)
        tap = taps.get(nic.interface)
        options += ["-device", f"pxb,id=bus{index},bus=pci.0,bus_nr={bus - 1}"]
        far = f"tap,id=net{index},ifname={tap},script=no,downscript=no" if tap else f"user,id=net{index},restrict=on"
        first = ",bootindex=1" if nic.interface == next(iter(taps)) else ""
        device = f"virtio-net-pci,netdev=net{index},bus=bus{index},addr=0x0,mac={format_mac(mac)},host_mtu={MTU}"
        options += ["-netdev", far, "-device", f"{device},romfile=,disable-legacy=on{first}"]
    return options
