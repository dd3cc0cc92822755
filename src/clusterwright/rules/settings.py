"""The settings of a project: ``clusterwright.toml``, or ``[tool.clusterwright]`` in ``pyproject.toml``.

Every command uses the nearest one in the folder of a spec or above, up to the top of its work tree or the user's home.
Settings name Python files to run: a file writable to others is refused.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clusterwright.finding import Finding, Position, Severity, SpecError
from clusterwright.nearest_name import did_you_mean_code
from clusterwright.rules.own_rules import own_rules
from clusterwright.rules.ownership import TRUSTED, doubt_about
from clusterwright.rules.policy import AS_WRITTEN, Policy
from clusterwright.spec.schema.check import check
from clusterwright.spec.text.boundary import ISOLATED, is_top
from clusterwright.spec.text.document import Document
from clusterwright.spec.text.document import Path as Place
from clusterwright.spec.text.source import note_absence, read_text

OWN_FILE, SHARED_FILE = "clusterwright.toml", "pyproject.toml"
_TABLE = re.compile(r"^\s*\[\s*tool\s*\.\s*[\"']?clusterwright\b", re.MULTILINE)
_AT = re.compile(r"\(at line (\d+), column (\d+)\)")
_MIN_REASON = 3


@dataclass(frozen=True, slots=True)
class ProjectSettings:
    """Default ``paths`` and exclusions of ``lint``, relative to ``folder``, and the project's policy."""

    folder: Path = Path()
    paths: tuple[str, ...] = ()
    """Checked by ``lint`` without arguments."""
    exclude: tuple[str, ...] = ()
    policy: Policy = AS_WRITTEN


NO_SETTINGS = ProjectSettings()


def settings_for(path: Path) -> ProjectSettings:
    """The settings for the file or folder ``path``. Raises SpecError for invalid ones."""
    if os.environ.get(ISOLATED) == "1":
        return NO_SETTINGS
    for folder in _folders_above(path.absolute()):
        for name in (OWN_FILE, SHARED_FILE):
            file = folder / name
            if not _may_see(file.is_file):
                note_absence(file)
            elif (settings := read_settings(file)) is not None:
                return settings
    return NO_SETTINGS


def _folders_above(path: Path) -> Iterator[Path]:
    """The folder ``path``, or that of the file, and those above it of the same project."""
    folders = (path, *path.parents) if _may_see(path.is_dir) else path.parents
    for folder in folders:
        yield folder
        if is_top(folder):
            return


def _may_see(is_there: Callable[[], bool]) -> bool:
    """Whether a path exists; False for an inaccessible one: reading the spec reports it."""
    try:
        return is_there()
    except OSError:
        return False


def read_settings(file: Path) -> ProjectSettings | None:
    """The settings in ``file``; None for a pyproject.toml without any. Raises SpecError."""
    shown = _shown(file)
    text = read_text(file, shown)
    is_shared = file.name == SHARED_FILE
    if is_shared and "clusterwright" not in text:
        return None
    _require_ownership(file, Position(shown, 1, 1))
    try:
        data: Any = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        if is_shared and not _TABLE.search(text):
            return None  # no table of ours: other tools report the error
        match = _AT.search(str(error))
        position = Position(shown, int(match[1]), int(match[2])) if match else Position(shown, 1, 1)
        raise SpecError([_finding("CW106", f"this is not TOML: {error}.", "Fix the line.", position)]) from None
    start = 0
    if is_shared:
        tool = data.get("tool")
        if not isinstance(tool, dict) or "clusterwright" not in tool:
            return None
        data, table = tool["clusterwright"], _TABLE.search(text)
        start = table.start() if table else text.find("clusterwright")
    return _settings(_document(text, start, data, shown), file)


def _require_ownership(file: Path, position: Position) -> None:
    """Raise SpecError if another user may change ``file``; reading reports a missing one."""
    if not _may_see(file.exists) or (doubt := doubt_about(file)) is None:
        return
    hint = (
        f"Remove the right, or move the file. `{TRUSTED}={file.parent}` in the environment trusts the folder, and "
        "`--isolated` reads no settings."
    )
    raise SpecError([_finding("CW161", f"{doubt}, and settings run programs: none is read.", hint, position)])


