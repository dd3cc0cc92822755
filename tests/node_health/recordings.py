"""Recorded nodes, and what can break about one: a fact, and the one check that has to fail for it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from clusterwright.node_health.main import check_node, read_expected
from clusterwright.node_health.readings import CommandOutput, Readings, from_transcript
from clusterwright.node_health.verdict import Check, Expected

DATA = Path(__file__).parents[1] / "data/health"
NODES = ("h100-roce", "h100-ib", "a100-ib")


def recorded(node: str) -> tuple[dict[str, CommandOutput], Expected]:
    """What a node answered, and what was expected of it."""
    return from_transcript((DATA / node / "recorded.txt").read_text()), read_expected(str(DATA / node))


class Fault(NamedTuple):
    """One fact that is not as it should be: in answers to questions that match, ``good`` reads as ``bad``.

    ``good`` "" with a ``bad`` text adds a line; ``trouble`` replaces the whole answer.
    """

    check: str
    nodes: tuple[str, ...]
    question: str
    good: str
    bad: str
    trouble: str = ""


ROCE, IB, H100, ALL = NODES[:1], NODES[1:], NODES[:2], NODES
_SMI = "^nvidia-smi --query"
FAULTS = (
    Fault("gpu-count", ALL, _SMI, r"(?m)^0000.*\n", ""),
    Fault("gpu-count", ALL, _SMI, "", "", "nvidia-smi ended with 9: couldn't communicate with the NVIDIA driver"),
    Fault("gpu-count", ALL, _SMI, "", "", "nvidia-smi did not answer within 1.5 s"),
    Fault("gpu-model", ALL, _SMI, r"(?<=NVIDIA )[AH]100", "L40S"),
    Fault("gpu-model", ALL, _SMI, r"(?<=, )81\d\d\d", "40960"),
    Fault("gpu-driver", ALL, _SMI, r"\d+\.\d+\.\d+", "470.57.02"),
    Fault("gpu-pcie", ALL, _SMI, "16, 16", "8, 16"),
    Fault("gpu-persistence", ALL, _SMI, "Enabled", "Disabled"),
    Fault("gpu-ecc", ALL, _SMI, "16, 16, 0", "16, 16, 3"),
    Fault("gpu-ecc", ALL, _SMI, "16, 16, 0", "16, 16, [N/A]"),
    Fault("gpu-rows", ALL, _SMI, "No, No", "Yes, No"),
    Fault("gpu-rows", ALL, _SMI, "No, No", "No, Yes"),
    Fault("gpu-slowdown", ALL, _SMI, "Not Active, Not Active", "Active, Not Active"),
    Fault("gpu-slowdown", ALL, _SMI, "Not Active, Not Active", "Not Active, Active"),
    Fault("gpu-nvlink", ALL, "nvlink --status", r"[\d.]+ GB/s", "<inactive>"),
    Fault("gpu-nvlink", ALL, "nvlink --status", r"[\d.]+ GB/s", "12.5 GB/s"),
    Fault("gpu-nvlink", ALL, "nvlink --status", "", "", "nvidia-smi did not answer within 1.5 s"),
    Fault("gpu-nvlink", ALL, "nvlink --status", r"(?s)GPU 3: .*?(?=GPU 4: )", ""),
    Fault("gpu-nvlink-errors", ALL, "errorcounters", r"(?s)GPU 3: .*?(?=GPU 4: )", ""),
    Fault("gpu-nvlink-errors", ALL, "errorcounters", r"(?m)^\t Link 3: .*\n\t Link 3: .*\n\t Link 3: .*\n", ""),
    Fault("gpu-nvlink-errors", ALL, "errorcounters", "Replay Errors: 0", "Replay Errors: N/A"),
    Fault("gpu-pcie", ALL, _SMI, "16, 16", "[N/A], [N/A]"),
    Fault("gpu-slowdown", ALL, _SMI, "Not Active, Not Active", "[N/A], Not Active"),
    Fault("gpu-fabric", H100, "^nvidia-smi -q", ": Completed", ": In Progress"),
    Fault("gpu-fabric", H100, "^nvidia-smi -q", ": Success", ": Insufficient Resources"),
    Fault("gpu-fabric", H100, "^nvidia-smi -q", r"Route Unhealthy( +): N/A", r"Route Unhealthy\g<1>: True"),
    Fault("gpu-fabric", H100, "^nvidia-smi -q", r"(?s)GPU 0000.*?Processes", "Processes"),
    Fault("gpu-fabric", H100, "^nvidia-smi -q", r"        State .*\n", ""),
    Fault("gpu-fabric", H100, "^nvidia-smi -q", "", "", "nvidia-smi did not answer within 10 s"),
    Fault("memory-modules", ALL, "^dmidecode", "Size: 64 GB", "Size: No Module Installed"),
    Fault("memory-modules", ALL, "^dmidecode", "Size: 64 GB", "Size: 32 GB"),
    Fault("memory-modules", ALL, "^dmidecode", "", "", "dmidecode: No such file or directory"),
    Fault("disk-wear", ALL, "nvme.*/state", r"(?m)^/sys/class/nvme/nvme2/state.*\n", ""),
    Fault("power-supplies", ALL, "power-supplies$", r"(?m)^PSU2.*\n", ""),
    Fault("power-supplies", ALL, "power-supplies$", r"ok  (?=\| 10\.3 \| \d+ Watts)", "ns  "),
    Fault("gpu-xid", ALL, "^dmesg", "", "NVRM: Xid (PCI:0000:52:00): 79, pid=0, GPU has fallen off the bus.\n"),
    Fault("gpu-xid", ALL, "^dmesg", r"to 0x0 \(None\)", "to 0x2 (Node Reboot Required)"),
    Fault("memory-size", ALL, "^cat /proc/meminfo", "MemTotal: +2113405112", "MemTotal:  2046296248"),
    Fault(
        "cpu-errors",
        ALL,
        "^dmesg",
        "",
        "mce: [Hardware Error]: CPU 12: Machine Check Exception: 5 Bank 1: bf80000000100134\n",
    ),
    Fault("pci-errors", ALL, "^dmesg", "", "mlx5_core 0000:5e:00.0: PCIe Bus Error: severity=Uncorrectable (Fatal)\n"),
    Fault("disk-errors", ALL, "^dmesg", "", "critical medium error, dev nvme2n1, sector 8011264 op 0x0:(READ)\n"),
    Fault("gpu-nvlink-errors", ALL, "errorcounters", "(Replay|Recovery|CRC) Errors: 0", r"\g<1> Errors: 4102"),
    Fault("gpu-nvlink-errors", ALL, "errorcounters", "", "", "nvidia-smi did not answer within 1.5 s"),
    Fault("disk-wear", ALL, "nvme.*/state", "live", "dead"),
    Fault("disk-wear", ALL, "nvme smart-log", r'"percent_used": \d', '"percent_used": 104'),
    Fault("disk-wear", ALL, "nvme smart-log", '"critical_warning": 0', '"critical_warning": 4'),
    Fault("disk-wear", ALL, "nvme smart-log", '"media_errors": 0', '"media_errors": 17'),
    Fault("disk-wear", ALL, "nvme smart-log", "", "", "sh: nvme: not found"),
    Fault("power-supplies", ALL, "power-supplies$", "Presence detected", "Presence detected, Power Supply AC lost"),
    Fault("power-supplies", ALL, "power-supplies$", "Presence detected", "Presence detected, Failure detected"),
    Fault("power-supplies", ALL, "power-supplies$", " Presence detected", ""),
    Fault("power-supplies", ALL, "power-supplies$", r"ok  (?=\| 10\.\d \| \d+ Watts)", "cr  "),
    Fault("power-supplies", ALL, "power-supplies$", r"(?s)(?<=\d\n)P.*", "Could not open device at /dev/ipmi0\n"),
    Fault("power-supplies", ALL, "power-supplies$", r"\A\d+", "102"),
    Fault("cpu-governor", ALL, "scaling_governor$", "performance", "powersave"),
    Fault("nic-retransmissions", ROCE, "^cat .*packet_seq_err", "12", "882120"),
    Fault("nic-retransmissions", IB, "^cat .*local_ack_timeout_err", "3", "910033"),
    Fault("nic-retransmissions", ALL, "^cat .*implied_nak_seq_err", "0", ""),
    Fault("memory-errors", ALL, "ue_count$", ":0", ":1"),
    Fault("disks", ALL, "^findmnt", "rw,", "ro,"),
    Fault("disks", ALL, "^findmnt", r"\d+%", "100%"),
    Fault("disks", ALL, "^findmnt", "", "", "findmnt did not answer within 1.5 s"),
    Fault("nic-pcie", ALL, "current_link_width", "16", "8"),
    Fault("nic-pcie", ALL, "current_link_speed", r"\d+\.0 GT", "8.0 GT"),
    Fault("nic-count", ALL, r"^readlink -f /sys/class/infiniband/", "", "", "no such device"),
    Fault("nic-count", ROCE, r"^readlink -f /sys/class/net/be", r"[0-9a-f]{2}:00\.0\n", "03:00.0\n"),
    Fault("nic-state", ALL, "^cat .*/ports/1/state", "4: ACTIVE", "1: DOWN"),
    Fault("nic-state", ALL, "^cat .*/operstate", "up", "down"),
    Fault("nic-rate", ROCE, "^cat .*/speed", "00000|400000", "100000"),
    Fault("nic-rate", IB, r"^cat .*mlx5_0/ports/1/rate", r"\d+ Gb/sec \(4X", "50 Gb/sec (1X"),
    Fault("nic-mtu", ALL, "^cat .*/mtu", r"9000|1500", "1280"),
    Fault("nic-rdma-mtu", ROCE, "^ibv_devinfo", r"(?s)(?<=mlx5_0\n)(.*?active_mtu:\t\t)4096 \(5\)", r"\g<1>1024 (3)"),
    Fault("nic-rdma-mtu", ALL, "^ibv_devinfo", "", "", "ibv_devinfo: No such file or directory"),
    Fault("nic-gids", ROCE, "^grep .*/gids/", r"(?m)(/gids/3:)....", r"\g<1>feed"),
    Fault("nic-partition", IB, "^cat /etc/nccl.conf", "NCCL_IB_PKEY=1", "NCCL_IB_PKEY=2"),
    Fault("nic-partition", IB, "^cat /etc/nccl.conf", "NCCL_IB_PKEY=1\n", ""),
    Fault("nic-partition", IB, "^cat /etc/nccl.conf", "", "", "No such file or directory"),
    Fault("nic-partition", IB, "^grep .*/pkeys/", "/pkeys/1:0x8001", "/pkeys/1:0x8010"),
    Fault("nic-partition", IB, "^grep .*/pkeys/", "/pkeys/1:0x8001", "/pkeys/1:0x0001"),
    Fault("nic-gids", ROCE, "^grep .*/types/", r"(?m)(/types/3:)RoCE v2", r"\g<1>IB/RoCE v1"),
    Fault("nic-link-downs", ROCE, "^ethtool", r"link_down_events_phy: \d+", "link_down_events_phy: 17"),
    Fault("nic-link-downs", IB, "^cat .*link_downed", "0", "9"),
    Fault("nic-link-downs", ALL, "^cat .*carrier_down_count", "1", "12"),
    Fault("nic-errors", ROCE, "^ethtool", "rx_symbol_err_phy: 0", "rx_symbol_err_phy: 90000"),
    Fault("nic-errors", ROCE, "^ethtool", "rx_crc_errors_phy: 0", "rx_crc_errors_phy: 90000"),
    Fault("nic-errors", IB, "^cat .*symbol_error", "2", "65535"),
    Fault("lossless-dscp", ROCE, "^mlnx_qos", "trust state: dscp", "trust state: pcp"),
    Fault("lossless-dscp", ROCE, "^mlnx_qos", r"(?m)^\tprio:\d dscp:\d\d", "\tprio:5 dscp:50"),
    Fault("lossless-dscp", ROCE, "^mlnx_qos", "", "", "mlnx_qos: No such file or directory"),
    Fault("lossless-pfc", ROCE, "^mlnx_qos", r"(enabled +0 +0 +)1", r"\g<1>0"),
    Fault("lossless-dcqcn", ROCE, "^cat .*/ecn/", "0", "1"),
    Fault("lossless-cnp", ROCE, "^cat .*_cnp_", "0", "48211"),
    Fault("lossless-drops", ROCE, "^ethtool", "rx_prio2_discards: 0", "rx_prio2_discards: 44"),
    Fault("packet-filter", ALL, "^cat /etc/nftables.conf", "policy drop", "policy accept"),
    Fault("packet-filter", ALL, "^nft ", r'"policy": "drop"', '"policy": "accept"'),
    Fault("packet-filter", ALL, "^nft ", r'\{"rule"', '{"rules"'),
    Fault("packet-filter", ALL, "^nft ", "", "", "nft: No such file or directory"),
    Fault("default-route", ALL, "^ip -j -4", r"\[\{", '[{"dst": "default", "gateway": "10.0.0.1", "dev": "fe0"}, {'),
    Fault("default-route", ALL, "^ip -j -6", r"\[\{", '[{"dst": "default", "gateway": "fe80::1", "dev": "fe0"}, {'),
    Fault("default-route", ALL, "^ip -j -6", r"\[\{", '[{"dst": "default", "nexthops": []}, {'),
    Fault("kernel-parameters", ALL, "^cat /proc/cmdline", "iommu=pt", "iommu=on"),
    Fault("kernel-modules", ALL, "^ls /sys/module", "ib_uverbs\n", ""),
    Fault("kernel-settings", ALL, "^grep . /proc/sys", r"ip_forward:0", "ip_forward:1"),
    Fault("hugepages", ALL, "^cat .*nr_hugepages", r"\d+", "3"),
    Fault("driver-versions", ALL, "^cat /sys/module/nvidia/version", r"\d+\.\d+", "470.57"),
    Fault("driver-versions", ALL, "^cat /sys/module/mlx5_core/version", r"\d+\.\d+", "5.8"),
    Fault("adapter-firmware", ALL, "^cat .*fw_ver", r"\d+\.\d+", "20.31"),
    Fault("pci-acs", ALL, "^lspci", r"ACSCtl:\tSrcValid-", "ACSCtl:\tSrcValid+"),
    Fault("pci-iommu", ALL, "^grep . /sys/kernel/iommu", "identity", "DMA-FQ"),
    Fault("mounts", ALL, "^cat /proc/self/mounts", r"(?m)^(?!proc).*\n", ""),
    Fault("mounts", ALL, "^cat /proc/self/mounts", r"(?m)^(?!proc)\S+", "10.9.9.9:/stale"),
    Fault("mounts", ALL, "^stat ", "", "", "stat did not answer within 1.5 s"),
    Fault("time", ALL, "^(chronyc|timedatectl timesync)", r"0\.000012345|\+112us", "7.2s"),
    Fault("time", ALL, "^(chronyc|timedatectl show)", "Normal|NTPSynchronized=yes", "Not synchronised"),
    Fault("units", ALL, "^systemctl show", "ActiveState=active", "ActiveState=failed"),
    Fault("image", ALL, "image.json", r'"boot_digest": "...', '"boot_digest": "000'),
    Fault("image", ALL, "image.json", r'"name": "\w+"', '"name": "rescue"'),
    Fault("image", ALL, "image.json", "", "", "/usr/lib/clusterwright/image.json: No such file or directory"),
    Fault("check-gpus", ALL, "^sh -c .*nvidia-smi -L", "", "", "sh ended with 1: no message"),
)


def places(fault: Fault, answers: dict[str, CommandOutput]) -> list[tuple[str, int]]:
    """Where the fault can be: questions, and which of the places in its answer."""
    found = []
    for line in sorted(answers):
        if re.search(fault.question, line):
            whole = bool(fault.trouble) or not fault.good
            found += [(line, index) for index in range(1 if whole else len(re.findall(fault.good, answers[line].text)))]
    return found


def broken(fault: Fault, answers: dict[str, CommandOutput], line: str, at: int) -> dict[str, CommandOutput]:
    """The answers with the fault at one place."""
    answer = answers[line]
    if fault.trouble:
        return {**answers, line: CommandOutput("", fault.trouble)}
    if not fault.good:
        return {**answers, line: CommandOutput(answer.text + fault.bad)}
    match = list(re.finditer(fault.good, answer.text))[at]
    return {
        **answers,
        line: CommandOutput(answer.text[: match.start()] + match.expand(fault.bad) + answer.text[match.end() :]),
    }


def checks(answers: dict[str, CommandOutput], expected: Expected) -> dict[str, Check]:
    """The checks by name; fails when one asks for what was never asked of a node."""
    readings = Readings(answers)
    found = {each.name: each for each in check_node(readings, expected)}
    assert not readings.missing
    return found
