"""The files and the sync, judged by the servers that they are for.

Outside of `make test`: `make test-servers` runs it, NetBox's tests where there is a Python 3.12. Each test has a server
of its own, restored from the migrated database: what another test left there, NetBox has each name and AS number once.
"""

from __future__ import annotations

import http.client
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from click.testing import CliRunner, Result
from tests.cli.in_process import command
from tests.report.specs import plan_of, spec_path
from tests.source_of_truth.servers import NAUTOBOT, NETBOX, TOKEN, NetboxForms, Serving, python_for, serving

from clusterwright.extras.source_of_truth.commands.sync import sync
from clusterwright.extras.source_of_truth.listing import Listing
from clusterwright.extras.source_of_truth.systems import SERVER_KINDS, loaded_files
from clusterwright.lists.records import Inventory
from clusterwright.lists.writing import replace_files

pytestmark = [pytest.mark.servers, pytest.mark.slow, pytest.mark.timeout(3600)]
RACK = plan_of("lab-roce").devices[0].rack


@pytest.fixture
def nautobot() -> Iterator[Serving]:
    with tempfile.TemporaryDirectory() as place, serving(NAUTOBOT, Path(place)) as server:
        yield server


@pytest.fixture
def nautobot_url(nautobot: Serving) -> str:
    return nautobot.url


@pytest.fixture
def netbox() -> Iterator[Serving]:
    if python_for(NETBOX) is None:
        pytest.skip("no Python here runs NetBox")
    with tempfile.TemporaryDirectory() as place, serving(NETBOX, Path(place)) as server:
        yield server


@pytest.fixture
def netbox_url(netbox: Serving) -> str:
    return netbox.url


@pytest.fixture(autouse=True)
def token(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in SERVER_KINDS:
        monkeypatch.setenv(f"{kind.upper()}_TOKEN", TOKEN)


def files_of(kind: str) -> dict[str, str]:
    listing = Listing(Inventory(plan_of("lab-roce"), RACK))
    return {name: "".join(lines) for name, lines in SERVER_KINDS[kind].files(listing).items()}


def run(kind: str, url: str, spec: str = "lab-roce", *, whole: bool = False) -> Result:
    part = [] if whole else ["--pod", plan_of(spec).devices[0].rack]
    arguments = [kind, str(spec_path(spec)), "--url", url, *part]
    result = CliRunner().invoke(sync, arguments, standalone_mode=False)
    assert result.exception is None, f"{result.exception}\n{result.output}"
    return result


def test_nautobot_takes_every_row_of_every_file_and_sync_finds_them(nautobot_url: str) -> None:
    endpoints = {table.name: table.endpoint for table in SERVER_KINDS["nautobot"].tables}
    for name, text in files_of("nautobot").items():
        head, *rows = text.splitlines()
        method = "PATCH" if "reachable" in name else "POST"
        connection = http.client.HTTPConnection(urlsplit(nautobot_url).netloc, timeout=900)
        headers = {"Authorization": f"Token {TOKEN}", "Content-Type": "text/csv", "Accept": "application/json"}
        content = "\n".join([head, *rows]).encode()
        connection.request(method, f"/api/{endpoints[name[3:-4]]}/", content, headers)
        answer = connection.getresponse()
        taken = answer.read()
        connection.close()
        assert answer.status in {200, 201}, f"{name}: {taken[:2000]!r}"
        assert len(json.loads(taken)) == len(rows), name
    after = run("nautobot", nautobot_url)
    assert after.return_value == 0, after.output
    # 3.2 forgets the tags of new cables; nothing else may differ.
    assert all(line.startswith(("cables", "  ~ ", "done: cables")) for line in after.stdout.splitlines()), after.output


@pytest.mark.parametrize("kind", ["nautobot", "netbox"])
def test_a_second_sync_changes_nothing(kind: str, request: pytest.FixtureRequest) -> None:
    url = request.getfixturevalue(f"{kind}_url")
    first = run(kind, url, "lab-ib")
    assert first.return_value == 0, first.output
    again = run(kind, url, "lab-ib")
    assert (again.return_value, again.stdout) == (0, ""), again.output


def test_netbox_takes_every_row_of_every_file_and_sync_finds_them(netbox_url: str) -> None:
    endpoints = {table.name: table.endpoint for table in SERVER_KINDS["netbox"].tables}
    forms = NetboxForms(netbox_url, "admin", "admin")
    for name, text in files_of("netbox").items():
        table, form = name[3:].rsplit(".", 1)
        assert forms.take(endpoints[table], text, form) == "", name
    after = run("netbox", netbox_url)
    assert (after.return_value, after.stdout) == (0, ""), after.output


@pytest.mark.parametrize("kind", ["nautobot", "netbox"])
def test_filled_from_within_a_server_has_what_is_planned_and_is_not_filled_twice(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    server = request.getfixturevalue(kind)
    replace_files(tmp_path, loaded_files(SERVER_KINDS[kind], Inventory(plan_of("lab-nvue"))))
    server.load(tmp_path)
    after = run(kind, server.url, "lab-nvue", whole=True)
    assert (after.return_value, after.stdout) == (0, ""), after.output
    with pytest.raises(AssertionError, match="use `clusterwright sync`"):
        server.load(tmp_path)


@pytest.mark.parametrize("kind", ["nautobot", "netbox"])
def test_a_server_takes_the_status_of_cables_that_were_seen_or_not(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Two switches are asked: one cable between them is missing, and is planned from then on, through another sync."""
    url = request.getfixturevalue(f"{kind}_url")
    first = run(kind, url, whole=True)
    assert first.return_value == 0, first.output
    plan = plan_of("lab-roce")
    heard = tmp_path / "lldp"
    heard.mkdir()
    for device in ("ctsw-p00-00", "rtsw-p00r00"):
        entries = []
        for cable in plan.cables_of[device]:
            near, far = (cable.a, cable.b) if cable.a.device == device else (cable.b, cable.a)
            if ("rtsw-p00r00", "eth8/1/1") not in {(near.device, near.port), (far.device, far.port)}:
                entries.append({"port": near.port, "neighborDevice": far.device, "neighborPort": far.port, "ttl": 120})
        (heard / f"{device}.json").write_text(json.dumps({"lldpNeighbors": entries}))
    observed = ("observe", spec_path("lab-roce"), "--lldp", heard, "--server", kind, "--url", url)
    shown = command(*observed, cwd=tmp_path)
    assert (shown.returncode, "cables: 1 to change" in shown.stdout) == (1, True), shown.stdout + shown.stderr
    done = command(*observed, "--write", cwd=tmp_path)
    assert (done.returncode, "cables: 1 changed" in done.stdout) == (0, True), done.stdout + done.stderr
    again = command(*observed, "--write", cwd=tmp_path)
    assert (again.returncode, again.stdout) == (0, ""), again.stdout + again.stderr
    assert run(kind, url, whole=True).stdout == ""
    assert command(*observed, cwd=tmp_path).returncode == 0
