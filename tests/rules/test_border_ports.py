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
    found = findings_of(tmp_path, BORDER.format(port=port), "lab-roce")
    assert codes(found) == ["CW534"]
    assert found[0].message == f"ssw-00 {port} is taken by a cable of frontend."


def test_a_port_that_is_free_passes(tmp_path: Path) -> None:
    assert not findings_of(tmp_path, BORDER.format(port="Ethernet6/35/1"), "lab-roce")
