"""A catalogue for switches that ours does not know: a known model's figures, for none of which anybody vouches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import yaml

from clusterwright import data_files

_ORIGINS = frozenset({"source", "assumed"})


def stub_text(names: Sequence[str], like: str) -> str:
    """The catalogue file with switches called ``names``, which have the figures of the model ``like``.

    Every origin is marked TODO, of which lint tells (CW195). Raises KeyError where no catalogue file has ``like``.
    """
    origin = f'assumed: "TODO: taken from {like}; look it up, and name the source"'
    head = (
        "# yaml-language-server: $schema=../schema/hardware.schema.json\n"
        f"# Written by `clusterwright init` with the figures of {like}: correct each against the data sheet.\n"
        "version: 1\nkind: hardware\nmodels:\n"
    )
    entry = _entry(like, origin)
    return head + "\n".join(f"  - name: {name}{entry}" for name in names)


def _entry(name: str, origin: str) -> str:
    """What follows the name of a model in its catalogue file, with ``origin`` in the place of every one."""
    for file in sorted((data_files.folder("inventory") / "hardware").glob("*.yaml")):
        text = file.read_text(encoding="utf-8")
        root: Any = yaml.compose(text, Loader=yaml.CSafeLoader)
        models = next(value.value for key, value in root.value if key.value == "models")
        for model in models:
            label = next(value for key, value in model.value if key.value == "name")
            if label.value == name:
                return _restated(text, label.end_mark.index, model, origin)
    raise KeyError(name)


def _restated(text: str, at: int, model: Any, origin: str) -> str:
    """``text`` from ``at`` to the end of ``model``, with ``origin`` in the place of every one."""
    parts: list[str] = []
    for first, last in _origins(model):
        # What is folded over several lines ends where the next one begins.
        parts += [text[at:first], origin, "\n" if text[last - 1] == "\n" else ""]
        at = last
    return "".join([*parts, text[at : model.end_mark.index]]).rstrip() + "\n"


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
