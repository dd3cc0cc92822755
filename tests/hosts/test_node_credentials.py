"""What nodes read and no image holds: keys, certificates, authorities. Somebody brings each, and its units wait."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.plans import plan_of, plan_with

from clusterwright.artifact import Artifact
from clusterwright.deploy.secrets.secrets import SecretError, resolve_tree
from clusterwright.hosts.linux.reader.unit_files import UNIT_FOLDERS, units_unread
from clusterwright.hosts.linux.writer import secrets as node_secrets
from clusterwright.hosts.linux.writer.secrets import KIND
from clusterwright.hosts.receptor import writer as receptor
from clusterwright.intent.credentials import brought, credentials_of
from clusterwright.intent.node_nics import is_managed
from clusterwright.output.rendering import Rendering
from clusterwright.plan.model import Plan

# Paths as configuration files and units write them, whose names are those of keys, certificates and authorities.
READ = re.compile(r"(?<![\w./-])/(?:etc|var|srv)/(?:credstore/[\w.-]+|[\w./-]*(?:\.(?:pem|key|crt)|keytab))\b")
# Each with who makes it.
MADE = {
    "/etc/munge/munge.key": "munge's own unit copies /etc/clusterwright/munge.key there",
    "/etc/ssh/ssh_host_ed25519_key": "ssh-host-key.service",
}
NODE = "gpu-p00r00n0"
FROM_SECRETS = """
credentials:
  by_site: null
  truststore: {secret: authorities}
  crl: {by_site: "A timer of the site's package fetches it."}
  certificate: {secret: node-certificates}
  private_key: {secret: node-keys}
  watch_key: {secret: watch-keys}
"""
PEM = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEI\n-----END PRIVATE KEY-----"


def _samples(plan: Plan) -> dict[str, tuple[Artifact, ...]]:
    """The files of the first machine with an image of each node group."""
    first = {device.node_group: device for device in reversed(plan.devices) if is_managed(device)}
    return {group: tuple(Rendering(plan).of_device(each.name)) for group, each in first.items()}


@pytest.mark.parametrize("spec", ["lab-roce", "lab-ib", "lab-nvue", "lab-tenants", "lab-border"])
def test_every_key_that_a_node_reads_is_brought_by_somebody(spec: str) -> None:
    plan = plan_of(spec)
    for group, files in _samples(plan).items():
        known = {credential.file: brought(plan.spec, credential) for credential in credentials_of(plan.spec, group)}
        assert None not in known.values()
        own = {f"/{file.path}" for file in files}
        read = {
            found[0]
            for file in files
            if file.kind
            not in ("boot", "boot-archives", receptor.KIND)  # what others read, and the mesh that deployments travel by
            for found in READ.finditer(file.content.decode(errors="replace"))
        }
        assert read - own - known.keys() - MADE.keys() == set(), group
        assert known.keys() <= read


def test_a_deployment_brings_each_node_its_own(tmp_path: Path) -> None:
    plan = plan_with(tmp_path, "lab-roce", FROM_SECRETS)
    files = {artifact.path: artifact for artifact in node_secrets.WRITER.render(plan, plan.by_name[NODE])}
    assert files["etc/pki/clusterwright/node.key"].content == f"<secret node-keys.{NODE} as pem>".encode()
    assert files["etc/pki/clusterwright/authorities.pem"].content == b"<secret authorities as pem>"
    assert "etc/pki/clusterwright/withdrawn.pem" not in files
    own = {f"{name}.{NODE}": PEM for name in ("node-keys", "node-certificates", "watch-keys")}
    resolved = {each.path: each for each in resolve_tree(tuple(files.values()), {"authorities": PEM, **own})}
    assert resolved["etc/pki/clusterwright/node.key"].content == f"{PEM}\n".encode()
    assert {each.mode for each in resolved.values()} == {0o600}
    with pytest.raises(SecretError, match=f'no source gives secret "watch-keys.{NODE}"'):
        resolve_tree(tuple(files.values()), {"authorities": PEM, **dict(list(own.items())[:2])})
    with pytest.raises(SecretError, match="is no PEM"):
        resolve_tree(tuple(files.values()), {"authorities": "word", **own})


def test_none_of_it_is_in_an_image_or_an_overlay(tmp_path: Path) -> None:
    plan = plan_with(tmp_path, "lab-roce", FROM_SECRETS)
    server = next(device.name for device in plan.devices if device.role == "service")
    assert not [artifact.path for artifact in Rendering(plan).of_device(server) if b"as pem>" in artifact.content]


def test_what_waits_for_a_file_is_started_when_it_comes() -> None:
    files = {
        artifact.path: artifact.content.decode(errors="replace")
        for artifact in Rendering(plan_of("lab-roce")).of_device(NODE)
    }
    units = UNIT_FOLDERS[0]
    assert "PathChanged=/etc/pki/clusterwright/node.key\n" in files[f"{units}credential-private-key.path"]
    assert (
        "ExecStart=/usr/bin/systemctl --no-block start tlshd.service home.mount\n"
        in files[f"{units}credential-private-key.service"]
    )
    both = files[f"{units}credential-truststore.service"]  # tlshd reads it at each handshake, rsyslog once
    assert "--no-block restart rsyslog.service\n" in both
    assert "--no-block start tlshd.service home.mount\n" in both
    wants = files[f"{units}multi-user.target.d/97-credentials.conf"]
    for path, text in files.items():
        if path.startswith(f"{units}credential-"):
            assert units_unread(path, text) == ()
            assert not path.endswith(".path") or f"Wants={path.removeprefix(units)}\n" in wants


def test_no_secret_of_several_lines_stands_where_one_word_is_asked_for() -> None:
    tree = (Artifact(NODE, "etc/x", b"password <secret x>", KIND),)
    with pytest.raises(SecretError, match="of several lines"):
        resolve_tree(tree, {"x": PEM})
