"""What a node's tree stands for beside its files, on hosts with a real sshd and a systemd of their own, twice."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.deploy.ansible.test_fleet import target_for
from tests.lab.sshfleet import SshFleet

from clusterwright.artifact import Artifact
from clusterwright.deploy.target import DeviceTree, Status

NODE = "n0"
TIMER = "[Timer]\nOnUnitActiveSec=1h\nOnBootSec=1h\n"
# A timer of the distribution, which the tree masks.
START_THEIRS = f"""set -e
mkdir -p /run/systemd/system
echo '{TIMER}' > /run/systemd/system/theirs.timer
echo '[Service]
ExecStart=/bin/true' > /run/systemd/system/theirs.service
systemctl daemon-reload
systemctl start theirs.timer
"""
DIGEST = "$6$MarkerOfAHash$" + "x" * 86
FILES = {
    "etc/sysusers.d/90-clusterwright.conf": 'u ops 2917 "ops" /var/home/ops /bin/bash\nm ops cw-admins\n'
    "g cw-people -\nu watcher - watcher /var/home/watcher /bin/bash\n",
    "etc/clusterwright/passwords": f"ops:{DIGEST}\nwatcher:*\n",
    "etc/tmpfiles.d/90-clusterwright.conf": "d /var/home/ops 0700 ops ops -\n",
    "etc/systemd/system.conf.d/90-limits.conf": "[Manager]\nDefaultLimitMEMLOCK=65537K\nDefaultLimitNOFILE=4099\n",
    "etc/systemd/system/ours.timer": TIMER,
    "etc/systemd/system/ours.service": "[Service]\nType=oneshot\nExecStart=/bin/true\n",
    "etc/systemd/system/multi-user.target.d/95-ours.conf": "[Unit]\nWants=ours.timer\n",
    "etc/systemd/system/theirs.timer": "",
    "etc/ssh/authorized_keys.d/ops": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIB0jw5zYV8bG ops\n",
    "etc/systemd/timesyncd.conf.d/90-clusterwright.conf": "[Time]\nNTP=192.0.2.1\n",
}


def tree(**changed: str) -> DeviceTree:
    """The node's tree; ``changed`` are files by a word of their path."""
    texts = {path: next((new for word, new in changed.items() if word in path), text) for path, text in FILES.items()}
    return tuple(Artifact(NODE, path, text.encode(), "test") for path, text in sorted(texts.items()))


@pytest.fixture(scope="module")
def fleet() -> Iterator[SshFleet]:
    with SshFleet({NODE: "10.213.1.1"}, systemd=True) as hosts, hosts.as_controller():
        yield hosts


def held(fleet: SshFleet) -> dict[str, str]:
    """What the host is seen to hold, past Ansible."""
    script = {
        "ops": "getent passwd ops; id -nG ops; stat -c '%a %U' /var/home/ops",
        "timers": "systemctl is-active ours.timer theirs.timer",
        "limits": "systemctl show --property=DefaultLimitMEMLOCK,DefaultLimitNOFILE",
        "files": "ls /etc/sysusers.d /etc/systemd/system",
        "passwords": "grep -E '^(ops|watcher):' /etc/shadow | cut -d: -f1,2; getent group cw-people | cut -d: -f1",
    }
    return {what: fleet.run(NODE, "sh", "-c", f"{{ {line}; }} 2>/dev/null || true") for what, line in script.items()}


