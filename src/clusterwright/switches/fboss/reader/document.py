"""A switch's files as JSON, in parts: switches have most of their files in common, and what is alike is read once.

Files are written with each field of the switch, or of BGP, on lines of its own. Strings of JSON hold no ends of lines,
so text cut at one is cut between words: where each part reads as fields by itself, and the file without them reads as
well, the file is just their sum. Whatever does not read so is read as a whole.

In some parts switches differ in a few strings alone. Those are taken out as words: what files say that are equal
without them is the same but for these, so whatever does not depend on them is found once for all such files.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import islice
from typing import Any, NamedTuple

Json = Mapping[str, Any]
Taken = tuple[str, list[Any]]
"""The form of a part, with a blank in the place of each word, and the words: strings, or numbers."""

_ADDRESS = re.compile(r'"([0-9a-f]+[:.][0-9a-f:.]*/\d+)"')
_LOOKED_AT = 48  # addresses of a part
_AN_ADDRESS = '"an address"'
_TRIED = 4  # shapes that a file may have, before it is looked at without knowing one
_ESCAPED = "\\u0000"  # how JSON writes what a blank begins with; parts that have it themselves are not read as parts
_BLANK, _NUMBER = f'"{_ESCAPED}"', f'"{_ESCAPED}#"'  # of a string, and of a number
_ANY_BLANK = re.compile(r'"\\u0000(#?)"')
_AS_KEY = re.compile(r'"\\u0000#?":')
# What neighbours have alone: a string, or a number as JSON writes it. It begins with a quote, which is quickly found.
_OWN = re.compile(
    r'("(?:description|local_addr|peer_addr|next_hop4|next_hop6|router_id|(?:remote|local)_as_4_byte)": )'
    r'("[^"\x00-\x1f]*"|(?:0|[1-9][0-9]{0,9})(?![0-9.eE]))'
)
_SAID, _HEARD, _BESIDE = '"description": "', '"expectedLLDPValues": {"2": "', ', "5": "'


@dataclass(frozen=True, eq=False, slots=True)
class WrittenAs:
    """How a file is written: the field ``key``, or the whole where it is "", has the parts as its fields.

    ``opening`` ends with the first quote of the first one's name, ``between`` with that of the next one's; ``closing``
    comes after the last one. ``words`` says how words are taken out of the part of a field.
    """

    key: str
    opening: str
    closing: str
    between: str
    words: Mapping[str, Callable[[str], Taken]]


@dataclass(frozen=True, eq=False, slots=True)
class FileShape:
    """What files have in common that differ in their words alone; there is one of each, so it is compared by identity.

    It is the text ``around`` the parts, their ``forms``, and the ``outline`` that they make, with a numbered blank for
    each word. A word that ``_comparable`` hides is no word of the file's: what it is in place of is not known there.
    """

    around: str
    forms: tuple[str, ...]
    outline: Json


class Words(dict[str, Any]):
    """Strings and numbers by the blanks that stand for them. Any other text is itself; one that looks like a blank
    raises ValueError."""

    def __missing__(self, text: str) -> str:
        if text[:1] == "\0":
            raise ValueError(f"{text!r} is no text of a configuration")
        return text


class FileInParts(NamedTuple):
    """What a file says: its ``value``, the same as a ``shape`` with its ``words``, and its parts' ``texts`` by name."""

    value: Json
    shape: FileShape
    words: Words
    texts: Mapping[str, str]

    def said(self, value: Any) -> Any:
        """A value of the outline as it stands in the file. Raises ValueError for one that looks like a blank."""
        return self.words[value] if isinstance(value, str) else value


def is_blank(value: Any) -> bool:
    """Whether a value of an outline is there in place of a file's own."""
    return isinstance(value, str) and value[:1] == "\0"


class _Parts(Mapping[str, Any]):
    """Fields by name, each read when it is asked for."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts

    def __getitem__(self, name: str) -> Any:
        return fields_of(self._texts[name])[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def __len__(self) -> int:
        return len(self._texts)


class _PartCut(NamedTuple):
    """A part whose words are taken out: what stands ``before`` it, its field's ``name``, its ``form``."""

    before: str
    name: str
    form: str
    take: Callable[[str], Taken]


class _Frame(NamedTuple):
    """How files of a shape are cut: their ``cuts`` and what stands ``after`` these, which have words for ``blanks``.

    ``texts`` are those of all parts by name, of the cuts without their words; ``whole`` is what reads beside them.
    """

    cuts: tuple[_PartCut, ...]
    after: str
    blanks: tuple[str, ...]
    shape: FileShape
    whole: Json
    texts: Mapping[str, str]


