"""Every field of FBOSS's files is understood, known to be without influence, or named with its line and its claims."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from tests.plans import plan_of
from tests.proofs.ethernet_trees import text_of, tree

from clusterwright.finding import VerifyError
from clusterwright.output.rendering import Rendering
from clusterwright.proofs.registry import CHECKS
from clusterwright.switches.fboss.reader.classes import qos_map
from clusterwright.switches.fboss.reader.configuration import AGENT, BGP, read_fboss
from clusterwright.switches.fboss.reader.unread import agent_unread, bgp_unread

FLAGS, FIELDS = "defaultCommandLineArgs", "fieldSelection"
RTSW = "rtsw-p00r00"
READ = {AGENT: agent_unread, BGP: bgp_unread}
Place = tuple[str | int, ...]


def structures(value: Any, keys: Place = ()) -> Iterator[Place]:
    """Every mapping of a document, by the keys and places that lead to it."""
    if isinstance(value, dict):
        yield keys
        for key, each in value.items():
            yield from structures(each, (*keys, key))
    elif isinstance(value, list):
        for at, each in enumerate(value[:2]):
            yield from structures(each, (*keys, at))


def at(document: Any, keys: Place) -> Any:
    for key in keys:
        document = document[key]
    return document


@pytest.mark.parametrize("file", READ)
def test_a_field_that_nobody_knows_is_named_wherever_it_stands(file: str) -> None:
    text = text_of("lab-roce", RTSW, file)
    assert READ[file](text) == ()
    whatever = ("expectedLLDPValues", "thriftApiToRateLimitInQps", "chip", "trafficClass", "pfcPriority")
    planted = 0
    for keys in structures(json.loads(text)):
        if any(str(key).startswith(whatever) for key in keys):
            continue  # the entries of these maps are numbers of things, and all are read
        document = json.loads(text)
        at(document, keys)["unheardOf"] = 1
        edited = json.dumps(document, indent=1)
        found = READ[file](edited)
        assert [each.text.rpartition(" / ")[2] for each in found] == ["unheardOf"], keys
        line = edited.split("\n")[found[0].line - 1]
        assert '"unheardOf"' in line, (keys, line)
        planted += 1
    assert planted > 20


def test_fields_of_the_published_structures_that_no_reader_takes_in_are_named() -> None:
    text = text_of("lab-roce", RTSW, AGENT)
    for field in ("drainState", "sFlowIngressRate", "sampleDest", "loopbackMode", "zeroPreemphasis", "interfaceIDs"):
        document = json.loads(text)
        document["sw"]["ports"][0][field] = 1
        assert [each.text for each in agent_unread(json.dumps(document, indent=1))] == [f"sw / ports / {field}"]


@pytest.mark.parametrize(
    ("keys", "value", "said"),
    [
        (("sw", "ports", 0, "parserType"), 0, "sw / ports / parserType"),
        (("sw", "ports", 0, "state"), 3, "sw / ports / state"),
        (("sw", "vlanPorts", 0, "emitPriorityTags"), True, "sw / vlanPorts / emitPriorityTags"),
        (("sw", "aclTableGroup", "stage"), 2, "sw / aclTableGroup / stage"),
        (
            ("defaultCommandLineArgs", "enable_acl_table_group"),
            "false",
            "defaultCommandLineArgs / enable_acl_table_group",
        ),
        (
            ("sw", "loadBalancers", 0, "fieldSelection", "mplsFields"),
            {"a": 1},
            "sw / loadBalancers / fieldSelection / mplsFields",
        ),
        (("sw", "qosPolicies", 0, "rules"), [1], "sw / qosPolicies / rules"),
        (("sw", "hostname"), ["rtsw"], "sw / hostname"),
    ],
)
def test_values_and_shapes_that_no_reader_takes_in_are_named(keys: Place, value: Any, said: str) -> None:
    document = json.loads(text_of("lab-roce", RTSW, AGENT))
    at(document, keys[:-1])[keys[-1]] = value
    assert [each.text for each in agent_unread(json.dumps(document, indent=1))] == [said]


@pytest.mark.parametrize("index", [0, 4])
def test_a_dscp_in_two_classes_is_refused(index: int) -> None:
    switch = json.loads(text_of("lab-roce", RTSW, AGENT))["sw"]
    maps = switch["qosPolicies"][0]["qosMap"]["dscpMaps"]
    maps.insert(index, {"internalTrafficClass": 0, "fromDscpToTrafficClass": [50]})
    with pytest.raises(ValueError, match="DSCP 50 is in two classes"):
        qos_map(switch)


def test_a_priority_of_a_lossless_group_pauses_without_a_queue() -> None:
    switch = json.loads(text_of("lab-roce", RTSW, AGENT))["sw"]
    switch["qosPolicies"][0]["qosMap"]["pfcPriorityToPgId"]["3"] = 2
    read = qos_map(switch)
    assert read is not None
    assert read.lossless == {2, 3}


@pytest.mark.parametrize(
    ("interface", "address", "error"),
    [
        (1, "fd00:1ab:b::2/127", "fd00:1ab:b::2/127 stands twice in VLAN 2000"),
        (2, "fd00:1ab:b::3/127", "fd00:1ab:b::3/127 is in the subnet of VLANs 2000 and 2001"),
    ],
)
def test_addresses_that_the_agent_refuses_are_refused(interface: int, address: str, error: str) -> None:
    document = json.loads(text_of("lab-roce", RTSW, AGENT))
    document["sw"]["interfaces"][interface]["ipAddresses"].append(address)
    texts = {AGENT: json.dumps(document), BGP: text_of("lab-roce", RTSW, BGP)}
    with pytest.raises(VerifyError, match=error):
        read_fboss(RTSW, texts[AGENT], texts[BGP])


def test_what_stands_twice_is_named_with_its_second_line() -> None:
    text = text_of("lab-roce", RTSW, AGENT)
    edited = text.replace('"defaultVlan": 1,', '"defaultVlan": 1,\n    "defaultVlan": 1,')
    (found,) = agent_unread(edited)
    assert (found.text, edited.split("\n")[found.line - 2 : found.line]) == (
        "sw / defaultVlan",
        ['    "defaultVlan": 1,', '    "defaultVlan": 1,'],
    )


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, '{"sw": [1, "a"]}', "[]", "3"])
def test_text_that_is_no_such_file_is_named_without_a_traceback(text: str) -> None:
    assert agent_unread(text) or text in {"[]"}


@pytest.mark.parametrize(
    ("field", "place", "spared"),
    [
        ('"drainState": 1, ', '{"logicalID": ', set[str]()),
        ('"unheardOf": 1, ', '"fieldSelection"', {"ethernet-links", "bgp-sessions", "reachability", "qos"}),
    ],
)
def test_an_unknown_field_leaves_the_claims_that_it_could_touch_not_proven(
    field: str, place: str, spared: set[str]
) -> None:
    text = text_of("lab-roce", RTSW, AGENT)
    start = text.index(place, text.index('"loadBalancers"') if "unheard" in field else 0)
    offset = start + place.index('"')
    subject = tree("lab-roce", {(RTSW, AGENT): lambda text: text[:offset] + field + text[offset:]})
    for check in CHECKS:
        if check.name in {"ethernet-links", "bgp-sessions", "reachability", "qos", "ecmp-hash"}:
            assert check.run(subject).is_proven is (check.name in spared), check.name


@pytest.mark.parametrize("spec", ["lab-roce", "lab-border", "lab-ib", "lab-sonic", "roce-24k", "rsc"])
def test_nothing_that_is_rendered_is_unread(spec: str) -> None:
    plan = plan_of(spec)
    first = {(device.fabric, device.role): device.name for device in plan.devices if device.kind == "switch"}
    for name in first.values():
        for artifact in Rendering(plan).of_device(name):
            if artifact.path in READ:
                assert READ[artifact.path](artifact.content.decode()) == (), (name, artifact.path)
