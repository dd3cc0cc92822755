"""Data flows one way: each room imports only what stands left of it, and the edges that there are stand here.

Names of variables are counted here too: see ``test_new_names_say_what_a_value_is``.
"""

from __future__ import annotations

import ast
import os
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "src" / "clusterwright"
MOST_MODULES = 26  # of a room, so that a newcomer can list it
MOST_LINES = 400  # of a module, so that it is read in one sitting

NAME_DEBTS = Path(__file__).with_name("name_debts.txt")  # older modules, with their count of such names
EMPTY_NAMES = frozenset({"found", "each", "own", "told", "said"})

# What every room may use: it knows no room itself.
GROUND = frozenset(
    {
        "__version__",
        "and_more",
        "artifact",
        "chain",
        "child_environment",
        "data_files",
        "durable",
        "finding",
        "given_file",
        "json_api",
        "known_secrets",
        "nearest_name",
        "placeholder",
        "plugins",
        "typed_record",
    }
)

# Room by room from left to right, the rooms that it imports: those and no others.
READS: dict[str, str] = {
    "spec": "",
    "plan": "spec",
    "intent": "plan spec",  # what devices are told, free of vendors' words
    "rules": "intent plan spec",
    "packets": "",  # the algebra of packet sets, and what lists and nft mean in it
    "text": "",  # how texts are written: JSON lines, quoting, templates
    "facts": "packets",  # what readers of text give
    "device_files": "facts intent plan",  # what there is to any file: its writer, its comparison, its change's effect
    "hosts": "device_files facts intent packets plan spec text",
    "switches": "device_files facts hosts intent packets plan spec text",
    "output": "device_files facts hosts intent plan spec switches",
    "proofs": "facts hosts packets plan spec switches",  # what is wanted; what is there it takes from what readers read
    "evidence": "facts hosts packets plan proofs spec switches",  # answers to acceptance suites
    "start": "plan spec text",  # a first spec, sized
    "node_health": "",  # runs where no other room is
    "node_watch": "node_health",
    "keys": "spec",
    "observe": "device_files plan spec switches",
    "lists": "intent plan spec",  # devices, cables and addresses as records and lists
    "extras.bringup": "facts hosts intent plan spec switches",
    "extras.crew": "lists plan",
    "extras.lab": "hosts intent output packets plan proofs spec switches text",
    "extras.monitoring": "lists spec",
    "extras.simulate": "intent plan spec",
    "extras.place": "extras.simulate hosts plan spec text",
    "extras.source_of_truth": "lists plan spec",
    "extras.topologies": "lists plan spec",
    "report": "extras.crew extras.monitoring extras.place extras.simulate hosts intent lists output plan spec",
    "compare": "hosts lists output plan rules spec",
    "deploy": "hosts intent keys output plan rules spec switches",
    "why": "output plan rules spec",
    "rollout": (
        "compare deploy device_files extras.place facts hosts intent observe output plan proofs rules spec switches"
    ),
}
# On the far right, the command line and the component for programs of others may use every room.
EDGE = frozenset({"cli", "pulumi"})

# Package by package of hosts/ and switches/, the others of its room that it imports: what runs on or in another one.
PACKAGES: dict[str, dict[str, str]] = {
    "hosts": {
        "boot": "image linux",
        "image": "linux",
        "kueue": "",
        "linux": "opensm",
        "nccl": "",
        "node_checks": "image linux",  # the programs that watch a node, with what they expect of it
        "opensm": "",
        "receptor": "",
        "slurm": "linux",
        "ufm": "opensm",
    },
    "switches": {"eos": "", "fboss": "", "managed": "nvue", "nvue": "", "sonic": ""},
}
# What a reader of text may import beside other readers: nothing that decided or wrote the text. Words by release are
# a table.
READER_READS = (
    *("packets", "facts", "spec.hardware"),
    "switches.nvue.words",
)

READS_TEXT = re.compile(
    r"^(?:switches\.readers|(?:switches|hosts)\.\w+\.reader)\b"
)  # what of switches/ and hosts/ reads


def module_of(path: Path) -> str:
    """The dotted name of a module below the package."""
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__")


@cache
def modules() -> dict[str, Path]:
    return {module_of(path): path for path in sorted(PACKAGE.rglob("*.py"))}


@cache
def imports() -> dict[str, list[tuple[int, str]]]:
    """By module: line and module of every import from its own package, those inside functions too."""
    return {name: list(_imports(path)) for name, path in modules().items()}


def _imports(path: Path) -> list[tuple[int, str]]:
    found: list[tuple[int, str]] = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: a relative import hides which room is meant"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        found += [(node.lineno, name.partition(".")[2]) for name in names if name.partition(".")[0] == PACKAGE.name]
    return found


def room_of(module: str) -> str:
    """The room of a module; each extra is one. The commands of extras are part of the command line."""
    if re.match(r"extras\.\w+\.commands?\b", module) or module == "extras.summaries":
        return "cli"
    parts = module.split(".")
    return ".".join(parts[:2]) if parts[0] == "extras" else parts[0]


