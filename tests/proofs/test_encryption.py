"""The check ``encryption``: each promise can fail, and says which line breaks it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.plans import plan_with

from clusterwright.artifact import Artifact
from clusterwright.output.rendering import Rendering
from clusterwright.plan.model import Plan
from clusterwright.proofs.check import Verdict
from clusterwright.proofs.declaration import Declaration
from clusterwright.proofs.encryption.proof import ENCRYPTION, TLSHD, TLSHD_UNIT
from clusterwright.proofs.tree import tree_of

NODE = "gpu-p00r00n0"
UNITS = "etc/systemd/system"
RECORD = "etc/clusterwright/datasets/training-data.record"
STARTUP = "mnt/flash/startup-config"
OVERLAY = """
mounts:
  - name: corpus
    mountpoint: /mnt/corpus
    nodes: [compute]
    system: storage
    export: "corpus:/all"
    type: fuse.tectonic
    options: [ro]
    protection: {kind: client-side-aead}
datasets:
  - name: training-data
    mount: corpus
    owner: data-platform
    review: {reviewer: privacy-review, date: 2026-03-02, reference: PR-0042}
    key: training-key
  - name: notes
    mount: home
    owner: data-platform
    review: {reviewer: privacy-review, date: 2026-03-02, reference: PR-0043}
    key: training-key
keys:
  - {name: training-key, kind: data, owner: data-platform, rotate_days: 30, delete_days: 180, wrapped_by: storage-kek}
  - {name: building-cak, kind: macsec, owner: network, rotate_days: 30, delete_days: 60, wrapped_by: storage-kek}
encryption:
  scratch:
    - {name: local, nodes: [compute], device: /dev/disk/by-partlabel/scratch, mountpoint: /scratch}
  macsec:
    - name: buildings
      key: building-cak
      primary: {ckn: "0a01", secret: cak-buildings}
      fallback: {ckn: "0a02", secret: cak-buildings-fallback}
fabrics:
  - name: backend
    tiers:
      - {role: ctsw, model: dcs-7804r3-macsec, up: {leaves_building: true, macsec: buildings}}
      - {role: atsw, model: dcs-7804r3-macsec}