@lru_cache(maxsize=256)
def document_of(text: str, layout: WrittenAs) -> FileInParts:
    """What is written in one of a switch's files: who reads a file after another need not parse it once more.

    Raises ValueError or RecursionError for text that is no JSON.
    """
    recent = _recent(layout)
    for frame in recent:
        known = _framed(text, layout, frame)
        if known is not None:
            if frame is not recent[0]:
                recent.remove(frame)
                recent.appendleft(frame)
            return known
    start = text.find(layout.opening) + len(layout.opening) - 1
    end = text.find(layout.closing, start)
    if start >= len(layout.opening) - 1 and end > 0 and _is_place(text[:start], text[end:], layout.key):
        texts = text[start + 1 : end].split(layout.between)
        forms: list[str] = []
        words: list[Any] = []
        takes = [layout.words.get(part[: part.find('"')]) for part in texts]
        for take, part in zip(takes, texts, strict=True):
            form, own = (part, []) if take is None else take(part)
            forms.append(form)
            words += own
        found = _shape(layout.key, text[:start] + text[end:], tuple(forms), len(words))
        if found is not None:
            shape, whole, names, blanks = found
            cuts: list[_PartCut] = []
            before = text[: start + 1]
            for name, form, take in zip(names, forms, takes, strict=True):
                if take is None:
                    before += form
                else:
                    cuts.append(_PartCut(before=before, name=name, form=form, take=take))
                    before = ""
                before += layout.between
            after = before.removesuffix(layout.between) + text[end:]
            frame = _Frame(
                cuts=tuple(cuts),
                after=after,
                blanks=blanks,
                shape=shape,
                whole=whole,
                texts=dict(zip(names, forms, strict=True)),
            )
            recent.appendleft(frame)
            return _in_parts(layout.key, frame, words, dict(zip(names, texts, strict=True)))
    return whole_file(text, json.loads(text))


def whole_file(text: str, value: Json) -> FileInParts:
    """A file that is read as a whole."""
    return FileInParts(value=value, shape=FileShape(text, (), value), words=Words(), texts={})


def _in_parts(key: str, frame: _Frame, words: list[Any], texts: Mapping[str, str]) -> FileInParts:
    fields, own = _Parts(texts), Words(zip(frame.blanks, words, strict=True))
    return FileInParts(value={**frame.whole, key: fields} if key else fields, shape=frame.shape, words=own, texts=texts)


@cache
def _recent(layout: WrittenAs) -> deque[_Frame]:
    """The frames of the last files: most files have that of one of them."""
    return deque(maxlen=_TRIED)


def _framed(text: str, layout: WrittenAs, frame: _Frame) -> FileInParts | None:
    """A file cut as one of this shape, None where it is none.

    Just so it would be cut without knowing the shape: what is alike is alike to the letter, and words, which hold no
    end of a line, make no other place to cut at.
    """
    at, end = 0, len(text) - len(frame.after)
    if not text.endswith(frame.after):
        return None
    words: list[Any] = []
    texts = dict(frame.texts)
    for before, name, form, take in frame.cuts:
        if not text.startswith(before, at):
            return None
        at += len(before)
        until = text.find(layout.between, at, end)
        part = text[at : end if until < 0 else until]
        if not _hides(take, part, form):
            taken, own = take(part)
            if taken != form:
                return None
            words += own
        at += len(part)
        texts[name] = part
    if at != end or len(words) != len(frame.blanks):
        return None
    return _in_parts(layout.key, frame, words, texts)


def _hides(take: Callable[[str], Taken], part: str, form: str) -> bool:
    """Whether a part is a form where all that is hidden is one address: then nobody need look for the most frequent."""
    pieces = _around_addresses(form) if take is addresses_hidden else [form]
    address = _ADDRESS.match(part, len(pieces[0])) if len(pieces) > 1 else None
    return address is not None and address[0].join(pieces) == part


@lru_cache(maxsize=64)
def _around_addresses(form: str) -> list[str]:
    return form.split(_AN_ADDRESS)


