"""Programs brought onto changed files: validated aside, put in place, activated, verified, and taken back."""

from __future__ import annotations

import contextlib
import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from tests.hosts.simulated_manager import SimulatedManager
from tests.lab.sshfleet import SshFleet, put
from tests.plans import plan_of, plan_with

from clusterwright import data_files
from clusterwright.artifact import Artifact
from clusterwright.deploy.ansible.ssh import Access
from clusterwright.deploy.ansible.target import AnsibleTarget
from clusterwright.deploy.target import Outcome, Status
from clusterwright.hosts.opensm.writer.configuration import manager_guids, manager_hosts
from clusterwright.output.rendering import Rendering
from clusterwright.plan.build import build_plan
from clusterwright.spec.load import load_spec

# Stand for the programs that only exist on a switch: they note what they were asked, and fail when a file says so.
PROGRAM = """\
#!/bin/sh
echo "$0 $*" | sed 's#/usr/local/bin/##; s#/tmp/[^ ]*/#ASIDE/#' >> /var/log/asked
case "$0 $*" in
{cases}
esac
exit 0
"""
FBOSS = """\
*reload) grep -q unloadable /etc/coop/agent.conf && echo 'agent: thrift refuses' >&2 && exit 1 ;;
*port) grep -q deaf /etc/coop/agent.conf && echo 'no ports' >&2 && exit 1 ;;
"""
SONIC = """\
*dry-run*) grep -q invalid "$4" && echo 'Data Loading Failed: invalid VLAN' >&2 && exit 1 ;;
*reload*) grep -q unloadable /etc/sonic/config_db.json && exit 1 ;;
"""
PATCHED_SONIC = """\
*apply-patch*) cp "$2" /var/log/patch; grep -q unpatchable "$2" && echo 'the updater refuses' >&2 && exit 1 ;;
"""
SYSTEMCTL = "true) ;;\n"


@contextlib.contextmanager
def host(folder: Path, *, programs: dict[str, str]) -> Iterator[tuple[SshFleet, AnsibleTarget]]:
    addresses = {"sw": "10.215.1.1"}
    with SshFleet(addresses, "10.215.0.1") as fleet, fleet.as_controller():
        for name, cases in programs.items():
            put(fleet, "sw", f"/usr/local/bin/{name}", PROGRAM.format(cases=cases))
        quick = [dict(step, deadline_s=min(step["deadline_s"], 2)) for step in steps() if step["name"] != "opensm"]
        access = Access(addresses, fleet.private_key, fleet.known_hosts, switch_overs=tuple(quick))
        yield fleet, AnsibleTarget(folder / "runs", access, run_timeout_s=150)


def steps() -> list[dict[str, Any]]:
    role = data_files.folder("roles") / "device_tree"
    systems = [yaml.safe_load(path.read_text()) for path in sorted((role / "systems").glob("*.yml"))]
    found: list[dict[str, Any]] = yaml.safe_load((role / "defaults/main.yml").read_text())["device_tree_switch_overs"]
    return [*(step for steps in systems for step in steps), *found]


def asked(fleet: SshFleet) -> list[str]:
    """What the switch's programs were asked since the last time."""
    return fleet.run("sw", "sh", "-c", "cat /var/log/asked; : > /var/log/asked").splitlines()


def give(target: AnsibleTarget, path: str, content: object) -> Outcome:
    text = content if isinstance(content, str) else json.dumps(content)
    return target.apply({"sw": (Artifact("sw", path, text.encode(), "test"),)})["sw"]


def test_fboss_reads_its_file_again_and_goes_back_to_the_previous_one_when_it_does_not_take_it(tmp_path: Path) -> None:
    path = "etc/coop/agent.conf"
    with host(tmp_path, programs={"fboss2": FBOSS, "systemctl": SYSTEMCTL}) as (fleet, target):
        first = give(target, path, {"sw": 1})
        assert (first.status, first.changed) == (Status.APPLIED, (path, "service:fboss-agent")), first
        assert asked(fleet)[-2:] == ["fboss2 config reload", "fboss2 show port"]
        assert give(target, path, {"sw": 1}).status is Status.UNCHANGED
        assert "fboss2 config reload" not in asked(fleet)

        broken = give(target, path, '{"sw": ')
        assert (broken.status, "is not JSON" in broken.message) == (Status.FAILED, True)
        assert asked(fleet) == []
        for content, message in (({"unloadable": 1}, "thrift refuses"), ({"deaf": 1}, "no ports")):
            refused = give(target, path, content)
            assert (refused.status, message in refused.message) == (Status.FAILED, True), refused
            assert fleet.run("sw", "cat", f"/{path}") == '{"sw": 1}'
            assert asked(fleet)[-2:] == ["fboss2 config reload", "fboss2 show port"], "with the previous file"
        assert give(target, path, {"sw": 1}).status is Status.UNCHANGED


