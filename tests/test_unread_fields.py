"""Fields of records without a reader: a fact that no check compares looks proven."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "clusterwright"
_NAME_IN_TEMPLATE = re.compile(r"\b[a-z_]\w*\b")
_RECORDS = frozenset({"dataclass", "NamedTuple"})

# Fields that no module names, each with its reader.
READ_OTHERWISE = {
    "_PortLines.address_line": "unpacked by position in the same module",
    "_PortLines.common": "unpacked by position in the same module",
    "_PortRow.longest": "unpacked by position in the same module",
    "PlaceChange.reloads": "tests/switches/test_sonic_effects.py compares it with the patch of the role",
}


@cache
def trees() -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_text()) for path in sorted(PACKAGE.rglob("*.py"))}


def is_record(definition: ast.ClassDef) -> bool:
    """Whether a class is a dataclass or a NamedTuple."""
    names: set[str] = set()
    for node in (*definition.decorator_list, *definition.bases):
        names.update(part.id for part in ast.walk(node) if isinstance(part, ast.Name))
    return not names.isdisjoint(_RECORDS)


def fields() -> set[str]:
    """``Class.field`` of every record of the package."""
    names = set()
    for tree in trees().values():
        for definition in ast.walk(tree):
            if isinstance(definition, ast.ClassDef) and is_record(definition):
                for statement in definition.body:
                    if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                        names.add(f"{definition.name}.{statement.target.id}")
    return names


def names_read() -> set[str]:
    """Names after a dot, in patterns, in strings (``getattr``, keys), and in templates."""
    names: set[str] = set()
    for tree in trees().values():
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
                names.add(node.attr)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                names.add(node.value)
            elif isinstance(node, ast.MatchClass):
                names.update(node.kwd_attrs)
    for path in (ROOT / "templates").rglob("*.j2"):
        names.update(_NAME_IN_TEMPLATE.findall(path.read_text()))
    return names


def test_every_field_of_a_record_has_a_reader() -> None:
    read = names_read()
    unread = {name for name in fields() if name.partition(".")[2] not in read}
    assert unread == READ_OTHERWISE.keys()
