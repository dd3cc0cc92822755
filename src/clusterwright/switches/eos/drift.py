"""Comparing EOS text by section, and files of keys by their values."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from clusterwright.device_files.drift import Difference, FileDifference, is_as_planned
from clusterwright.switches.eos.reader.normal_form import is_default, normal_form
from clusterwright.switches.eos.reader.sections import LineTree, lines_of

_ACL = re.compile(r"(ip|ipv6|mac) access-list\b")
_NUMBERED = re.compile(r"\d+ ")
_ONE_VALUE = re.compile(r"(description|mtu|speed|error-correction encoding|service-profile|router-id|hostname) ")
"""Settings with one value in a section: a later line, such as one of a spec's ``extra_config``, replaces an earlier
one."""
ACL_STEP = 10  # EOS numbers entries that have no number by tens


def compare_eos(planned: str, runs: str) -> Iterator[FileDifference]:
    """EOS text section by section; order counts in access lists alone, where EOS numbers each entry."""
    planned_tree = _effective_lines(eos_tree(normal_form(planned)))
    running_tree = eos_tree(normal_form(runs))
    yield from _sections(planned_tree, running_tree, ())


def eos_tree(text: str) -> LineTree:
    """A configuration's lines by section, every entry of an access list with its number."""
    tree: LineTree = {}
    for header, entries in lines_of(text).items():
        is_access_list = _ACL.match(header) is not None
        tree[header] = _numbered(entries) if is_access_list else entries
    return tree


def _effective_lines(planned: LineTree) -> LineTree:
    """The lines that a switch keeps after reading all in order: of settings with one value, the last."""
    last_line_by_setting: dict[str, str] = {}
    for line in planned:
        setting = _setting_with_one_value(line)
        if setting is not None:
            last_line_by_setting[setting] = line
    effective: LineTree = {}
    for line, below in planned.items():
        setting = _setting_with_one_value(line)
        if setting is None or last_line_by_setting[setting] == line:
            effective[line] = _effective_lines(below)
    return effective


def _setting_with_one_value(line: str) -> str | None:
    match = _ONE_VALUE.match(line)
    return None if match is None else match[1]


def _numbered(entries: LineTree) -> LineTree:
    """Every entry of an access list with its number."""
    numbered: LineTree = {}
    number = 0
    for line, below in entries.items():
        first_word = line.split()[0]
        if _NUMBERED.match(line):
            number = int(first_word)
            numbered[line] = below
        elif first_word in ("permit", "deny", "remark"):
            number += ACL_STEP
            numbered[f"{number} {line}"] = below
        else:
            numbered[line] = below
    return numbered


def _sections(planned: LineTree, runs: LineTree, above: tuple[str, ...]) -> Iterator[FileDifference]:
    """The differences below the section headers ``above``."""
    place = " / ".join(above)
    missing = [line for line in planned if line not in runs]
    unexpected = [line for line in runs if line not in planned]
    for line in list(missing):
        other = _counterpart(line, planned, runs, unexpected)
        if other is None:
            continue
        if not is_as_planned(line, other):
            yield Difference.CHANGED, place, line, other, above, None
        missing.remove(line)
        unexpected.remove(other)
    # A line with the default value is equal to a missing one: EOS does not print defaults.
    for line in missing:
        if planned[line] or not is_default(place, line):
            yield Difference.MISSING, place, line, "", above, None
    for line in unexpected:
        if not runs[line] and is_default(place, line):
            continue
        # A section that runs without being planned keeps its lines after the sections above, so it can be adopted.
        block = _block(line, runs[line]) if runs[line] else ()
        yield Difference.UNEXPECTED, place, "", line, (*above, *block), None
    for line in planned:
        if line in runs:
            yield from _sections(planned[line], runs[line], (*above, line))


def _counterpart(line: str, planned: LineTree, runs: LineTree, unexpected: list[str]) -> str | None:
    """The running line with the meaning of ``line``, or else with another value of the same setting."""
    for other in unexpected:
        if is_as_planned(line, other):
            return other
    if planned[line]:
        return None
    for other in unexpected:
        if not runs[other] and _sets_the_same(line, other):
            return other
    return None


def _block(line: str, below: LineTree) -> tuple[str, ...]:
    """A section with all its lines, indented as EOS does."""
    lines = [line]
    for child in below:
        lines += [f"   {inner}" for inner in _block(child, below[child])]
    return tuple(lines)


def _sets_the_same(one: str, other: str) -> bool:
    """Whether two lines differ in their last word alone: one setting with two values."""
    first, second = one.split(), other.split()
    return len(first) == len(second) > 1 and first[:-1] == second[:-1]


def compare_sysctl(planned: str, runs: str) -> Iterator[FileDifference]:
    """The planned keys of sysctl.d against ``sysctl -a`` or a file; other running keys are the kernel's own."""
    yield from _keys(_values(planned, "="), _values(runs, "="), only_planned=True)


def compare_variables(planned: str, runs: str) -> Iterator[FileDifference]:
    """``NAME=value`` lines, as nccl.conf has them."""
    yield from _keys(_values(planned, "="), _values(runs, "="), only_planned=False)


def compare_options(planned: str, runs: str) -> Iterator[FileDifference]:
    """``name value`` lines, as opensm.conf has them."""
    yield from _keys(_values(planned, None), _values(runs, None), only_planned=False)


def _values(text: str, separator: str | None) -> dict[str, str]:
    """The values by key; keys end at ``separator``, or at a blank without one."""
    values = {}
    for number, line in enumerate(text.splitlines(), 1):
        body = line.strip()
        if not body or body[0] in "#;":
            continue
        key, *rest = body.split(separator, 1)
        if separator and not rest:
            raise ValueError(f'line {number}: "{body}" has no "{separator}"')
        values[key.strip().removeprefix("-")] = " ".join("".join(rest).split())
    return values


def _keys(planned: Mapping[str, str], runs: Mapping[str, str], *, only_planned: bool) -> Iterator[FileDifference]:
    for key, value in planned.items():
        if key not in runs:
            yield Difference.MISSING, key, value, "", (), None
        elif not is_as_planned(value, runs[key]):
            yield Difference.CHANGED, key, value, runs[key], (), None
    if only_planned:
        return
    for key, value in runs.items():
        if key not in planned:
            yield Difference.UNEXPECTED, key, "", value, (), None
