"""Random edits of rendered filters: each one that lets another packet pass, or one less, is refuted or refused.

What an edit changes is decided by the oracle, which reads the text line by line and asks it about packets at the
borders of everything that it names.
"""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Callable, Iterator
from functools import cache, partial

import pytest
from tests.proofs.isolation import oracle
from tests.proofs.isolation.trees import AGENT, BOOT, EOS, NFT, SONIC, artifacts_of, one_of_each, text_of, tree, verdict

from clusterwright.finding import VerifyError
from clusterwright.proofs.check import Counterexample

EDITS_PER_SPEC = {"lab-roce": 60, "lab-sonic": 50, "lab-ib": 40, "rsc": 50}
PACKETS = 1500
Mutation = Callable[[str, random.Random], str]
Decider = Callable[[str, oracle.Packet], bool]


def _rules(text: str, pattern: str) -> list[re.Match[str]]:
    return list(re.finditer(pattern, text, re.M))


def _deleted(text: str, chosen: random.Random, pattern: str) -> str:
    choice = chosen.choice(_rules(text, pattern))
    return text[: choice.start()] + text[choice.end() :]


def _duplicated(text: str, chosen: random.Random, pattern: str) -> str:
    rules = _rules(text, pattern)
    found, place = chosen.choice(rules), chosen.choice(rules)
    return text[: place.start()] + found[0] + text[place.start() :]


def _moved(text: str, chosen: random.Random, pattern: str) -> str:
    rules = _rules(text, pattern)
    found, place = chosen.choice(rules), chosen.choice(rules)
    if found.start() == place.start():
        return text
    return text.replace(found[0], "", 1).replace(place[0], found[0] + place[0], 1)


def _swapped(text: str, chosen: random.Random, pattern: str, one: str, other: str) -> str:
    """Flips one word into another in one rule."""
    choice = chosen.choice([each for each in _rules(text, pattern) if one in each[0]])
    return text[: choice.start()] + choice[0].replace(one, other, 1) + text[choice.end() :]


def _widened(text: str, chosen: random.Random, pattern: str) -> str:
    """Takes bits off the length of one prefix."""
    places = [
        (found.start() + match.start(1), found.start() + match.end(1), int(match[1]))
        for found in _rules(text, pattern)
        for match in re.finditer(r"[0-9a-f.:]{4,}/(\d+)", found[0])
    ]
    start, end, length = chosen.choice(places)
    return text[:start] + str(max(1, length - chosen.choice((1, 4, 8, 16)))) + text[end:]


def _ported(text: str, chosen: random.Random, pattern: str) -> str:
    """Changes one port."""
    places = [
        (found.start() + match.start(1), found.start() + match.end(1), int(match[1]))
        for found in _rules(text, pattern)
        for match in re.finditer(r'(?:dport \{ |eq |L4_\w+": "|"l4\w+": |range \d+ )(\d+)', found[0])
    ]
    if not places:
        return text
    start, end, port = chosen.choice(places)
    return text[:start] + str(port + chosen.choice((-1, 1, 100))) + text[end:]


def _replaced(text: str, chosen: random.Random, one: str, other: str) -> str:
    places = list(re.finditer(one, text, re.M))
    if not places:
        return text
    choice = chosen.choice(places)
    return text[: choice.start()] + choice.expand(other) + text[choice.end() :]


def _all(pattern: str, *more: Mutation) -> tuple[Mutation, ...]:
    return tuple(partial(each, pattern=pattern) for each in (_deleted, _duplicated, _moved, _widened, _ported)) + more


_NFT_RULE = r"^\t\t(?:iif|oif|ct|icmp|ip|fib|counter).*\n"
_EOS_RULE = r"^   \d+ (?:permit|deny) .*\n"
_SONIC_RULE = r'^    "HOSTS_V[46]\|[^\n]*\},\n'
_FBOSS_RULE = r'\{"name": "[\w/-]+", "actionType": [^}]*\}, '
MUTATIONS: dict[str, tuple[Mutation, ...]] = {
    NFT: _all(
        _NFT_RULE,
        partial(_widened, pattern=r"elements = \{[^}]*\}"),
        partial(_swapped, pattern=_NFT_RULE, one="accept", other="drop"),
        partial(_swapped, pattern=_NFT_RULE, one="counter drop", other="counter accept"),
        partial(_replaced, one="policy drop", other="policy accept"),
        partial(_replaced, one=r'"(be|fe)\d", ', other=""),
    ),
    EOS: _all(
        _EOS_RULE,
        partial(_swapped, pattern=_EOS_RULE, one=" permit ", other=" deny "),
        partial(_swapped, pattern=_EOS_RULE, one=" deny ", other=" permit "),
        partial(_replaced, one=r"^   ip(?:v6)? access-group .*\n", other=""),
    ),
    SONIC: _all(
        _SONIC_RULE,
        partial(_swapped, pattern=_SONIC_RULE, one="FORWARD", other="DROP"),
        partial(
            _replaced,
            one='"PRIORITY": "1", "PACKET_ACTION": "DROP"',
            other='"PRIORITY": "1", "PACKET_ACTION": "FORWARD"',
        ),
        partial(_replaced, one=r'"Ethernet8", ', other=""),
    ),
    AGENT: _all(
        _FBOSS_RULE,
        partial(_swapped, pattern=_FBOSS_RULE, one='"actionType": 1', other='"actionType": 0'),
        partial(_replaced, one='"closed", "priority": 1', other='"closed", "priority": 3'),
        partial(_replaced, one='"actionType": 0', other='"actionType": 1'),
    ),
}
MUTATIONS |= {BOOT: MUTATIONS[NFT]}


