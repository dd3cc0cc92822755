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
_ADDRESS = re.compile(r"^   ip(?:v6)? address (\S+)", re.M)
_VRF = re.compile(r"^   vrf (\S+)$", re.M)


class RequestSources:
    """The sources of a configuration, each looked for once."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._known: dict[tuple[str, str, bool], str] = {}
        self._named: dict[tuple[str, str], str] = {}
        for statement in sections_with(text, "ip", "ntp", "logging"):
            source = _NAMED.fullmatch(statement.header)
            if source is not None:
                vrf = source["vrf"] or source["port_vrf"] or DEFAULT_VRF
                self._named[_KINDS[source["what"]], vrf] = f"interface {source['port']}"

    def of(self, what: str, vrf: str, *, is_ipv6: bool) -> str:
        """The address of the named interface, "" if it has none of that IP version in the VRF.

        A VRF other than the default one has its management port alone, without a need for a name.
        """
        named = self._named.get((what, vrf), "" if vrf == DEFAULT_VRF else "interface Management")
        key = named, vrf, is_ipv6
        if key not in self._known:
            self._known[key] = self._address(named, vrf, is_ipv6) if named else ""
        return self._known[key]

    def _address(self, named: str, vrf: str, is_ipv6: bool) -> str:
        for port in sections_with(self._text, "interface"):
            is_named = port.header == named
            if not is_named and (named != "interface Management" or not port.header.startswith(named)):
                continue
            if _vrf_of(port) != vrf:
                continue
            for address in _ADDRESS.findall(port.body):
                if (":" in address) is is_ipv6:
                    return str(address.partition("/")[0])
        return ""


def _vrf_of(port: EosSection) -> str:
    vrf = _VRF.search(port.body)
    return vrf[1] if vrf is not None else DEFAULT_VRF
