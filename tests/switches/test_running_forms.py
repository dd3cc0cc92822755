"""A switch that prints what it was given in its own way differs in nothing, and one that runs something else does.

For each file of a switch: no form that its system prints is a difference to `observe`, to drift or to `verify DIR`,
and of differences planted into such forms none stays unseen.
"""

from __future__ import annotations

import json
import os
import random
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from tests.plans import plan_of
from tests.proofs.test_values import LATE, SPECS, JudgedTree, texts_of
from tests.switches.running_forms import FORMS, Form

from clusterwright.device_files.drift import Compare
from clusterwright.facts.reader import SystemReader
from clusterwright.finding import VerifyError
from clusterwright.packets.tokens import Unreadable
from clusterwright.proofs.registry import CHECKS
from clusterwright.switches.eos.reader.normal_form import is_default as is_default_line
from clusterwright.switches.fboss.reader.defaults import AGENT_DEFAULTS, BGP_DEFAULTS, defaults_of, without_defaults
from clusterwright.switches.nvue.reader.defaults import is_default as is_default_object
from clusterwright.switches.readers import READERS
from clusterwright.switches.registry import SYSTEMS
from clusterwright.switches.sonic.reader.defaults import is_default as is_default_field

SEED = 37
PLANTED = 400 if os.environ.get("CLUSTERWRIGHT_SWEEP") == "all" else 60
"""Differences planted into each file's forms."""
CASES = [(path, form) for path, forms in FORMS.items() for form in forms]
NAMES = [f"{Path(path).name}-{form.__name__}" for path, form in CASES]


def reader_of(path: str) -> SystemReader:
    return next(reader for reader in READERS if path in reader.unread)


def compare_of(path: str) -> Compare:
    return SYSTEMS[reader_of(path).system].drift[path]


@cache
def judged(spec: str) -> JudgedTree:
    return JudgedTree(plan_of(spec))


def unproven(path: str, device: str, text: str) -> Iterator[str]:
    """The claims that `verify DIR` does not settle where a switch gave this text."""
    tree = judged(SPECS[path]).with_text(device, path, reader_of(path).normal_form(text))
    for check in CHECKS:
        if check.name in LATE[:1] or not check.applies(tree):
            continue
        try:
            verdict = check.run(tree)
        except VerifyError as error:
            yield f"{check.name}: {error}"
            continue
        if not verdict.is_settled:
            yield f"{check.name}: {[str(example) for example in verdict.counterexamples[:2]]} {verdict.unjudged}"


@pytest.mark.parametrize(("path", "form"), CASES, ids=NAMES)
def test_another_form_is_no_difference_and_proves_as_much(path: str, form: Form) -> None:
    for number, made in enumerate(texts_of(plan_of(SPECS[path]), path)):
        text = made.content.decode()
        running = form(text)
        assert [*compare_of(path)(text, running)] == [], made.device
        if number < 2:
            assert [*unproven(path, made.device, running)] == [], made.device


def test_a_password_that_nvue_hides_is_neither_proven_nor_refuted() -> None:
    path = "etc/clusterwright/nvue.yaml"
    made = texts_of(plan_of(SPECS[path]), path)[0]
    text = made.content.decode()
    hidden = re.sub(r"( +(?:hashed-)?password: ).*", r"\1'*'", text)
    refuted = [*unproven(path, made.device, hidden)]
    assert len(refuted) == 1
    assert "netops has no password" in refuted[0], "a locked account, where NVUE did not print the file"
    printed = f"- header:\n    model: vx\n{hidden}"
    answers = [*unproven(path, made.device, printed)]
    assert [answer.partition(":")[0] for answer in answers] == ["isolation", "management", "exchanges"]
    assert all("[]" in answer and "a password that NVUE does not show" in answer for answer in answers)


@pytest.mark.parametrize("path", FORMS)
def test_every_planted_difference_is_found(path: str) -> None:
    """Each in a form of the system, by drift, and by what `verify DIR` compares or reads."""
    chosen = random.Random(f"{SEED} {path}")
    files = [made.content.decode() for made in texts_of(plan_of(SPECS[path]), path)]
    unseen: list[str] = []
    planted = 0
    while planted < PLANTED:
        text = chosen.choice(files)
        edit = planted_in(path, text, chosen)
        form = chosen.choice(FORMS[path])
        if says_the_same(path, text, edit):
            continue
        running = form(edit.text)
        planted += 1
        if not [*compare_of(path)(text, running)]:
            unseen.append(f"drift: {edit.place} as {form.__name__}")
        if not is_seen_by_verify(path, text, running):
            unseen.append(f"verify: {edit.place} as {form.__name__}")
    assert not unseen, "\n".join(sorted(set(unseen)))