def _deciders(path: str, text: str) -> Iterator[Decider]:
    """What can be asked about a file: nodes' hooks, and ports of switches, those with lists first."""
    if path in (NFT, BOOT):
        for hook in ("input", "forward", "output"):
            yield lambda given, packet, hook=hook: oracle.nft(given, hook, packet)  # type: ignore[misc]  # a bound default
        return
    if path == EOS:
        ports = re.findall(r"^interface (\S+)\n(?:   .*\n)*?   ip access-group", text, re.M)
        ask = oracle.eos
    elif path == SONIC:
        ports, ask = ["Ethernet0", "Ethernet8"], oracle.sonic
    else:
        match = re.search(r'"name": "([\w/]+)", "description": "to (?:gpu|dgx|st|svc)', text)
        ports, ask = [match[1]] if match else [], oracle.fboss
    for port in (*ports[:3], *ports[-1:]):
        yield lambda given, packet, port=port, ask=ask: ask(given, port, packet)  # type: ignore[misc]  # as above


def _changes(path: str, before: str, after: str, chosen: random.Random) -> bool:
    """True when the oracle finds a packet that the two texts treat differently."""
    part = (lambda text: text) if path in (NFT, BOOT) else _lists
    asked = list(oracle.packets(chosen, part(before), part(after), count=PACKETS))
    try:
        return any(decide(before, each) != decide(after, each) for decide in _deciders(path, before) for each in asked)
    except KeyError:
        return True  # an entry of the other IP version: the switch takes no such list


def _lists(text: str) -> str:
    """The part of a switch's file that names what is filtered."""
    return "\n".join(re.findall(f"{_EOS_RULE}|{_SONIC_RULE}|{_FBOSS_RULE}", text, re.M))


def _is_caught(name: str, device: str, path: str, after: str) -> bool:
    subject = tree(name, device, edits={(device, path): lambda _: after})
    try:
        answer = verdict(subject)
    except VerifyError:
        return True
    return bool(answer.unread) or bool(set(answer.counterexamples) - _known(name, device))


@cache
def _known(name: str, device: str) -> frozenset[Counterexample]:
    """What is refuted without any edit."""
    return frozenset(verdict(tree(name, device)).counterexamples)


@pytest.mark.parametrize("name", EDITS_PER_SPEC)
def test_every_edit_that_changes_behaviour_is_caught(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    chosen = random.Random(f"isolation of {name}")
    files = [
        (device, artifact.path)
        for device in one_of_each(name)
        for artifact in artifacts_of(name, device)
        if artifact.path in MUTATIONS and _deciders_of(name, device, artifact.path)
    ]
    made = changing = 0
    missed: list[str] = []
    while made < EDITS_PER_SPEC[name]:
        device, path = chosen.choice(files)
        before = text_of(name, device, path)
        mutation = chosen.choice(MUTATIONS[path])
        try:
            after = mutation(before, chosen)
        except IndexError:
            continue  # there is nothing of this kind in the file
        if after == before:
            continue
        made += 1
        if _changes(path, before, after, chosen):
            changing += 1
            if not _is_caught(name, device, path, after):
                missed.append(f"{device}:/{path}: {mutation}")
    with capsys.disabled():
        sys.stdout.write(f"\n{name}: {made} edits, {changing} change what passes, {changing - len(missed)} caught\n")
    assert not missed
    assert changing > made // 8  # borders name single addresses, which few of the packets are sent to


def _deciders_of(name: str, device: str, path: str) -> bool:
    return any(True for _ in _deciders(path, text_of(name, device, path)))
