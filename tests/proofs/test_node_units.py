"""Names of adapters, keys that nodes wait for, and the isolation watch, read from the text of one node."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import pytest
from tests.plans import plan_of

from clusterwright.artifact import Artifact
from clusterwright.output.rendering import Rendering
from clusterwright.proofs.check import ProofCheck, Verdict
from clusterwright.proofs.declaration import Declaration
from clusterwright.proofs.operation.adapter_names import ADAPTER_NAMES
from clusterwright.proofs.operation.credentials import CREDENTIALS
from clusterwright.proofs.operation.watch import ISOLATION_WATCH
from clusterwright.proofs.tree import RenderedTree, tree_of

NODE = "gpu-p01r01n1"
UNITS = "etc/systemd/system"
SCRIPT, LINK = "usr/local/sbin/rdma-names", "etc/systemd/network/10-be3.link"
RDMA_UNIT, RULE = f"{UNITS}/rdma-names.service", "etc/udev/rules.d/60-rdma-persistent-naming.rules"
KEY_PATH, KEY_SERVICE = f"{UNITS}/credential-private-key.path", f"{UNITS}/credential-private-key.service"
TRUST_SERVICE, WANTS = f"{UNITS}/credential-truststore.service", f"{UNITS}/multi-user.target.d"
KEY_WANTS = f"{WANTS}/97-credentials.conf"
WATCHED, WATCH_UNIT, WATCH_TIMER = (
    "etc/clusterwright/isolation-watch.json",
    f"{UNITS}/isolation-watch.service",
    f"{UNITS}/isolation-watch.timer",
)
CHECKS = (ADAPTER_NAMES, CREDENTIALS, ISOLATION_WATCH)
Edit = Callable[[str], str]


@cache
def whole(name: str) -> RenderedTree:
    plan = plan_of(name)
    kinds = {kind for check in CHECKS for kind in check.kinds}
    own, images = Rendering(plan).of_kinds_by_image(kinds)
    return tree_of(plan.name, own, Declaration(plan), ((image.members, image.files) for image in images))


def verdict(check: ProofCheck, path: str, edit: Edit | None, *, declared: bool = True) -> Verdict:
    """The verdict with one file of one node edited, or taken away where there is no edit."""
    tree = whole("lab-roce")
    files = dict(tree.files)
    before = files.pop((NODE, path))
    if edit is not None:
        text = edit(before.read())
        assert text != before.read(), "the edit changes nothing"
        files.update(tree_of(tree.cluster, [Artifact(NODE, path, text.encode(), before.kind)]).files)
    return check.run(replace(tree, files=files, declaration=tree.declaration if declared else None))


def changed(old: str, new: str) -> Edit:
    return lambda text: text.replace(old, new, 1)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: str(check.name))
@pytest.mark.parametrize("name", ["lab-roce", "lab-ib", "lab-tenants"])
def test_what_we_render_is_proven(name: str, check: ProofCheck) -> None:
    result = check.run(whole(name))
    assert result.is_proven, [str(example) for example in result.counterexamples]


@pytest.mark.parametrize(
    ("check", "path", "edit", "message"),
    [
        (ADAPTER_NAMES, SCRIPT, changed("dc:00.0 mlx5_7", "dc:00.0 mlx5_6"), "the name mlx5_6 stands twice"),
        (ADAPTER_NAMES, SCRIPT, changed("dc:00.0 mlx5_7", "dc:00.0 mlx5_17"), "and mlx5_7 is planned"),
        (ADAPTER_NAMES, SCRIPT, changed("    $step 0000:dc:00.0 mlx5_7\n", ""), "what the kernel calls it"),
        (ADAPTER_NAMES, SCRIPT, changed("0000:dc:00.0", "0000:dd:00.0"), "no RDMA device is planned at 0000:dd:00.0"),
        (ADAPTER_NAMES, SCRIPT, changed("aside stranger final", "aside final"), "devices get no names"),
        (ADAPTER_NAMES, SCRIPT, None, "called as the kernel finds them"),
        (ADAPTER_NAMES, LINK, changed("0000:5e", "0000:4f"), "the card at 0000:4f:00.0 is be2 and be3"),
        (ADAPTER_NAMES, LINK, changed("Name=be3", "Name=be4"), "is called be4, and be3 is planned there"),
        (ADAPTER_NAMES, LINK, None, "nothing names the cards at 0000:5e:00.0"),
        (ADAPTER_NAMES, RDMA_UNIT, changed(" slurmd.service", ""), "jobs may start before devices have their names"),
        (ADAPTER_NAMES, RDMA_UNIT, changed("sbin/rdma-names", "sbin/true"), "does not run"),
        (ADAPTER_NAMES, RULE, None, "udev renames devices"),
        (ADAPTER_NAMES, RULE, lambda text: f'{text}ACTION=="add", NAME="x"\n', "udev renames devices"),
        (ADAPTER_NAMES, f"{WANTS}/50-clusterwright-rdma.conf", changed("rdma-names", "x"), "nothing starts rdma-names"),
        (CREDENTIALS, KEY_PATH, changed("d=/etc/pki/clusterwright", "d=/etc/pki"), "no unit waits for"),
        (CREDENTIALS, KEY_PATH, changed("[Path]", "[Path]\nUnit=x.service"), "starts another unit"),
        (CREDENTIALS, KEY_PATH, None, "no unit waits for /etc/pki/clusterwright/node.key:"),
        (CREDENTIALS, KEY_SERVICE, changed(" home.mount", ""), "/home stay off when"),
        (CREDENTIALS, KEY_SERVICE, None, "starts nothing"),
        (CREDENTIALS, TRUST_SERVICE, changed("restart rsyslog", "start rsyslog"), "rsyslog.service stay off"),
        (
            CREDENTIALS,
            f"{WANTS}/97-credentials.conf",
            changed("credential-crl", "x"),
            "nothing starts credential-crl.path",
        ),
        (ISOLATION_WATCH, WATCHED, changed('"lab-roce"', '"lab-ib"'), "its records are those of lab-ib"),
        (ISOLATION_WATCH, WATCHED, changed("2001:db8::1", "fd00:1ab:f::2"), "the cluster's own"),
        (ISOLATION_WATCH, WATCHED, changed('"port": 53', '"port": "dns"'), "the watch ends with an error"),
        (ISOLATION_WATCH, WATCHED, None, "no program watches the node's isolation"),
        (ISOLATION_WATCH, WATCH_TIMER, changed("900s", "1d"), "which is seldom"),
        (ISOLATION_WATCH, WATCH_UNIT, changed("sbin/isolation-watch", "sbin/true"), "does not run"),
        (ISOLATION_WATCH, WATCH_UNIT, changed("LoadCredential", "SetCredential"), "signs nothing"),
        (ISOLATION_WATCH, f"{WANTS}/96-isolation-watch.conf", changed("watch.timer", "x"), "nothing starts"),
    ],
)
def test_faults_are_told(check: ProofCheck, path: str, edit: Edit | None, message: str) -> None:
    result = verdict(check, path, edit)
    assert message in " ".join(example.message for example in result.counterexamples)
    assert {example.device for example in result.counterexamples} == {NODE}


@pytest.mark.parametrize(
    ("check", "path", "edit"),
    [
        (ADAPTER_NAMES, SCRIPT, lambda text: f"{text}# a comment\n"),
        (ADAPTER_NAMES, LINK, changed("[Link]", "# a comment\n[Link]")),
        (CREDENTIALS, KEY_PATH, changed("PathChanged", "PathModified")),
        (ISOLATION_WATCH, WATCHED, changed("192.0.2.1", "198.51.100.1")),
        (ISOLATION_WATCH, WATCH_TIMER, changed("900s", "15min")),
    ],
)
def test_harmless_edits_are_none(check: ProofCheck, path: str, edit: Edit) -> None:
    assert verdict(check, path, edit).is_proven


def test_a_folder_alone_is_judged_by_itself() -> None:
    assert verdict(ADAPTER_NAMES, SCRIPT, changed("dc:00.0 mlx5_7", "dc:00.0 mlx5_6"), declared=False).is_refuted
    assert verdict(CREDENTIALS, KEY_SERVICE, None, declared=False).is_refuted
    assert verdict(ISOLATION_WATCH, WATCH_UNIT, changed("LoadCredential", "X"), declared=False).is_refuted
