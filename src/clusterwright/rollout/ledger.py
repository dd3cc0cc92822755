"""The current rollout on disk: the same command resumes it after a pause, a stop or a crash.

One file under the root. A wave counts as finished only after its devices passed their checks; an unfinished wave is
repeated, which changes nothing on devices with their trees in place.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from clusterwright import durable
from clusterwright.device_files.effect import Effect
from clusterwright.finding import ClusterwrightError
from clusterwright.rollout.waves import Wave
from clusterwright.typed_record import checked

FOLDER = "rollout"


@dataclass(frozen=True, slots=True)
class UnderWay:
    """A rollout: ``manifest`` is the joint digest of its trees, ``stacks`` the names of its stacks.

    ``finished`` are numbers of waves, from 1. ``paused`` is the reason of a pause, "" while waves go on.
    ``first`` names the stacks updated as a whole, since nothing ran on them at the beginning.
    """

    name: str
    manifest: str
    stacks: tuple[str, ...]
    waves: tuple[Wave, ...]
    finished: tuple[int, ...] = ()
    paused: str = ""
    first: tuple[str, ...] = ()

    @property
    def left(self) -> tuple[tuple[int, Wave], ...]:
        """The unfinished waves, with their numbers."""
        return tuple((number, wave) for number, wave in enumerate(self.waves, 1) if number not in self.finished)

    def with_finished(self, number: int) -> UnderWay:
        """The rollout after wave ``number``."""
        return replace(self, finished=(*self.finished, number), paused="")

    def with_more(self, waves: Iterable[Wave]) -> UnderWay:
        """The rollout with ``waves`` behind its own."""
        return replace(self, waves=(*self.waves, *waves))


def rollout_name(manifest: str) -> str:
    """The name of a rollout beginning now."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{manifest[:8]}"


def load(root: Path) -> UnderWay | None:
    """The current rollout under ``root``; None without one. Raises ClusterwrightError."""
    path = _path(root)
    try:
        data = json.loads(path.read_bytes())
        return checked(
            UnderWay(
                name=data["name"],
                manifest=data["manifest"],
                stacks=tuple(data["stacks"]),
                waves=tuple(_wave(wave) for wave in data["waves"]),
                finished=tuple(data["finished"]),
                paused=data["paused"],
                first=tuple(data.get("first", ())),
            )
        )
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ClusterwrightError(
            f"{path}: cannot be read ({error}). It only records where a rollout stopped: remove it, and `up` plans "
            "its waves again from the files on devices."
        ) from None


def save(root: Path, rollout: UnderWay) -> None:
    """Replace the ledger on disk. Raises ClusterwrightError."""
    path = _path(root)
    path.parent.mkdir(parents=True, exist_ok=True)
    durable.replace(path, json.dumps(asdict(rollout), indent=1).encode())


def clear(root: Path) -> None:
    """Remove the ledger of an ended rollout."""
    _path(root).unlink(missing_ok=True)


def resumed(under_way: UnderWay | None, manifest: str, stacks: Iterable[str]) -> UnderWay | None:
    """``under_way`` if it is the rollout of this manifest over these stacks, else None."""
    if under_way is None or under_way.manifest != manifest or set(under_way.stacks) != set(stacks):
        return None
    return under_way


def _wave(data: dict[str, Any]) -> Wave:
    lists = {name: tuple(data[name]) for name in ("units", "devices", "disturbed")}
    return Wave(**{**data, **lists, "effect": Effect(data["effect"])})


def _path(root: Path) -> Path:
    return root / FOLDER / "under-way.json"
