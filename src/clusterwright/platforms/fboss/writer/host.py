"""The Linux under FBOSS: the name of the switch and its out-of-band port.

FBOSS's image leaves the port to NetworkManager, in the profile whose path is used here (facebook/fboss, fboss-image/).
"""

from __future__ import annotations

from ipaddress import ip_address
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterwright.intent.switch_links import ManagementPort

HOSTNAME_PATH = "etc/hostname"
CONNECTION_FOLDER = "etc/NetworkManager/system-connections"
# NetworkManager ignores a profile that others than root can read.
CONNECTION_MODE = 0o600


def connection_path(port: ManagementPort) -> str:
    """Where the profile of the out-of-band port lies."""
    return f"{CONNECTION_FOLDER}/{port.port}.nmconnection"


def connection(port: ManagementPort, dns: Sequence[str], domain: str, reach: Sequence[str], zone: str | None) -> bytes:
    """The NetworkManager profile of the out-of-band port: one static address, and nothing learnt from the network.

    ``reach`` are the prefixes behind the gateway; there is no default route. ``zone`` is firewalld's for the port.
    """
    lines = ["[connection]", f"id={port.port}", "type=ethernet", f"interface-name={port.port}", "autoconnect=true"]
    lines += ([] if zone is None else [f"zone={zone}"]) + [""]
    for version in (4, 6):
        lines.append(f"[ipv{version}]")
        if version == port.version and port.address is not None:
            lines.append("method=manual")
            lines.append(f"address1={port.address}")
            if port.gateway is not None:
                lines.extend(f"route{number}={net},{port.gateway}" for number, net in enumerate(reach, 1))
            servers = [server for server in dns if ip_address(server).version == version]
            if servers:
                lines.append(f"dns={';'.join(servers)};")
            lines.append(f"dns-search={domain};")
        else:
            lines.append("method=disabled")
        lines.append("")
    return "\n".join(lines[:-1]).encode() + b"\n"
