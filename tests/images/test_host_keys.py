"""A host key that a store keeps reaches sshd, whatever the installed system does with host keys of its own."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from tests.images.definition_files import files_of, first_server, run, write_shared
from tests.plans import plan_with

from clusterwright.hosts.image.boot_files import KEPT_HOST_KEY

KEPT = """
images:
  - {name: training, delivery: disk, host_keys: "secret/hosts/{node}/ssh"}
"""
# cloud-init's own module, with what the answers say of the installed system.
MODULE = """
import json, logging, sys
from unittest import mock
from cloudinit.config import cc_ssh
cloud = mock.MagicMock()
cloud.get_public_ssh_keys.return_value = []
with mock.patch.object(cc_ssh, "apply_credentials"):
    cc_ssh.handle("ssh", json.loads(sys.argv[1]), cloud, logging.getLogger(), None)
"""
# Both, one after the other, where /etc/ssh and the node's own path are folders of the test.
SCRIPT = """
set -eu
mount --bind "$folder/ssh" /etc/ssh
mkdir -p /etc/clusterwright
mount -t tmpfs none /etc/clusterwright
echo secret/hosts/n0/ssh > /etc/clusterwright/host-key
cloud_init() { /usr/bin/python3 "$folder/module.py" "$settings" > "$folder/module.out" 2>&1; }
host_key() { PATH="$folder/bin:$PATH" sh "$folder/ssh-host-key"; }
"""


@pytest.mark.parametrize(
    ("order", "deletes"),
    [("cloud_init host_key", False), ("host_key cloud_init", False), ("host_key cloud_init", True)],
)
def test_sshd_has_the_stored_key_in_any_order(order: str, deletes: bool, tmp_path: Path) -> None:
    """Also where something else of the installed system tells cloud-init to delete all keys."""
    plan = plan_with(tmp_path, "rsc-phase1", KEPT)
    files = files_of(plan, first_server(plan))
    (answers,) = (item.content for path, item in files.items() if path.endswith("/user-data"))
    settings = yaml.safe_load(answers)["autoinstall"]["user-data"]
    assert settings["ssh_deletekeys"] is False
    settings["ssh_deletekeys"] = deletes
    image = write_shared(files, tmp_path / "image")
    shutil.copy(image / "usr/local/sbin/ssh-host-key", tmp_path)
    for name in ("ssh", "bin"):
        (tmp_path / name).mkdir()
    assert run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / "kept").returncode == 0
    (tmp_path / "bin/vault").write_text(f"#!/bin/sh\ncat {tmp_path}/kept\n")
    (tmp_path / "bin/vault").chmod(0o755)
    (tmp_path / "module.py").write_text(MODULE)
    words = {"folder": str(tmp_path), "settings": json.dumps(settings)}
    done = run("unshare", "--mount", "sh", "-c", SCRIPT + "\n".join(order.split()), **words)
    assert done.returncode == 0, done.stderr
    config = (image / "etc/ssh/sshd_config.d/80-clusterwright-host-key.conf").read_text()
    (named,) = re.findall(r"^HostKey (\S+)$", config, re.M)
    assert named == KEPT_HOST_KEY
    public = (tmp_path / "ssh" / f"{Path(named).name}.pub").read_text().split()[1]
    assert public == (tmp_path / "kept.pub").read_text().split()[1]


def test_nothing_of_cloud_init_starts_on_an_installed_system(tmp_path: Path) -> None:
    """As its own generator judges it, by the file that the installer leaves there."""
    plan = plan_with(tmp_path, "rsc-phase1", KEPT)
    files = files_of(plan, first_server(plan))
    (answers,) = (item.content for path, item in files.items() if path.endswith("/user-data"))
    (late,) = yaml.safe_load(answers)["autoinstall"]["late-commands"]
    (target,) = re.findall(r"^touch /target(\S+)$", late, re.M)
    generator = "/usr/lib/systemd/system-generators/cloud-init-generator"
    for is_there in (False, True):
        script = f"""
mount -t tmpfs none /run
mount -t tmpfs none /etc/cloud
{f"touch {target}" if is_there else ""}
mkdir /run/units
{generator} /run/units /run/units /run/units
cat /run/cloud-init/cloud-init-generator.log >&2
"""
        done = subprocess.run(["unshare", "--mount", "sh", "-c", script], capture_output=True, text=True, check=False)
        # Without the file it goes on to look for a datasource.
        assert ("etc_file found disabled" in done.stderr) is is_there, done.stderr
        assert ("checking for datasource" in done.stderr) is not is_there, done.stderr
