"""A target that repeats what it was given, as a switch's own diff does."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from clusterwright.deploy.target import DeviceTree, Holding, Outcome, Status


class Repeating:
    """Its devices fail, and repeat what they were given, in answers and in files of the run."""

    def __init__(self, folder_of_runs: Path) -> None:
        self._folder = folder_of_runs

    def apply(self, batch: Mapping[str, DeviceTree], *, check: bool = False) -> Mapping[str, Outcome]:
        text = "".join(artifact.content.decode() for tree in batch.values() for artifact in tree)
        self._folder.mkdir(exist_ok=True)
        (self._folder / "stdout").write_text(text)
        (self._folder / "event.json").write_text(json.dumps({"diff": text}))
        return {device: Outcome(Status.FAILED, message=text, diff=text) for device in batch}

    def rename(self, names: object) -> None:
        raise AssertionError("nothing was renamed")

    def read(self, devices: object) -> Mapping[str, Holding]:
        return {}