@lru_cache(maxsize=256)
def _shape(
    key: str, around: str, forms: tuple[str, ...], words: int
) -> tuple[FileShape, Json, tuple[str, ...], tuple[str, ...]] | None:
    """The shape of files with these forms, what stands around them, the names of the parts' fields, and the blanks;
    None where the forms are not one field each of JSON, or have other blanks than those of the words."""
    if sum(form.count(_ESCAPED) for form in forms) != words or any(_AS_KEY.search(form) for form in forms):
        return None
    fields: dict[str, Any] = {}
    blanks: list[str] = []
    try:
        for form in forms:
            first, *others = _ANY_BLANK.split(form)
            for mark, other in zip(others[::2], others[1::2], strict=True):
                first += f'"{_ESCAPED}{len(blanks)}{mark}"{other}'
                blanks.append(f"\0{len(blanks)}{mark}")
            fields |= json.loads(f'{{"{first}}}') if others else fields_of(form)
    except ValueError:
        return None
    if len(blanks) != words or not len(fields) == len(forms) == sum(len(fields_of(form)) for form in forms):
        return None
    whole = json.loads(around)
    outline = {**whole, key: fields} if key else fields
    return FileShape(around, forms, outline), whole, (*fields,), tuple(blanks)


def addresses_out(part: str) -> Taken:
    """Takes out everything that is an address with its length, wherever it stands."""
    if "\\" in part:
        return part, []
    pieces = _ADDRESS.split(part)
    return _BLANK.join(pieces[::2]), pieces[1::2]


def far_ends_out(part: str) -> Taken:
    """Takes out descriptions, and what LLDP should hear, as far as it is written in one way.

    Words hold no quote, so the quotes around them are the ends of a string in the form just where they are in the part.
    """
    if "\\" in part:
        return part, []
    form, *rows = part.split(_SAID)
    written, words = [form], list[str]()
    for row in rows:
        word, quote, rest = row.partition('"')
        before, _, after = rest.partition(_HEARD)
        port, _, beside = after.partition('"')
        words.append(word)
        if quote and beside.startswith(_BESIDE):
            device, quote, rest = beside[len(_BESIDE) :].partition('"')
            words += (port, device)
            rest = f"{before}{_HEARD[:-1]}{_BLANK}{_BESIDE[:-1]}{_BLANK}{rest}"
        if not quote:
            return part, []
        written.append(f"{_SAID[:-1]}{_BLANK}{rest}")
    return ("".join(written), words) if "".join(words).isprintable() else (part, [])


def hostname_out(part: str) -> Taken:
    """Takes out the one string of a field."""
    name, _, word = part.partition('": "')
    is_word = word[-1:] == '"' and '"' not in word[:-1] and "\\" not in word and word.isprintable()
    return (f'{name}": {_BLANK}', [word[:-1]]) if is_word else (part, [])


def addresses_hidden(part: str) -> Taken:
    """Hides addresses that nobody asks for by the outline (`_comparable`)."""
    return _comparable(part), []


def neighbours_out(part: str) -> Taken:
    """Takes out who a switch is and whom it speaks with: strings, and numbers."""
    if "\\" in part:
        return part, []
    pieces = _OWN.split(f'"{part}')
    words = [word.strip('"') if word[0] == '"' else int(word) for word in pieces[2::3]]
    pieces[2::3] = [_BLANK if word[0] == '"' else _NUMBER for word in pieces[2::3]]
    return "".join(pieces)[1:], words


@lru_cache(maxsize=256)
def fields_of(part: str) -> Json:
    """The fields that stand in a part, of which the first quote is left out. Raises ValueError or RecursionError."""
    fields: Json = json.loads(f'{{"{part}}}')
    return fields


def _is_place(before: str, after: str, key: str) -> bool:
    """Whether what stands between two texts are fields of ``key``, or of the whole."""
    mark = {"parts": 0}
    try:
        whole = json.loads(f"{before}{json.dumps(mark)[1:-1]}{after}")
    except (ValueError, RecursionError):
        return False
    return (whole.get(key) if key else whole) == mark and '"parts"' not in before + after


def _comparable(part: str) -> str:
    """A part with a word in the place of all its addresses, or of the most frequent one, as the first of them tell,
    where it has many: one it is, quotes included, wherever it stands in JSON, and no field's values are limited to
    addresses. Two that are equal so have the same fields and the same meaning, but for what the addresses are.
    """
    seen = [match[0] for match in islice(_ADDRESS.finditer(part), _LOOKED_AT)]
    if len(seen) < _LOOKED_AT:
        return _ADDRESS.sub(_AN_ADDRESS, part) if seen else part
    first = max(seen, key=seen.count, default="")
    return part.replace(first, _AN_ADDRESS) if seen.count(first) > 1 else part
