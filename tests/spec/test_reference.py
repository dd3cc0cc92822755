"""The spec reference in docs/ is what the published schemas make."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.golden_files import REFRESH

from clusterwright.spec.schema.reference import spec_reference

REPOSITORY = Path(__file__).parents[2]
PAGES = {
    "cluster": (
        "docs/spec.md",
        """Every key of a cluster spec. Begin with `inventory/lab-roce.yaml` or `inventory/lab-ib.yaml` and look keys up
here; editors that read `# yaml-language-server: $schema=` complete and check them while you type.""",
    ),
    "hardware": ("docs/hardware.md", "Every key of a hardware catalogue file, as in `inventory/hardware/`."),
}


@pytest.mark.parametrize("name", PAGES)
def test_the_reference_is_what_the_schema_makes(name: str) -> None:
    file, introduction = PAGES[name]
    schema = json.loads((REPOSITORY / f"inventory/schema/{name}.schema.json").read_text())
    strings = json.loads((REPOSITORY / "inventory/schema/strings.schema.json").read_text())
    text = spec_reference(schema, strings, introduction)
    page = REPOSITORY / file
    if REFRESH:
        page.write_text(text)
    assert page.read_text() == text, f"{file} is stale; `make golden` writes it"


def test_every_key_of_the_cluster_schema_says_what_it_means() -> None:
    schema = json.loads((REPOSITORY / "inventory/schema/cluster.schema.json").read_text())
    silent = [
        f"{name}.{key}"
        for name, definition in {"": schema, **schema["$defs"]}.items()
        for key, value in definition.get("properties", {}).items()
        if "description" not in value and "$ref" not in value
    ]
    assert not silent
