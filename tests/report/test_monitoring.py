"""What watches a cluster is accepted by the programs that read it, and says what it should of what they see."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from anta.catalog import AntaCatalog
from anta.inventory import AntaInventory
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import Dashboard
from tests.cli.in_process import command
from tests.report.specs import plan_of, spec_path

from clusterwright.extras.monitoring.files import monitoring_files
from clusterwright.lists.records import Inventory
from clusterwright.lists.writing import replace_files

if TYPE_CHECKING:
    from pathlib import Path

UP = {"values": "1x20"}
LABS = ("lab-roce", "lab-ib", "lab-nvue", "lab-sonic", "lab-border")


def written(name: str, folder: Path) -> set[str]:
    return {path.name for path in replace_files(folder, monitoring_files(Inventory(plan_of(name))))}


def series(up: int) -> list[dict[str, str]]:
    """Four switches of a tier, of which so many answer."""
    labels = 'job="lab-roce",cluster="lab-roce",fabric="backend",tier="0",state="active"'
    return [
        {"series": f'up{{{labels},rack="r{index}",instance="rtsw-{index}"}}', "values": f"{int(index < up)}x20"}
        for index in range(4)
    ]


def unit_test(folder: Path, seen: list[dict[str, str]], fired: bool) -> subprocess.CompletedProcess[str]:
    """Whether promtool, playing Prometheus, fires the alert for the rack switches of the backend."""
    summary = f"{len([each for each in seen if each['values'].startswith('1')])} of 4 rtsw of backend answer."
    expected = {
        "exp_labels": {"severity": "critical", "fabric": "backend", "role": "rtsw"},
        "exp_annotations": {"summary": summary, "report": "devices.html"},
    }
    tiers = [("backend", "1"), ("backend", "2"), ("frontend", "0"), ("frontend", "1"), ("management", "0")]
    others = [
        {"series": f'up{{job="lab-roce",cluster="lab-roce",fabric="{name}",tier="{tier}",instance="{index}"}}', **UP}
        for name, tier in tiers
        for index in range(9)
    ]
    check = {"eval_time": "15m", "alertname": "FewerSwitchesThanPlanned", "exp_alerts": [expected] if fired else []}
    test = {"interval": "1m", "input_series": [*seen, *others], "alert_rule_test": [check]}
    file = folder / "test.yml"
    file.write_text(yaml.safe_dump({"rule_files": ["rules.yml"], "evaluation_interval": "1m", "tests": [test]}))
    return promtool(folder, "test", "rules", file.name)


def promtool(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["promtool", *arguments], cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", LABS)
def test_prometheus_takes_the_rules(name: str, tmp_path: Path) -> None:
    written(name, tmp_path)
    done = promtool(tmp_path, "check", "rules", "rules.yml")
    assert done.returncode == 0, done.stderr
    sd = "scrape_configs:\n  - {job_name: c, file_sd_configs: [{files: [targets.json, snmp-targets.json]}]}\n"
    (tmp_path / "prometheus.yml").write_text(sd)
    assert promtool(tmp_path, "check", "config", "prometheus.yml").returncode == 0


@pytest.mark.parametrize(("up", "fired"), [(4, False), (3, True), (0, True)])
def test_an_alert_fires_for_each_switch_that_is_missed(up: int, fired: bool, tmp_path: Path) -> None:
    written("lab-roce", tmp_path)
    done = unit_test(tmp_path, series(up), fired)
    assert done.returncode == 0, done.stdout + done.stderr


def test_an_alert_fires_for_a_tier_that_nobody_asks(tmp_path: Path) -> None:
    written("lab-roce", tmp_path)
    assert unit_test(tmp_path, [], True).returncode == 0


def test_an_alert_leads_to_the_page_of_the_device(tmp_path: Path) -> None:
    """Prometheus itself makes the link: an instance has a domain and a port behind its name."""
    inventory = Inventory(plan_of("lab-roce"), report_url="https://reports.example.net/")
    replace_files(tmp_path, monitoring_files(inventory))
    labels = 'cluster="lab-roce",state="active",rack="p00r00"'
    down = f'up{{job="lab-roce",{labels},instance="gpu-p00r00n0.lab.example.net:9100"}}'
    expected = {
        "exp_labels": {
            "severity": "warning",
            "job": "lab-roce",
            "cluster": "lab-roce",
            "state": "active",
            "rack": "p00r00",
            "instance": "gpu-p00r00n0.lab.example.net:9100",
        },
        "exp_annotations": {
            "summary": "gpu-p00r00n0.lab.example.net:9100 in rack p00r00 does not answer.",
            "report": "https://reports.example.net/devices/gpu-p00r00n0.html",
        },
    }
    check = {"eval_time": "15m", "alertname": "DeviceDown", "exp_alerts": [expected]}
    test = {"interval": "1m", "input_series": [{"series": down, "values": "0x20"}], "alert_rule_test": [check]}
    document = {"rule_files": ["rules.yml"], "evaluation_interval": "1m", "tests": [test]}
    (tmp_path / "test.yml").write_text(yaml.safe_dump(document))
    done = promtool(tmp_path, "test", "rules", "test.yml")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", LABS)
def test_grafana_knows_every_key_of_a_dashboard(name: str, tmp_path: Path) -> None:
    plan = plan_of(name)
    written(name, tmp_path)
    for fabric in plan.spec.fabrics:
        ours = json.loads((tmp_path / f"dashboard-{fabric.name}.json").read_text())
        known = json.loads(json.dumps(Dashboard.from_json(ours), cls=JSONEncoder))
        assert _lacking(ours, known) == []
        assert {panel["type"] for panel in ours["panels"]} == {"stat", "timeseries", "table"}


def _lacking(ours: Any, known: Any, place: str = "") -> list[str]:
    """Where what Grafana's types have read lacks something of what we wrote."""
    if isinstance(ours, dict):
        lost = [f"{place}.{key}" for key in ours if key not in known]
        both = [key for key in ours if key in known]
        return lost + [each for key in both for each in _lacking(ours[key], known[key], f"{place}.{key}")]
    if isinstance(ours, list):
        return [each for index, one in enumerate(ours) for each in _lacking(one, known[index], f"{place}[{index}]")]
    return [] if ours == known else [place]


