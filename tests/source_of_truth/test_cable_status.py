"""``observe --server``: what was seen of cables, written as the status of the server's cables and nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from tests.cli.in_process import command
from tests.report.specs import plan_of, spec_path
from tests.source_of_truth.fake_server import TOKEN, Store, serving
from tests.source_of_truth.test_sync import run as sync_with
from tests.source_of_truth.test_sync import written

SPEC = spec_path("lab-roce")
ASKED = ("ctsw-p00-00", "rtsw-p00r00", "rtsw-p00r01")
MISSING = {("rtsw-p00r00", "eth8/1/1")}  # its cable leads to Ethernet3/1/1 of ctsw-p00-00
STATUSES = ("Active", "Connected", "Planned", "Offline", "Failed")


@pytest.fixture(autouse=True)
def token(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in ("NETBOX", "NAUTOBOT"):
        monkeypatch.setenv(f"{kind}_TOKEN", TOKEN)


@pytest.fixture
def heard(tmp_path: Path) -> Path:
    """What three switches hear, of whose cables one is missing."""
    folder = tmp_path / "lldp"
    folder.mkdir()
    plan = plan_of("lab-roce")
    for device in ASKED:
        entries = []
        for cable in plan.cables_of[device]:
            near, far = (cable.a, cable.b) if cable.a.device == device else (cable.b, cable.a)
            if {(near.device, near.port), (far.device, far.port)} & MISSING:
                continue
            name = f"{far.device}.lab.example.net"
            entries.append({"port": near.port, "neighborDevice": name, "neighborPort": far.port, "ttl": 120})
        (folder / f"{device}.json").write_text(json.dumps({"lldpNeighbors": entries}))
    return folder


def observe(store: Store, heard: Path, *options: str, kind: str = "netbox") -> CompletedProcess[str]:
    with serving(store) as url:
        arguments = ("observe", SPEC, "--lldp", heard, "--server", kind, "--url", url)
        done = command(*arguments, *options, cwd=heard.parent)
    assert TOKEN not in done.stdout + done.stderr
    return done


def filled(kind: str) -> Store:
    store = Store()
    for name in STATUSES if kind == "nautobot" else ():
        store.add("extras/statuses", name=name)
    assert sync_with(store, kind=kind).return_value == 0
    written(store)
    return store


@pytest.mark.parametrize("kind", ["netbox", "nautobot"])
def test_nothing_is_written_until_it_is_asked_for_and_then_the_status_alone(kind: str, heard: Path) -> None:
    store = filled(kind)
    planned = "planned" if kind == "netbox" else {"id": store.one("extras/statuses", name="Planned")["id"]}
    before = json.loads(json.dumps(store.lists["dcim/cables"]))
    shown = observe(store, heard, kind=kind)
    assert (shown.returncode, written(store)) == (1, {})
    assert "cables: 1 to change" in shown.stdout
    assert "~ ctsw-p00-00 Ethernet3/1/1 rtsw-p00r00 eth8/1/1: status" in shown.stdout
    assert "they keep their status" in shown.stderr

    done = observe(store, heard, "--write", kind=kind)
    assert done.returncode == 0, done.stdout + done.stderr
    assert written(store) == {"PATCH dcim/cables": 1}
    after = store.lists["dcim/cables"]
    changed = [key for key in after if json.loads(json.dumps(after[key])) != before[str(key)]]
    assert len(changed) == 1
    record = after[changed[0]]
    status = record["status"] if kind == "netbox" else {"id": record["status"]}
    assert status == planned
    assert {**record, "status": before[str(changed[0])]["status"]} == before[str(changed[0])]

    again = observe(store, heard, "--write", kind=kind)
    assert (again.returncode, written(store)) == (0, {})
    assert "has the status of each cable." in again.stderr


def test_a_sync_leaves_what_was_observed_and_new_cables_are_connected(heard: Path) -> None:
    store = filled("netbox")
    observe(store, heard, "--write")
    written(store)
    assert sync_with(store).return_value == 0
    assert written(store) == {}
    assert {cable["status"] for cable in store.of("dcim/cables")} == {"connected", "planned"}


def test_a_cable_that_is_there_again_is_connected_and_one_that_nobody_can_see_keeps_its_status(heard: Path) -> None:
    store = filled("netbox")
    for cable in store.of("dcim/cables"):
        cable["status"] = "planned"
    observe(store, heard, "--write")
    connected = [cable for cable in store.of("dcim/cables") if cable["status"] == "connected"]
    seen = {frozenset((cable.a, cable.b)) for device in ASKED for cable in plan_of("lab-roce").cables_of[device]}
    assert len(connected) == len(seen) - 1 < len(store.of("dcim/cables"))


def test_cables_of_others_and_cables_that_are_not_there_stay_as_they_are(heard: Path) -> None:
    store = filled("netbox")
    device = store.one("dcim/devices", name="rtsw-p00r00")["id"]
    port = store.one("dcim/interfaces", device=device, name="eth8/1/1")["id"]
    missing = next(
        cable
        for cable in store.of("dcim/cables")
        if port in {cable[f"{side}_terminations"][0]["object_id"] for side in "ab"}
    )
    missing["tags"] = []
    shown = observe(store, heard, "--write")
    assert (shown.returncode, written(store)) == (0, {})
    assert "is another's and stays: status connected → planned" in shown.stdout
    del store.lists["dcim/cables"][missing["id"]]
    gone = observe(store, heard, "--write")
    assert (gone.returncode, written(store)) == (0, {})
    assert "1 cables are not in NetBox, and `sync` makes them: ctsw-p00-00 Ethernet3/1/1" in gone.stderr


def test_options_that_need_each_other_say_so(heard: Path) -> None:
    arguments = ("observe", SPEC, "--lldp", heard)
    for options, reason in (
        (("--write",), "are for --server"),
        (("--server", "netbox"), "name the netbox server with --url"),
    ):
        done = command(*arguments, *options, cwd=heard.parent)
        assert (done.returncode, reason in done.stderr) == (2, True), done.stderr
    done = command("observe", SPEC, "--running", heard, "--server", "netbox", "--url", "http://x", cwd=heard.parent)
    assert (done.returncode, "give --ibnetdiscover or --lldp" in done.stderr) == (2, True), done.stderr
