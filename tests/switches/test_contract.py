"""What every platform owes: each member there or refused with a reason, its text read to its end, itself no drift."""

from __future__ import annotations

import ast
import dataclasses
import re
from pathlib import Path

import pytest
import yaml
from tests.plans import plan_of
from tests.switches.test_managed_switch import managed_plan

from clusterwright import data_files
from clusterwright.facts.reader import Unsupported
from clusterwright.output.renderers import DEVICE_RENDERERS
from clusterwright.output.rendering import Rendering
from clusterwright.plan.model import Device, Plan
from clusterwright.proofs.declaration import Declaration
from clusterwright.spec.hardware.systems import systems
from clusterwright.switches.readers import READERS
from clusterwright.switches.registry import SYSTEMS

CHECKOUT = Path(__file__).parents[2]
SPECS = tuple(sorted(path.stem for path in (CHECKOUT / "inventory").glob("lab-*.yaml")))
NAMES_OF_SYSTEMS = sorted(SYSTEMS)
ROUTING = [name for name in SYSTEMS if systems()[name].routes]


STEPS = data_files.folder("roles") / "device_tree" / "systems"


Switch = tuple[Plan, Device, dict[str, str]]
"""A switch of a plan, with the text of its files by path."""


@pytest.fixture(scope="module")
def switches(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Switch]]:
    """By system: one switch of each tier that runs it, of every lab spec and of a small one for each managed model."""
    plans = [plan_of(spec) for spec in SPECS]
    plans += [managed_plan(tmp_path_factory.mktemp("managed"), model) for model in ("qm9700", "q3400")]
    found: dict[str, dict[tuple[str, str], Switch]] = {system: {} for system in SYSTEMS}
    for plan in plans:
        for device in plan.devices:
            system = plan.spec.catalogue[device.model].network_os or ""
            if device.kind == "switch" and system in found and (plan.name, device.role) not in found[system]:
                files = {
                    artifact.path: artifact.content.decode() for artifact in Rendering(plan).of_device(device.name)
                }
                found[system][plan.name, device.role] = plan, device, files
    return {system: list(own.values()) for system, own in found.items()}


def test_every_system_of_the_catalogue_is_a_platform_with_a_reader() -> None:
    assert set(SYSTEMS) == set(systems())
    assert {reader.system for reader in READERS} == set(SYSTEMS)


@pytest.mark.parametrize("system", NAMES_OF_SYSTEMS)
def test_a_spec_has_switches_of_it(system: str, switches: dict[str, list[Switch]]) -> None:
    assert switches[system], f"no spec here has a switch that runs {system}: nothing is tried of it"


@pytest.mark.parametrize("system", NAMES_OF_SYSTEMS)
def test_whatever_it_lacks_it_says_why(system: str) -> None:
    platform = SYSTEMS[system]
    members = [
        (field.name, getattr(record, field.name))
        for record in (platform, platform.reader, platform.probes)
        for field in dataclasses.fields(record)
    ]
    assert len(members) > 15
    assert not [name for name, member in members if member is None]
    assert not [name for name, member in members if isinstance(member, Unsupported) and len(member.reason) < 10]


def test_each_system_says_how_it_is_brought_onto_its_changed_files() -> None:
    named = {name: each.steps for name, each in SYSTEMS.items() if not isinstance(each.steps, Unsupported)}
    assert sorted(named.values()) == sorted(path.name for path in STEPS.iterdir())
    for system, file in named.items():
        steps = yaml.safe_load((STEPS / file).read_text(encoding="utf-8"))
        assert SYSTEMS[system].reader.file in {path for step in steps for path in step["files"]}


@pytest.mark.parametrize("system", ROUTING)
def test_what_routes_refuses_no_question_about_routing(system: str) -> None:
    platform = SYSTEMS[system]
    asked = {
        "router": platform.reader.router,
        "policy_lines": platform.reader.policy_lines,
        "neighbours": platform.probes.neighbours,
        "counters": platform.probes.counters,
        "sessions": platform.probes.sessions,
    }
    assert not [name for name, member in asked.items() if isinstance(member, Unsupported)]


