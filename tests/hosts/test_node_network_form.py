"""What is found once for all .network files of a form is what each of them says, however it was edited."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import islice

import pytest
from tests.proofs.ethernet_trees import artifacts_of

from clusterwright.finding import VerifyError
from clusterwright.hosts.linux.reader import network, network_form, routes, unread
from clusterwright.hosts.linux.reader.network_form import NetworkText

FILE = "etc/systemd/network/20-be0.network"
STRANGE = (
    "0",
    "7",
    "a",
    ":",
    ".",
    "/",
    "@",
    "=",
    "\\",
    "\n",
    "\0",
    "\x000",
    "\x001:",
    "\r",
    " ",
    "\u0665",
    "::",
    "/0",
    "[Route]\n",
)
VALUES = ("::/0", "0.0.0.0/0", "::", "10.0.0.1/00", "fd00::1/128", "fd00::1@be0", "1:2/3", "a\\", "no", "yes", "")
ALIKE = (("fd24:", "fd25:"), ("10.", "11."), ("::", "::7"), (" to ", " to x"))


def texts_of(spec: str) -> list[str]:
    """The .network files of a few nodes of each kind."""
    found = (a.content.decode() for a in artifacts_of(spec) if a.path.endswith(".network"))
    return [*islice(found, 30)]


def edited(text: str, chance: random.Random) -> str:
    """The text with a few characters, lines or values otherwise."""
    for _ in range(chance.randint(1, 3)):
        lines = text.split("\n")
        at, other = chance.randrange(len(lines)), chance.randrange(len(lines))
        way = chance.randrange(7)
        if way == 0:
            del lines[at]
        elif way == 1:
            lines.insert(at, lines[other])
        elif way == 2:
            lines[at], lines[other] = lines[other], lines[at]
        elif way == 3:
            lines[at] = f"{lines[at].partition('=')[0]}={lines[other].partition('=')[2]}"
        elif way == 4:
            lines[at] = f"{lines[at].partition('=')[0]}={chance.choice(VALUES)}"
        text = "\n".join(lines)
        if way > 4:
            at = chance.randrange(len(text) + 1)
            text = text[:at] + chance.choice(STRANGE) + text[at + chance.randrange(3) :]
    return text


def said(text: str) -> object:
    """All that readers make of a text; of routes both what is wrong with them and which there are."""
    asked: list[tuple[str, str]] = []

    def judge(to: str, hop: str) -> str:
        asked.append((to, hop))
        return "no" if (len(to) + len(hop)) % 7 == 0 else ""

    try:
        nic: object = network.read_nic("node", FILE, text)
    except VerifyError as error:
        nic = str(error)
    faults = list(routes.networkd_routes(text, judge))
    return nic, faults, set(asked), unread.host_unread(FILE, text)


def by_itself(text: str, monkeypatch: pytest.MonkeyPatch) -> object:
    """The same without forms."""
    with monkeypatch.context() as alone:
        for module in (network, routes, unread):
            alone.setattr(module, "network_text", lambda text: NetworkText(text, ()))
        return said(text)


def cases(spec: str, kept: Callable[[str], str]) -> Iterator[str]:
    chance = random.Random(spec)
    for text in texts_of(spec):
        yield from (text, kept(text), text)  # now its form is known
        for _ in range(25):
            yield edited(text, chance)
            yield kept(text)


@pytest.mark.parametrize("spec", ["lab-roce", "lab-ib", "lab-border", "lab-tenants", "lab-sonic"])
@pytest.mark.parametrize(("old", "new"), ALIKE)
def test_a_form_says_what_its_files_say(spec: str, old: str, new: str, monkeypatch: pytest.MonkeyPatch) -> None:
    network_form.network_text.cache_clear()
    for text in cases(spec, lambda text: text.replace(old, new)):
        assert said(text) == by_itself(text, monkeypatch), text


def test_files_that_differ_in_words_alone_have_one_form() -> None:
    text = next(text for text in texts_of("lab-roce") if "Gateway=" in text)
    other = text.replace("fd", "fc").replace(", to ", ", to another ")
    forms = {network_form.network_text(each).form for each in (text, other, text + " ", other + " ")}
    assert other != text
    assert len(forms) == 2
