"""Secrets: rendered text carries ``<secret NAME>``, and the value takes its place on the way to the device, no sooner.

Where a format takes no blank in a password, as SONiC's models, the placeholder is ``<secret/NAME>``.

The store, Pulumi's state, previews, diffs and reports are made of the text with placeholders. Values live in the memory
of the process that talks to devices; what comes back from a device, or lies in a transport's own folder afterwards, has
them replaced by their placeholders again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from clusterwright.artifact import Artifact
from clusterwright.deploy.target import DeviceTree, Holding, Outcome, Target, Unreachable, tree_digest
from clusterwright.finding import ClusterwrightError

PLACEHOLDER = re.compile(rb"<secret[ /]([a-z0-9][a-z0-9-]*)>")
_LEFT = re.compile(rb"<secret[ /]\w[^>\n]*>")  # also those whose name no source could have
PRIVATE_MODE = 0o600
_FORBIDDEN = re.compile(r"[\s\x00-\x1f\x7f]")

Values = Mapping[str, str]


class SecretError(ClusterwrightError):
    """A secret has no source, or its source does not give it. The text never holds a value."""


def names_in(content: bytes) -> frozenset[str]:
    """The secrets that a file's placeholders name."""
    return frozenset(found.decode() for found in PLACEHOLDER.findall(content))


def resolve(content: bytes, values: Values, *, is_json: bool = False) -> bytes:
    """``content`` with every placeholder replaced, escaped where it stands inside JSON text.

    Raises SecretError for the names without a value, all of them in one message.
    """
    lacking = sorted(names_in(content) - values.keys())
    if lacking:
        raise SecretError(
            f"no source gives {_listed(lacking)}. Add it to `secrets:` of the spec, or to the file of --secrets."
        )

    def value(found: re.Match[bytes]) -> bytes:
        text = values[found[1].decode()]
        return (json.dumps(text)[1:-1] if is_json else text).encode()

    return PLACEHOLDER.sub(value, content)


def left_in(tree: DeviceTree) -> str | None:
    """Says which file still holds a placeholder, for a device that must not get it; None where no file does."""
    for artifact in tree:
        if found := _LEFT.search(artifact.content):
            return f"/{artifact.path} holds {found[0].decode(errors='replace')} in place of a secret: nothing was sent"
    return None


def resolve_tree(tree: DeviceTree, values: Values) -> DeviceTree:
    """A device's tree with its secrets in place; files that hold one are readable by root alone.

    Raises SecretError for placeholders that no source gives, and for those that name nothing a source could give.
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
    return Artifact(artifact.device, artifact.path, content, artifact.kind, mode)


def redact(text: str, values: Values) -> str:
    """``text`` with every value replaced by its placeholder, the longest first."""
    for name, value in sorted(values.items(), key=lambda item: -len(item[1])):
        text = text.replace(value, f"<secret {name}>")
    return text


def checked(values: Values) -> Values:
    """The same values. Raises SecretError for one that is empty or would break out of its place in a line."""
    for name, value in values.items():
        if not value:
            raise SecretError(f'secret "{name}" is empty at its source')
        if _FORBIDDEN.search(value):
            raise SecretError(f'secret "{name}" holds a blank, a line end or a control character')
    return values


@dataclass(frozen=True)
class ResolvingTarget:
    """A target behind which devices get secrets, and in front of which nobody sees them; implements ``Target``.

    ``fetch`` reads the sources, once and only when a device needs it; ``folder`` is what the target keeps of its runs.
    """

    inner: Target
    fetch: Callable[[], Values]
    folder: Path | None = field(default=None)

    @cached_property
    def _values(self) -> Values:
        return checked(self.fetch())

    def apply(self, batch: Mapping[str, DeviceTree], *, check: bool = False) -> Mapping[str, Outcome]:
        """See ``Target.apply``. Every secret of the batch is there before the first device is touched."""
        resolved = {device: self._resolve(tree) for device, tree in batch.items()}
        try:
            outcomes = self.inner.apply(resolved, check=check)
        finally:
            self._scrub()
        return {device: self._cleaned(outcome, batch[device], resolved[device]) for device, outcome in outcomes.items()}

    def read(self, devices: Collection[str]) -> Mapping[str, Holding | Unreachable]:
        """See ``Target.read``."""
        return self.inner.read(devices)

    def _resolve(self, tree: DeviceTree) -> DeviceTree:
        return resolve_tree(tree, self._values) if left_in(tree) else tree

    def _cleaned(self, outcome: Outcome, tree: DeviceTree, resolved: DeviceTree) -> Outcome:
        if "_values" not in self.__dict__:
            return outcome
        return replace(
            outcome,
            message=redact(outcome.message, self._values),
            diff=redact(outcome.diff, self._values),
            digest=tree_digest(tree) if outcome.digest == tree_digest(resolved) else outcome.digest,
        )

    def _scrub(self) -> None:
        """Take values out of what a transport wrote about its run, such as a switch's own diff."""
        if self.folder is not None and "_values" in self.__dict__:
            scrub(self.folder, self._values)


def scrub(folder: Path, values: Values) -> None:
    """Replace values in every file below ``folder``, also where JSON escaped them."""
    pairs = {value.encode(): f"<secret {name}>".encode() for name, value in values.items()}
    pairs |= {json.dumps(value)[1:-1].encode(): f"<secret {name}>".encode() for name, value in values.items()}
    for path in sorted(folder.rglob("*")) if folder.is_dir() else ():
        with suppress(OSError):
            if path.is_symlink() or not path.is_file():
                continue
            before = path.read_bytes()
            after = before
            for value, placeholder in sorted(pairs.items(), key=lambda pair: -len(pair[0])):
                after = after.replace(value, placeholder)
            if after != before:
                path.write_bytes(after)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f'secret "{name}"' for name in names)
