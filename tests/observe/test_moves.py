"""Whatever cables are exchanged or pulled in a whole fabric: who does what he is told ends with the plan."""

from __future__ import annotations

from copy import deepcopy
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st
from tests.observe.netfile import NetFile, hdr_plan

from clusterwright.observe.compare import compare
from clusterwright.observe.difference import DifferenceKind, Place
from clusterwright.observe.ibnetdiscover import parse

FREE = [(leaf, port) for leaf in ("leaf-s00-01", "leaf-s01-06", "spine-02") for port in ("33", "34", "35")]


@cache
def _planned() -> NetFile:
    with TemporaryDirectory() as folder:
        return NetFile.of(hdr_plan(Path(folder)))


@given(st.data())
def test_following_the_advice_leads_to_the_plan(data: st.DataObject) -> None:
    planned = _planned()
    net = NetFile(planned.plan, planned.heads, planned.names, dict(planned.peers))
    ends = sorted(planned.peers)
    free = list(FREE)
    for _ in range(data.draw(st.integers(0, 7))):
        _miscable(data, net, ends, free)
    before = deepcopy(net.peers)
    advice = compare(net.plan, "backend", [parse(net.text(""), "scan")], rates=False)
    moves = [item for item in advice if item.target is not None]
    wrong = {frozenset(pair) for pair in before.items() if planned.peers.get(pair[0]) != pair[1]}
    for item in moves:
        assert item.cable is not None
        cable = net.end(*_words(item.cable)), net.end(*_words(item.place))
        assert frozenset(cable) in wrong, "only wrong cables are moved"
        wrong.remove(frozenset(cable))
        net.cut(cable[0])
    for item in advice:
        if item.kind is DifferenceKind.UNEXPECTED_LINK:
            net.cut(net.end(*_words(item.place)))
    for item in advice:
        end = item.target if item.target is not None else item.place
        if item.kind is not DifferenceKind.UNEXPECTED_LINK:
            assert item.cable is not None, item.message
            net.join(net.end(*_words(item.cable)), net.end(*_words(end)))
    assert net.peers == planned.peers


def _miscable(data: st.DataObject, net: NetFile, ends: list[tuple[str, int]], free: list[tuple[str, str]]) -> None:
    """Pull, move or swap a cable."""
    one, other = (ends[data.draw(st.integers(0, len(ends) - 1))] for _ in range(2))
    what = data.draw(st.sampled_from(["swap", "swap", "swap", "pull", "move"]))
    if one not in net.peers:
        return
    if what == "pull":
        net.cut(one)
    elif what == "move" and free:
        far = net.cut(one)
        net.join(far, net.end(*free.pop()))
    elif what == "swap" and other in net.peers and other != one and net.peers[one] not in {other, one}:
        net.swap(one, other)


def _words(place: Place) -> tuple[str, str]:
    return place.device, place.port
