"""EOS text against two judges: pyavd writes the same intent, hier-config reads both, the trees must be equal."""

from __future__ import annotations

from typing import Any

import pyavd
import pytest
from hier_config import Platform, get_hconfig
from tests.render.eos_intent import structured_config
from tests.render.plans import plan_of

from clusterwright.render.engine import render_device

# Lines that pyavd never writes: LLDP's default, on which the cabling check rests; the API kept off the data network.
LLDP = "lldp run"
API = "management api http-commands"


def tree(text: str) -> dict[str, Any]:
    def walk(node: Any) -> dict[str, Any]:
        return {child.text: walk(child) for child in node.children}

    return walk(get_hconfig(Platform.ARISTA_EOS, text))


@pytest.mark.parametrize("name", ["ctsw-p00-00", "ctsw-p01-01", "atsw-00", "ssw-01", "mgmt-00"])
def test_pyavd_writes_the_same_configuration(name: str) -> None:
    plan = plan_of("lab-roce")
    intent = structured_config(plan, plan.by_name[name])
    verdict = pyavd.validate_structured_config(intent).validation_result
    assert not verdict.violations, [f"{v.path}: {v.message}" for v in verdict.violations]
    (ours,) = render_device(plan, name)
    mine = tree(ours.content.decode())
    theirs = tree(pyavd.get_device_config(intent))
    assert mine.pop(LLDP) == {}
    assert mine[API].pop("vrf default", {"shutdown": {}}) == {"shutdown": {}}
    assert mine == theirs
