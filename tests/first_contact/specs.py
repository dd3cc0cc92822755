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


def contacted(folder: Path, name: str, noted: str = "") -> Plan:
    """The plan of a lab with it; ``noted`` is a device and port whose MAC address the overlay file has."""
    if noted:
        (folder / "overlay.overlay.csv").write_text(f"device,port,mac\n{noted},{MAC}\n")
    return plan_with(folder, name, overlay(name))
