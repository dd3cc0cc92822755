"""Pages for people on call: what stands on a device's page, and what a search finds, in a real browser."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote

import pytest
import yaml
from tests.cli.in_process import command
from tests.report.specs import plan_of, spec_path
from tests.report.test_browser import visit
from tests.report.test_leaves import framed

from clusterwright.lists.records import Inventory
from clusterwright.plan.model import format_address, format_guid
from clusterwright.report import leaves


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written("lab-roce", tmp_path_factory.mktemp("roce"))


@pytest.fixture(scope="module")
def infiniband(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written("lab-ib", tmp_path_factory.mktemp("ib"))


def written(name: str, folder: Path, *options: str) -> Path:
    done = command("report", spec_path(name), "--out", folder, *options, cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder


class Tables(HTMLParser):
    """The rows of each table by the name of the box around it."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: dict[str, list[list[str]]] = {}
        self._table = ""
        self._in_cell = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        if tag == "div" and "table" in (attributes.get("class") or "").split():
            self._table = attributes["id"] or ""
        if tag == "tbody":
            self.rows[self._table] = []
        if tag == "tr" and self._table in self.rows:
            self.rows[self._table].append([])
        if tag == "td":
            self.rows[self._table][-1].append("")
            self._in_cell = True

    def handle_endtag(self, tag: str) -> None:
        self._in_cell = self._in_cell and tag != "td"

    def handle_data(self, data: str) -> None:
        if self._in_cell:
            self.rows[self._table][-1][-1] += data


def tables(page: Path) -> dict[str, list[list[str]]]:
    reader = Tables()
    reader.feed(page.read_text())
    return reader.rows


def test_every_link_between_switches_is_a_neighbour_at_both_ends(report: Path) -> None:
    plan = plan_of("lab-roce")
    listed = {
        (page.stem, port, neighbour, int(number), address)
        for page in (report / "devices").iterdir()
        for port, neighbour, number, address, *_ in tables(page).get("neighbours", [])
    }
    cabled = set()
    for cable in plan.cables:
        if cable.a.side != "up":
            continue
        for near, far in ((cable.a, cable.b), (cable.b, cable.a)):
            assert far.address is not None
            address = format_address(far.address, plan.address_version(cable.fabric))
            cabled.add((near.device, near.port, far.device, plan.by_name[far.device].asn, address))
    assert listed == cabled


def test_a_session_names_its_secret(report: Path) -> None:
    rows = tables(report / "devices/ctsw-p00-00.html")["neighbours"]
    assert {(row[5], row[7]) for row in rows} == {("down", "–"), ("up", "bgp-backend")}


def test_borders_are_neighbours_too(tmp_path: Path) -> None:
    plan = plan_of("lab-border")
    folder = written("lab-border", tmp_path)
    for border in plan.spec.borders:
        page = tables(folder / f"devices/{border.device}.html")
        assert [border.port, border.name, str(border.asn), str(border.neighbour)] in [
            row[:4] for row in page["neighbours"]
        ]
        assert any(row[0] == f"way to {', '.join(border.zones)}" for row in page["drained"])


@pytest.mark.parametrize("name", ["lab-roce", "lab-ib"])
def test_adapters_have_every_name_that_somebody_calls_them_by(name: str, report: Path, infiniband: Path) -> None:
    plan, folder = plan_of(name), report if name == "lab-roce" else infiniband
    device = next(device for device in plan.devices if device.role == "node" and device.rank)
    ends = {cable.a.port: cable for cable in plan.cables_of[device.name]}
    expected = []
    for group in plan.spec.catalogue[device.model].nic_groups:
        for nic in group.nics:
            if nic.interface not in ends:
                continue
            cable = ends[nic.interface]
            expected.append(
                [
                    nic.interface,
                    cable.fabric,
                    "–" if cable.a.rail is None else str(cable.a.rail),
                    "–" if nic.gpu is None else str(nic.gpu),
                    "–" if nic.gpu is None else str((device.rank or 0) + nic.gpu),
                    nic.pci or "–",
                    nic.rdma_device or "–",
                    "–" if cable.a.guid is None else format_guid(cable.a.guid),
                    cable.b.device,
                    cable.b.port,
                ]
            )
    assert tables(folder / f"devices/{device.name}.html")["adapters"] == expected
    assert any(row[7] != "–" for row in expected) == (name == "lab-ib")


