"""Settings of a switch's chip from its vendor, independent of the plan: lane maps, SDK properties.

They come as a JSON file of the platform, such as the vendor's ``agent.conf`` for FBOSS; its platform section is used
for every switch of the model.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Annotated, Any

from clusterwright.finding import SpecError
from clusterwright.spec.reading import Reading
from clusterwright.spec.structuring import By, Key
from clusterwright.spec.text.document import Path
from clusterwright.spec.text.source import read_text

BAD_CHIP_FILE = "CW433"


def _platform(reading: Reading, name: str, path: Path) -> Mapping[str, Any] | None:
    file = FilePath(reading.document.locate(path).file).parent / name
    try:
        document = json.loads(read_text(file, str(file)))
    except SpecError as error:
        reading.problem(BAD_CHIP_FILE, path, f"{file} cannot be read: {error.findings[0].message}", "Name a JSON file.")
        return None
    except (ValueError, RecursionError) as error:
        reading.problem(BAD_CHIP_FILE, path, f"{file} is not JSON: {error}.", "Name the vendor's JSON file.")
        return None
    platform = document.get("platform", document) if isinstance(document, dict) else None
    chip = platform.get("chip") if isinstance(platform, dict) else None
    if not isinstance(platform, dict) or not isinstance(chip, dict) or not chip:
        message = f"{file} has no settings of a chip: neither `chip` nor `platform.chip` is there and holds something."
        reading.problem(BAD_CHIP_FILE, path, message, "Name a file such as the vendor's agent.conf of this platform.")
        return None
    return platform


def _model_name(reading: Reading, name: str, path: Path) -> str:
    reading.model(name, path)
    return name


@dataclass(frozen=True, slots=True)
class ChipSettings:
    """The settings of one ``model``: ``platform`` from the file, None if the spec has only a reason.

    The file lies beside the one with its name; errors in it are recorded.
    """

    model: Annotated[str, Key("name"), By(_model_name)]
    platform: Annotated[Mapping[str, Any] | None, Key("file"), By(_platform)]
    path: Path
