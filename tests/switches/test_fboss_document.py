"""A file of FBOSS's that is read in parts says what JSON says of it as a whole, however it was edited."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping
from dataclasses import fields, replace
from ipaddress import ip_interface
from typing import Any

import pytest
from tests.proofs.ethernet_trees import text_of

from clusterwright.finding import VerifyError
from clusterwright.switches.fboss.reader.configuration import AGENT, BGP, LAYOUTS, read_fboss
from clusterwright.switches.fboss.reader.document import FileInParts, document_of
from clusterwright.switches.fboss.reader.unread import agent_unread, bgp_unread

RTSW = "rtsw-p00r00"
UNREAD = {AGENT: agent_unread, BGP: bgp_unread}
HIDDEN = frozenset({"aclTableGroup"})  # no outline has its addresses
SWITCH = '\n  "sw": {\n    '
EDITS = [
    (AGENT, "", ""),
    (BGP, "", ""),
    (AGENT, '"defaultVlan": 1', '"defaultVlan": 1,\n    "defaultVlan": 2'),
    (AGENT, '"defaultVlan": 1', '"defaultVlan": 1, "defaultVlan": 2'),
    (AGENT, '"defaultVlan": 1', '"defaultVlan": 1, "unheardOf": 2'),
    (AGENT, '"defaultVlan": 1', '"defaultVlan": 1,\n    "unheardOf": {\n    "sw": 2}'),
    (AGENT, '"defaultVlan": 1', 'defaultVlan": 1'),
    (AGENT, '"defaultVlan": 1', '"defaultVlan" : 1'),
    (AGENT, '"defaultVlan": 1', ""),
    (AGENT, '"version": 0', 'version": 0'),
    (AGENT, '"version": 0', '"version": {},\n    "sw": {}'),
    (AGENT, '"hostname": "', '"hostname": "\\",\\n    \\"a'),
    (AGENT, '"hostname": "', '"hostname": "",\n    "hostname": "'),
    (AGENT, SWITCH, '\n  "sw": {"state": 2},\n  "platform": {\n  "sw": {\n    '),
    (AGENT, SWITCH, '\n  "sw": {},\n  "sw": {\n    '),
    (AGENT, SWITCH, '\n  "platform": {\n  "sw": {\n    "version": 0\n  }},\n  "sw": {\n    '),
    (AGENT, '\n  "platform": {', '\n  "sw": {"parts": 0},\n  "platform": {'),
    (AGENT, '\n  "platform": {', '\n  "sw": {},\n  "platform": {'),
    (AGENT, '"actionType": 1', '"actionType": 7'),
    (AGENT, '"actionType": 1', '"actionType": 1, "redirectToNextHop": 1'),
    (AGENT, '"dstIp": "', '"dstIp": "an address", "unheardOf": "'),
    (AGENT, '"description": "', '"description": "\\u00000 '),
    (AGENT, '"description": "', '"description": "a\\"b'),
    (AGENT, '"description": "', '"description": "\t'),
    (AGENT, '"description": "', '"description: "'),
    (AGENT, '"description": "', 'description": "'),
    (AGENT, '"description": "', '"description": "a", "description": "'),
    (AGENT, '"description": "', '"unheardOf": "description": "'),
    (AGENT, '"expectedLLDPValues": {"2": "', '"expectedLLDPValues": {"2": 7, "2": "'),
    (AGENT, '"expectedLLDPValues": {"2": "', '"expectedLLDPValues": {"2": "", "2": "'),
    (AGENT, '"expectedLLDPValues": {"2": "', '"expectedLLDPValues": {"2": "}, '),
    (AGENT, '"5": "', '"6": "'),
    (AGENT, '"ipAddresses": ["', '"ipAddresses": ["10.0.0.0/8", "'),
    (AGENT, '"ipAddresses": ["', '"10.0.0.0/8": ["", "10.1.0.0/8'),
    (AGENT, '"interfaces": [', '"interfaces": [{"10.0.0.0/8": 1, "10.0.0.0/8": 2, "10.1.0.0/8": 3}, '),
    (BGP, '"listen_port": 179', '"listen_port": 179,\n  "listen_port": 180'),
    (BGP, '"listen_port": 179', '"listen_port": 179}\n}'),
    (BGP, '"local_addr"', '"local_addr": "::", "local_addr"'),
    (BGP, '"local_addr"', '"unheardOf": 1, "local_addr"'),
    (BGP, '"local_addr": "', '"local_addr": "a\\"b'),
    (BGP, '"local_addr": "', '"local_addr": "\t'),
    (BGP, '"local_addr": "', 'local_addr": "'),
    (BGP, '"local_addr": "', '"local_addr": {"unheardOf": "a"}, "description": "'),
    (BGP, '"remote_as_4_byte": ', '"remote_as_4_byte": 0'),
    (BGP, '"remote_as_4_byte": ', '"remote_as_4_byte": -'),
    (BGP, '"remote_as_4_byte": ', '"remote_as_4_byte": 1.'),
    (BGP, '"remote_as_4_byte": ', '"remote_as_4_byte": "", "unheardOf": '),
    (BGP, '"local_as_4_byte": ', '"local_as_4_byte": [],\n  "unheardOf": '),
    (BGP, '"router_id": "', '"router_id": "10.0.0.1",\n  "unheardOf": "'),
]


def filled(value: Any, document: FileInParts) -> Any:
    """A part of the outline with the file's words in its blanks."""
    if isinstance(value, Mapping):
        return {document.words[key]: filled(each, document) for key, each in value.items()}
    if isinstance(value, list):
        return [filled(each, document) for each in value]
    return document.said(value)


