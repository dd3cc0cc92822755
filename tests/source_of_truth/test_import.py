"""What people changed on a server, taken back: places and addresses stay, labels are noted, and the sync is content."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.report.specs import INVENTORY
from tests.source_of_truth.fake_server import TOKEN, Store, serving

from clusterwright.extras.source_of_truth.commands.import_from import import_from
from clusterwright.extras.source_of_truth.commands.sync import sync
from clusterwright.plan.build import build_plan
from clusterwright.rules.engine import lint_path
from clusterwright.spec.load import load_spec


@pytest.fixture(autouse=True)
def token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NETBOX_TOKEN", TOKEN)


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    path = tmp_path / "cluster.yaml"
    path.write_text(f"version: 1\nextends: {INVENTORY / 'lab-roce'}.yaml\n", encoding="utf-8")
    return path


def run(command: object, store: Store, spec: Path, *options: str) -> Result:
    with serving(store) as url:
        result = CliRunner().invoke(command, ["netbox", str(spec), "--url", url, *options], standalone_mode=False)  # type: ignore[arg-type]
    assert TOKEN not in result.output
    return result


def test_what_stands_on_the_server_stays(spec: Path) -> None:
    store = Store()
    assert run(sync, store, spec).return_value == 0
    node = store.one("dcim/devices", name="gpu-p00r00n1")
    node |= {"serial": "FXK2290014", "asset_tag": "A-77", "position": 25.0}
    switch = store.one("dcim/devices", name="mgmt-00")
    switch["position"] = 42.0
    port = store.one("dcim/interfaces", name="fe0", device=node["id"])
    port["mac_address"] = "0C:42:A1:5B:00:0C"
    cable = next(each for each in store.of("dcim/cables") if each["a_terminations"][0]["object_id"] == port["id"])
    cable["label"] = "C-1041"
    address = store.one("ipam/ip-addresses", assigned_object_id=port["id"])
    address["address"] = address["address"].rpartition("::")[0] + "::3f/64"

    assert run(import_from, store, spec, "--check").return_value == 1
    assert [path.name for path in spec.parent.iterdir()] == ["cluster.yaml"]
    result = run(import_from, store, spec)
    assert result.return_value == 0, result
    assert "gpu-p00r00n1: p00r00 unit 9 → p00r00 unit 25" in result.output
    plan = build_plan(load_spec(spec))
    assert (plan.by_name["gpu-p00r00n1"].unit, plan.by_name["mgmt-00"].unit) == (25, 42)
    ends = {(cable.a.device, cable.a.port): cable.a for cable in plan.cables}
    assert (ends["gpu-p00r00n1", "fe0"].address or 0) % 2**64 == 0x3F
    noted = plan.spec.overlay.by_end
    assert (noted["gpu-p00r00n1", ""].serial, noted["gpu-p00r00n1", ""].asset_tag) == ("FXK2290014", "A-77")
    assert plan.spec.noted_macs == {("gpu-p00r00n1", "fe0"): 0x0C42A15B000C}
    assert noted["gpu-p00r00n1", "fe0"].cable == "C-1041"

    assert run(import_from, store, spec, "--check").return_value == 0
    again = run(sync, store, spec)
    assert again.return_value == 0, again.output
    assert "devices" not in again.stdout
    assert "ip-addresses" not in again.stdout


def test_what_cannot_stand_is_refused(spec: Path) -> None:
    store = Store()
    assert run(sync, store, spec).return_value == 0
    node = store.one("dcim/devices", name="gpu-p00r00n1")
    port = store.one("dcim/interfaces", name="fe0", device=node["id"])
    store.one("ipam/ip-addresses", assigned_object_id=port["id"])["address"] = "fd00:9::1/64"
    result = run(import_from, store, spec)
    assert "cannot stand" in str(result.exception)
    assert "gpu-p00r00n1" in str(result.exception)
    assert [path.name for path in spec.parent.iterdir()] == ["cluster.yaml"]


def test_people_rename_and_move_and_nothing_of_it_is_lost_or_unsaid(spec: Path) -> None:
    store = Store()
    assert run(sync, store, spec).return_value == 0
    node = store.one("dcim/devices", name="gpu-p00r00n1")
    node |= {"name": "ml-worker-7", "serial": "A,1", "asset_tag": "=HYPERLINK(1)"}
    moved = store.one("dcim/devices", name="gpu-p00r00n0")
    moved["rack"] = {"id": store.one("dcim/racks", name="p01r00")["id"]}
    gone = store.one("dcim/devices", name="st-s00n1")
    del store.lists["dcim/devices"][gone["id"]]
    foreign = store.add("dcim/devices", name="somebody-elses", site=store.of("dcim/sites")[0]["id"])
    before = len(store.of("dcim/devices"))

    result = run(import_from, store, spec)
    assert result.return_value == 0, result.output
    assert "gpu-p00r00n1 is called ml-worker-7 on the server" in result.output
    assert "gpu-p00r00n0 stands in p01r00 on the server and in p00r00 by the plan: a node stays" in result.output
    assert "Not on the server: st-s00n1." in result.output
    assert "Not planned, and left alone: somebody-elses." in result.output
    assert "The label of gpu-p00r00n1 itself is not taken" in result.output
    assert lint_path(spec).errors == ()

    again = run(sync, store, spec)
    assert again.return_value == 0, again.output
    assert "name ml-worker-7 → gpu-p00r00n1" in again.output
    assert store.lists["dcim/devices"][node["id"]]["name"] == "gpu-p00r00n1"
    assert store.lists["dcim/devices"][node["id"]]["serial"] == "A,1"
    assert foreign in store.of("dcim/devices")
    assert len(store.of("dcim/devices")) == before + 1
    settled = run(sync, store, spec)
    assert (settled.return_value, settled.stdout) == (0, "")


def test_a_label_with_a_comma_comes_back_as_it_was(spec: Path) -> None:
    store = Store()
    assert run(sync, store, spec).return_value == 0
    store.one("dcim/devices", name="gpu-p00r00n1")["serial"] = 'FX "2,9"'
    assert run(import_from, store, spec).return_value == 0
    assert load_spec(spec).overlay.by_end["gpu-p00r00n1", ""].serial == 'FX "2,9"'
    assert run(import_from, store, spec, "--check").return_value == 0
