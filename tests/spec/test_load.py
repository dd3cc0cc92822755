"""What only the loader can say: models, networks, addresses and ranges that no schema knows."""

from __future__ import annotations

from pathlib import Path

import pytest

from clusterwright import data_files
from clusterwright.finding import SpecError
from clusterwright.spec.load import load_spec

INVENTORY = data_files.folder("inventory")
TEXT = (INVENTORY / "lab-ib.yaml").read_text()

MISTAKES = {
    "model": ("model: wedge400", "model: wedge40", "CW140", "fabrics[frontend].tiers[rsw].model", "wedge400"),
    "network": ("10.98.0.0/18", "10.98.0.1/18", "CW141", "fabrics[frontend].addressing.hosts", "10.98.0.0/18"),
    "length": ("10.98.0.0/18", "10.98.0.0/180", "CW141", "fabrics[frontend].addressing.hosts", "length"),
    "address": ("10.98.240.53", "10.98.240.530", "CW141", "site.dns[0]", "fd00::53"),
    "address in hexadecimal": ("10.98.240.14", "abcdef", "CW141", "site.syslog[0]", "fd00::53"),
    "port range": ('"6817-6819"', '"6819-6817"', "CW142", "flows[slurmctld].ports[0]", "lower bound"),
    "port": ("ports: [2049]", 'ports: ["2049-65536"]', "CW142", "flows[nfs].ports[0]", "limits"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_said_where_it_stands_with_the_way_out(name: str, tmp_path: Path) -> None:
    right, wrong, code, path, hint = MISTAKES[name]
    file = tmp_path / "spec.yaml"
    assert right in TEXT
    file.write_text(TEXT.replace(right, wrong, 1))
    with pytest.raises(SpecError) as caught:
        load_spec(file)
    [finding] = caught.value.findings
    assert (finding.code, finding.path) == (code, path)
    assert hint in finding.hint
    line = file.read_text().splitlines()[finding.position.line - 1]
    assert wrong.split(": ")[-1].strip('"[]') in line[finding.position.column - 1 :]


def test_all_mistakes_are_said_at_once(tmp_path: Path) -> None:
    text = TEXT
    for right, wrong, *_ in (MISTAKES[name] for name in ("model", "network", "address", "port range")):
        text = text.replace(right, wrong, 1)
    file = tmp_path / "spec.yaml"
    file.write_text(text)
    with pytest.raises(SpecError) as caught:
        load_spec(file)
    assert sorted(finding.code for finding in caught.value.findings) == ["CW140", "CW141", "CW141", "CW142"]


def test_defaults_are_those_that_the_reference_documents(tmp_path: Path) -> None:
    spec = load_spec(INVENTORY / "lab-ib.yaml")
    backend = spec.fabrics[0]
    assert spec.site.rack_units == 42
    assert [level.within for level in spec.node_groups[0].levels] == ["su", "cluster"]
    assert backend.tiers[1].join == "all"
    assert backend.tiers[1].up is None
    assert spec.node_groups[0].nodes_per("su") == 8
    assert spec.node_groups[0].nodes_per("cluster") == 16
    with pytest.raises(KeyError):
        spec.node_groups[0].nodes_per("row")