def test_nvue_stages_the_whole_file_applies_it_and_goes_back_to_the_previous_one(tmp_path: Path) -> None:
    path = "etc/clusterwright/nvue.yaml"
    refusing = "*apply*) grep -q unloadable /etc/clusterwright/nvue.yaml && exit 1 ;;"
    applied = [
        f"nv config replace /{path}",
        "nv config apply -y",
        "nv config save",
        "systemctl is-active --quiet switchd.service",
        "systemctl is-active --quiet frr.service",
    ]
    with host(tmp_path, programs={"nv": refusing, "systemctl": SYSTEMCTL}) as (fleet, target):
        assert give(target, path, "- set: {}").ok
        assert asked(fleet) == ["systemctl is-active --quiet nvued.service", *applied]
        assert give(target, path, "- set: {unloadable: {}}").status is Status.FAILED
        assert fleet.run("sw", "cat", f"/{path}") == "- set: {}"
        assert asked(fleet)[-len(applied) :] == applied, "with the previous file"


def test_a_switch_that_nobody_reaches_anew_takes_its_configuration_back_by_itself(tmp_path: Path) -> None:
    """The program says that it is well, and the switch is cut off: only the control node can notice that."""
    path = "etc/coop/agent.conf"
    cutting = "*reload) if grep -q cut /etc/coop/agent.conf; then {drop}; else {open}; fi ;;".format(
        drop="nft add table inet cut && nft add chain inet cut i '{ type filter hook input priority 0 ; }' && "
        "nft add rule inet cut i tcp dport 22 ct state new drop",
        open="nft delete table inet cut 2>/dev/null || true",
    )
    with host(tmp_path, programs={"fboss2": cutting, "systemctl": SYSTEMCTL}) as (fleet, whole):
        target = dataclasses.replace(whole, access=dataclasses.replace(whole.access, trial_s=4), connect_timeout_s=3)
        assert give(target, path, {"sw": 1}).status is Status.APPLIED
        manifest = fleet.run("sw", "cat", "/var/lib/clusterwright/manifest.json")
        assert fleet.run("sw", "sh", "-c", "ls -d /var/lib/clusterwright/reach-* 2>/dev/null || true") == ""
        asked(fleet)

        cut = give(target, path, {"cut": 1})

        assert cut.status is Status.FAILED, cut
        assert "nobody reached this switch anew under its new configuration" in cut.message
        assert fleet.run("sw", "cat", f"/{path}") == '{"sw": 1}'
        assert fleet.run("sw", "cat", "/var/lib/clusterwright/manifest.json") == manifest
        assert asked(fleet).count("fboss2 config reload") == 2, "with the new file, then with the previous one"
        assert give(target, path, {"sw": 1}).status is Status.UNCHANGED
        assert give(target, path, {"sw": 2}).changed == (path, "service:fboss-agent")


def test_sonic_judges_the_file_by_its_own_models_before_anything_is_touched(tmp_path: Path) -> None:
    path = "etc/sonic/config_db.json"
    programs = {"config": SONIC, "sonic-cfggen": "", "show": "", "systemctl": SYSTEMCTL}
    with host(tmp_path, programs=programs) as (fleet, target):
        assert give(target, path, {"VLAN": {}}).ok
        assert asked(fleet) == [
            "sonic-cfggen -j ASIDE/config_db.json --print-data",
            "config replace --dry-run ASIDE/config_db.json",
            "systemctl is-active --quiet swss.service",
            "config reload --yes --force",
            "systemctl is-active --quiet swss.service",
            "systemctl is-active --quiet bgp.service",
            "show interfaces status",
        ]
        # The dry run's file is its third argument.
        fleet.run("sw", "sed", "-i", 's/"$4"/"$3"/', "/usr/local/bin/config")
        refused = give(target, path, {"VLAN": "invalid"})
        assert (refused.status, "invalid VLAN" in refused.message) == (Status.FAILED, True), refused
        assert not any("reload" in line for line in asked(fleet))
        assert give(target, path, {"unloadable": {}}).status is Status.FAILED
        assert fleet.run("sw", "cat", f"/{path}") == '{"VLAN": {}}'


