"""Data flows one way: each stage imports only what stands left of it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "src" / "clusterwright"

# What every stage may use: it knows no stage itself.
GROUND = frozenset(
    {
        "__version__",
        "and_more",
        "artifact",
        "chain",
        "data_files",
        "durable",
        "finding",
        "known_secrets",
        "placeholder",
    }
)

# Stage by stage, the stages that it may import; what only reads findings or files names no other stage.
READS: dict[str, frozenset[str]] = {
    "spec": frozenset(),
    "plan": frozenset({"spec"}),
    "intent": frozenset({"spec", "plan"}),  # what devices are told, free of vendors' words
    "rules": frozenset({"spec", "plan", "intent"}),
    "node_watch": frozenset({"node_health"}),
    "node_health": frozenset(),  # runs where no other stage is
    "render": frozenset({"spec", "plan", "intent"}),
    "keys": frozenset({"spec"}),
    "verify": frozenset({"spec", "plan"}),  # what is wanted; what is there it reads from rendered text alone
    "lab": frozenset({"spec", "plan", "intent", "render", "verify"}),  # what is wanted, and what switches' lists say
    "deploy": frozenset({"spec", "plan", "rules", "render", "keys"}),
    "rollout": frozenset({"spec", "plan", "rules", "render", "verify", "place", "compare", "deploy", "observe"}),
    "observe": frozenset({"spec", "plan", "verify"}),  # packet filters that run are read as the proof reads them
    "bringup": frozenset({"spec", "plan", "intent", "render"}),
    "simulate": frozenset({"spec", "plan", "intent"}),
    "place": frozenset({"spec", "plan", "simulate"}),
    "report": frozenset({"spec", "plan", "intent", "rules", "render", "verify", "observe", "simulate", "place"}),
    "compare": frozenset({"spec", "plan", "render", "report"}),
}
# The command line, on the far right, may use every stage.
EDGE = frozenset({"cli"})


def stage_of(path: Path) -> str:
    """The stage that a module of the package belongs to."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports(path: Path) -> list[tuple[int, str]]:
    """Line and stage of every import that a module makes from its own package, those inside functions too."""
    found: list[tuple[int, str]] = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: a relative import hides which stage is meant"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        parts = [name.split(".") for name in names]
        found += [(node.lineno, part[1]) for part in parts if part[0] == PACKAGE.name and len(part) > 1]
    return found


def test_every_stage_is_known() -> None:
    folders = {path.name for path in PACKAGE.iterdir() if path.is_dir() and any(path.glob("*.py"))}
    assert folders <= READS.keys() | EDGE, "a new stage needs its place in this file"


@pytest.mark.parametrize("stage", sorted(READS))
def test_a_stage_imports_only_what_stands_left_of_it(stage: str) -> None:
    allowed = READS[stage] | GROUND | {stage}
    wrong = [
        f"{path.relative_to(PACKAGE)}:{line} imports {other}"
        for path in sorted((PACKAGE / stage).rglob("*.py"))
        for line, other in imports(path)
        if other not in allowed
    ]
    assert not wrong


def test_the_ground_knows_no_stage() -> None:
    wrong = [
        f"{path.name}:{line} imports {other}"
        for path in sorted(PACKAGE.glob("*.py"))
        for line, other in imports(path)
        if other not in GROUND
    ]
    assert not wrong


def test_no_module_is_too_long_to_be_read_in_one_sitting() -> None:
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in PACKAGE.rglob("*.py")}
    assert not {str(path.relative_to(PACKAGE)): length for path, length in lengths.items() if length > 400}
