"""Syncing with a server: what is made, what is changed, what stays because it is another's, and what is said of it."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.source_of_truth.fake_server import TOKEN, Record, Store, serving

from clusterwright.extras.source_of_truth.applying import paced
from clusterwright.extras.source_of_truth.commands.sync import sync

SPEC = Path(__file__).parents[2] / "inventory" / "lab-roce.yaml"
RACK = ("--pod", "p00r00")


@pytest.fixture(autouse=True)
def token(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in ("NETBOX", "NAUTOBOT"):
        monkeypatch.setenv(f"{kind}_TOKEN", TOKEN)


def run(store: Store, *options: str, kind: str = "netbox", spec: Path = SPEC) -> Result:
    with serving(store) as url:
        result = CliRunner().invoke(sync, [kind, str(spec), "--url", url, *options], standalone_mode=False)
    assert result.exception is None or not isinstance(result.exception, AssertionError), result.output
    assert TOKEN not in result.output
    return result


def changed_spec(folder: Path, before: str, after: str) -> Path:
    text = SPEC.read_text(encoding="utf-8")
    assert before in text
    target = folder / SPEC.name
    target.write_text(text.replace(before, after, 1), encoding="utf-8")
    return target


def written(store: Store) -> Counter[str]:
    """How many objects were sent to each endpoint."""
    found: Counter[str] = Counter()
    for method, endpoint, count in store.asked:
        if method != "GET":
            found[f"{method} {endpoint}"] += count
    store.asked.clear()
    return found


@pytest.mark.parametrize("kind", ["netbox", "nautobot"])
def test_a_second_sync_changes_nothing(kind: str) -> None:
    store = Store()
    if kind == "nautobot":
        for name in ("Active", "Connected", "Offline", "Failed"):
            store.add("extras/statuses", name=name)
    first = run(store, *RACK, kind=kind)
    assert first.return_value == 0, first.output
    assert {each["name"] for each in store.of("dcim/devices")} == {
        "gpu-p00r00n0", "gpu-p00r00n1", "rtsw-p00r00", "rsw-p00r00",
    }  # fmt: skip
    assert "interfaces: 173 made" in first.output
    assert written(store)["POST dcim/cables"] == 20
    if kind == "netbox":  # the fake has no prefixes around addresses, by which Nautobot tells their namespaces
        again = run(store, *RACK, kind=kind)
        assert (again.return_value, written(store)) == (0, Counter())
        assert "NetBox has what" in again.output


def test_tags_that_a_server_says_it_kept_and_forgot_are_given_again() -> None:
    store = Store()
    store.forgets_tags.add("dcim/cables")
    for name in ("Active", "Connected", "Offline", "Failed"):
        store.add("extras/statuses", name=name)
    assert run(store, *RACK, kind="nautobot").return_value == 0
    assert all(each["tags"] for each in store.of("dcim/cables"))


def test_a_dry_run_tells_and_writes_nothing() -> None:
    store = Store()
    result = run(store, *RACK, "--dry-run")
    assert result.return_value == 1
    assert "devices: 4 to make" in result.output
    assert not written(store)


def test_json_counts_what_a_sync_would_do_and_what_it_did() -> None:
    store = Store()
    planned = json.loads(run(store, *RACK, "--dry-run", "--format", "json").stdout)
    assert planned["tables"]["devices"]["make"] == [
        [name] for name in ("gpu-p00r00n0", "gpu-p00r00n1", "rtsw-p00r00", "rsw-p00r00")
    ]
    assert planned["tables"]["cables"]["done"] == {"made": 0, "changed": 0, "taken_away": 0}
    done = json.loads(run(store, *RACK, "--format", "json").stdout)
    sent = written(store)
    assert done["tables"]["cables"]["done"]["made"] == len(planned["tables"]["cables"]["make"]) == 20
    assert sent["POST dcim/cables"] == 20
    store.one("dcim/devices", name="gpu-p00r00n0")["serial"] = "typed"
    cable = store.of("dcim/cables")[0]
    cable["status"] = "decommissioning"
    cable["type"] = "mmf"
    again = json.loads(run(store, *RACK, "--dry-run", "--format", "json").stdout)
    (change,) = again["tables"]["cables"]["change"]
    assert [field["name"] for field in change["fields"]] == ["type"]
    same = json.loads(run(Store(), *RACK, "--format", "json").stdout)
    assert (same["failed"], same["stopped"]) == ([], "")


def test_json_of_a_server_that_has_everything_has_no_table() -> None:
    store = Store()
    run(store, *RACK)
    result = run(store, *RACK, "--format", "json")
    assert json.loads(result.stdout) == {
        "version": 1, "server": "NetBox", "tables": {}, "failed": [], "stopped": "",
    }  # fmt: skip


def test_a_changed_spec_changes_its_own_objects_and_no_others(tmp_path: Path) -> None:
    store = Store()
    run(store)
    devices, cables = len(store.of("dcim/devices")), len(store.of("dcim/cables"))
    written(store)
    # One storage server less.
    spec = changed_spec(tmp_path, "    count: 2\n    prefix: st\n", "    count: 1\n    prefix: st\n")
    result = run(store, spec=spec)
    assert result.return_value == 0, result.output
    sent = written(store)
    assert sent["DELETE dcim/devices"] == 1
    assert not [name for name in sent if name.startswith("POST dcim/devices")]
    assert len(store.of("dcim/devices")) == devices - 1
    assert len(store.of("dcim/cables")) < cables
    assert run(store, spec=spec).return_value == 0
    assert not written(store)


def test_what_others_made_is_neither_changed_nor_taken_away(tmp_path: Path) -> None:
    store = Store()
    run(store)
    server, theirs = store.one("dcim/devices", name="st-s00n1"), store.one("dcim/devices", name="svc-v00n0")
    port = store.add("dcim/interfaces", device=server["id"], name="usb0", type="other")
    store.add("dcim/devices", name="somebody-elses", site=1)
    theirs |= {"tags": [], "position": 40}
    label = store.add("extras/tags", name="hands-off")
    store.one("dcim/devices", name="gpu-p00r00n0")["tags"].append({"id": label["id"]})
    store.one("dcim/devices", name="gpu-p00r00n0")["status"] = "planned"
    written(store)

    spec = changed_spec(tmp_path, "    count: 2\n    prefix: st\n", "    count: 1\n    prefix: st\n")
    result = run(store, spec=spec)
    assert "st-s00n1 stays: others made its interface usb0" in result.output
    assert "svc-v00n0 is another's and stays: position 40" in result.output
    names = {each["name"] for each in store.of("dcim/devices")}
    assert {"st-s00n1", "somebody-elses"} <= names
    assert port in store.of("dcim/interfaces")
    assert store.one("dcim/devices", name="svc-v00n0")["position"] == 40
    gpu = store.one("dcim/devices", name="gpu-p00r00n0")
    assert gpu["status"] == "active"
    assert {"id": label["id"]} in gpu["tags"]


def test_what_a_device_type_brings_along_is_taken_over() -> None:
    store = Store()
    run(store, *RACK)
    for each in store.of("dcim/interfaces")[:5]:
        each |= {"tags": [], "type": "virtual"}
    written(store)
    assert run(store, *RACK).return_value == 0
    assert written(store) == Counter({"PATCH dcim/interfaces": 5})


def test_an_object_that_is_refused_stops_no_other_and_is_named() -> None:
    store = Store()

    def refuses(endpoint: str, body: Record) -> str | None:
        return "this name is taken" if endpoint == "dcim/interfaces" and body["name"] == "be0" else None

    store.refuses = refuses
    result = run(store, *RACK)
    assert result.return_value == 1
    assert "interfaces: 171 made" in result.output
    assert "! interfaces gpu-p00r00n0 be0:" in result.output
    assert "this name is taken" in result.output
    assert "cables: 18 made" in result.output
    assert "not tried: interfaces gpu-p00r00n0 be0 is missing" in result.output
    store.refuses = lambda endpoint, body: None
    assert run(store, *RACK).return_value == 0
    assert len(store.of("dcim/cables")) == 20


def test_a_server_that_fails_on_the_way_loses_nothing() -> None:
    store = Store()
    store.breaks_after = 11
    result = run(store, *RACK)
    assert result.return_value == 2
    assert "failed: 500" in result.output
    assert "devices: 4 made" in result.output
    assert "What is counted above is done" in result.output
    store.breaks_after = None
    assert run(store, *RACK).return_value == 0
    assert len(store.of("dcim/interfaces")) == 173


def test_a_request_that_takes_too_long_is_halved() -> None:
    store = Store()
    run(store, *RACK)
    for each in store.of("dcim/interfaces")[:40]:
        each["type"] = "virtual"
    written(store)
    store.times_out = lambda method, endpoint, count: count > (30 if method == "GET" else 7)
    result = run(store, *RACK)
    assert result.return_value == 0, result.output
    store.times_out = lambda method, endpoint, count: False
    written(store)
    assert (run(store, *RACK).return_value, written(store)) == (0, Counter())


def test_objects_that_may_be_there_are_not_made_again() -> None:
    store = Store()
    store.times_out = lambda method, endpoint, count: (method, endpoint) == ("POST", "dcim/interfaces")
    result = run(store, *RACK)
    assert result.return_value == 2
    assert "does not answer in time: 504" in result.output
    assert written(store)["POST dcim/interfaces"] <= 4 * 25  # what was under way over four connections, once


@pytest.mark.parametrize(
    ("sent", "seconds", "next_one"), [(25, 0.1, 50), (25, 15, 25), (25, 30, 12), (200, 3, 200), (1, 400, 1), (5, 0, 50)]
)
def test_requests_are_as_large_as_the_server_is_fast(sent: int, seconds: float, next_one: int) -> None:
    assert paced(sent, seconds, 200 if sent == 200 else 25) == next_one


def test_a_wrong_token_and_a_missing_one_are_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    store = Store()
    secret = tmp_path / "token"
    secret.write_text("another-secret\n", encoding="utf-8")
    with serving(store) as url:
        arguments = ["netbox", str(SPEC), "--url", url]
        refused = CliRunner().invoke(sync, [*arguments, "--token-file", str(secret)], standalone_mode=False)
        monkeypatch.delenv("NETBOX_TOKEN")
        missing = CliRunner().invoke(sync, arguments, standalone_mode=False)
    assert "refuses the token: 403" in str(refused.exception)
    assert "another-secret" not in str(refused.exception) + refused.output
    assert "There is no token: set NETBOX_TOKEN" in str(missing.exception)
