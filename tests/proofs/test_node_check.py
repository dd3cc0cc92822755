"""What nodes are to ask of themselves, read from the text: every value is compared, with the plan or with the node."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tests.plans import plan_of, plan_with

from clusterwright.artifact import Artifact
from clusterwright.hosts.linux.reader.node_check import read_expected, read_seconds
from clusterwright.output.rendering import Rendering
from clusterwright.proofs.check import Verdict
from clusterwright.proofs.declaration import Declaration
from clusterwright.proofs.operation.node_check import NODE_CHECK
from clusterwright.proofs.tree import RenderedTree, tree_of

LIMITS, OWN = "etc/clusterwright/health.json", "etc/clusterwright/health-node.json"
TIMER, SERVICE = "etc/systemd/system/node-health.timer", "etc/systemd/system/node-health.service"
WANTS = "etc/systemd/system/multi-user.target.d/95-node-health.conf"
NODES = {"lab-roce": "gpu-p01r01n1", "lab-ib": "gpu-s01r01n0", "lab-tenants": "vis-p00r00n0"}
# A digest that is compared with the archive of the image, and one that is a bound: a test of its own has it.
ELSEWHERE = {"image.boot_digest", "bmc.oldest_s"}
Edit = Callable[[str], str]


@cache
def whole(name: str) -> RenderedTree:
    plan = plan_of(name)
    own, images = Rendering(plan).of_kinds_by_image(NODE_CHECK.kinds)
    return tree_of(plan.name, own, Declaration(plan), ((image.members, image.files) for image in images))


def verdict(name: str, path: str, edit: Edit | None, *, declared: bool = True) -> Verdict:
    """The verdict with one file of one node edited, or taken away where there is no edit."""
    tree, node = whole(name), NODES[name]
    files = dict(tree.files)
    before = files.pop((node, path))
    if edit is not None:
        text = edit(before.read())
        assert text != before.read(), "the edit changes nothing"
        files.update(tree_of(tree.cluster, [Artifact(node, path, text.encode(), before.kind)]).files)
    return NODE_CHECK.run(replace(tree, files=files, declaration=tree.declaration if declared else None))


def changed(old: str, new: str) -> Edit:
    return lambda text: text.replace(old, new, 1)


@pytest.mark.parametrize("name", NODES)
def test_what_we_render_is_proven(name: str) -> None:
    result = NODE_CHECK.run(whole(name))
    assert result.is_proven, [str(example) for example in result.counterexamples]


def test_trays_that_share_nvlink_are_asked_for_it(tmp_path: Path) -> None:
    plan = plan_with(
        tmp_path,
        "lab-ib",
        "nodes: [{name: compute, model: gb200-nvl72-tray, nvlink_domain: rack}]\n"
        "scheduler: {plugin: block, leaf: rack, block_sizes: [4]}\n"
        "expect: [{figure: gpus, remove: true}, {figure: switches.leaf, remove: true}]\n",
    )
    own, images = Rendering(plan).of_kinds_by_image(NODE_CHECK.kinds)
    tree = tree_of(plan.name, own, Declaration(plan), ((image.members, image.files) for image in images))
    result = NODE_CHECK.run(tree)
    assert result.is_proven, [str(example) for example in result.counterexamples]
    (text,) = {tree.text(node, LIMITS) for node in tree.devices_with(LIMITS)}
    assert text is not None
    silent = text.replace('    "shares_nvlink": true', '    "fatal": true')
    edited_files = tree_of(tree.cluster, [Artifact(NODES["lab-ib"], LIMITS, silent.encode(), "node-health")]).files
    assert NODE_CHECK.run(replace(tree, files={**tree.files, **edited_files})).is_refuted


def other(value: Any) -> Any:
    """Another value of the same form."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    if isinstance(value, str):
        return f"{value}x"
    if isinstance(value, list):
        return value[1:] or [1]
    if isinstance(value, dict):
        first = next(iter(value))
        return {**value, first: other(value[first])}
    return 1


def keys(name: str, path: str) -> list[str]:
    text = whole(name).text(NODES[name], path)
    assert text is not None
    return [key for key, value in read_expected(text).items() if not isinstance(value, dict) or "." in key]


def edited(key: str, change: Callable[[Any], Any] | None) -> Edit:
    def edit(text: str) -> str:
        document = json.loads(text)
        outer, _, inner = key.partition(".")
        place = document[outer] if inner else document
        if change is None:
            del place[inner or outer]
        else:
            place[inner or outer] = change(place[inner or outer])
        return json.dumps(document)

    return edit


