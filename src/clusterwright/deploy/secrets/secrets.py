"""Secrets: rendered text has ``<secret NAME>``, replaced by the value only on the way to the device.

In formats without blanks in a password, as SONiC's models, the placeholder is ``<secret/NAME>``. For a value in a
device's own form it is ``<secret NAME as FORM>``, followed by an argument of the form. Trees of a stack have the
version of a secret, if there is one, behind its name: ``<secret NAME@3>`` (``secret_versions``).

The store, Pulumi's state, previews, diffs and reports have the text with placeholders. Values are only in the memory of
the process connected to devices; in answers of devices, and in a transport's own folder afterwards, placeholders
replace them again.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from clusterwright.artifact import Artifact
from clusterwright.deploy.ansible.folder import BUNDLES
from clusterwright.deploy.secrets.forms import FormError, in_form, is_pem
from clusterwright.deploy.secrets.places import Places, in_place, places_in
from clusterwright.deploy.target import DeviceTree, Holding, Outcome, Target, Unreachable, tree_digest
from clusterwright.finding import ClusterwrightError
from clusterwright.known_secrets import without_secrets
from clusterwright.placeholder import LIKE_ONE, PLACEHOLDER_IN_BYTES

_LEFT = re.compile(LIKE_ONE.encode())  # also placeholders with an invalid name
PRIVATE_MODE = 0o600
_FORBIDDEN = re.compile(r"[\s\x00-\x1f\x7f]")

Values = Mapping[str, str]


class SecretError(ClusterwrightError):
    """A secret without a source, or a source without its secret. The text never holds a value."""


def names_in(content: bytes) -> frozenset[str]:
    """Names of the secrets in a file's placeholders."""
    return frozenset(match["name"].decode() for match in PLACEHOLDER_IN_BYTES.finditer(content))


def filled(content: bytes, values: Values) -> dict[str, str]:
    """Values of all placeholders of ``content``, by the placeholder's own text.

    Raises SecretError for a value unfit for the placeholder's form.
    """
    return {match[0].decode(): _fitting(match, values) for match in PLACEHOLDER_IN_BYTES.finditer(content)}


def _fitting(match: re.Match[bytes], values: Values) -> str:
    name, form = match["name"].decode(), (match["form"] or b"").decode()
    if form != "pem" and is_pem(values[name]):
        raise SecretError(f'secret "{name}" is PEM, of several lines, where one word is asked for')
    if not form:
        return values[name]
    try:
        return in_form(values[name], form, (match["argument"] or b"").decode())
    except FormError as error:
        raise SecretError(f'secret "{name}" {error}') from None


def resolve(content: bytes, values: Values, *, is_json: bool = False) -> bytes:
    """``content`` with every placeholder replaced, with escapes inside JSON text.

    Raises SecretError for the names without a value, all of them in one message, and for a value of another form.
    """
    lacking = sorted(names_in(content) - values.keys())
    if lacking:
        raise SecretError(
            f"no source gives {_listed(lacking)}. Add it to `secrets:` of the spec, or to the file of --secrets."
        )

    def value(match: re.Match[bytes]) -> bytes:
        text = _fitting(match, values)
        return (json.dumps(text)[1:-1] if is_json else text).encode()

    return PLACEHOLDER_IN_BYTES.sub(value, content)


def left_in(tree: DeviceTree) -> str | None:
    """The reason for not sending a tree with a placeholder left in it; None without a placeholder."""
    for artifact in tree:
        if match := _LEFT.search(artifact.content):
            return f"/{artifact.path} holds {match[0].decode(errors='replace')} in place of a secret: nothing was sent"
    return None


def resolve_tree(tree: DeviceTree, values: Values) -> DeviceTree:
    """A device's tree with its secrets in place; files with a secret are readable by root alone.

    Raises SecretError for placeholders without a source, and for those with an invalid name.
    """
    resolved = tuple(_resolved(artifact, values) if names_in(artifact.content) else artifact for artifact in tree)
    if reason := left_in(resolved):
        raise SecretError(
            f"{resolved[0].device}: {reason}. Names of secrets are lower case letters, digits and dashes."
        )
    return resolved


def _resolved(artifact: Artifact, values: Values) -> Artifact:
    content = resolve(artifact.content, values, is_json=artifact.path.endswith(".json"))
    mode = artifact.mode & ~0o077 if artifact.mode & 0o100 else PRIVATE_MODE
    return Artifact(device=artifact.device, path=artifact.path, source=content, kind=artifact.kind, mode=mode)


