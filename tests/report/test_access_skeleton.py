"""The start of an access file: every device on a line, and nothing that is taken as it stands."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from tests.plans import plan_of

from clusterwright.deploy.targets import read_access
from clusterwright.finding import SpecError
from clusterwright.lists.as_access import FILL_IN, access_lines
from clusterwright.lists.records import Inventory

LABS = ["lab-roce", "lab-ib", "lab-nvue", "lab-sonic", "lab-tenants"]


def skeleton(name: str) -> str:
    return "".join(access_lines(Inventory(plan_of(name))))


@pytest.mark.parametrize("name", LABS)
def test_every_device_has_a_line(name: str) -> None:
    lines = [line.strip().removeprefix("# ") for line in skeleton(name).splitlines()]
    for device in plan_of(name).devices:
        assert len([line for line in lines if line.startswith(f"{device.name}: ")]) == 1, device.name


@pytest.mark.parametrize("name", LABS)
def test_it_is_refused_until_somebody_fills_it_in(name: str, tmp_path: Path) -> None:
    text = skeleton(name)
    file = tmp_path / "access.yaml"
    file.write_text(text)
    with pytest.raises(SpecError):
        read_access(file)
    for named in ("key", "hosts", "ca.pem", "password"):
        (tmp_path / named).write_text("-")
        (tmp_path / named).chmod(0o600)
    for key, value in {
        "private_key": "key", "known_hosts": "hosts", "  ca": "ca.pem", "password_file": "password", "user": "ops",
    }.items():  # fmt: skip
        text = text.replace(f"{key}: {FILL_IN}", f"{key}: {value}")
    file.write_text(text)
    access = read_access(file)
    written = yaml.safe_load(text)
    assert access.addresses == written["addresses"]
    if "eapi" in written:
        assert access.eapi is not None
        assert access.eapi.addresses == written["eapi"]["addresses"]


def test_a_switch_is_reached_by_its_management_port_and_eos_over_eapi() -> None:
    written = yaml.safe_load(skeleton("lab-roce"))
    assert written["addresses"]["rtsw-p00r00"] == "10.99.0.13"
    assert written["eapi"]["addresses"]["ctsw-p00-00"] == "10.99.0.17"
    assert "ctsw-p00-00" not in written["addresses"]