@pytest.mark.parametrize("system", NAMES_OF_SYSTEMS)
def test_its_file_is_read_to_the_end(system: str) -> None:
    reader = SYSTEMS[system].reader
    assert reader.openings
    assert reader.file in reader.unread
    assert reader.logins
    assert reader.routes


@pytest.mark.parametrize("system", NAMES_OF_SYSTEMS)
def test_its_reader_knows_all_that_its_writer_writes(system: str, switches: dict[str, list[Switch]]) -> None:
    platform = SYSTEMS[system]
    for plan, device, files in switches[system]:
        for path, unread in platform.reader.unread.items():
            assert path not in files or not unread(files[path])
        isolation = Declaration(plan).isolation
        for path, openings in platform.reader.openings.items():
            assert path not in files or not list(openings(files[path], device.name, isolation))
        for path, routes in platform.reader.routes.items() if system in ROUTING else ():
            found = [
                fault for name, own in files.items() if name.endswith(path) for fault in routes(own, lambda to, via: "")
            ]
            assert not found


@pytest.mark.parametrize("system", ROUTING)
def test_its_reader_finds_every_planned_port_and_session(system: str, switches: dict[str, list[Switch]]) -> None:
    platform = SYSTEMS[system]
    for plan, device, files in switches[system]:
        read = platform.reader.router
        assert not isinstance(read, Unsupported)
        router = read(device.name, lambda path, files=files: files.get(path, ""))  # type: ignore[misc]
        planned = {
            end.port
            for cable in plan.cables
            for end in (cable.a, cable.b)
            if end.device == device.name and end.address is not None and end.side in {"up", "down"}
        }
        if router is None:
            assert not planned
            continue
        routed = {port.name for port in router.ports if port.address is not None}
        assert planned <= routed
        lists = platform.reader.lists(files[platform.reader.file])
        assert {port for port, _ in lists.bound()} <= {port.name for port in router.ports} | set(
            lists.management_ports()
        )


@pytest.mark.parametrize("system", NAMES_OF_SYSTEMS)
def test_what_runs_as_it_was_written_is_no_drift(system: str, switches: dict[str, list[Switch]]) -> None:
    for _, _, files in switches[system]:
        for path, text in files.items():
            for pattern, compare in SYSTEMS[system].drift.items():
                assert pattern != path or not list(compare(text, text))


# Modules that name a system or its file outside its package, each with how often: they may only become fewer.
NAMED_ELSEWHERE = {
    "extras/topologies/air.py": 1,  # NVIDIA Air simulates Cumulus Linux alone
    "output/snapshot.py": 1,  # Batfish's own layout
    "rules/isolation/sonic_access.py": 1,
}
PACKAGE_OF_ONE = re.compile(r"switches/(?:eos|fboss|managed|nvue|sonic)/")
NAMES = re.compile(
    r"(?:eos|fboss|sonic|mlnx-os|nvos|nvue)|\S*(?:startup-config|agent\.conf|bgpcpp|config_db|nvue\.yaml)\S*"
)


def test_no_system_is_named_outside_its_package() -> None:
    source = CHECKOUT / "src/clusterwright"
    found: dict[str, int] = {}
    for path in sorted(source.rglob("*.py")):
        name = str(path.relative_to(source))
        words = [
            node.value
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        ]
        count = sum(NAMES.fullmatch(word) is not None for word in words)
        if count and not PACKAGE_OF_ONE.match(name):
            found[name] = count
    assert found == NAMED_ELSEWHERE


@pytest.mark.parametrize("spec", SPECS)
def test_what_writes_for_switches_writes_for_nothing_else(spec: str) -> None:
    """A device is asked about its own half of the writers alone."""
    plan = plan_of(spec)
    of_switches = {platform.writer for platform in SYSTEMS.values()}
    assert not [
        (entry.kind, device.name)
        for entry in DEVICE_RENDERERS
        for device in plan.devices
        if entry.applies(plan, device) and (entry in of_switches) != (device.kind == "switch")
    ]
