"""Every program that a configuration needs is needed for a claim: switched off, it leaves something not proven."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import cache

import pytest
import yaml
from tests.proofs.ethernet_trees import texts_read_once
from tests.proofs.test_netboot import SWITCH, SYSTEMS, rendered

from clusterwright.artifact import Artifact
from clusterwright.proofs.declaration import Declaration
from clusterwright.proofs.registry import CHECKS
from clusterwright.proofs.tree import RenderedTree, tree_of
from clusterwright.spec.hardware.systems import ImageProgram, systems
from clusterwright.switches.sonic.reader.features import runs

_NEIGHBOURS = "verify takes cables from descriptions; observe --lldp says that it hears nothing"
_IPV4 = "nothing of this fabric has an address of IPv4"
_RX_REASONS = {"ARP": 1, "ARP_RESPONSE": 10, "NDP": 8, "BGP": 11, "BGPV6": 12, "CPU_IS_NHOP": 7, "LACP": 13}
_RX_REASONS |= {"LLDP": 9, "DHCP": 2, "DHCPV6": 17}
# Programs that are not needed for any claim about the switch that is tried here, and why.
WITHOUT_EFFECT = {
    ("fboss", "LLDP"): _NEIGHBOURS,
    ("sonic", "lldp"): _NEIGHBOURS,
    ("eos", "ip routing"): _IPV4,
    **dict.fromkeys((("fboss", name) for name in ("ARP", "ARP_RESPONSE", "BGP", "DHCP")), _IPV4),
    ("fboss", "LACP"): "this switch has no port channel: tests/proofs/test_bonds.py has one",
    ("sonic", "teamd"): "this switch has no port channel: tests/proofs/test_bonds.py has one",
}


def without_feature(text: str, service: ImageProgram) -> str:
    tables = json.loads(text)
    tables["FEATURE"].setdefault(service.name, {})["state"] = "disabled"
    return json.dumps(tables, indent=2)


def without_trap(text: str, service: ImageProgram) -> str:
    document = json.loads(text)
    policy = document["sw"]["cpuTrafficPolicy"]
    rows = policy["rxReasonToQueueOrderedList"]
    policy["rxReasonToQueueOrderedList"] = [row for row in rows if row["rxReason"] != _RX_REASONS[service.name]]
    return json.dumps(document, indent=2)


def without_line(text: str, service: ImageProgram) -> str:
    new = f"no {service.name}" if service.started == "always" else "!"
    return re.sub(rf"^{service.name}$", new, text, flags=re.M)


def without_object(text: str, service: ImageProgram) -> str:
    document = yaml.safe_load(text)
    *path, field = service.name.split()
    place = document[0]["set"]
    for key in path:
        place = place[key]
    place[field] = "disabled" if field == "state" else "off"
    return str(yaml.safe_dump(document))


OFF: dict[str, Callable[[str, ImageProgram], str]] = {
    "eos": without_line,
    "fboss": without_trap,
    "nvue": without_object,
    "sonic": without_feature,
}


def edited(system: str, service: ImageProgram | None) -> RenderedTree:
    plan, artifacts = rendered(system)
    made = []
    for artifact in artifacts:
        text = artifact.content
        if service is not None and (artifact.device, artifact.path) == (SWITCH, SYSTEMS[system][2]):
            text = OFF[system](text.decode(), service).encode()
        made.append(Artifact(artifact.device, artifact.path, text, artifact.kind))
    return tree_of(plan.name, made, Declaration(plan))


def outcomes(tree: RenderedTree) -> Iterator[tuple[str, object]]:
    for check in CHECKS:
        if check.applies(tree):
            verdict = check.run(tree)
            yield check.name, (verdict.word, verdict.facts)


@cache
def as_rendered(system: str) -> dict[str, object]:
    return dict(outcomes(edited(system, None)))


@pytest.fixture(scope="module", autouse=True)
def _each_text_once() -> Iterator[None]:
    with texts_read_once():
        yield


CASES = [(system, service.name) for system in SYSTEMS for service in systems()[system].services if service.serves]


@pytest.mark.parametrize(("system", "name"), CASES)
def test_a_program_that_does_not_run_is_missed(system: str, name: str) -> None:
    service = systems()[system].service(name)
    assert service is not None
    before = as_rendered(system)
    is_missed = any(before[check] != found for check, found in outcomes(edited(system, service)))
    assert is_missed is ((system, name) not in WITHOUT_EFFECT)


def test_every_reason_names_a_program() -> None:
    assert WITHOUT_EFFECT.keys() <= set(CASES)


@pytest.mark.parametrize(
    ("device_type", "row", "runs_it"),
    [
        ("ToRRouter", None, True),
        ("LeafRouter", None, False),
        ("LeafRouter", {"auto_restart": "enabled"}, False),
        ("LeafRouter", {"state": "enabled"}, True),
        ("ToRRouter", {"state": "disabled"}, False),
        ("ToRRouter", {"state": "{% if x %}enabled{% endif %}"}, None),
    ],
)
def test_what_sonic_says_nothing_of_is_the_images_by_the_type_of_device(
    device_type: str, row: dict[str, str] | None, runs_it: bool | None
) -> None:
    tables = {
        "DEVICE_METADATA": {"localhost": {"type": device_type}},
        "FEATURE": {} if row is None else {"dhcp_relay": row},
    }
    assert runs(tables, "dhcp_relay") is runs_it
