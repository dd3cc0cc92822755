"""The last complete update of a stack: its spec, with every file that it reads, and each device's tree.

Digests of devices only show that a file changes. The spec of the last complete update is kept in the object store, so
that its plan can be built again and compared with the present one.
"""

from __future__ import annotations

import hashlib
import json
import os.path
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from clusterwright import __version__, durable
from clusterwright.deploy.pulumi.cache import ReadFiles, is_of_installation
from clusterwright.deploy.pulumi.units import Stack
from clusterwright.deploy.store import Store
from clusterwright.finding import ClusterwrightError
from clusterwright.plan.model import Plan
from clusterwright.rules.engine import lint_and_plan
from clusterwright.spec.load import load_spec
from clusterwright.spec.model import ClusterSpec
from clusterwright.spec.text.source import ABSENT, noting_reads
from clusterwright.typed_record import checked

FOLDER = "deployed"


@dataclass(frozen=True, slots=True)
class Deployed:
    """A stack after its last complete update.

    ``spec`` is the digest of ``keep_spec``, ``program`` this program's version then, ``trees`` maps devices to the
    digests of their trees.
    """

    spec: str
    program: str
    trees: Mapping[str, str]


def keep_spec(
    store: Store, spec: ClusterSpec, read: ReadFiles | None = None, instead: Mapping[str, bytes] | None = None
) -> str:
    """Store every file of the spec, and return the digest of their listing.

    To be called before anything is touched: an edit of the spec during a rollout belongs to the next one. ``read`` has
    the digests of the parsed files. Raises ClusterwrightError if a file differs from them by now. ``instead`` has
    contents to use in place of the files on disk, by their absolute names.
    """
    files = sorted(_files(spec))
    digests_read = {os.path.normpath(path): digests for path, digests in (read or {}).items()}
    top = os.path.commonpath([Path(name).parent for name in files])
    edited = instead or {}
    contents = {name: edited[name] if name in edited else Path(name).read_bytes() for name in files}
    for name, content in contents.items():
        parsed_digests = digests_read.get(name, frozenset())
        if parsed_digests and hashlib.sha256(content).hexdigest() not in parsed_digests:
            raise ClusterwrightError(
                f"{name} was edited while it was read. Nothing was touched: run the command again."
            )
    listing = {
        "spec": os.path.relpath(Path(spec.document.file).absolute(), top),
        "files": {os.path.relpath(name, top): store.put(content) for name, content in contents.items()},
    }
    return store.put(json.dumps(listing, sort_keys=True, separators=(",", ":")).encode())


@contextmanager
def kept_spec(store: Store, digest: str) -> Iterator[Path]:
    """The path of a kept spec, for as long as the block lasts. Raises MissingObject if the store lacks a file."""
    listing = json.loads(store.get(digest))
    with tempfile.TemporaryDirectory(prefix="clusterwright-") as top:
        for name, content in listing["files"].items():
            file = Path(top) / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(store.get(content))
        yield Path(top) / listing["spec"]


def kept_plan(store: Store, digest: str) -> Plan:
    """The plan of a kept spec. Raises ClusterwrightError if this version cannot build it."""
    with kept_spec(store, digest) as path:
        return lint_and_plan(path)[1]


def record(root: Path, stack: Stack, spec: str, trees: Mapping[str, str]) -> None:
    """Record that every device of ``stack`` now holds its tree of the spec kept as ``spec``.

    To be called after an update of the whole stack succeeded. The file is complete or the previous one, also after a
    crash.
    """
    stack_trees = {name: trees[name] for name in stack.devices if name in trees}
    deployed = Deployed(spec, __version__, stack_trees)
    _write(root / FOLDER / f"{stack.name}.json", deployed)


def record_devices(root: Path, stack: Stack, trees: Mapping[str, str]) -> None:
    """Record that some devices of ``stack`` hold other trees than after the last complete update.

    A stack without a complete update is skipped.
    """
    before = recorded(root, (stack,)).get(stack.name)
    if before is not None:
        after = replace(before, trees={**before.trees, **trees})
        _write(root / FOLDER / f"{stack.name}.json", after)


def record_spec(root: Path, stacks: Iterable[Stack], before: str, after: str) -> None:
    """Record that stacks with the spec kept as ``before`` hold the one kept as ``after``.

    For an edit with all of its changed devices known and updated.
    """
    for name, deployed in recorded(root, stacks).items():
        if deployed.spec == before:
            _write(root / FOLDER / f"{name}.json", replace(deployed, spec=after))


def forget(root: Path, stack: Stack) -> None:
    """Remove the record of a destroyed stack."""
    (root / FOLDER / f"{stack.name}.json").unlink(missing_ok=True)


def recorded(root: Path, stacks: Iterable[Stack]) -> Mapping[str, Deployed]:
    """Records of ``stacks``, by the stack's name, as far as there are any. Raises ClusterwrightError."""
    notes: dict[str, Deployed] = {}
    for stack in stacks:
        file = root / FOLDER / f"{stack.name}.json"
        try:
            data: dict[str, Any] = json.loads(file.read_bytes())
            notes[stack.name] = checked(Deployed(data["spec"], data["program"], dict(data["trees"])))
        except FileNotFoundError:
            continue
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ClusterwrightError(
                f"{file}: cannot be read ({type(error).__name__}). It only serves previews: remove it, and the next "
                "`clusterwright up` writes it again."
            ) from None
    return notes


def programs(root: Path) -> frozenset[str]:
    """Versions of this program at the stacks' last updates, without damaged records."""
    return _noted(root, "program")


def specs_in_force(root: Path) -> frozenset[str]:
    """Digests of the specs at the stacks' last updates, without damaged records."""
    return _noted(root, "spec")


def _noted(root: Path, key: str) -> frozenset[str]:
    values: set[str] = set()
    for file in (root / FOLDER).glob("*.json"):
        with suppress(OSError, ValueError, KeyError, TypeError):
            values.add(str(json.loads(file.read_bytes())[key]))
    return frozenset(values)


def in_force(deployed: Mapping[str, Deployed], held: Mapping[str, str]) -> Deployed | None:
    """The spec on most of the recorded devices; its ``trees`` are those of every stack. None without a record.

    ``held`` maps devices to their last trees, which may be newer than the record after a failed update.
    """
    if not deployed:
        return None
    counts: dict[tuple[str, str], int] = {}
    trees: dict[str, str] = {}
    for stack_deployed in deployed.values():
        key = stack_deployed.spec, stack_deployed.program
        holding = sum(held.get(name) == digest for name, digest in stack_deployed.trees.items())
        counts[key] = counts.get(key, 0) + holding
        trees.update(stack_deployed.trees)
    spec, program = max(counts, key=lambda key: (counts[key], key))
    return replace(next(iter(deployed.values())), spec=spec, program=program, trees=trees)


def _files(spec: ClusterSpec) -> frozenset[str]:
    """Files read by loading ``spec``, except the program's own."""
    with noting_reads() as noted:
        load_spec(spec.document.file)
    files = (path for path, digests in noted.items() if ABSENT not in digests and not is_of_installation(path))
    return frozenset(os.path.normpath(path) for path in files)


def _write(file: Path, deployed: Deployed) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    durable.replace(file, json.dumps(asdict(deployed), sort_keys=True).encode())
