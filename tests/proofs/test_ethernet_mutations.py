"""Hundreds of edits of rendered switch and node files, at seeded random places: what changes behaviour is caught."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from random import Random

import pytest
from tests.proofs.ethernet_blind import HARMLESS, blind_edit, reason
from tests.proofs.ethernet_edits import NAMED, NVUE, SONIC
from tests.proofs.ethernet_trees import (
    NCCL,
    NETWORK_BE0,
    SCRIPT,
    artifacts_of,
    text_of,
    texts_read_once,
    tree,
)

from clusterwright.finding import VerifyError
from clusterwright.proofs.registry import CHECKS
from clusterwright.proofs.tree import RenderedTree

SEED = 24576
PLACES = 3  # of each named edit, on as many devices as have it
BLIND = 45  # edits of each file
NAMES = ("ethernet-links", "bgp-sessions", "reachability", "valley-free", "ethernet-bisection", "qos", "ecmp-hash")
JUDGES = [check for check in CHECKS if check.name in NAMES]
BACKEND = re.compile(r"(rtsw|ctsw|atsw|gpu)-")


@pytest.fixture(scope="module", autouse=True)
def unchanged_texts_read_once() -> Iterator[None]:
    with texts_read_once():
        yield


def spec_of(path: str) -> str:
    return {SONIC: "lab-sonic", NVUE: "lab-nvue"}.get(path, "lab-roce")


def devices_with(path: str) -> list[str]:
    return [a.device for a in artifacts_of(spec_of(path)) if a.path == path and BACKEND.match(a.device)]


def judge(subject: RenderedTree) -> str | None:
    """The check that refutes a tree, None when all prove it."""
    try:
        return next((check.name for check in JUDGES if not check.run(subject).is_settled), None)
    except VerifyError:
        return "refused"


@pytest.mark.parametrize("path", NAMED)
def test_every_edit_that_changes_behaviour_is_caught(path: str) -> None:
    chosen = Random(f"{SEED} {path}")
    by = Counter[str]()
    missed = []
    for what, pattern, new in NAMED[path]:
        devices = devices_with(path)
        texts = {device: text_of(spec_of(path), device, path) for device in devices}
        places = [(device, found) for device, text in texts.items() for found in re.finditer(pattern, text, re.M)]
        assert places, f"there is nothing to edit for: {what}"
        for device, found in chosen.sample(places, min(PLACES, len(places))):
            text = texts[device]
            after = text[: found.start()] + found.expand(new) + text[found.end() :]
            if after == text:
                continue
            verdict = judge(tree(spec_of(path), {(device, path): lambda _, after=after: after}))  # type: ignore[misc]  # a bound default
            by[verdict or "nothing"] += 1
            if verdict is None:
                missed.append(f"{what}: {device}:/{path}:{text.count(chr(10), 0, found.start()) + 1}")
    report = f"{path}: {by.total()} edits, caught by {dict(by)}"
    assert missed == [], report
    assert by.total() >= len(NAMED[path])


@pytest.mark.parametrize("path", [SCRIPT, NCCL, NETWORK_BE0])
def test_what_a_blind_edit_changes_is_caught_or_known_to_be_harmless(path: str) -> None:
    chosen = Random(f"{SEED} blind {path}")
    caught = harmless = 0
    missed = []
    for _ in range(BLIND):
        device = chosen.choice(devices_with(path))
        text = text_of(spec_of(path), device, path)
        place, after = blind_edit(text, chosen)
        if judge(tree(spec_of(path), {(device, path): lambda _, after=after: after})) is not None:  # type: ignore[misc]  # as above
            caught += 1
        elif reason(place) is not None:
            harmless += 1
        else:
            missed.append(f"{device}: {place}")
    report = f"{path}: {BLIND} blind edits, {caught} caught, {harmless} harmless"
    assert missed == [], report
    assert caught + harmless == BLIND


def test_every_reason_is_one() -> None:
    for pattern, why in HARMLESS:
        assert re.compile(pattern).search("") is None or pattern.endswith("^$"), pattern
        assert len(why) > 10
