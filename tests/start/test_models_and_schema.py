"""The catalogue as a list, and as what an editor completes."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result
from jsonschema import Draft202012Validator
from referencing import Registry, Resource

from clusterwright.cli.main import cli
from clusterwright.spec.hardware.catalogue import load_catalogue
from clusterwright.spec.text.extends import read_spec_document

REPOSITORY = Path(__file__).parents[2]
OWN = """version: 1
kind: hardware
models:
  - name: our-box
    kind: node
    manufacturer: Us
    part: Box
    technology: [ethernet]
    units: {value: 2, source: "measured here"}
    power_w: {value: 900, source: "measured here"}
    weight_kg: {value: 20, source: "measured here"}
    nics:
      - {group: frontend, speed_gbps: 100, devices: [{interface: eth0}], source: "measured here"}
"""


def run(*arguments: object) -> Result:
    return CliRunner().invoke(cli, [*map(str, arguments)], standalone_mode=False)


def test_every_model_is_listed_with_ports_and_where_it_stands() -> None:
    lines = run("models").output.splitlines()[1:]

    assert sorted(line.split()[0] for line in lines) == sorted(load_catalogue())
    by_name = {line.split()[0]: line for line in lines}
    assert "switch  unmanaged  64x400G, 64x200G" in " ".join(by_name["qm9790"].split(" ")).replace("    ", "  ")
    assert "backend 8x400G, frontend 2x400G" in by_name["dgx-h100"]
    assert "nodes.yaml (assumed in part)" in by_name["dgx-h100"]


def test_only_what_is_looked_for_is_listed() -> None:
    assert {line.split()[0] for line in run("models", "--grep", "QM9").output.splitlines()[1:]} == {"qm9700", "qm9790"}
    assert 'no model of the catalogue has "nothing"' in str(run("models", "--grep", "nothing").exception)


def test_models_of_ones_own_are_listed_and_completed(tmp_path: Path) -> None:
    own = tmp_path / "own.yaml"
    own.write_text(OWN)

    listed = run("models", "--hardware", own, "--grep", "our-box").output
    written = run("schema", "--hardware", own, "--out", tmp_path / "schema")

    assert "frontend 1x100G" in listed
    assert written.return_value == 0
    assert "our-box" in written_schema(tmp_path / "schema")["$defs"]["nodes"]["properties"]["model"]["enum"]


def written_schema(folder: Path) -> Any:
    return json.loads((folder / "cluster.schema.json").read_text())


def test_the_schemas_take_every_reference_and_refuse_a_model_that_is_not_there(tmp_path: Path) -> None:
    assert run("schema", "--out", tmp_path).return_value == 0
    contents = {file.name: json.loads(file.read_text()) for file in tmp_path.glob("*.json")}
    registry: Registry[Any] = Registry().with_resources((n, Resource.from_contents(c)) for n, c in contents.items())
    judge = Draft202012Validator(contents["cluster.schema.json"], registry=registry)

    for name in ("lab-roce", "lab-ib", "lab-sonic"):
        spec = deepcopy(read_spec_document(REPOSITORY / f"inventory/{name}.yaml").data)
        assert judge.is_valid(spec)
        spec["nodes"][0]["model"] = "qm9790"  # a switch is no node
        assert [list(error.path) for error in judge.iter_errors(spec)] == [["nodes", 0, "model"]]
