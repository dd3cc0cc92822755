"""A catalogue for unknown models, with the unconfirmed figures of known ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from clusterwright import data_files

_ORIGINS = frozenset({"source", "assumed"})
_OF_ONE_MACHINE = frozenset({"platform", "platform_file"})  # another machine's name would bring its ports and lanes


def stub_text(likes: Mapping[str, str]) -> str:
    """The catalogue file with a model for each name in ``likes``, with the figures of its known model.

    Every origin is marked TODO, to be reported by lint (CW195); part numbers and platforms are not copied. Raises
    KeyError for a model in no catalogue file.
    """
    references = ", ".join(dict.fromkeys(likes.values()))
    head = (
        "# yaml-language-server: $schema=../schema/hardware.schema.json\n"
        f"# Written by `clusterwright init` with the figures of {references}: correct each against the data sheet.\n"
        "version: 1\nkind: hardware\nmodels:\n"
    )
    return head + "\n".join(_entry(name, like) for name, like in likes.items())


def _entry(name: str, like: str) -> str:
    """The entry of the model ``name``, from the catalogue file of ``like``."""
    for file in sorted((data_files.folder("inventory") / "hardware").glob("*.yaml")):
        text = file.read_text(encoding="utf-8")
        root: Any = yaml.compose(text, Loader=yaml.CSafeLoader)
        models = next(value.value for key, value in root.value if key.value == "models")
        for model in models:
            label = next(value for key, value in model.value if key.value == "name")
            if label.value == like:
                return f"  - name: {name}" + _restated(text, label.end_mark.index, model, name, like)
    raise KeyError(like)


def _restated(text: str, start: int, model: Any, name: str, like: str) -> str:
    """``text`` from ``start`` to the end of ``model``, with the values particular to ``like`` replaced."""
    origin = f'assumed: "TODO: taken from {like}; look it up, and name the source"'
    changes = [(first, last, origin) for first, last in _origins(model)]
    keys = model.value
    for index, (key, value) in enumerate(keys):
        if key.value == "part":
            changes.append((value.start_mark.index, value.end_mark.index, name))
        elif key.value in _OF_ONE_MACHINE and index + 1 < len(keys):
            changes.append((key.start_mark.index, keys[index + 1][0].start_mark.index, ""))
    parts: list[str] = []
    for first, last, replacement in sorted(changes):
        # A value folded over several lines ends at the beginning of the next line.
        newline = "\n" if replacement and text[last - 1] == "\n" else ""
        parts += [text[start:first], replacement, newline]
        start = last
    return "".join([*parts, text[start : model.end_mark.index]]).rstrip() + "\n"


def _origins(node: Any) -> Iterator[tuple[int, int]]:
    """Start and end of every source and assumption below ``node``, including its key."""
    if isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from _origins(item)
    elif isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value in _ORIGINS:
                yield key.start_mark.index, value.end_mark.index
            else:
                yield from _origins(value)