def test_a_page_says_what_a_drain_takes_away(report: Path, infiniband: Path) -> None:
    rows = tables(report / "devices/rtsw-p00r00.html")["drained"]
    assert rows == [["node", "2", "backend", "8 links each", "none of 8", "gpu-p00r00n0, gpu-p00r00n1"]]
    rows = tables(report / "devices/ctsw-p00-00.html")["drained"]
    assert rows == [["rtsw", "2", "backend", "8 links each", "8 of 16", "rtsw-p00r00, rtsw-p00r01"]]
    rows = tables(report / "devices/svc-v00n0.html")["drained"]
    assert ["boot server", "1", "–", "this host", "none: this is the only one", "–"] in rows
    services = {row[0] for page in (infiniband / "devices").iterdir() for row in tables(page).get("drained", [])}
    assert any(service.startswith("subnet manager of ") for service in services)


def test_links_that_are_out_already_are_not_kept(tmp_path: Path) -> None:
    spec = tmp_path / "spec.yaml"
    spec.write_text(
        f"version: 1\nextends: {spec_path('lab-roce')}\nexceptions:\n"
        "  - {device: ctsw-p00-01, state: out-of-service, reason: its fan is broken and a new one comes}\n"
    )
    done = command("report", spec, "--out", tmp_path / "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert tables(tmp_path / "out/devices/ctsw-p00-00.html")["drained"][0][4] == "none of 8"
    away = (tmp_path / "out/devices/ctsw-p00-01.html").read_text()
    assert "Lost while it is away" in away
    assert "It is out-of-service by an exception of the spec." in away


def test_jobs_are_the_planned_ones_or_those_that_run(report: Path, tmp_path: Path) -> None:
    assert tables(report / "devices/rtsw-p00r00.html")["jobs"] == [["small-llm", "8", "2 nodes attached here"]]
    assert tables(report / "devices/atsw-00.html")["jobs"] == [["small-llm", "8", "above the switches of its nodes"]]
    assert "jobs" not in tables(report / "devices/mgmt-00.html")
    jobs = tmp_path / "jobs.txt"
    jobs.write_text("17 pretrain gpu-p01r00n[0-1]\n")
    folder = tmp_path / "out"
    folder.mkdir()
    written("lab-roce", folder, "--jobs", str(jobs))
    assert tables(folder / "devices/gpu-p01r00n0.html")["jobs"] == [["17 (pretrain)", "2", "on this node"]]
    assert "jobs" not in tables(folder / "devices/gpu-p00r00n0.html")
    jobs.write_text("17 pretrain gpu-p09r00n0\n")
    done = command("report", spec_path("lab-roce"), "--out", folder, "--jobs", jobs, cwd=tmp_path)
    assert (done.returncode, "gpu-p09r00n0" in done.stderr) == (2, True)


def test_alerts_name_the_pages_of_what_fired(report: Path, tmp_path: Path) -> None:
    arguments = ("inventory", spec_path("lab-roce"), "--format", "monitoring", "--out", tmp_path)
    assert command(*arguments, "--report-url", "https://reports.example.net/lab", cwd=tmp_path).returncode == 0
    rules = yaml.safe_load((tmp_path / "rules.yml").read_text())["groups"][1]["rules"]
    pages = {rule["alert"]: rule["annotations"]["report"] for rule in rules}
    assert pages["RackDark"] == "https://reports.example.net/lab/racks/{{ $labels.rack }}.html"
    names = {row[0] for row in tables(report / "devices/rtsw-p00r00.html")["alerts"]}
    assert names == set(pages)
    done = command(*arguments, "--report-url", "reports", cwd=tmp_path)
    assert (done.returncode, "no http or https URL" in done.stderr) == (2, True)


FOUND = {
    "FD00:1AB:B:0:0:0:0:3/127": ("gpu-p00r00n0", "be0"),
    "fd00:01ab:000b::0003": ("gpu-p00r00n0", "be0"),
    "10.99.0.2": ("gpu-p00r00n0", "bmc"),
    "P00R00-01:be0 / P00R00-17:eth2/1/1": ("gpu-p00r00n0", "be0"),
    "gpu-p00r00n0.lab.example.net": ("gpu-p00r00n0", ""),
}


@pytest.mark.parametrize("query", FOUND)
def test_a_search_finds_what_people_copy(query: str, report: Path, tmp_path: Path) -> None:
    seen = visit(report / "search.html", tmp_path, f"?q={quote(query)}")
    assert seen.console == ()
    device, port = FOUND[query]
    first = re.search(r'<table id="found">.*?<tbody><tr>(.*?)</tr>', seen.dom, re.DOTALL)
    assert first is not None, seen.dom
    assert f'<a href="devices/{device}.html">' in first[1]
    if port:
        assert f'<a href="devices/{device}.html#port-{port}">' in first[1]


def test_a_search_finds_guids_in_each_spelling(infiniband: Path, tmp_path: Path) -> None:
    cable = next(cable for cable in plan_of("lab-ib").cables if cable.a.guid is not None)
    digits = f"{cable.a.guid:016x}"
    for spelling in (f"0x{digits}", digits.upper(), ":".join(re.findall("....", digits))):
        dom = visit(infiniband / "search.html", tmp_path, f"?q={quote(spelling)}").dom
        assert f'<a href="devices/{cable.a.device}.html#port-{cable.a.port}">' in dom, spelling


def test_a_search_says_that_nothing_is_found(report: Path, tmp_path: Path) -> None:
    dom = visit(report / "search.html", tmp_path, "?q=%3Cb%3Egpu-p77").dom
    assert "Nothing of this cluster has “&lt;b&gt;gpu-p77” in its name" in dom
    assert re.search(r'<table id="found" hidden', dom)


def test_many_devices_are_a_page_for_each_pod(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(leaves, "_DEVICES_ON_ONE_PAGE", 10)
    folder = written("lab-roce", tmp_path)
    plan = plan_of("lab-roce")
    first = tables(folder / "devices.html")
    pods = {device.pod for device in plan.devices if device.pod}
    assert {row[0] for row in first["pods"]} == pods
    on_pages = [row[0] for row in first["devices"]]
    for pod in pods:
        on_pages += [row[0] for row in tables(folder / f"pods/{pod}.html")["devices"]]
    assert sorted(on_pages) == sorted(plan.by_name)
    monkeypatch.undo()
    written("lab-roce", tmp_path)
    assert not list((tmp_path / "pods").iterdir())


def test_heads_sort_figures_as_figures(report: Path, tmp_path: Path) -> None:
    """Figures with units go by what they are worth, and what is not there is last in both directions."""
    probe = """
        const rows = [...document.querySelectorAll("#racks tbody tr")];
        rows.slice(4).forEach((row) => row.remove());
        ["1.2 MW", "900 W", "–", "30.5 kW"].forEach((text, at) => { rows[at].cells[4].textContent = text; });
        const said = [], head = document.querySelectorAll("#racks th")[4];
        for (const time of [1, 2]) {
          head.querySelector("button").click();
          const column = [...document.querySelectorAll("#racks tbody tr")].map((row) => row.cells[4].textContent);
          said.push(head.getAttribute("aria-sort"), ...column);
        }
        parent.postMessage(said.join("|"), "*");
    """
    (tmp_path / "report.js").write_text((report / "report.js").read_text())
    said = framed(report / "floor.html", "floor.html", 1400, probe, tmp_path)
    assert said == "ascending|900 W|30.5 kW|1.2 MW|–|descending|1.2 MW|30.5 kW|900 W|–"


def test_a_long_table_folds_until_a_row_of_it_is_asked_for(report: Path, tmp_path: Path) -> None:
    (tmp_path / "devices").mkdir()
    for each in ("report.js", "report.css"):
        (tmp_path / each).write_text((report / each).read_text())
    probe = """
        const shown = () => [...document.querySelectorAll("#ports tbody tr")].filter((row) => row.offsetHeight).length;
        const said = [shown()];
        document.querySelector("#ports .unfold").click();
        said.push(shown(), document.querySelector("#ports .unfold"));
        parent.postMessage(said.join(" "), "*");
    """
    page = report / "devices/ctsw-p00-00.html"
    rows = len(tables(page)["ports"])
    assert rows > 30
    assert framed(page, "devices/page.html", 1400, probe, tmp_path) == f"15 {rows} "
    last = tables(page)["ports"][-1][0]
    dom = visit(page, tmp_path, f"#port-{last}").dom
    assert 'class="table folds folded" id="ports"' not in dom
    assert 'class="table folds folded" id="ports"' in visit(page, tmp_path).dom


def test_the_index_of_a_search_names_each_address_once(report: Path) -> None:
    text = "".join(file.read_text() for file in (report / "search").iterdir())
    for record in Inventory(plan_of("lab-roce")).addresses():
        assert text.count(rf"{record['port']}\taddress\t{record['address']}") >= 1
