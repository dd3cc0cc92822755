"""The tables for NVIDIA's infra controller have the keys that its command reads, and all that it requires.

Outside of `make test`: `make test-foreign` runs it, which clones the controller's repository.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.cli.in_process import command
from tests.foreign.test_public_configurations import clone

from clusterwright import data_files

pytestmark = [pytest.mark.foreign, pytest.mark.slow, pytest.mark.timeout(1800)]
SOURCES = Path("crates/admin-cli/src")
ADDED_BY_PEOPLE = {"bmc_username", "bmc_password", "rack_profile_id"}
OF_LABELS = {"bmc_mac_address", "chassis_serial_number", "switch_serial_number"}
FIELD = re.compile(r"((?:^ *#\[serde\(default\)\]\n)?)^ *pub (\w+): ([^\n]+),$", re.M)


def fields_of(structure: str) -> dict[str, bool]:
    """Whether each field of a structure of Rust that serde reads is required: it has no default and is no Option."""
    body = structure[structure.index("{") : structure.index("\n}")]
    uncommented = re.sub(r"^ *///.*\n", "", body, flags=re.M)
    return {name: not default and not kind.startswith("Option<") for default, name, kind in FIELD.findall(uncommented)}


@pytest.mark.parametrize(
    ("table", "module", "structure"),
    [
        ("expected_machines", "expected_machines", "ExpectedMachineJson"),
        ("expected_switches", "expected_switch", "ExpectedSwitchJson"),
        ("expected_racks", "expected_rack", "ExpectedRackJson"),
    ],
)
def test_each_key_is_read_and_each_required_one_is_there_or_added(
    table: str, module: str, structure: str, tmp_path: Path
) -> None:
    source = (clone("NVIDIA/infra-controller") / SOURCES / module / "common.rs").read_text()
    fields = fields_of(source.partition(f"pub struct {structure} ")[2])
    assert len(fields) >= 3
    spec = data_files.folder("inventory") / "published/gb200-1su.yaml"
    done = command("inventory", spec, "--format", "infra-controller", "--out", tmp_path, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for entry in json.loads((tmp_path / f"{table}.json").read_text())[table]:
        assert entry.keys() <= fields.keys()
        required = {name for name, is_required in fields.items() if is_required}
        assert required - entry.keys() <= ADDED_BY_PEOPLE | OF_LABELS
