"""Labs with a server of first contact, and the management ports that somebody has noted."""

from __future__ import annotations

from pathlib import Path

from tests.plans import plan_with

from clusterwright.plan.model import Plan

MAC = "0c:42:a1:5b:00:0c"
SERVERS = {"lab-roce": "10.99.240.67", "lab-nvue": "10.98.240.67", "lab-sonic": "10.99.240.67"}
INSTALLERS = {"lab-nvue": "{system: nvue, file: cumulus-linux-5.10.bin}"}


def overlay(name: str, more: str = "") -> str:
    """What is laid over a lab: the server, what relays write, and the flows that devices need to reach it."""
    installers = f", installers: [{INSTALLERS[name]}]" if name in INSTALLERS else ""
    flow = "  - {{name: {}, from: management, to: operations, protocol: {}, ports: [{}], reason: {}, owner: netops}}\n"
    flows = flow.format("first-addresses", "udp", 67, "addresses") + flow.format("first-files", "tcp", 80, "files")
    section = f'{{server: {SERVERS[name]}, relay_ports: "{{port}}"{installers}{more}}}'
    return f"first_contact: {section}\nflows:\n{flows}"


IPV6_SERVER = "fd00:1ab:a:f0::67"
IPV6_MANAGEMENT = """\
  - name: management
    addressing:
      loopbacks: "fd00:1ab:a:ffff::/64"
      links: "fd00:1ab:a:fffe::/64"
      hosts: "fd00:1ab:a::/56"
      hosts_per_switch: 64
"""


def contacted_over_ipv6(folder: Path, name: str, noted: str) -> Plan:
    """The plan of a lab whose management network has IPv6, with the port of a device whose MAC address is noted."""
    (folder / "overlay.overlay.csv").write_text(f"device,port,mac\n{noted},{MAC}\n")
    section = f"first_contact: {{server: '{IPV6_SERVER}', interface: eth0}}\n"
    return plan_with(folder, name, f"{section}fabrics:\n{IPV6_MANAGEMENT}")


def contacted(folder: Path, name: str, noted: str = "") -> Plan:
    """The plan of a lab with it; ``noted`` is a device and port whose MAC address the overlay file has."""
    if noted:
        (folder / "overlay.overlay.csv").write_text(f"device,port,mac\n{noted},{MAC}\n")
    return plan_with(folder, name, overlay(name))
