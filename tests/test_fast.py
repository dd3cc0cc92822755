"""The fast tier has a test of every room; `make test-fast` takes it from tests/fast.txt, one file a line."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parent
PACKAGE = TESTS.parent / "src" / "clusterwright"
LISTED = (TESTS / "fast.txt").read_text().splitlines()


def test_every_room_is_imported_by_a_file_of_the_fast_tier() -> None:
    """But for node_watch, which asks a kernel for its packet filter, as root, and pulumi, which needs the engine."""
    rooms = {path.parent.name for path in PACKAGE.glob("*/*.py")}
    text = "\n".join((TESTS.parent / name).read_text() for name in LISTED)
    assert rooms - set(re.findall(r"\bclusterwright\.(\w+)", text)) == {"node_watch", "pulumi"}


def test_every_folder_of_tests_is_in_it_but_those_that_say_why() -> None:
    """Benchmarks, others' files, generated specs, machines, PyTorch, keys, wheels: programs or hundreds of specs."""
    without = {"benchmarks", "foreign", "generated", "network_boot", "packaging", "rendezvous", "schema_keys"}
    folders = {path.parent.name for path in TESTS.glob("*/test_*.py")}
    assert folders - {Path(name).parts[1] for name in LISTED} == without


def test_the_list_is_in_order() -> None:
    assert sorted(set(LISTED)) == LISTED