@pytest.mark.parametrize(("name", "path"), [(name, path) for name in NODES for path in (LIMITS, OWN)])
def test_every_value_is_compared(name: str, path: str) -> None:
    silent = {
        key
        for key in keys(name, path)
        for change in (other, None)
        if not verdict(name, path, edited(key, change)).is_refuted
    }
    assert silent <= ELSEWHERE


@pytest.mark.parametrize("name", NODES)
def test_blanks_and_the_order_of_keys_say_nothing(name: str) -> None:
    def reordered(text: str) -> str:
        return json.dumps(dict(reversed(json.loads(text).items())), indent=7)

    assert verdict(name, LIMITS, reordered).is_proven
    assert verdict(name, OWN, reordered).is_proven


@pytest.mark.parametrize(
    ("path", "edit", "message"),
    [
        (LIMITS, changed('"link_downs": 5', '"link_downs": 0'), "limits.link_downs is 0, and 5 is planned"),
        (LIMITS, changed('"rate_gbps": 400', '"rate_gbps": 800'), "rate_gbps of be0 is to be 800, and 400 is planned"),
        (LIMITS, changed('"rdma": "mlx5_3"', '"rdma": "mlx5_4"'), "rdma of be3 is to be mlx5_4"),
        (LIMITS, changed('"slurmd.service"', '"nhc.service"'), "nhc.service is to run and nothing starts it"),
        (LIMITS, changed(',\n    "slurmd.service"', ""), "the check does not read its state"),
        (LIMITS, changed('"net.ipv4.ip_forward": "0"', '"net.ipv4.ip_forward": "1"'), "is set to 0"),
        (LIMITS, changed('"pfc": "0,0,1', '"pfc": "0,0,0'), "and is set to 0,0,1,0,0,0,0,0"),
        (LIMITS, changed("50, 51,", "51,"), "DSCP 50 is to have nothing, and is set to 2"),
        (LIMITS, changed('"left_out": []', '"left_out": ["gpu-xid"]'), "left_out is ['gpu-xid']"),
        (LIMITS, changed('"oldest_s": 900', '"oldest_s": 300'), "expire after 300 s"),
        (LIMITS, changed("{", "["), "the check ends with an error"),
        (LIMITS, None, "the file is missing"),
        (OWN, changed("0000:0013", "0000:0014"), "the GID of be0 is to be"),
        (OWN, changed('"sha256": "', '"sha256": "0'), "another packet filter is to be loaded"),
        (OWN, changed('"/home", "what"', '"/data", "what"'), "is to be mounted at /data, and nothing mounts it"),
        (OWN, changed("gpu-p01r01n1", "gpu-p01r01n0"), "the node is called gpu-p01r01n0"),
        (OWN, None, "the file is missing"),
        ("etc/nftables.conf", changed("accept", "drop"), "another packet filter is to be loaded"),
        (TIMER, changed("300s", "3000s"), "the node is looked at each 3000 s, and 300 s is planned"),
        (TIMER, changed("OnBootSec=1min\n", ""), "the node is looked at"),
        (SERVICE, changed("=60", "=1"), "the check is ended after 1 s, and answers may take 10 s"),
        (WANTS, changed("node-health.timer ", ""), "nothing starts node-health.timer"),
        ("usr/local/sbin/node-health-prolog", None, "the program is missing"),
    ],
)
def test_faults_are_told(path: str, edit: Edit | None, message: str) -> None:
    result = verdict("lab-roce", path, edit)
    assert message in " ".join(example.message for example in result.counterexamples)
    assert {example.device for example in result.counterexamples} == {NODES["lab-roce"]}


def test_a_place_has_its_line() -> None:
    result = verdict("lab-roce", LIMITS, changed('"link_downs": 5', '"link_downs": 6'))
    text = whole("lab-roce").text(NODES["lab-roce"], LIMITS) or ""
    line = result.counterexamples[0].line
    assert "link_downs" in text.split("\n")[line - 1]


def test_a_folder_alone_is_judged_by_what_else_stands_there() -> None:
    assert verdict("lab-roce", OWN, changed('"sha256": "', '"sha256": "0'), declared=False).is_refuted
    assert not verdict("lab-roce", LIMITS, changed('"link_downs": 5', '"link_downs": 6'), declared=False).is_refuted


@pytest.mark.parametrize(("text", "seconds"), [("300s", 300), ("2min", 120), ("45", 45), ("soon", None)])
def test_spans(text: str, seconds: int | None) -> None:
    assert read_seconds(text) == seconds
