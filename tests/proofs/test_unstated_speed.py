"""A SONiC port without a speed is read as one of none: its cable is refuted, and its switch still reads."""

from __future__ import annotations

import json

from tests.proofs.ethernet_trees import tree, verdict

SWITCH, PATH = "rtsw-p00r00", "etc/sonic/config_db.json"


def test_a_port_without_a_speed_disagrees_with_its_other_end() -> None:
    def edit(text: str) -> str:
        document = json.loads(text)
        linked = next(row for row in document["PORT"].values() if "to ctsw" in row.get("description", ""))
        del linked["speed"]
        return json.dumps(document)

    result = verdict("ethernet-links", tree("lab-sonic", {(SWITCH, PATH): edit}))
    assert any(SWITCH in f"{example.device} {example.message}" for example in result.counterexamples)
    assert not any("does not read" in example.message for example in result.counterexamples)