def test_accounts_folders_limits_and_timers_follow_the_tree_twice(fleet: SshFleet, tmp_path: Path) -> None:
    target = target_for(fleet, tmp_path)
    fleet.run(NODE, "sh", "-c", START_THEIRS)
    before = held(fleet)
    assert before["timers"].split() == ["inactive", "active"]

    foreseen = target.apply({NODE: tree()}, check=True)[NODE]
    assert held(fleet) == before

    first = target.apply({NODE: tree()})[NODE]
    assert first.status is Status.APPLIED, first.message
    states = {name for name in first.changed if ":" in name}
    assert states >= {
        "account:ops",
        "account:ops in cw-admins",
        "account:watcher",
        "account:group cw-people",
        "password:ops",
        "password:watcher",
        "folder:/var/home/ops",
        "limit:DefaultLimitMEMLOCK",
        "limit:DefaultLimitNOFILE",
        "timer:ours.timer",
        "timer:theirs.timer",
    }
    # Units become stale by the files of the same run, so that only this is not foreseen.
    assert set(first.changed) - set(foreseen.changed) <= {"systemd:units"}
    assert not set(foreseen.changed) - set(first.changed)
    after = held(fleet)
    assert after["ops"].splitlines()[0].startswith("ops:x:2917:")
    assert after["ops"].splitlines()[0].endswith(":/var/home/ops:/bin/bash")
    assert "cw-admins" in after["ops"].splitlines()[1].split()
    assert after["ops"].splitlines()[2] == "700 ops"
    assert after["timers"].split() == ["active", "inactive"]
    assert after["passwords"].splitlines() == [f"ops:{DIGEST}", "watcher:*", "cw-people"]
    assert DIGEST not in repr((foreseen.message, first.message, first.changed))
    assert set(after["limits"].split()) == {f"DefaultLimitMEMLOCK={65537 * 1024}", "DefaultLimitNOFILE=4099"}

    assert target.apply({NODE: tree()})[NODE].status is Status.UNCHANGED

    # What somebody changed by hand is named, and mended.
    fleet.run(
        NODE,
        "sh",
        "-c",
        "systemctl stop ours.timer; chmod 755 /var/home/ops; gpasswd -d ops cw-admins; usermod -p x ops",
    )
    drifted = ("account:ops in cw-admins", "folder:/var/home/ops", "password:ops", "timer:ours.timer")
    assert target.apply({NODE: tree()}, check=True)[NODE].changed == drifted
    assert target.apply({NODE: tree()})[NODE].changed == drifted
    assert held(fleet) == after

    # What nobody may do is refused before anything is touched.
    other = tree(sysusers='u ops 2918 "ops" /var/home/ops /bin/bash\n', limits="[Manager]\nDefaultLimitNOFILE=1\n")
    renumbered = target.apply({NODE: other})[NODE]
    assert renumbered.status is Status.FAILED
    assert "account ops has the number 2917, not 2918" in renumbered.message
    assert held(fleet) == after


# A daemon of the distribution that runs, so that systemd has read its unit before the tree brings anything of it.
START_DAEMON = """set -e
mkdir -p /run/systemd/system
printf '[Service]\\nExecStart=/bin/sleep infinity\\n' > /run/systemd/system/a-daemon.service
systemctl daemon-reload
systemctl start a-daemon.service
"""
DROP_IN = "etc/systemd/system/a-daemon.service.d/91-ours.conf"
NEW_UNIT = "etc/systemd/system/b-ours.service"


@pytest.mark.parametrize(
    "files",
    [
        {DROP_IN: "[Service]\nEnvironment=OURS=1\n"},
        # systemd 252 looks for new folders when it loads a unit that it did not know, after the first was compared.
        {DROP_IN: "[Service]\nEnvironment=OURS=2\n", NEW_UNIT: "[Service]\nType=oneshot\nExecStart=/bin/true\n"},
    ],
)
def test_a_first_drop_in_of_a_unit_that_systemd_knows_is_read(files: dict[str, str], tmp_path: Path) -> None:
    """NeedDaemonReload overlooks a folder that is newer than systemd's list of them (systemd 249 and 252)."""
    wanted = tuple(Artifact(NODE, path, text.encode(), "test") for path, text in files.items())
    with SshFleet({NODE: "10.213.1.2"}, systemd=True) as fleet, fleet.as_controller():
        fleet.run(NODE, "sh", "-c", START_DAEMON)
        target = target_for(fleet, tmp_path)
        first = target.apply({NODE: wanted})[NODE]
        assert first.status is Status.APPLIED, first.message
        shown = fleet.run(NODE, "systemctl", "show", "--property=DropInPaths,ActiveState", "a-daemon.service")
        assert f"DropInPaths=/{DROP_IN}" in shown
        assert "ActiveState=active" in shown
        assert target.apply({NODE: wanted})[NODE].status is Status.UNCHANGED

        away = target.apply({NODE: ()})[NODE]
        assert away.status is Status.APPLIED, away.message
        shown = fleet.run(NODE, "systemctl", "show", "--property=DropInPaths,ActiveState", "a-daemon.service")
        assert shown.split() == ["ActiveState=active", "DropInPaths="]