def test_sonic_is_patched_where_its_updater_takes_that_and_reloaded_for_the_rest(tmp_path: Path) -> None:
    path = "etc/sonic/config_db.json"
    programs = {"config": PATCHED_SONIC, "sonic-cfggen": "", "show": "", "systemctl": SYSTEMCTL}
    servers: dict[str, Any] = {"SYSLOG_SERVER": {"10.0.0.1": {"port": "514"}}, "PORT": {"Ethernet0": {"lanes": "1,2"}}}
    more = {**servers, "SYSLOG_SERVER": {"10.0.0.1": {"port": "514"}, "10.0.0.2": {"port": "514"}}}
    with host(tmp_path, programs=programs) as (fleet, target):
        assert give(target, path, servers).ok
        assert "config reload --yes --force" in asked(fleet)

        assert give(target, path, {**more, "SNMP_USER": {"reader": {"SNMP_USER_TYPE": "Priv"}}}).ok
        said = asked(fleet)
        assert [line for line in said if "checkpoint" in line or "patch" in line or "restart" in line] == [
            "config checkpoint clusterwright",
            "config apply-patch ASIDE/patch.json",
            "systemctl restart snmp.service",
        ]
        assert "config reload --yes --force" not in said
        assert json.loads(fleet.run("sw", "cat", "/var/log/patch")) == [
            {"op": "add", "path": "/SNMP_USER", "value": {"reader": {"SNMP_USER_TYPE": "Priv"}}},
            {"op": "add", "path": "/SYSLOG_SERVER/10.0.0.2", "value": {"port": "514"}},
        ]

        refused = give(target, path, {**more, "SYSLOG_SERVER": {"unpatchable": {}}})
        assert (refused.status, "the updater refuses" in refused.message) == (Status.FAILED, True), refused
        assert "config rollback clusterwright" in asked(fleet)

        assert give(target, path, {**more, "PORT": {"Ethernet0": {"lanes": "3,4"}}}).ok
        said = asked(fleet)
        assert "config reload --yes --force" in said
        assert not any("patch" in line for line in said)


def test_opensm_sweeps_with_its_new_files_and_with_the_previous_ones_when_it_cannot_parse_them(tmp_path: Path) -> None:
    plan = build_plan(load_spec(data_files.folder("inventory") / "lab-ib.yaml"))
    name = next(
        artifact.device for artifact in Rendering(plan).of_devices() if artifact.path == "etc/opensm/opensm.conf"
    )
    files = {item.path: item for item in Rendering(plan).of_devices([name]) if item.path.startswith("etc/opensm/")}

    def with_text(path: str, old: str, new: str) -> tuple[Artifact, ...]:
        text = files[path].content.decode()
        assert old in text
        return tuple({**files, path: Artifact(name, path, text.replace(old, new, 1).encode(), "test")}.values())

    addresses = {name: "10.216.1.1"}
    with SshFleet(addresses, "10.216.0.1") as fleet, fleet.as_controller():
        access = Access(addresses, fleet.private_key, fleet.known_hosts)
        target = AnsibleTarget(tmp_path / "runs", access, run_timeout_s=150)
        first = target.apply({name: tuple(files.values())})[name]
        assert first.ok, first
        assert "service:opensm" not in first.changed, "it does not run yet"
        manager = SimulatedManager(fleet, name, plan, tmp_path)
        manager.manage()
        assert target.apply({name: tuple(files.values())})[name].status is Status.UNCHANGED

        partitions = "etc/opensm/partitions.conf"
        sweeps = manager.log().count("SUBNET UP")
        changed = target.apply({name: with_text(partitions, "training", "training_b")})[name]
        assert changed.changed == (partitions, "service:opensm"), changed
        assert manager.log().count("SUBNET UP") > sweeps

        log = manager.log()
        misread = target.apply({name: with_text("etc/opensm/opensm.conf", "sm_priority", "sm_priorty")})[name]
        assert (misread.status, 'Unrecognized token: "sm_priorty"' in misread.message) == (Status.FAILED, True), misread
        assert manager.log() == log

        refused = target.apply({name: with_text(partitions, "0x02", "zz02")})[name]
        assert (refused.status, "PARSE ERROR" in refused.message) == (Status.FAILED, True), refused
        assert "training_b" in fleet.run(name, "cat", f"/{partitions}")
        assert "PARSE ERROR" not in manager.log().rpartition("Partition configuration in error")[2]
        again = target.apply({name: tuple(files.values())})[name]
        assert again.changed == (partitions, "service:opensm"), again


def test_a_drained_spine_carries_nothing_once_opensm_has_its_new_roots(tmp_path: Path) -> None:
    plan = plan_of("lab-ib")
    drained = plan_with(tmp_path, "lab-ib", "exceptions:\n  - {device: spine-00, state: drained, reason: a fan}\n")
    name = manager_hosts(plan, "backend")[0]
    addresses = {name: "10.217.1.1"}
    with SshFleet(addresses, "10.217.0.1") as fleet, fleet.as_controller():
        access = Access(addresses, fleet.private_key, fleet.known_hosts)
        target = AnsibleTarget(tmp_path / "runs", access, run_timeout_s=150)
        before, after = (
            tuple(item for item in Rendering(each).of_devices([name]) if item.path.startswith("etc/opensm/"))
            for each in (plan, drained)
        )
        assert target.apply({name: before})[name].ok
        manager = SimulatedManager(fleet, name, plan, tmp_path)
        manager.under_systemd()
        manager.manage()
        assert target.apply({name: before})[name].status is Status.UNCHANGED
        usual = manager.entries_through(plan, "spine-00")
        assert usual > 100

        changed = target.apply({name: after})[name]
        assert changed.ok, changed
        assert set(changed.changed) == {"etc/opensm/root_guids.conf", "service:opensm"}
        # What is left leads to the spine itself, which is still managed.
        assert manager.entries_through(plan, "spine-00") < usual / 10

        assert target.apply({name: before})[name].ok
        assert manager.entries_through(plan, "spine-00") == usual


