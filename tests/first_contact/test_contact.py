"""Devices that nobody has configured ask a real Kea through a real relay, as each system's own client does."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tests.first_contact.network import ask, ask_as_onie, contact_of, fetch, network
from tests.first_contact.specs import IPV6_SERVER, MAC, contacted, contacted_over_ipv6

from clusterwright.output.rendering import Rendering
from clusterwright.plan.model import Plan, format_address

OTHER_MAC = "0c:42:a1:5b:00:0d"
SCRIPT_OPTION = "option provisioning-script-url code 239 = text;\n"
ASKS_SCRIPT = "request subnet-mask, routers, host-name, provisioning-script-url;\n"
# What each system's client says: Arista's its vendor class, SONiC's its user class (sonic-ztp), Cumulus's nothing.
ARISTA = """\
send vendor-class-identifier "Arista;DCS-7804R3;01.00;JPE00000000";
request subnet-mask, routers, bootfile-name;
"""
CUMULUS = SCRIPT_OPTION + ASKS_SCRIPT
SONIC = SCRIPT_OPTION + 'send user-class "SONiC-ZTP";\n' + ASKS_SCRIPT
FOLDER = "srv/first-contact/"


def rendered(plan: Plan, name: str) -> bytes:
    return next(artifact.content for artifact in Rendering(plan).of_site() if artifact.path == FOLDER + name)


def planned_address(plan: Plan, device: str) -> str:
    return format_address(contact_of(plan, device).address, 4)


@pytest.mark.parametrize(
    ("lab", "device", "client", "option", "file"),
    [
        ("lab-roce", "ctsw-p00-00", ARISTA, "new_bootfile_name", "eos-management1-1"),
        ("lab-nvue", "rtsw-p00r00", CUMULUS, "new_provisioning_script_url", "nvue.sh"),
        ("lab-sonic", "rtsw-p00r00", SONIC, "new_provisioning_script_url", "sonic.sh"),
    ],
)
def test_a_new_switch_gets_its_planned_address_and_its_first_file(
    tmp_path: Path, lab: str, device: str, client: str, option: str, file: str
) -> None:
    plan = contacted(tmp_path, lab)
    section = plan.spec.first_contact
    assert section is not None
    with network(plan, device, tmp_path, MAC) as logs:
        given = ask(tmp_path / "client", client)
        assert given.get("new_ip_address") == planned_address(plan, device), (logs / "kea.log").read_text()
        assert given[option] == f"http://{section.server}/{file}"
        status, content = fetch(given, given[option], 25)
        assert (status, content) == (200, rendered(plan, file))
        for elsewhere in ("", "../kea/kea-dhcp4.conf", "kea-dhcp4.conf"):
            assert fetch(given, f"http://{section.server}/{elsewhere}", 25)[0] in {403, 404}


def test_onie_gets_an_installer_and_the_system_that_it_installs_gets_its_script(tmp_path: Path) -> None:
    plan = contacted(tmp_path, "lab-nvue")
    section = plan.spec.first_contact
    assert section is not None
    with network(plan, "rtsw-p00r00", tmp_path, MAC):
        image = tmp_path / "tree" / FOLDER / "installers/cumulus-linux-5.10.bin"
        image.parent.mkdir()
        image.write_bytes(b"an image\n")
        given = ask_as_onie(tmp_path / "onie", "x86_64-nvidia_sn5600-r0:x86_64")
        assert given["ip"] == planned_address(plan, "rtsw-p00r00")
        url = f"http://{section.server}/installers/cumulus-linux-5.10.bin"
        assert bytes.fromhex(given["opt114"]).decode() == url
        assert "opt239" not in given
        assert fetch(given, url, 25) == (200, b"an image\n")
        assert "new_unknown_114" not in ask(tmp_path / "client", CUMULUS)


def test_a_bmc_gets_its_address_by_its_noted_port_and_no_file(tmp_path: Path) -> None:
    plan = contacted(tmp_path, "lab-roce", "gpu-p00r00n0,bmc")
    with network(plan, "gpu-p00r00n0", tmp_path, MAC):
        given = ask(tmp_path / "client", ARISTA)
    assert given["new_ip_address"] == planned_address(plan, "gpu-p00r00n0")
    assert "new_bootfile_name" not in given


def test_another_device_at_a_noted_port_gets_no_answer(tmp_path: Path) -> None:
    plan = contacted(tmp_path, "lab-roce", "ctsw-p00-00,Management1/1")
    with network(plan, "ctsw-p00-00", tmp_path, OTHER_MAC):
        assert not ask(tmp_path / "client", ARISTA)


# What SONiC says over IPv6 (sonic-net/sonic-buildimage, files/dhcp/dhclient.conf.j2): a text alone where RFC 8415,
# 21.15 has lengths before texts.
SONIC_IPV6 = """\
option dhcp6.user-class code 15 = text;
option dhcp6.provisioning-script-url code 239 = text;
send dhcp6.user-class "SONiC-ZTP";
request dhcp6.name-servers, dhcp6.provisioning-script-url;
"""


def test_a_new_switch_with_sonic_gets_its_script_over_ipv6(tmp_path: Path) -> None:
    plan = contacted_over_ipv6(tmp_path, "lab-sonic", "rtsw-p00r00,eth0")
    contact = contact_of(plan, "rtsw-p00r00")
    gateway = format_address(plan.host_subnet_of[contact.fabric, contact.switch].gateway or 0, 6)
    with network(plan, "rtsw-p00r00", tmp_path, MAC) as logs:
        given = ask(tmp_path / "client", SONIC_IPV6, version=6)
        assert given.get("new_ip6_address") == format_address(contact.address, 6), (logs / "kea.log").read_text()
        url = given["new_dhcp6_provisioning_script_url"]
        assert url == f"http://[{IPV6_SERVER}]/sonic.sh"
        assert fetch(given, url, 64, gateway) == (200, rendered(plan, "sonic.sh"))
        assert fetch(given, f"http://[{IPV6_SERVER}]/kea-dhcp6.conf", 64, gateway)[0] in {403, 404}


@pytest.mark.parametrize(
    ("lab", "device", "port"),
    [
        ("lab-roce", "ctsw-p00-00", "Management1/1"),
        ("lab-nvue", "rtsw-p00r00", "eth0"),
        ("lab-roce", "gpu-p00r00n0", "bmc"),
    ],
)
def test_others_get_their_address_over_ipv6_and_no_file(tmp_path: Path, lab: str, device: str, port: str) -> None:
    """CW573 says so at `first_contact` of the spec."""
    plan = contacted_over_ipv6(tmp_path, lab, f"{device},{port}")
    with network(plan, device, tmp_path, MAC) as logs:
        given = ask(tmp_path / "client", SONIC_IPV6, version=6)
    assert given.get("new_ip6_address") == format_address(contact_of(plan, device).address, 6), (
        logs / "kea.log"
    ).read_text()
    assert "new_dhcp6_provisioning_script_url" not in given


def test_a_device_that_nobody_has_noted_gets_no_address_over_ipv6(tmp_path: Path) -> None:
    plan = contacted_over_ipv6(tmp_path, "lab-sonic", "rtsw-p00r00,eth0")
    with network(plan, "rtsw-p00r00", tmp_path, OTHER_MAC):
        assert not ask(tmp_path / "client", SONIC_IPV6, version=6)


_PRIVATE = """\
set -eu
mount --make-rprivate /
mount -t tmpfs tmpfs /mnt
cp -a /etc /mnt/etc
mount --bind /mnt/etc /etc
mount -t tmpfs tmpfs /home
mkdir -p /etc/sonic
ssh-keygen -q -t ed25519 -N '' -f /etc/ssh/ssh_host_test_key
useradd --create-home {factory}
echo '{factory}:public' | chpasswd
printf '#!/bin/sh\\necho {{}} > /etc/sonic/config_db.json\\n' > /mnt/config-setup
chmod 755 /mnt/config-setup
PATH=/mnt:$PATH bash {script}
PATH=/mnt:$PATH bash {script}
cat /home/netops/.ssh/authorized_keys
stat -c '%a %U' /home/netops/.ssh/authorized_keys
grep '^{factory}:' /etc/shadow
visudo -c -f /etc/sudoers.d/clusterwright
runuser -u netops -- sudo -n id -u
"""


@pytest.mark.parametrize(
    ("lab", "file", "factory"), [("lab-nvue", "nvue.sh", "cumulus"), ("lab-sonic", "sonic.sh", "admin")]
)
def test_the_script_lets_administrators_in_and_locks_what_everybody_knows(
    tmp_path: Path, lab: str, file: str, factory: str
) -> None:
    plan = contacted(tmp_path, lab)
    script = tmp_path / file
    script.write_bytes(rendered(plan, file))
    command = ["unshare", "--mount", "sh", "-c", _PRIVATE.format(script=script, factory=factory)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    (operator,) = (each for each in plan.spec.site.operators if each.name == "netops")
    assert operator.keys[0] in ended.stdout
    assert "600 netops" in ended.stdout
    assert f"{factory}:!" in ended.stdout
    assert ended.stdout.endswith("\n0\n")
    assert "ED25519" in ended.stdout
