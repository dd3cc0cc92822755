"""The Linux under FBOSS: the name of the switch and its out-of-band port.

FBOSS's image leaves the port to NetworkManager, in the profile whose path is used here (facebook/fboss, fboss-image/).
"""

from __future__ import annotations

from functools import lru_cache
from ipaddress import ip_address
from typing import TYPE_CHECKING

from clusterwright.text.places import PLACE, as_format

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterwright.intent.switch_links import ManagementPort

HOSTNAME_PATH = "etc/hostname"
CONNECTION_FOLDER = "etc/NetworkManager/system-connections"
# NetworkManager ignores a profile with read permission for other users than root.
CONNECTION_MODE = 0o600


def connection_path(port: ManagementPort) -> str:
    """Path of the out-of-band port's profile."""
    return f"{CONNECTION_FOLDER}/{port.port}.nmconnection"


def connection(
    port: ManagementPort, *, dns: Sequence[str], domain: str, reach: Sequence[str], zone: str | None
) -> bytes:
    """The NetworkManager profile of the out-of-band port: one static address, and nothing learnt from the network.

    ``reach`` are the prefixes behind the gateway; there is no default route. ``zone`` is firewalld's for the port.
    """
    if port.address is None:
        lines = _lines(port.port, 0, (), domain=domain, reach=(), zone=zone)
        return (lines % ()).encode()
    routes = () if port.gateway is None else tuple(reach)
    gateways = [port.gateway] * len(routes)
    lines = _lines(port.port, port.version, tuple(dns), domain=domain, reach=routes, zone=zone)
    return (lines % (port.address, *gateways)).encode()


@lru_cache(maxsize=64)
def _lines(
    port: str, addressed: int, dns: Sequence[str], *, domain: str, reach: Sequence[str], zone: str | None
) -> str:
    """A format string for the address of IP version ``addressed`` (0 for none) and the gateway of every route."""
    lines = ["[connection]", f"id={port}", "type=ethernet", f"interface-name={port}", "autoconnect=true"]
    if zone is not None:
        lines.append(f"zone={zone}")
    lines.append("")
    for version in (4, 6):
        lines.append(f"[ipv{version}]")
        if version == addressed:
            lines += ["method=manual", f"address1={PLACE}"]
            lines += [f"route{number}={net},{PLACE}" for number, net in enumerate(reach, 1)]
            servers = [server for server in dns if ip_address(server).version == version]
            if servers:
                lines.append(f"dns={';'.join(servers)};")
            lines.append(f"dns-search={domain};")
        else:
            lines.append("method=disabled")
        lines.append("")
    return as_format("\n".join(lines))