def redact(text: str, sent: Mapping[str, str]) -> str:
    """``text`` with every value of ``sent`` replaced by its placeholder, the longest first."""
    for placeholder, value in sorted(sent.items(), key=lambda item: -len(item[1])):
        text = text.replace(value, placeholder)
    return text


def checked(values: Values) -> Values:
    """``values``. Raises SecretError for an empty value, and for one that could break out of its line."""
    for name, value in values.items():
        if not value:
            raise SecretError(f'secret "{name}" is empty at its source')
        if _FORBIDDEN.search(value) and not is_pem(value):
            raise SecretError(f'secret "{name}" holds a blank, a line end or a control character')
    return values


@dataclass(frozen=True)
class ResolvingTarget:
    """A target putting secrets into files before it passes them on; implements ``Target``.

    ``fetch`` reads the sources, once and only if a device needs it; ``folder`` has the inner target's records of runs.
    """

    inner: Target
    fetch: Callable[[], Values]
    folder: Path | None = field(default=None)
    _places: dict[str, str] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def _values(self) -> Values:
        return checked(self.fetch())

    @cached_property
    def _sent(self) -> dict[str, str]:
        """Values by placeholder: the source's own, and the forms sent to devices."""
        return {f"<secret {name}>": value for name, value in self._values.items()}

    def apply(self, batch: Mapping[str, DeviceTree], *, check: bool = False) -> Mapping[str, Outcome]:
        """See ``Target.apply``. All secrets of the batch are read before the first device is touched."""
        resolved = {device: self._resolve(tree) for device, tree in batch.items()}
        try:
            outcomes = self.inner.apply(resolved, check=check)
        finally:
            self._scrub()
        return {device: self._cleaned(outcome, batch[device], resolved[device]) for device, outcome in outcomes.items()}

    def rename(self, names: Mapping[str, str]) -> None:
        """See ``Target.rename``."""
        self.inner.rename(names)

    def read(self, devices: Collection[str]) -> Mapping[str, Holding | Unreachable]:
        """See ``Target.read``."""
        return self.inner.read(devices)

    def _resolve(self, tree: DeviceTree) -> DeviceTree:
        if not left_in(tree):
            return tree
        resolved = resolve_tree(tree, self._values)
        for artifact in tree:
            self._sent.update(filled(artifact.content, self._values))
        self._places.update(places_in(tree))
        return resolved

    def _cleaned(self, outcome: Outcome, tree: DeviceTree, resolved: DeviceTree) -> Outcome:
        if "_values" not in self.__dict__:
            return outcome
        places = places_in(tree)
        return replace(
            outcome,
            message=in_place(redact(outcome.message, self._sent), places),
            diff=without_secrets(in_place(redact(outcome.diff, self._sent), places)),
            notice=redact(outcome.notice, self._sent),
            digest=tree_digest(tree) if outcome.digest == tree_digest(resolved) else outcome.digest,
        )

    def _scrub(self) -> None:
        """Remove values from a transport's output, such as a switch's own diff."""
        if self.folder is not None and "_values" in self.__dict__:
            scrub(self.folder, self._sent, self._places)


def _kept(folder: Path) -> Iterator[Path]:
    """Files below ``folder``, except the bundles to be sent by runs of other stacks: they need their values."""
    for parent, folders, names in os.walk(folder):  # os.walk skips folders removed meanwhile
        folders[:] = sorted(set(folders) - {BUNDLES})
        yield from (Path(parent, name) for name in sorted(names))


def scrub(folder: Path, sent: Mapping[str, str], places: Places | None = None) -> None:
    """Put the placeholders of ``sent`` back into every file below ``folder``, also for values escaped in JSON.

    So are words in their ``places``: a device repeats its last value when it gets another.
    """
    pairs = {value.encode(): placeholder.encode() for placeholder, value in sent.items()}
    pairs |= {json.dumps(value)[1:-1].encode(): placeholder.encode() for placeholder, value in sent.items()}
    for path in _kept(folder):
        with suppress(OSError):
            if path.is_symlink() or not path.is_file():
                continue
            before = path.read_bytes()
            after = before
            for value, placeholder in sorted(pairs.items(), key=lambda pair: -len(pair[0])):
                after = after.replace(value, placeholder)
            if places:
                after = in_place(after.decode("utf-8", "surrogateescape"), places).encode("utf-8", "surrogateescape")
            if after != before:
                path.write_bytes(after)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f'secret "{name}"' for name in names)
