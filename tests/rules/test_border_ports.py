"""CW534 at ports that the plan gives to cables: which these are only the plan's own allocation knows."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.rules.overlays import codes, findings_of

BORDER = """
borders:
  - {{name: operations, device: mgmt-00, port: Ethernet48, speed_gbps: 1, address: "10.99.250.0/31",
     neighbour: 10.99.250.1, asn: 64602, zones: [operations], authentication: {{secret: bgp-site}}}}
  - {{name: site, device: ssw-00, port: {port}, speed_gbps: 400, address: "fd00:1ab:f:fffd::2:0/127",
     neighbour: "fd00:1ab:f:fffd::2:1", asn: 64601, zones: [site-services], authentication: {{secret: bgp-site}}}}
"""


@pytest.mark.parametrize("port", ["Ethernet3/1/1", "Ethernet3/1/5"])
def test_a_port_that_is_cabled_is_refused_before_anything_is_rendered(port: str, tmp_path: Path) -> None:
    findings = findings_of(tmp_path, BORDER.format(port=port), "lab-roce")
    assert codes(findings) == ["CW534"]
    assert findings[0].message == f"ssw-00 {port} is used by a cable of frontend."


def test_a_port_that_is_free_passes(tmp_path: Path) -> None:
    assert not findings_of(tmp_path, BORDER.format(port="Ethernet6/35/1"), "lab-roce")


SECOND = """
  - {{name: other, device: ssw-00, port: {port}, speed_gbps: {speed}, address: "fd00:1ab:f:fffd::{at}/127",
     neighbour: "fd00:1ab:f:fffd::{far}", asn: 64601, zones: [site-services], authentication: {{secret: bgp-site}}}}
"""


@pytest.mark.parametrize(
    ("port", "speed", "message"),
    [
        ("Ethernet3/1/3", 100, "ssw-00 Ethernet3/1/3 cannot run at 100 Gb/s beside Ethernet3/1/1."),
        ("Ethernet6/35/5", 200, "ssw-00 Ethernet6/35/1 cannot run at 400 Gb/s beside Ethernet6/35/5."),
    ],
)
def test_a_port_that_its_cage_cannot_have_beside_others_is_refused(
    port: str, speed: int, message: str, tmp_path: Path
) -> None:
    second = SECOND.format(port=port, speed=speed, at="2:4", far="2:5")
    findings = findings_of(tmp_path, BORDER.format(port="Ethernet6/35/1") + second.lstrip("\n"), "lab-roce")
    assert message in {finding.message for finding in findings if finding.code == "CW534"}


def test_links_that_overlap_are_refused(tmp_path: Path) -> None:
    second = SECOND.format(port="Ethernet6/36/1", speed=400, at="2:0", far="2:1")
    findings = findings_of(tmp_path, BORDER.format(port="Ethernet6/35/1") + second.lstrip("\n"), "lab-roce")
    assert [finding.message for finding in findings if finding.code == "CW534"] == [
        "fd00:1ab:f:fffd::2:0/127 overlaps fd00:1ab:f:fffd::2:0/127, the link of border site."
    ]


def test_a_port_that_an_exception_stops_is_refused(tmp_path: Path) -> None:
    stopped = "exceptions:\n  - {device: ssw-00, port: Ethernet6/35/1, state: out-of-service, reason: no laser}\n"
    findings = findings_of(tmp_path, BORDER.format(port="Ethernet6/35/1") + stopped, "lab-roce")
    assert codes(findings) == ["CW534"]
    assert "would stay up" in findings[0].message
