"""Source address of an EOS switch's requests, by kind of server.

Arista's EOS User Manual: a source interface is named by kind of server and VRF; without one requests leave with the
address of the route's interface.
"""

from __future__ import annotations

import re

from clusterwright.facts.reader import LOGINS, LOGS, NAMES, TIME
from clusterwright.switches.eos.reader.sections import EosSection, sections_with

DEFAULT_VRF = "default"
_NAMED = re.compile(
    r"(?P<what>ip tacacs|ip radius|ip domain lookup|logging|ntp)(?: vrf (?P<vrf>\S+))?"
    r" (?:source|local)-interface (?:vrf (?P<port_vrf>\S+) )?(?P<port>\S+)"
)
_KINDS = {"ip tacacs": LOGINS, "ip radius": LOGINS, "ip domain lookup": NAMES, "logging": LOGS, "ntp": TIME}
_ANY_MANAGEMENT_PORT = "interface Management"
_ADDRESS = re.compile(r"^   ip(?:v6)? address (\S+)", re.M)
_VRF = re.compile(r"^   vrf (\S+)$", re.M)


class RequestSources:
    """The sources of a configuration, each searched once."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._address_by_port: dict[tuple[str, str, bool], str] = {}
        self._header_by_use: dict[tuple[str, str], str] = {}
        for statement in sections_with(text, "ip", "ntp", "logging"):
            source = _NAMED.fullmatch(statement.header)
            if source is not None:
                vrf = source["vrf"] or source["port_vrf"] or DEFAULT_VRF
                self._header_by_use[_KINDS[source["what"]], vrf] = f"interface {source['port']}"

    def of(self, what: str, vrf: str, *, is_ipv6: bool) -> str:
        """The address of the named interface, "" if it has none of that IP version in the VRF.

        A VRF other than the default one has its management port alone, without a need for a name.
        """
        default_header = "" if vrf == DEFAULT_VRF else _ANY_MANAGEMENT_PORT
        header = self._header_by_use.get((what, vrf), default_header)
        if not header:
            return ""
        key = header, vrf, is_ipv6
        if key not in self._address_by_port:
            self._address_by_port[key] = self._address(header, vrf, is_ipv6=is_ipv6)
        return self._address_by_port[key]

    def _address(self, header: str, vrf: str, *, is_ipv6: bool) -> str:
        """The first address of the interface in the VRF, "" without one."""
        for port in sections_with(self._text, "interface"):
            is_management = header == _ANY_MANAGEMENT_PORT and port.header.startswith(header)
            is_wanted = port.header == header or is_management
            if not is_wanted or _vrf_of(port) != vrf:
                continue
            for address in _ADDRESS.findall(port.body):
                if (":" in address) is is_ipv6:
                    return str(address.partition("/")[0])
        return ""


def _vrf_of(port: EosSection) -> str:
    vrf = _VRF.search(port.body)
    return vrf[1] if vrf is not None else DEFAULT_VRF