def edges(inside: str = "") -> dict[str, set[str]]:
    """The rooms that each room imports, or the packages that each package of the room ``inside`` imports."""
    found: dict[str, set[str]] = defaultdict(set)
    for module, targets in imports().items():
        if not module.startswith(inside):
            continue
        here = room_of(module.removeprefix(inside))
        for _, target in targets:
            if target.startswith(inside) and f"{inside}{room_of(target.removeprefix(inside))}" in packages():
                found[here].add(room_of(target.removeprefix(inside)))
    return {here: there - {here} for here, there in found.items()}


@cache
def packages() -> frozenset[str]:
    return frozenset(module_of(path) for path in PACKAGE.rglob("__init__.py"))


def test_every_room_is_known() -> None:
    folders = {path.name for path in PACKAGE.iterdir() if path.is_dir() and any(path.glob("*.py"))}
    folders |= {f"extras.{path.name}" for path in (PACKAGE / "extras").iterdir() if any(path.glob("*.py"))}
    assert folders == READS.keys() | EDGE | {"extras"}, "a new room needs its place in this file"


@pytest.mark.parametrize("room", READS)
def test_a_room_imports_the_rooms_that_stand_here_and_no_others(room: str) -> None:
    assert sorted(edges().get(room, ())) == READS[room].split()


def test_rooms_stand_from_left_to_right() -> None:
    order = list(READS)
    assert not [
        f"{room} imports {other}, which stands right of it"
        for room, others in READS.items()
        for other in others.split()
        if order.index(other) > order.index(room)
    ]


@pytest.mark.parametrize("room", PACKAGES)
def test_a_package_imports_the_packages_of_its_room_that_stand_here_and_no_others(room: str) -> None:
    found = edges(f"{room}.")
    names = {name.split(".")[1] for name in packages() if name.startswith(f"{room}.")}
    assert {name: sorted(found.get(name, ())) for name in names} == {
        name: others.split() for name, others in PACKAGES[room].items()
    }


def test_a_reader_imports_neither_writer_nor_intent_nor_templates() -> None:
    readers = [name for name in modules() if re.match(r"(?:switches|hosts)\.\w+\.reader\.", name)]
    assert len({name.split(".")[1] for name in readers}) > 4
    wrong = [
        f"{name}:{line} imports {target}"
        for name in readers
        for line, target in imports()[name]
        if room_of(target) not in GROUND
        and not target.startswith(READER_READS)
        and not re.match(r"(?:switches|hosts)\.\w+\.reader\.", target)
    ]
    assert not wrong


def test_proofs_import_readers_alone() -> None:
    wrong = [
        f"{name}:{line} imports {target}"
        for name, targets in imports().items()
        if room_of(name) == "proofs"
        for line, target in targets
        if room_of(target) in PACKAGES and not READS_TEXT.search(target)
    ]
    assert not wrong


def test_the_ground_knows_no_room() -> None:
    wrong = [
        f"{name}:{line} imports {target}"
        for name, targets in imports().items()
        if "." not in name and name not in packages()
        for line, target in targets
        if room_of(target) not in GROUND
    ]
    assert not wrong


def test_no_room_has_more_modules_than_a_newcomer_can_list() -> None:
    counts: dict[str, int] = defaultdict(int)
    for name in modules().keys() - packages():
        counts[name.rpartition(".")[0]] += 1
    assert not {room: count for room, count in counts.items() if count > MOST_MODULES}


def test_no_module_is_too_long_to_be_read_in_one_sitting() -> None:
    lengths = {name: len(path.read_text(encoding="utf-8").splitlines()) for name, path in modules().items()}
    assert not {name: length for name, length in lengths.items() if length > MOST_LINES}


def test_no_module_of_tests_is_too_long_either() -> None:
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in Path(__file__).parent.rglob("*.py")}
    assert not {str(path): length for path, length in lengths.items() if length > MOST_LINES}


def test_no_class_name_is_used_for_two_things() -> None:
    found: dict[str, list[str]] = defaultdict(list)
    for name, path in modules().items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                found[node.name].append(f"{name}:{node.lineno}")
    assert not {name: places for name, places in found.items() if len(places) > 1}


def empty_names(text: str) -> int:
    """The variables and parameters of a module whose names say where a value came from, and not what it is."""
    nodes = list(ast.walk(ast.parse(text)))
    variables = sum(isinstance(node, ast.Name) and node.id in EMPTY_NAMES for node in nodes)
    return variables + sum(isinstance(node, ast.arg) and node.arg in EMPTY_NAMES for node in nodes)


def test_new_names_say_what_a_value_is() -> None:
    """A module may have fewer such names than it is listed with; ``CLUSTERWRIGHT_GOLDEN=write`` writes lower counts."""
    lines = NAME_DEBTS.read_text(encoding="utf-8").splitlines()
    allowed = {module: int(count) for module, count in (line.split() for line in lines)}
    counts = {module: empty_names(path.read_text(encoding="utf-8")) for module, path in modules().items()}
    grown = {module: count for module, count in counts.items() if count > allowed.get(module, 0)}
    assert not grown, f"{grown}: name these by what they hold (a port, sessions), and not found, each, own, told, said"
    if os.environ.get("CLUSTERWRIGHT_GOLDEN") == "write":
        NAME_DEBTS.write_text("".join(f"{name} {count}\n" for name, count in counts.items() if count), encoding="utf-8")


def test_names_are_counted_wherever_they_stand() -> None:
    assert empty_names("def each(own): return [found for found in own.told if 'said']  # each") == 4
    assert empty_names("ports = switch.own") == 0
