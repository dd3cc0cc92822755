"""Configurations that others publish are read without a crash, and their names are the devices' names.

Outside of `make test`: `make test-foreign` runs it. It clones the repositories below, or takes those that lie in the
folder that CLUSTERWRIGHT_FOREIGN names, each as OWNER+NAME. What they hold is nobody's plan: nothing is proven of it.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from clusterwright.facts.reader import SystemReader, Unsupported
from clusterwright.finding import VerifyError
from clusterwright.packets.tokens import Unreadable
from clusterwright.switches.nvue.reader.known import KNOWN
from clusterwright.switches.nvue.reader.releases import read_nvue_objects
from clusterwright.switches.readers import READERS

pytestmark = [pytest.mark.foreign, pytest.mark.slow, pytest.mark.timeout(1800)]
CACHE = Path(__file__).parents[2] / ".cache" / "foreign"
# By system: repositories, the files of its kind there, how many there are at least, and what must stand in one.
SOURCES = {
    "nvue": [("NVIDIA/enterprise-ras", "spectrum-era/*/*config*/*.yaml", 22, "set:")],
    "eos": [("aristanetworks/avd", "ansible_collections/arista/avd/molecule/**/intended/configs/*.cfg", 600, "")],
    "sonic": [
        ("sonic-net/sonic-buildimage", "src/sonic-config-engine/tests/**/*.json", 10, '"PORT"'),
        ("sonic-net/sonic-utilities", "tests/**/*.json", 20, '"PORT"'),
    ],
}
# Python's own words in an answer: whoever reads it learns nothing of the file.
PYTHON = re.compile(r"does not read \(|Traceback|Error\(")
PORT = re.compile(r"swp([1-9]|[1-5][0-9]|6[0-4])(s[0-7])?")


@cache
def clone(repository: str) -> Path:
    name = repository.replace("/", "+")
    given = os.environ.get("CLUSTERWRIGHT_FOREIGN")
    if given is not None:
        return Path(given) / name
    target = CACHE / name
    if not target.exists():
        url = f"https://github.com/{repository}"
        subprocess.run(["git", "clone", "--quiet", "--depth", "1", url, str(target)], check=True, timeout=900)
    return target


def files_of(system: str) -> list[Path]:
    found = []
    for repository, pattern, least, word in SOURCES[system]:
        own = [path for path in sorted(clone(repository).glob(pattern)) if word in path.read_text(errors="replace")]
        assert len(own) >= least, f"{repository} has {len(own)} files of {pattern}"
        found += own
    return found


def questions(reader: SystemReader, text: str) -> Iterator[Callable[[], object]]:
    """Everything that proofs ask of a file."""
    normal = reader.normal_form(text)
    if not isinstance(reader.router, Unsupported):
        router = reader.router
        yield lambda: router("foreign", lambda path: normal if path == reader.file else "")
    yield lambda: _of_lists(reader, normal)
    if not isinstance(reader.services, Unsupported):
        services = reader.services
        yield lambda: list(services(normal))
    yield lambda: list(reader.silent(normal))
    yield lambda: [list(ask(normal, "foreign", None)) for path, ask in reader.openings.items() if path == reader.file]
    yield lambda: [ask(normal) for path, ask in reader.unread.items() if path == reader.file]
    yield lambda: [list(ask(normal)) for path, ask in reader.servers.items() if path == reader.file]
    yield lambda: [list(ask(path, normal)) for path, ask in reader.logins.items() if path == reader.file]
    yield lambda: [list(ask(normal, lambda *_: "")) for path, ask in reader.routes.items() if path == reader.file]


def _of_lists(reader: SystemReader, text: str) -> object:
    lists = reader.lists(text)
    return [lists.at(port, direction) for port, direction in lists.bound()], list(lists.faults())


@pytest.mark.parametrize("system", SOURCES)
def test_every_file_is_read_or_refused_in_words(system: str) -> None:
    reader = next(reader for reader in READERS if reader.system == system)
    answers = []
    for path in files_of(system):
        for ask in questions(reader, path.read_text(errors="replace")):
            try:
                ask()
            except (VerifyError, Unreadable) as error:
                answers.append(f"{path}: {error}")
    assert [answer for answer in answers if PYTHON.search(answer)] == []


def test_names_of_nvue_are_those_of_its_ports() -> None:
    """Stems that stand once, ranges and parts: nothing but a bond has a name of its own."""
    for path in files_of("nvue"):
        text = path.read_text()
        interfaces = dict(read_nvue_objects(text).items("interface"))
        assert interfaces
        for name, own in interfaces.items():
            is_own_name = own.text("type") == "bond" or re.fullmatch(r"eth0|lo|vlan[0-9]+", name)
            assert is_own_name or PORT.fullmatch(name), f"{path}: {name}"
            for member in own.at("bond", "member").below:
                assert PORT.fullmatch(member), f"{path}: {name} has {member}"
                assert member in interfaces, f"{path}: {name} has {member}, which is nowhere"
        unknown = [
            unread_part.text
            for unread_part in KNOWN.unread(text)
            if re.fullmatch(r"interface / [^/]+", unread_part.text)
        ]
        assert unknown == [], path
        assert not any(unread_part.text.startswith("words of") for unread_part in KNOWN.unread(text)), path
