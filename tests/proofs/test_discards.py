"""Routes to nowhere: a static one takes what a switch would send on by BGP, whatever the system."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from tests.proofs.isolation.trees import AGENT, EOS, SONIC, Edit, tree

from clusterwright.proofs.ethernet.reachability import REACHABILITY

NVUE = "etc/clusterwright/nvue.yaml"
NVUE_ROUTE = """\
          static:
            "fd00:2ab:f:1::/64":
              address-family: ipv6-unicast
              via:
                blackhole:
                  type: blackhole
"""


def patched(table: str, change: dict[str, Any] | list[Any], within: str = "") -> Edit:
    def edit(text: str) -> str:
        document = json.loads(text)
        into = document[within] if within else document
        into[table] = into[table] | change if isinstance(change, dict) else into[table] + change
        return json.dumps(document, indent=2)

    return edit


CASES: dict[str, tuple[str, str, str, str, Edit]] = {
    "EOS": (
        "lab-roce",
        "ssw-00",
        "rsw-p00r01",
        EOS,
        lambda text: text.removesuffix("end\n") + "ipv6 route fd00:1ab:f:1::/64 Null0\n!\nend\n",
    ),
    "FBOSS": (
        "lab-roce",
        "rsw-p00r00",
        "rsw-p00r01",
        AGENT,
        patched("staticRoutesToNull", [{"routerID": 0, "prefix": "fd00:1ab:f:1::/64"}], "sw"),
    ),
    "NVUE": (
        "lab-nvue",
        "ssw-00",
        "rsw-p00r01",
        NVUE,
        lambda text: re.sub(r"(    vrf:\n      default:\n        router:\n)", rf"\1{NVUE_ROUTE}", text),
    ),
    "SONiC": (
        "lab-sonic",
        "rtsw-p00r00",
        "rtsw-p00r01",
        SONIC,
        patched("STATIC_ROUTE", {"default|fd00:1ab:b:1::/64": {"blackhole": "true"}}),
    ),
}


@pytest.mark.parametrize("system", CASES)
def test_a_route_to_nowhere_in_the_way_of_hosts_is_named(system: str) -> None:
    spec, device, owner, path, edit = CASES[system]
    spine = "ctsw-p00-00" if device.startswith("rtsw") else "ssw-00"
    devices = dict.fromkeys((device, owner, spine))
    before = REACHABILITY.run(tree(spec, *devices)).counterexamples
    counterexamples = REACHABILITY.run(tree(spec, *devices, edits={(device, path): edit})).counterexamples
    examples = [example for example in counterexamples if example not in before]
    assert [each.device for each in examples] == [device]
    assert re.search(rf"a route to nowhere takes what goes to \S+/64, which {owner} announces", examples[0].message)


@pytest.mark.parametrize(
    ("prefix", "subnet"),
    [
        ("fd00:1ab:b::3/128", "fd00:1ab:b::2/127"),
        ("fd00:1ab:b:fffe::3/128", "fd00:1ab:b:fffe::2/127"),
        ("fd00:1ab:b::2/127", ""),
    ],
)
def test_a_route_to_nowhere_within_a_subnet_of_the_switch_is_named(prefix: str, subnet: str) -> None:
    edit = patched("staticRoutesToNull", [{"routerID": 0, "prefix": prefix}], "sw")
    devices = dict.fromkeys(("rtsw-p00r00", "rtsw-p00r01", "ctsw-p00-00"))
    before = REACHABILITY.run(tree("lab-roce", *devices)).counterexamples
    edited = REACHABILITY.run(tree("lab-roce", *devices, edits={("rtsw-p00r00", AGENT): edit}))
    messages = [example.message for example in edited.counterexamples if example not in before]
    assert messages == (
        [f"a route to nowhere takes what goes to {prefix}, in the switch's own {subnet}"] if subnet else []
    )
