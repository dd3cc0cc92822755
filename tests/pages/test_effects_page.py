"""The page of effects is what the tables say, and the tables know every file that a node has."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.golden_files import REFRESH
from tests.plans import plan_of

from clusterwright.data_files import folder
from clusterwright.device_files.effect import EffectTable, effect_table
from clusterwright.output.rendering import Rendering

PAGE = Path(__file__).parents[2] / "docs/effects.md"
SYSTEMS = ("eos", "fboss", "nvue", "sonic", "linux-switch", "linux-node")
INTRODUCTION = """\
# Effects of changes

Look up here the effect of a file's change on its device, the steps that apply it, and the source. `preview` reads the
same tables (`inventory/effects/`). The first matching row applies. You can correct a row without changes in Python.

`live`: links and sessions that remain in the new files stay up, or come back gracefully. `restart`: the device counts
as absent during its wave. `reboot`: the change takes effect at the next boot. Patterns are regular expressions over
whole paths and places; a place is a line, an object or a key, behind the sections that contain it.
"""


def page() -> str:
    parts = [INTRODUCTION, *(section(effect_table(system)) for system in SYSTEMS)]
    return "\n".join(parts)


def section(table: EffectTable) -> str:
    lines = [f"## {table.system}", "", "| file | place | effect | what happens | steps | source |", "|---" * 6 + "|"]
    for entry in table.changes:
        place = "" if entry.places == ".*" else code(entry.places)
        does = entry.does + (" (on hardware that the updater knows)" if entry.only_on_known_skus else "")
        cells = (code(entry.file), place, entry.effect.name.lower(), does, entry.steps, f"[source]({entry.source})")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, "", f"Anything else: {table.otherwise}.", ""])


def code(pattern: str) -> str:
    text = pattern.replace("\\.", ".").replace("\\-", "-").replace("|", "\\|")
    return f"`{text}`"


def test_the_page_is_what_the_tables_say() -> None:
    text = page()
    if REFRESH:
        PAGE.write_text(text)
    assert PAGE.read_text() == text, "docs/effects.md is stale; `make golden` writes it"


def test_every_table_is_on_the_page() -> None:
    assert sorted(SYSTEMS) == sorted(file.stem for file in (folder("inventory") / "effects").glob("*.yaml"))


@pytest.mark.parametrize("name", ["lab-roce", "lab-ib", "lab-sonic", "lab-tenants"])
def test_somebody_has_said_what_each_file_of_a_node_does(name: str) -> None:
    plan = plan_of(name)
    table = effect_table("linux-node")
    kinds = {(device.node_group, device.role, device.model): device.name for device in plan.devices}
    unknown = {
        artifact.path
        for device in kinds.values()
        if plan.by_name[device].kind == "node"
        for artifact in Rendering(plan).of_device(device)
        if not table.has_file(artifact.path)
    }
    assert not unknown
