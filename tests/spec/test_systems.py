"""Systems: every one that the catalogue may name has a file, and says where its figures come from."""

from __future__ import annotations

import json
from pathlib import Path

from clusterwright.spec.hardware.systems import UNMANAGED, systems

CHECKOUT = Path(__file__).parents[2]


def test_the_catalogue_may_name_every_system_that_has_a_file_and_no_other() -> None:
    schema = json.loads((CHECKOUT / "inventory/schema/hardware.schema.json").read_text(encoding="utf-8"))
    assert set(schema["$defs"]["model"]["properties"]["network_os"]["enum"]) == {*systems(), UNMANAGED}


def test_a_file_is_called_like_its_system() -> None:
    assert sorted(systems()) == sorted(path.stem for path in (CHECKOUT / "inventory/systems").glob("*.yaml"))
