"""A file of FBOSS's that is read in parts says what JSON says of it as a whole, however it was edited."""

from __future__ import annotations

import json
from ipaddress import ip_interface
from typing import Any

import pytest
from tests.proofs.ethernet_trees import text_of

from clusterwright.platforms.fboss.reader.configuration import AGENT, BGP, LAYOUTS
from clusterwright.platforms.fboss.reader.document import document_of
from clusterwright.platforms.fboss.reader.unread import agent_unread, bgp_unread

RTSW = "rtsw-p00r00"
UNREAD = {AGENT: agent_unread, BGP: bgp_unread}
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
    (BGP, '"listen_port": 179', '"listen_port": 179,\n  "listen_port": 180'),
    (BGP, '"listen_port": 179', '"listen_port": 179}\n}'),
    (BGP, '"local_addr"', '"local_addr": "::", "local_addr"'),
]


def outcome(text: str, file: str, is_whole: bool) -> Any:
    layout = LAYOUTS[file]._replace(opening="nowhere") if is_whole else LAYOUTS[file]
    try:
        value = document_of(text, layout).value
        return {key: dict(each) if key == layout.key else each for key, each in value.items()}
    except ValueError:
        return "no JSON"


@pytest.mark.parametrize(("file", "before", "after"), EDITS)
def test_a_file_in_parts_says_what_it_says_as_a_whole(
    file: str, before: str, after: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = text_of("lab-roce", RTSW, file)
    assert before in text
    edited = text.replace(before, after, 1)
    assert outcome(edited, file, is_whole=False) == outcome(edited, file, is_whole=True)
    found = UNREAD[file](edited)
    monkeypatch.setitem(LAYOUTS, file, LAYOUTS[file]._replace(opening="nowhere"))
    assert found == UNREAD[file](edited)


def test_files_as_they_are_written_are_read_in_parts_that_switches_share() -> None:
    for file, shared in ((AGENT, 17), (BGP, 5)):
        one, other = (
            document_of(text_of("lab-roce", name, file), LAYOUTS[file]).parts for name in (RTSW, "rtsw-p00r01")
        )
        assert len(set(one) & set(other)) >= shared, file


def test_the_outline_hides_addresses_alone() -> None:
    document = document_of(text_of("lab-roce", RTSW, AGENT), LAYOUTS[AGENT])
    value, outline = (json.dumps(dict(each["sw"])) for each in (document.value, document.outline))
    hidden = [
        word
        for word, other in zip(value.split(), outline.replace("an address", "-").split(), strict=True)
        if word != other
    ]
    assert hidden
    for word in hidden:
        ip_interface(word.strip('"{[,]}'))