def outcome(text: str, file: str, is_whole: bool) -> Any:
    layout = replace(LAYOUTS[file], opening="nowhere") if is_whole else LAYOUTS[file]
    try:
        document = document_of(text, layout)
        value = {key: dict(each) if key == layout.key else each for key, each in document.value.items()}
        exact = {key: each for key, each in (value["sw"] if file == AGENT else value).items() if key not in HIDDEN}
        if document.words:
            outline = document.shape.outline["sw"] if file == AGENT else document.shape.outline
            assert exact == {key: filled(each, document) for key, each in outline.items() if key not in HIDDEN}
        return value
    except ValueError:
        return "no JSON"


@pytest.mark.parametrize(("file", "before", "after"), EDITS)
def test_a_file_in_parts_says_what_it_says_as_a_whole(
    file: str, before: str, after: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = text_of("lab-roce", RTSW, file)
    assert before in text
    assert document_of(text, LAYOUTS[file]).shape.forms  # it is known now, and the edited one is compared with it
    edited = text.replace(before, after, 1)
    assert outcome(edited, file, is_whole=False) == outcome(edited, file, is_whole=True)
    found = UNREAD[file](edited)
    monkeypatch.setitem(LAYOUTS, file, replace(LAYOUTS[file], opening="nowhere"))
    assert found == UNREAD[file](edited)


VALUES = (
    '"::"', '"10.0.0.1"', '"10.0.0.0/8"', '"fd00::/64"', '"UP"', '"DOWN"', '"FROM-UP"', '"FABRIC"', '"a\\u0062"', '""',
    '"\\u00000"', "0", "1", "2", "3", "5", "7", "-1", "1.5", "4200010000", "true", "false", "null", "[]", "{}",
    '{"name": 1}',
)  # fmt: skip
NUMBER_OR_STRING = re.compile(r'"[^"\n]*"(?!:)|(?<=: )(?:\d+|true|false)')
KEY = re.compile(r'"[a-z_0-9]+"(?=:)')


def with_another_value(text: str, chance: random.Random) -> str:
    """The text with some of its values otherwise: as others in it, or strange; or with another key."""
    for _ in range(chance.randint(1, 3)):
        pattern = NUMBER_OR_STRING if chance.random() < 0.9 else KEY
        places = [match.span() for match in pattern.finditer(text)]
        start, end = chance.choice(places)
        first, last = chance.choice(places)
        text = text[:start] + chance.choice((text[first:last], chance.choice(VALUES))) + text[end:]
    return text


def router(agent: str, bgp: str) -> object:
    """What is read of a switch: all that it does, or what is wrong."""
    try:
        read = read_fboss(RTSW, agent, bgp)
    except VerifyError as error:
        return str(error)
    return [getattr(read, field.name) for field in fields(read)]


def test_files_as_they_are_written_are_read_in_parts_that_switches_share() -> None:
    for file, shared in ((AGENT, 17), (BGP, 5)):
        one, other = (
            document_of(text_of("lab-roce", name, file), LAYOUTS[file]).shape.forms for name in (RTSW, "rtsw-p00r01")
        )
        assert len(set(one) & set(other)) >= shared, file


def test_switches_of_a_kind_have_one_shape_and_words_of_their_own() -> None:
    one, other = (document_of(text_of("lab-roce", name, AGENT), LAYOUTS[AGENT]) for name in (RTSW, "rtsw-p00r01"))
    assert one.shape is other.shape
    assert len(one.words) == len(other.words) > 20
    assert one.words != other.words
    edited = text_of("lab-roce", RTSW, AGENT).replace('"state": 2', '"state": 1', 1)
    assert document_of(edited, LAYOUTS[AGENT]).shape is not one.shape


def test_a_string_that_looks_like_a_blank_is_refused() -> None:
    text = text_of("lab-roce", RTSW, AGENT).replace('"description": "', '"description": "\\u00000 ', 1)
    with pytest.raises(VerifyError, match="does not read"):
        read_fboss(RTSW, text, "")


@pytest.mark.parametrize("file", [AGENT, BGP])
def test_a_file_that_has_blanks_itself_is_no_file_of_that_shape(file: str) -> None:
    text = text_of("lab-roce", RTSW, file)
    known = document_of(text, LAYOUTS[file])
    for part, form in zip(known.texts.values(), known.shape.forms, strict=True):
        text = text.replace(part, form, 1)
    document = document_of(text, LAYOUTS[file])
    key = LAYOUTS[file].key
    assert (document.shape is known.shape) == (not known.words)
    assert not document.words
    assert dict(document.value[key] if key else document.value) == (json.loads(text)[key] if key else json.loads(text))


def test_the_outline_hides_addresses_alone() -> None:
    document = document_of(text_of("lab-roce", RTSW, AGENT), LAYOUTS[AGENT])
    value, outline = (json.dumps(each["sw"]["aclTableGroup"]) for each in (document.value, document.shape.outline))
    hidden = [
        word
        for word, other in zip(value.split(), outline.replace("an address", "-").split(), strict=True)
        if word != other
    ]
    assert hidden
    for word in hidden:
        ip_interface(word.strip('"{[,]}'))


@pytest.mark.parametrize("device", [RTSW, "rsw-p00r00"])
@pytest.mark.parametrize("file", [AGENT, BGP])
def test_a_switch_does_what_its_files_say_as_a_whole(device: str, file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {each: text_of("lab-roce", device, each) for each in (AGENT, BGP)}
    chance = random.Random(file)
    for _ in range(400):
        assert document_of(texts[file], LAYOUTS[file]).shape.forms
        edited = {**texts, file: with_another_value(texts[file], chance)}
        found = router(edited[AGENT], edited[BGP])
        with monkeypatch.context() as whole:
            whole.setitem(LAYOUTS, file, replace(LAYOUTS[file], opening="nowhere"))
            assert found == router(edited[AGENT], edited[BGP]), edited[file]
    document_of.cache_clear()  # shapes of these are no longer known, so files of others have new ones
