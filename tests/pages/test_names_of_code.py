"""Pages for contributors name paths, modules, classes and functions that exist."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

import clusterwright

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "clusterwright"
PAGES = sorted([*(ROOT / "docs" / "dev").glob("*.md"), ROOT / "docs" / "extending.md", ROOT / "CONTRIBUTING.md"])
QUOTED = re.compile(r"`([^`\n]+)`")
PATH = re.compile(r"[\w.*-]+(?:/[\w.*-]+)*(?:/|\.(?:py|md|yaml|yml|j2|json|toml))")
CALL = re.compile(r"(\w+)\([^()]*\)")
DOTTED = re.compile(r"clusterwright(?:\.\w+)+")
CLASS = re.compile(r"[A-Z][a-z]+(?:[A-Z][a-z]+)+|Unread|Unsupported|Rendering")
ENTRY_POINTS = frozenset(
    {"clusterwright.commands", "clusterwright.inventory_formats", "clusterwright.rules", "clusterwright.systems"}
)
# Files of a user or of a build.
NAMES_OF_OTHERS = frozenset({"dist/", "good.yaml", "bad.yaml", "cluster.yaml", "clusterwright.toml"})


@cache
def defined_names() -> frozenset[str]:
    """Names of all functions, classes and methods of the package."""
    names: set[str] = set()
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                names.add(node.name)
    return frozenset(names)


@cache
def file_names() -> frozenset[str]:
    """Paths of the repository's files and folders, and every ending of one."""
    endings: set[str] = set()
    for top in ("src", "tests", "docs", "inventory", "roles", "templates", "stacks", "tools", "benchmarks", "full"):
        for path in (ROOT / top).rglob("*"):
            parts = path.relative_to(ROOT).parts
            if "__pycache__" in parts or not path.is_file():
                continue
            for end in range(1, len(parts) + 1):
                endings.update("/".join(parts[start:end]) for start in range(end))
    endings.update(path.name for path in ROOT.iterdir())
    return frozenset(endings)


def is_module(dotted: str) -> bool:
    """Whether there is a module or a package of this name."""
    path = f"src/{dotted.replace('.', '/')}"
    return path in file_names() or f"{path}.py" in file_names()


def is_there(quoted: str) -> bool:
    """Whether a quoted text that looks like a name of this project is one; True for any other text."""
    if quoted in NAMES_OF_OTHERS or quoted in ENTRY_POINTS or "<" in quoted:
        return True
    if PATH.fullmatch(quoted):
        pattern = re.compile(re.escape(quoted.rstrip("/")).replace(r"\*", "[^/]*"))
        return any(pattern.fullmatch(name) for name in file_names())
    if DOTTED.fullmatch(quoted):
        module, _, name = quoted.rpartition(".")
        if is_module(quoted) or quoted.removeprefix("clusterwright.") in clusterwright.__all__:
            return True
        return is_module(module) and module != "clusterwright" and name in defined_names()
    if match := CALL.fullmatch(quoted.removeprefix("clusterwright.")):
        return match[1] in defined_names()
    if CLASS.fullmatch(quoted):
        return quoted in defined_names()
    return True


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_for_contributors_names_code_that_exists(page: Path) -> None:
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    missing = [quoted for quoted in QUOTED.findall(text) if not is_there(quoted)]
    assert not missing


@pytest.mark.parametrize(
    "gone",
    [
        "no_such_folder/",
        "spec/no_such_module.py",
        "clusterwright.platforms",
        "clusterwright.spec.no_such_module",
        "no_such_function(plan)",
        "NoSuchRecord",
    ],
)
def test_a_name_that_is_gone_is_seen(gone: str) -> None:
    assert not is_there(gone)
