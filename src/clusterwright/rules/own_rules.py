"""Rules added by a project: Python files with functions under ``@rule``, like the modules of this package.

An error in such a file is a finding on its own line (CW193, CW194), never a traceback.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from hashlib import sha256
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from clusterwright.finding import Finding, Position, Severity, SpecError
from clusterwright.plugins import RULES, load_plugin, plugins, unusable_plugin
from clusterwright.rules.rule import OURS, Check, LintRule, Problem, Subject
from clusterwright.spec.schema.fence import FencedError
from clusterwright.spec.text.source import read_text

STOPPED = "CW194"


def own_rules(files: Sequence[tuple[Path, str]]) -> Mapping[str, LintRule]:
    """The rules in ``files``, each with its name for findings. Raises SpecError (CW193, CW101)."""
    rules: dict[str, LintRule] = {}
    for path, shown in files:
        for value in vars(_module(str(path.absolute()), shown, read_text(path, shown))).values():
            if not isinstance(value, LintRule) or value.check is None:
                continue
            if value.code.startswith(OURS):
                _refuse(shown, value, f"the code {value.code} begins with {OURS}, as clusterwright's do", "it a")
            if rules.setdefault(value.code, value) is not value:
                _refuse(shown, value, f"two rules have the code {value.code}", "each a")
    guarded: dict[str, LintRule] = {}
    for code, rule in rules.items():
        if rule.check is not None:
            guarded[code] = replace(rule, check=_guarded(code, rule.check))
    return guarded


def installed_rules() -> Mapping[str, LintRule]:
    """The rules of installed packages, by code. Raises ClusterwrightError for an unusable package."""
    rules: dict[str, LintRule] = {}
    for entry in plugins(RULES).values():
        for rule in vars(load_plugin(entry, ModuleType)).values():
            if not isinstance(rule, LintRule) or rule.check is None:
                continue
            if rule.code.startswith(OURS):
                raise unusable_plugin(entry, f"has the rule {rule.code}: {OURS} begins the codes of clusterwright")
            if rules.setdefault(rule.code, rule) is not rule:
                raise unusable_plugin(entry, f"has the rule {rule.code}, and so has another package")
    return {code: replace(rule, check=_guarded(code, rule.check)) for code, rule in rules.items() if rule.check}


def _refuse(file: str, rule: LintRule, fault: str, give: str) -> None:
    line = rule.check.__code__.co_firstlineno if isinstance(rule.check, FunctionType) else 1
    finding = Finding(
        code="CW193",
        severity=Severity.ERROR,
        message=f"{fault}.",
        hint=f"Give {give} code of your own, such as OURS101.",
        position=Position(file, line, 1),
    )
    raise SpecError([finding])


@cache
def _module(file: str, shown: str, text: str) -> ModuleType:
    name = f"clusterwright_own_rules_{sha256(file.encode()).hexdigest()[:12]}"
    module = ModuleType(name)
    module.__file__ = file
    sys.modules[name] = module  # dataclasses resolve annotations there
    try:
        exec(compile(text, file, "exec"), vars(module))  # noqa: S102 - the project's settings request it
    except Exception as error:  # any error of the file is a finding on its line
        line = error.lineno or 1 if isinstance(error, SyntaxError) else _line(error, file)
        finding = Finding(
            code="CW193",
            severity=Severity.ERROR,
            message=f"these rules cannot be loaded: {type(error).__name__}: {error}.",
            hint="Fix the line, or remove the file from `rules`.",
            position=Position(shown, line, 1),
        )
        raise SpecError([finding]) from None
    _SHOWN[file] = shown
    return module


_SHOWN: dict[str, str] = {}


def _guarded(code: str, check: Check) -> Check:
    """``check``, with its exceptions turned into the finding stopping it."""
    file = check.__code__.co_filename if isinstance(check, FunctionType) else ""

    def guarded(subject: Subject) -> Iterator[Problem]:
        try:
            for problem in check(subject):
                if not isinstance(problem, Problem):
                    raise TypeError(f"it gives {type(problem).__name__}, not Problem")
                yield problem
        except FencedError:
            raise
        except Exception as error:  # any error of a project's rule is a finding on its line
            raise FencedError(_stopped(code, error, file)) from error

    return guarded


def _stopped(code: str, error: Exception, file: str) -> Finding:
    return Finding(
        code=STOPPED,
        severity=Severity.ERROR,
        message=(
            f"the rule {code} stopped on an error of its own, so that it checked nothing:"
            f" {type(error).__name__}: {error}."
        ),
        hint="Fix the rule at this line.",
        position=Position(_SHOWN.get(file, file), _line(error, file), 1),
    )


def _line(error: Exception, file: str) -> int:
    """The last line of ``file`` in the traceback of ``error``."""
    lines: list[Any] = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    return lines[-1] if lines else 1
