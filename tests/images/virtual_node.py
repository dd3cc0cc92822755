"""A node of a plan as a virtual machine: image and overlay as a boot server hands them out, its NICs at their places.

Every NIC that the catalogue names is there at its own PCI address, behind a root bus of its own (QEMU's pxb), with the
address that DHCP would know it by. What has no virtual counterpart is masked by name on the kernel command line. A unit
that only the test adds prints what the running system holds on the second serial port.
"""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.virtual_processor import processor

from clusterwright.artifact import Artifact
from clusterwright.hosts.boot.newc import newc
from clusterwright.intent.node_nics import nics_of
from clusterwright.plan.boot import boot_nics, format_mac
from clusterwright.plan.model import Plan

BOOT_TIMEOUT_S = 1200  # a node is up after 100 with a processor of its own; others may be busy on it
MEMORY_MB = 3072
# Adapters of another kind, servers that are not there, and keys that no image holds.
WITHOUT_HARDWARE = (
    *("roce-qos.service", "rdma-names.service", "home.mount", "slurmd.service", "munge.service"),
    "isolation-watch.timer",
)
# The probe starts the node check itself, when nothing else is running, and gives an emulated processor time for it.
ON_DEMAND = ("node-health.timer",)
# What an emulated processor would take long for: it translates code anew for each address that it is mapped at.
SPARED = (
    *("mitigations=off", "audit=0", "norandmaps", "init_on_alloc=0", "udev.children_max=1"),
    *("systemd.log_level=notice", "systemd.show_status=no"),
)
PATIENT = """[Service]
ExecStart=
ExecStart=/usr/local/sbin/node-health --write --patience-s 180
TimeoutStartSec=600
"""

PROBE_UNIT = """[Unit]
After=network.target
[Service]
Type=simple
ExecStart=/usr/local/sbin/probe
StandardOutput=file:/dev/ttyS1
StandardError=null
"""
PROBE = r"""#!/bin/sh
section() { echo "## $1"; }
timeout 120 systemctl is-system-running --wait > /dev/null
# Timers count from the start of the kernel: on a busy processor they fall due before this line; what they start ends.
# The last look counts: a timer may fall due right after it.
for _ in $(seq 120); do jobs=$(systemctl list-jobs --no-legend); [ "$jobs" ] || break; sleep 1; done
section failed; systemctl --failed --no-legend --plain | cut -d' ' -f1
section jobs; echo "$jobs"
section sysctl; for name in SETTINGS; do echo "$name = $(sysctl -n "$name" | tr '\t' ' ')"; done
section modules; ls /sys/module
section cmdline; cat /proc/cmdline
section release; grep ^IMAGE_ /etc/os-release
section nics; for nic in /sys/class/net/*; do [ -e "$nic/device" ] &&
    echo "${nic##*/} $(basename "$(readlink -f "$nic/device/..")") $(cat "$nic/mtu")"; done
section addresses; ip -j addr show scope global
section routes; ip -j -4 route show table all; section routes6; ip -j -6 route show table all
section filter; nft list ruleset
section nccl; cat /etc/nccl.conf
section limits; cat /proc/self/limits
section users; getent passwd | cut -d: -f1,3,7; section keys; cat /etc/ssh/authorized_keys.d/*
section shadow; grep -E '^(root|ops):' /etc/shadow | cut -d: -f1,2
section sshd; sshd -T 2>/dev/null
section masked; for unit in MASKED; do echo "$unit $(systemctl is-enabled "$unit" 2>/dev/null)"; done
section hugepages; cat /proc/meminfo | grep HugePages_Total
section hostname; uname -n
section check; /usr/local/sbin/image-check 2>&1 && echo passed
RDMA
section gids; ibv_devinfo -v | grep -E 'hca_id|active_mtu|GID\['
section health; systemctl start node-health.service; cat /run/clusterwright/health.json
section end
poweroff -ff
"""


@dataclass(frozen=True)
class Machine:
    """What is started: kernel, the archives in the order in which iPXE names them, the kernel's parameters."""

    kernel: Path
    archives: tuple[Path | bytes, ...]
    parameters: str


def boot(
    plan: Plan, node: str, machine: Machine, folder: Path, settings: list[str], masked: list[str]
) -> dict[str, str]:
    """What the running node says, by section. Fails with the console's last lines when it never says all."""
    nics = nics_of(plan, plan.by_name[node])
    rails = [nic for nic in nics if nic.fabric.technology == "roce"]
    links = "\n".join(f"rdma link add {nic.rdma_device} type rxe netdev {nic.interface}" for nic in rails)
    script = PROBE.replace("SETTINGS", " ".join(settings)).replace("MASKED", " ".join(masked)).replace("RDMA", links)
    wants = "[Unit]\nWants=probe.service\n"
    probe = newc(
        Artifact(node, path, text.encode(), "test", mode)
        for path, text, mode in (
            ("usr/local/sbin/probe", script, 0o755),
            ("etc/systemd/system/probe.service", PROBE_UNIT, 0o644),
            ("etc/systemd/system/node-health.service.d/patient.conf", PATIENT, 0o644),
            ("etc/systemd/system/multi-user.target.d/99-probe.conf", wants, 0o644),
        )
    )
    initrd = folder / "initrd"
    with initrd.open("wb") as stream:
        for archive in (*machine.archives, probe):
            stream.write(archive if isinstance(archive, bytes) else archive.read_bytes())
    masks = " ".join(f"systemd.mask={unit}" for unit in (*WITHOUT_HARDWARE, *ON_DEMAND))
    console, said = folder / "console", folder / "said"
    command = [
        "qemu-system-x86_64",
        *processor(),
        *("-m", str(MEMORY_MB), "-nodefaults", "-no-reboot", "-display", "none"),
        *("-kernel", str(machine.kernel), "-initrd", str(initrd)),
        *("-append", f"console=ttyS0 panic=-1 {masks} {' '.join(SPARED)} {machine.parameters}"),
        *("-serial", f"file:{console}", "-serial", f"file:{said}"),
        *_nic_options(plan, node),
    ]
    try:
        subprocess.run(command, check=True, timeout=BOOT_TIMEOUT_S, capture_output=True, text=True)
    except subprocess.TimeoutExpired:
        pass  # what it said until then tells more than that it took too long
    except subprocess.CalledProcessError as error:
        raise AssertionError(error.stderr) from error
    finally:
        initrd.unlink()
    text = said.read_text(errors="replace") if said.exists() else ""
    sections = {part.partition("\n")[0].strip(): part.partition("\n")[2] for part in text.split("## ")[1:]}
    assert "end" in sections, f"{text}\n{console.read_text(errors='replace')[-4000:]}"
    return sections


def _nic_options(plan: Plan, node: str) -> list[str]:
    macs = {nic.interface.port: nic.mac for nic in boot_nics(plan)[node]}
    options: list[str] = []
    for index, nic in enumerate(nics_of(plan, plan.by_name[node])):
        assert nic.pci is not None
        assert nic.pci.endswith(":00.0")
        bus = int(nic.pci.split(":")[1], 16)
        # the bridge of a pxb takes its own bus; its NIC stands on the next one
        mac = macs.get(nic.interface, 0x06_00_00_00_00_00 + index)
        options += ["-device", f"pxb,id=bus{index},bus=pci.0,bus_nr={bus - 1}"]
        options += ["-netdev", f"user,id=net{index},restrict=on"]
        device = f"virtio-net-pci,netdev=net{index},bus=bus{index},addr=0x0,mac={format_mac(mac)}"
        options += ["-device", f"{device},romfile=,disable-legacy=on"]
    return options