def _settings(document: Document, file: Path) -> ProjectSettings:
    if not isinstance(document.data, dict):
        message = "[tool.clusterwright] is no table."
        raise SpecError(
            [_finding("CW106", message, "Write its keys below `[tool.clusterwright]`.", document.locate(()))]
        )
    if findings := check(document, "settings"):
        raise SpecError(findings)
    data, folder = document.data, file.parent
    for index, name in enumerate(data.get("rules", ())):
        _require_ownership(folder / name, document.locate(("rules", index)))
    project_rules = own_rules([(folder / name, _shown(folder / name)) for name in data.get("rules", ())])
    if wrong := list(_wrong(document, Policy(project_rules))):
        raise SpecError(wrong)
    policy = Policy(
        project_rules=project_rules,
        severities={code: _severity(value)[0] for code, value in data.get("severity", {}).items()},
        ignored={code: reason.strip() for code, reason in data.get("ignore", {}).items()},
        selected=tuple(data["select"]) if "select" in data else None,
        file=document.file,
    )
    return ProjectSettings(
        folder=folder, paths=tuple(data.get("paths", ())), exclude=tuple(data.get("exclude", ())), policy=policy
    )


def _wrong(document: Document, policy: Policy) -> Iterator[Finding]:
    """Errors outside of the schema: unknown codes, codes that cannot be accepted, and empty reasons."""
    data, rules = document.data, policy.rules
    for index, beginning in enumerate(data.get("select", ())):
        if not any(code.startswith(beginning) for code in rules):
            yield _unknown(document, ("select", index), beginning, rules)
    for table in ("ignore", "severity"):
        for code, value in data.get(table, {}).items():
            place = (table, code)
            if code not in rules:
                yield _unknown(document, place, code, rules)
                continue
            rule = rules[code]
            severity, reason = (None, value) if table == "ignore" else _severity(value)
            if severity is not None and severity >= rule.severity:
                continue
            position = document.locate(place, key=True)
            if not rule.is_suppressible:
                message = (
                    f"{code} cannot be {'ignored' if severity is None else 'lowered'}: no plan can be made with it."
                )
                yield _finding("CW192", message, "Remove the line, and fix the finding.", position)
            elif len(reason.strip()) < _MIN_REASON and (severity is None or rule.severity is Severity.ERROR):
                message = f"no reason is given why {code} is {'ignored' if severity is None else 'less than an error'}."
                wanted = '"reason"' if severity is None else f'{{severity = "{severity.label}", reason = "..."}}'
                yield _finding("CW191", message, f"Write the reason: `{code} = {wanted}`.", position)


def _severity(value: Any) -> tuple[Severity, str]:
    """The severity and the reason in a value of the table ``severity``."""
    if isinstance(value, dict):
        return Severity[value["severity"].upper()], value["reason"]
    return Severity[value.upper()], ""


def _unknown(document: Document, place: Place, code: str, rules: Mapping[str, Any]) -> Finding:
    hint = "`clusterwright explain` lists all rules."
    if place[0] != "select":
        hint = did_you_mean_code(code, rules, hint)
    return _finding("CW190", f'there is no rule "{code}".', hint, document.locate(place, key=place[0] != "select"))


def _finding(code: str, message: str, hint: str, position: Position) -> Finding:
    return Finding(code=code, severity=Severity.ERROR, message=message, hint=hint, position=position)


def _shown(file: Path) -> str:
    """``file`` as shown in findings: relative below the current folder."""
    relative = os.path.relpath(file)
    return str(file) if relative.startswith("..") else relative


def _document(text: str, start: int, data: Any, file: str) -> Document:
    """``data`` with positions, by searching the text for each key and value behind its parent: tomllib gives none."""
    values: dict[Place, Position] = {}
    keys: dict[Place, Position] = {}

    def position(offset: int) -> Position:
        return Position(file, text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset))

    def end_of(pattern: str, after: int) -> int:
        match = re.compile(pattern, re.MULTILINE).search(text, after)
        return match.end() if match else after

    def plain(value: Any, place: Place, offset: int) -> Any:
        values[place] = position(offset)
        if isinstance(value, dict):
            result: dict[str, Any] = {}
            for key, item in value.items():
                end = end_of(rf"(?:^|[\[{{,.])\s*[\"']?{re.escape(key)}(?=[\"']?\s*[=\].])", offset)
                keys[(*place, key)] = position(end - len(key))
                result[key] = plain(item, (*place, key), end - len(key))
            return result
        if isinstance(value, list):
            return [
                plain(item, (*place, index), end_of(rf"[\"'](?={re.escape(str(item))}[\"'])", offset))
                for index, item in enumerate(value)
            ]
        return value if isinstance(value, str | int | float | bool) else str(value)

    return Document(file=file, data=plain(data, (), start), values=values, keys=keys, comments={}, files=(file,))