def test_a_standby_reads_its_files_again_and_is_not_waited_for(tmp_path: Path) -> None:
    plan = plan_of("lab-ib")
    _, name = manager_hosts(plan, "backend")
    addresses = {name: "10.218.1.1"}
    with SshFleet(addresses, "10.218.0.1") as fleet, fleet.as_controller():
        access = Access(addresses, fleet.private_key, fleet.known_hosts)
        target = AnsibleTarget(tmp_path / "runs", access, run_timeout_s=150)
        before = tuple(item for item in Rendering(plan).of_devices([name]) if item.path.startswith("etc/opensm/"))
        partitions = next(item for item in before if item.path == "etc/opensm/partitions.conf")
        text = partitions.content.replace(b"training", b"training_b")
        renamed = Artifact(name, partitions.path, text, partitions.kind)
        after = tuple(renamed if item is partitions else item for item in before)
        assert target.apply({name: before})[name].ok
        manager = SimulatedManager(fleet, name, plan, tmp_path)
        master = manager_guids(plan, "backend")[manager_hosts(plan, "backend")[0]]
        manager.have_another_master(master)
        manager.manage("Entering STANDBY state")

        changed = target.apply({name: after})[name]
        assert (changed.ok, changed.changed) == (True, (partitions.path, "service:opensm")), changed


ASK_KEA = """
import socket
connection = socket.socket(socket.AF_UNIX)
connection.connect("/run/kea/asked")
connection.send(b'{"command": "config-get"}')
print(b"".join(iter(lambda: connection.recv(65536), b"")).decode())
"""
KEA, NGINX = "etc/kea/kea-dhcp6.conf", "etc/nginx/conf.d/clusterwright-boot.conf"


def test_a_boot_server_hears_of_a_new_box_at_once_and_keeps_its_reservations_where_the_file_is_wrong(
    tmp_path: Path,
) -> None:
    plan = plan_of("lab-roce")
    name = plan.devices_of("service")[0].name
    files = {item.path: item for item in Rendering(plan).of_devices([name]) if item.path in (KEA, NGINX)}
    (kea,) = [item for item in files.values() if item.path == KEA]
    settings = json.loads(kea.content)
    settings["Dhcp6"]["control-socket"] = {"socket-type": "unix", "socket-name": "/run/kea/asked"}
    settings["Dhcp6"]["interfaces-config"]["interfaces"] = []
    old_mac, new_mac = "02:00:00:00:00:00", "02:00:00:00:99:99"

    def with_kea(text: str) -> tuple[Artifact, ...]:
        return tuple(Artifact(name, KEA, text.encode(), kea.kind) if item is kea else item for item in files.values())

    def reserved(fleet: SshFleet) -> str:
        return fleet.run(name, "python3", "-c", ASK_KEA)

    text = json.dumps(settings)
    assert old_mac in text
    addresses = {name: "10.219.1.1"}
    with SshFleet(addresses, "10.219.0.1") as fleet, fleet.as_controller():
        target = AnsibleTarget(tmp_path / "runs", Access(addresses, fleet.private_key, fleet.known_hosts))
        assert target.apply({name: with_kea(text)})[name].ok
        start = "mkdir -p /run/kea /run/lock/kea /var/lib/kea; chmod 750 /run/kea; "
        fleet.run(name, "sh", "-c", f"{start} kea-dhcp6 -c /{KEA} >/var/log/kea.txt 2>&1 & nginx; sleep 3")
        assert old_mac in reserved(fleet)
        assert target.apply({name: with_kea(text)})[name].ok

        changed = target.apply({name: with_kea(text.replace(old_mac, new_mac))})[name]
        assert (changed.status, changed.changed) == (Status.APPLIED, (KEA, "service:kea-dhcp6")), changed
        assert new_mac in reserved(fleet)
        assert old_mac not in reserved(fleet)

        wrong = target.apply({name: with_kea(text.replace('"subnet6"', '"subnet7"'))})[name]
        assert (wrong.status, "subnet7" in wrong.message) == (Status.FAILED, True), wrong
        assert new_mac in reserved(fleet)
        assert new_mac in fleet.run(name, "cat", f"/{KEA}")
