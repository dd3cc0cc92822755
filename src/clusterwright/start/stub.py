"""A catalogue for models that ours does not know: a known model's figures, for none of which anybody vouches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from clusterwright import data_files

_ORIGINS = frozenset({"source", "assumed"})
_OF_ONE_MACHINE = frozenset({"platform", "platform_file"})  # another machine's name would bring its ports and lanes


def stub_text(likes: Mapping[str, str]) -> str:
    """The catalogue file with a model for each name in ``likes``, which has the figures of the model named there.

    Every origin is marked TODO, which lint reports (CW195); part numbers and platforms are not copied. Raises KeyError
    where no catalogue file has a model.
    """
    known = ", ".join(dict.fromkeys(likes.values()))
    head = (
        "# yaml-language-server: $schema=../schema/hardware.schema.json\n"
        f"# Written by `clusterwright init` with the figures of {known}: correct each against the data sheet.\n"
        "version: 1\nkind: hardware\nmodels:\n"
    )
    return head + "\n".join(_entry(name, like) for name, like in likes.items())


def _entry(name: str, like: str) -> str:
    """The model ``name`` as the catalogue file of ``like`` describes that one."""
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
    """``text`` from ``start`` to the end of ``model``, with what is known of ``like`` alone replaced."""
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
        # What is folded over several lines ends where the next one begins.
        newline = "\n" if replacement and text[last - 1] == "\n" else ""
        parts += [text[start:first], replacement, newline]
        start = last
    return "".join([*parts, text[start : model.end_mark.index]]).rstrip() + "\n"


def _origins(node: Any) -> Iterator[tuple[int, int]]:
    """From where to where every source and assumption below ``node`` stands, with its key."""
    if isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from _origins(item)
    elif isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value in _ORIGINS:
                yield key.start_mark.index, value.end_mark.index
            else:
                yield from _origins(value)