class Planted(NamedTuple):
    """An edit of a file: where, the value or line that was taken away (None for one that was changed), and the text."""

    place: tuple[str | int, ...]
    taken: Any
    text: str


def planted_in(path: str, text: str, chosen: random.Random) -> Planted:
    """A value of the file that was changed, or taken away."""
    is_taken = chosen.random() < 0.5
    if path in TREES:
        document = TREES[path](text)
        place = chosen.choice([*places(document, ())])
        changed = json.loads(json.dumps(document))
        above = changed
        for key in place[:-1]:
            above = above[key]
        value = above[place[-1]]
        is_taken = is_taken or isinstance(value, dict | list)
        if is_taken:
            del above[place[-1]]
        else:
            above[place[-1]] = other_value(value)
        return Planted(place, value if is_taken else None, json.dumps(changed, indent=1))
    lines = text.split("\n")
    number = chosen.choice([index for index, line in enumerate(lines) if line.strip(" !") and line != "end"])
    line = lines[number]
    header = next((above for above in reversed(lines[:number]) if above[:1] not in (" ", "!", "")), "")
    place = (header if line.startswith(" ") else "", line.strip())
    if is_taken:
        end = number + 1
        while end < len(lines) and depth(lines[end]) > depth(line):
            end += 1
        lines[number:end] = []
    else:
        *words, last = line.split(" ")
        lines[number] = " ".join([*words, other_value(last)])
    return Planted(place, line.strip() if is_taken else None, "\n".join(lines))


def depth(line: str) -> int:
    return len(line) - len(line.lstrip())


def places(node: Any, path: tuple[str | int, ...]) -> Iterator[tuple[str | int, ...]]:
    if path:
        yield path
    keys = node if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
    for key in keys:
        yield from places(node[key], (*path, key))


def other_value(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    return str(int(value) + 1) if value.isdecimal() else f"{value}x"


def is_seen_by_verify(path: str, text: str, running: str) -> bool:
    """Whether `verify DIR` compares the file as another one, or does not read it to its end."""
    reader = reader_of(path)
    normal = reader.normal_form(running)
    try:
        differing = [*SYSTEMS[reader.system].differing[path](text, normal)]
        return bool(differing) or bool(reader.unread[path](normal))
    except (ValueError, Unreadable):
        return True  # the file does not read, and no claim of it is proven


def says_the_same(path: str, text: str, edit: Planted) -> bool:
    """Whether an edit changes nothing: a default that is left out, a secret that nobody knows."""
    if text.count("<secret") != edit.text.count("<secret"):
        return True
    if edit.taken is None:
        return False
    if path == "mnt/flash/startup-config":
        return is_default_line(str(edit.place[0]), str(edit.place[1]))
    if path == "etc/sonic/config_db.json":
        is_field = len(edit.place) == 3 and isinstance(edit.taken, str)
        return is_field and is_default_field(str(edit.place[0]), str(edit.place[2]), edit.taken)
    if path in FBOSS:
        known = FBOSS[path]
        for key in edit.place:
            known = known.at("[]" if isinstance(key, int) else key)
        return bool(without_defaults(edit.taken, known) == known.default)
    return isinstance(edit.taken, str) and is_default_object(tuple(map(str, edit.place[2:])), edit.taken)


FBOSS = {"etc/coop/agent.conf": defaults_of(AGENT_DEFAULTS), "etc/coop/bgpcpp.conf": defaults_of(BGP_DEFAULTS)}
TREES: dict[str, Callable[[str], Any]] = {
    "etc/sonic/config_db.json": json.loads,
    "etc/coop/agent.conf": json.loads,
    "etc/coop/bgpcpp.conf": json.loads,
    "etc/clusterwright/nvue.yaml": lambda text: yaml.load(text, Loader=yaml.CBaseLoader),
}