"""


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    return plan_with(tmp_path_factory.mktemp("spec"), "lab-roce", OVERLAY)


_plans: dict[int, list[Artifact]] = {}  # what each plan renders, made once


def verdict(plan: Plan, device: str = "", path: str = "", edit: Callable[[str], str | None] | None = None) -> Verdict:
    """The verdict with one file edited, or taken away where ``edit`` gives None."""
    if id(plan) not in _plans:
        _plans[id(plan)] = list(Rendering(plan).of_kinds(ENCRYPTION.kinds))
    made = []
    touched = edit is None
    for artifact in _plans[id(plan)]:
        if edit is None or (artifact.device, artifact.path) != (device, path):
            made.append(artifact)
            continue
        before = artifact.content.decode()
        after = edit(before)
        assert after != before, f"the edit of {path} changes nothing"
        touched = True
        if after is not None:
            made.append(Artifact(device, path, after.encode(), artifact.kind, artifact.mode))
    assert touched, f"{device} has no {path}"
    return ENCRYPTION.run(tree_of("lab", made, Declaration(plan)))


def test_what_is_rendered_is_proven_promise_by_promise(plan: Plan) -> None:
    result = verdict(plan)
    assert result.is_proven, [str(example) for example in result.counterexamples]
    assert {fact.name: fact.value for fact in result.facts} == {
        "encrypted paths (P3)": 8 * 2 + 2 * 8,  # two mounts on eight nodes, both ends of eight links
        "reviewed datasets (P5)": 16,
        "keys that end (P6)": 16,
        "nodes that keep no key (P7)": 16,  # the scratch disk and the node itself
    }


def gone(text: str) -> None:
    assert text


def put(old: str, new: str) -> Callable[[str], str]:
    return lambda text: text.replace(old, new)


HOME, CORPUS = f"{UNITS}/home.mount", f"{UNITS}/mnt-corpus.mount"
WANTS = f"{UNITS}/multi-user.target.d/91-encryption.conf"
MUTATIONS = [
    ("P3", NODE, HOME, put("vers=4.2", "vers=3"), "may fall back to NFSv3"),
    ("P3", NODE, HOME, put("vers=4.2,", ""), "may fall back to NFSv3"),
    ("P3", NODE, HOME, put("vers=4.2,", "vers=4.2,nfsvers=3,"), "may fall back to NFSv3"),
    ("P3", NODE, HOME, put("vers=4.2,", "vers=4.2,v3,"), "may fall back to NFSv3"),
    ("P3", NODE, HOME, put("TimeoutSec=", "Options=vers=4.2,hard\nTimeoutSec="), "/home crosses the network in clear"),
    ("P3", NODE, HOME, put("xprtsec=mtls", "xprtsec=tls"), "the spec requires mutual TLS, and /home has less"),
    ("P3", NODE, HOME, put("proto=tcp", "proto=tcp,rdma"), "TLS does not run over rdma"),
    ("P3", NODE, HOME, put(",xprtsec=mtls", ""), "/home crosses the network in clear"),
    ("P3", NODE, HOME, put("xprtsec=mtls", "xprtsec=none"), "/home crosses the network in clear"),
    ("P3", NODE, HOME, put("xprtsec=mtls", "xprtsec=tls"), "promised mutual TLS, and /home has less"),
    ("P3", NODE, HOME, put("xprtsec=mtls", "sec=krb5p"), "krb5p without rpc.gssd"),
    ("P3", NODE, HOME, put("proto=tcp", "proto=rdma"), "TLS does not run over rdma"),
    ("P3", NODE, HOME, put("Requires=tlshd.service\n", ""), "does not wait for tlshd"),
    ("P3", NODE, WANTS, put("Wants=tlshd.service\n", ""), "nothing starts tlshd"),
    ("P3", NODE, TLSHD, gone, "tlshd has no configuration"),
    ("P3", NODE, TLSHD, put("[authenticate.client]", "[authenticate.server]"), "no x509.certificate"),
    ("P3", NODE, TLSHD, put("x509.private_key=", "#"), "no x509.private_key"),
    ("P3", NODE, TLSHD, put("x509.crl=", "#"), "withdrawn certificates"),
    ("P3", NODE, TLSHD_UNIT, put("tlshd -c /etc/tlshd/config", "tlshd"), "releases look in different places"),
    (
        "P3",
        NODE,
        TLSHD,
        put("x509.crl=/etc/pki/clusterwright/withdrawn.pem", "x509.crl=/dev/null"),
        "x509.crl is /dev/null",
    ),
    (
        "P3",
        NODE,
        TLSHD,
        lambda text: f"{text}x509.truststore=/etc/ssl/all.pem\n",
        "x509.truststore is /etc/ssl/all.pem",
    ),
    (
        "P3",
        NODE,
        TLSHD,
        lambda text: f"{text}[debug]\n[authenticate.client]\nx509.private_key=/tmp/key\n",
        "x509.private_key is /tmp/key",
    ),
    ("P3", NODE, TLSHD_UNIT, lambda text: f"{text}ExecStart=\nExecStart=/bin/true\n", "releases look in different"),
    ("P3", NODE, WANTS, put("Wants=tlshd", "#Wants=tlshd"), "nothing starts tlshd"),
    ("P3", NODE, TLSHD_UNIT, put("ExecStartPre=", "#"), "would start and take what is withdrawn"),
    ("P3", NODE, RECORD, put("client-side-aead", "none"), "without a record of its encryption"),
    ("P3", "atsw-00", STARTUP, put("unprotected drop", "unprotected allow"), "the link fails open"),
    ("P3", "atsw-00", STARTUP, put("      traffic unprotected drop\n", ""), "does not say that clear frames"),
    ("P3", "ctsw-p00-00", STARTUP, put("   mac security profile buildings\n", ""), "carries unencrypted frames"),
    ("P3", "ctsw-p00-00", STARTUP, gone, "has no text here that encrypts it"),
    ("P3", "ctsw-p00-00", STARTUP, put("   profile buildings\n", "   profile builders\n"), "does not exist"),
    ("P3", "ctsw-p00-00", STARTUP, put("      key 0a01", "      ! 0a01"), "no primary key"),
    ("P3", "ctsw-p00-00", STARTUP, put("cipher aes256-gcm-xpn", "cipher null"), "no cipher that encrypts"),
    ("P5", NODE, CORPUS, put("Requires=dataset-gate@training-data.service\n", ""), "without asking whether"),
    ("P5", NODE, RECORD, put("reviewer=privacy-review\n", ""), "the record has no reviewer"),
    ("P5", NODE, RECORD, put("reference=PR-0042\n", ""), "the record has no reference"),
    ("P5", NODE, RECORD, put("mountpoint=/mnt/corpus", "mountpoint=/mnt/other"), "nothing mounts the dataset"),
    ("P5", NODE, "usr/local/libexec/clusterwright/dataset-gate", gone, "the gate is missing"),
    ("P5", NODE, f"{UNITS}/dataset-gate@.service", gone, "the gate is missing"),
    ("P6", NODE, RECORD, put("delete_days=180\n", ""), "old data stays readable"),
    ("P6", NODE, RECORD, put("delete_days=180", "delete_days=14"), "deleted before another"),
    ("P6", NODE, RECORD, put("key=training-key\n", ""), "the dataset has no key"),
    ("P7", NODE, f"{UNITS}/scratch-local.service", put("/dev/urandom", "/etc/scratch.key"), "outlives a boot"),
    ("P7", NODE, f"{UNITS}/scratch-local.service", put("--type plain", "--type luks2"), "outlives a boot"),
    ("P7", NODE, f"{UNITS}/scratch.mount", put("/dev/mapper/scratch-local", "/dev/sda4"), "is a disk in clear"),
    ("P7", NODE, f"{UNITS}/no-swap.service", put("swapoff --all", "true"), "swapped to a disk"),
    (
        "P7",
        NODE,
        f"{UNITS}/no-swap.service",
        lambda text: f"{text}ExecStart=\nExecStart=/bin/true\n",
        "swapped to a disk",
    ),
    ("P7", NODE, WANTS, put("Wants=no-swap.service", "; Wants=no-swap.service"), "swapped to a disk"),
    ("P7", NODE, "etc/modprobe.d/90-encryption.conf", put("install", "# install"), "GPUDirect Storage could be loaded"),
    ("P7", NODE, WANTS, put("Wants=no-swap.service\n", ""), "swapped to a disk"),
    ("P7", NODE, "etc/systemd/coredump.conf.d/90-clusterwright.conf", put("=none", "=external"), "core dumps"),
    ("P7", NODE, "etc/systemd/coredump.conf.d/90-clusterwright.conf", lambda text: f"{text}Storage=external\n", "core"),
    ("P7", NODE, "etc/modprobe.d/90-encryption.conf", gone, "GPUDirect Storage could be loaded"),
    ("P7", NODE, "etc/modules-load.d/clusterwright.conf", lambda text: f"{text}nvidia_fs\n", "bypasses the"),
]


@pytest.mark.parametrize(("promise", "device", "path", "edit", "message"), MUTATIONS)
def test_a_broken_promise_is_named(
    plan: Plan, promise: str, device: str, path: str, edit: Callable[[str], str | None], message: str
) -> None:
    result = verdict(plan, device, path, edit)
    examples = [example for example in result.counterexamples if message in example.message]
    assert examples, [str(example) for example in result.counterexamples]
    assert examples[0].device == device
    assert examples[0].message.startswith(f"{promise}: ")


def test_a_drop_in_that_changes_a_mount_is_named(plan: Plan) -> None:
    verdict(plan)
    weaker = Artifact(NODE, f"{HOME}.d/90-site.conf", b"[Mount]\nOptions=vers=4.2\n", "mounts")
    result = ENCRYPTION.run(tree_of("lab", [*_plans[id(plan)], weaker], Declaration(plan)))
    assert [str(example) for example in result.counterexamples] == [
        f"{NODE}:/{HOME}.d/90-site.conf: P3: a drop-in changes a mount unit after it was checked"
    ]


def test_a_tree_without_its_spec_is_judged_by_its_text(plan: Plan) -> None:
    verdict(plan)
    result = ENCRYPTION.run(tree_of("lab", _plans[id(plan)]))
    assert result.is_proven
    assert "not checked without a spec: the links to encrypt" in result.notes[0]
