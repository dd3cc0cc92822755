"""Reading a file of NVUE's objects.

One key may name several interfaces (`swp1-4,6,vlan10`): each then has the children of the key. Objects in several parts
or ranges are one, as NVUE merges them; a key twice in one object is refused, and so are two values.
"""

from __future__ import annotations

import re
from functools import lru_cache

import yaml

from clusterwright.facts.router import Mark
from clusterwright.packets.tokens import Unreadable
from clusterwright.switches.nvue.reader.block_lines import read_lines
from clusterwright.switches.nvue.reader.names import names
from clusterwright.switches.nvue.reader.objects import Object

_DECIMAL = re.compile(r"0|-?[1-9][0-9]*", re.A)
_MINUTES = re.compile(r"[1-9][0-9]*(:[0-5]?[0-9])+", re.A)
_KINDS = frozenset({"str", "int", "bool", "null", "float", "timestamp"})


@lru_cache(maxsize=128)  # each fact of a switch reads the text anew; no caller changes the result
def read_objects(text: str) -> Object:
    """A file's settings. Raises Unreadable at an unreadable line."""
    objects = read_lines(text)
    if objects is not None:
        return objects
    try:
        return read_yaml(text)
    except RecursionError:
        raise Unreadable(0, "the objects stand too deep in each other") from None


def read_yaml(text: str) -> Object:
    """Settings of a file of any form. Raises Unreadable, or RecursionError for objects nested too deep."""
    try:
        root = yaml.compose(text, Loader=yaml.CSafeLoader)
    except yaml.YAMLError as error:
        problem = getattr(error, "problem_mark", None)
        raise Unreadable(0 if problem is None else problem.line + 1, "this is no YAML") from None
    root_object = Object()
    if isinstance(root, yaml.SequenceNode):
        for part in root.value:
            if not isinstance(part, yaml.MappingNode):
                raise Unreadable(part.start_mark.line + 1, "NVUE takes objects to set here")
            for key, value in part.value:
                if key.value == "set":
                    _read(root_object, value, text)
                elif key.value != "header":
                    raise Unreadable(key.start_mark.line + 1, f'"{key.value}" is neither `set` nor a header')
    if not root_object.below:
        raise Unreadable(0, "this file sets nothing")
    return root_object


def _read(into: Object, node: yaml.Node, text: str, place: tuple[str, ...] = (), above: Mark = ()) -> None:
    if isinstance(node, yaml.SequenceNode) or (isinstance(node, yaml.ScalarNode) and into.below):
        raise Unreadable(node.start_mark.line + 1, "an object is wanted here")
    if isinstance(node, yaml.ScalarNode):
        _must_be_plain(node, "int")
        if into.value and into.value != node.value:
            raise Unreadable(node.start_mark.line + 1, "this value is set twice")
        into.value = node.value
        return
    keys: set[str] = set()
    for key, value in node.value:
        line = key.start_mark.line + 1
        if str(key.value) in keys:
            raise Unreadable(line, "this name stands twice in one object, of which YAML keeps the last")
        keys.add(str(key.value))
        _must_be_plain(key, "int", "bool", "null")
        mark = (*above, _key_text(key, text))
        try:
            several = names(str(key.value), place)
        except ValueError as error:
            raise Unreadable(line, str(error)) from None
        for name in several:
            child = into.below.get(name)
            if child is None:
                child = into.below[name] = Object(mark, line)
            _read(child, value, text, (*place, name), mark)


def _key_text(key: yaml.Node, text: str) -> str:
    """A key with its quotes: before a colon, or after the `?` of a long one."""
    start, end = key.start_mark, key.end_mark
    before = text[start.index - start.column : start.index]
    if before.strip():
        return f"\n{before}{text[start.index : end.index]}"
    return f"\n{before}{text[start.index : end.index]}:"


def _must_be_plain(node: yaml.Node, *kinds: str) -> None:
    """Raise Unreadable for unquoted text a release of YAML reads as another value: `010` as 8, `no` as false.

    `64512:1` is a number of minutes in YAML 1.1 alone, and NVUE prints it so (NVIDIA/enterprise-ras, exported
    configurations of 5.13): it writes and reads YAML 1.2, with that as text.
    """
    kind = node.tag.rpartition(":")[2]
    is_plain = _DECIMAL.fullmatch(node.value) or _MINUTES.fullmatch(node.value)
    if kind not in _KINDS or (kind in kinds and not is_plain):
        raise Unreadable(node.start_mark.line + 1, f"{node.value} without quotes may be read as something else")