def test_anta_takes_its_catalogue_and_its_inventory(tmp_path: Path) -> None:
    plan = plan_of("lab-roce")
    written("lab-roce", tmp_path)
    reached = Inventory(plan).reachable_addresses()  # which the switch of the management ports itself is not
    eos = [device for device in plan.devices if plan.spec.catalogue[device.model].network_os == "eos"]
    switches = [each for each in eos if each.name in reached]
    inventory = AntaInventory.parse(tmp_path / "anta-inventory.yml", username="x", password="x")
    assert set(inventory) == {switch.name for switch in switches}
    catalogue = AntaCatalog.parse(tmp_path / "anta-catalogue.yml")
    assert len(catalogue.tests) == 2 * len(switches)
    heard = {
        (test.inputs.filters.tags.copy().pop(), each.port, each.neighbor_device, each.neighbor_port)
        for test in catalogue.tests
        if test.test.name == "VerifyLLDPNeighbors"
        for each in test.inputs.neighbors  # type: ignore[attr-defined]
        if test.inputs.filters is not None and test.inputs.filters.tags
    }
    names = {switch.name for switch in switches}
    kinds = {device.name: device.kind for device in plan.devices}
    ends = [(one, other) for cable in plan.cables for one, other in ((cable.a, cable.b), (cable.b, cable.a))]
    assert heard == {
        (one.device, one.port, other.device, other.port)
        for one, other in ends
        if one.device in names and kinds[other.device] == "switch"
    }


def test_only_what_the_site_has_is_written(tmp_path: Path) -> None:
    assert {"gnmic.yml", "snmp-targets.json", "anta-catalogue.yml"} <= written("lab-roce", tmp_path / "roce")
    gnmic = yaml.safe_load((tmp_path / "roce" / "gnmic.yml").read_text())
    roles = {target["event-tags"]["role"] for target in gnmic["targets"].values()}
    assert "ctsw" in roles
    assert "rtsw" not in roles, "FBOSS speaks Thrift"
    assert "anta-catalogue.yml" not in written("lab-nvue", tmp_path / "nvue")


def test_the_command_writes_them_into_a_folder(tmp_path: Path) -> None:
    arguments = ("inventory", spec_path("lab-roce"), "--format", "monitoring")
    assert command(*arguments, cwd=tmp_path).returncode == 2
    assert command(*arguments, "--out", tmp_path, cwd=tmp_path).returncode == 0
    assert {path.name for path in tmp_path.iterdir()} == set(monitoring_files(Inventory(plan_of("lab-roce"))))
