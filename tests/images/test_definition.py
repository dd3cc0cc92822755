"""Rendered definitions and boot files, each judged by the program that reads it, and the digest that names an image."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterable
from ipaddress import IPv6Network, ip_address
from pathlib import Path

import pytest
from tests.golden_files import assert_golden
from tests.images.definition_files import files_of, first_server, run, write, write_shared
from tests.plans import plan_of, plan_with

from clusterwright.artifact import Artifact
from clusterwright.hosts.image.boot_files import image_only_files
from clusterwright.hosts.image.identity import ImageIdentity, identity_of
from clusterwright.hosts.image.shared import overlay_files, shared_files
from clusterwright.hosts.linux.writer import secrets as node_secrets
from clusterwright.output.renderers import NODE_FILES, device_files
from clusterwright.output.rendering import Rendering
from clusterwright.plan.boot import boot_nics, booted, format_mac, servers_by_rack
from clusterwright.plan.model import Plan, format_address

CHECKOUT = Path(__file__).parents[2]
KEY = "AAAAC3NzaC1lZDI1NTE5AAAAIAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8g"
"""Another one than the operator's."""


def identity(plan: Plan, name: str = "training") -> ImageIdentity:
    found = identity_of(plan, name, NODE_FILES)
    assert found is not None
    return found


@pytest.mark.parametrize("name", ["lab-roce", "roce-24k", "rsc-phase1"])
def test_image_and_overlay_are_all_files_of_a_node(name: str) -> None:
    plan = plan_of(name)
    nodes = booted(plan)
    for node in (nodes[0], nodes[len(nodes) // 2], nodes[-1]):
        shared = {artifact.path: artifact.sha256 for artifact in shared_files(plan, node.image or "", NODE_FILES)}
        own = {artifact.path: artifact.sha256 for artifact in overlay_files(plan, node, NODE_FILES)}
        assert not shared.keys() & own.keys()
        every = device_files(plan, node)
        secret = {artifact.path for artifact in every if artifact.kind == node_secrets.KIND}
        assert {**shared, **own} == {each.path: each.sha256 for each in every if each.path not in secret}
        assert (node_secrets.MUNGE_KEY in secret) is (name not in {"lab-roce", "lab-ib"})
        assert {"etc/hostname", "etc/systemd/network/10-fe0.link", "etc/systemd/network/20-fe0.network"} <= own.keys()
        assert {"etc/sysctl.d/90-clusterwright.conf", "etc/nftables.conf"} <= shared.keys()
        assert ("etc/nccl/nccl.conf" in shared) is (plan.spec.nccl_profiles[0].fabric in _partitioned(plan))
        assert ("etc/nccl.conf" in shared) is ("etc/nccl/nccl.conf" not in shared)


@pytest.mark.parametrize("port", ["be7", "fe1"])
def test_an_exception_of_the_first_node_leaves_the_image_of_all_others(port: str, tmp_path: Path) -> None:
    """A lost port changes the files of its node alone, which are in its overlay."""
    text = f"exceptions:\n  - {{device: gpu-p00r00n0, port: {port}, state: out-of-service, reason: optics}}\n"
    plan = plan_with(tmp_path, "lab-roce", text)
    assert _contents(shared_files(plan, "training", NODE_FILES)) == _contents(
        shared_files(plan_of("lab-roce"), "training", NODE_FILES)
    )
    node = plan.by_name["gpu-p00r00n0"]
    both = (*shared_files(plan, "training", NODE_FILES), *overlay_files(plan, node, NODE_FILES))
    assert _contents(both).items() >= _contents(device_files(plan, node)).items()


def _contents(artifacts: Iterable[Artifact]) -> dict[str, bytes]:
    return {artifact.path: artifact.content for artifact in artifacts if artifact.kind != node_secrets.KIND}


def _partitioned(plan: Plan) -> set[str]:
    return {fabric.name for fabric in plan.spec.fabrics if fabric.partitions}


def test_cpio_reads_the_overlay_as_it_was_meant(tmp_path: Path) -> None:
    plan = plan_of("lab-roce")
    node = booted(plan)[3]
    archive = files_of(plan, first_server(plan))[f"srv/http/nodes/{node.name}.cpio"].content
    subprocess.run(
        ["cpio", "--extract", "--quiet", "--preserve-modification-time"], input=archive, cwd=tmp_path, check=True
    )
    held = {str(path.relative_to(tmp_path)): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert held == {artifact.path: artifact.content for artifact in overlay_files(plan, node, NODE_FILES)}
    assert all(path.stat().st_mtime == 0 for path in tmp_path.rglob("*") if path.is_file())
    listing = subprocess.run(["cpio", "--list", "--verbose", "--quiet"], input=archive, capture_output=True, check=True)
    root = listing.stdout.decode().splitlines()[0].split()
    assert (root[0], root[-1]) == ("drwxr-xr-x", "."), "the kernel's own is anybody's, and sshd takes no key below that"


@pytest.mark.parametrize("size", [512, 509, 510, 511])
def test_the_image_ends_where_the_kernel_takes_the_overlay(size: int, tmp_path: Path) -> None:
    """UEFI hands archives over without a gap; the kernel refuses one that does not begin at a multiple of four."""
    plan = plan_of("lab-roce")
    files = files_of(plan, first_server(plan))
    write({"script": files["srv/images/training/mkosi.postoutput"]}, tmp_path)
    (tmp_path / "image.cpio.zst").write_bytes(b"x" * size)
    (tmp_path / "image").symlink_to("image.cpio.zst")
    done = run(str(tmp_path / "script"), OUTPUTDIR=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "image.cpio.zst").read_bytes() == (b"x" * size).ljust(512, b"\0")


def test_every_rack_has_boot_servers_and_the_load_is_even() -> None:
    plan = plan_of("roce-24k")
    racks = servers_by_rack(plan)
    assert racks.keys() == {device.rack for device in booted(plan)}
    assert {len(servers) for servers in racks.values()} == {2}
    loads = [sum(servers[0] == name for servers in racks.values()) for name in {s[0] for s in racks.values()}]
    assert max(loads) - min(loads) <= 1
    assert sum(loads) == 1536


@pytest.mark.parametrize(("name", "version"), [("lab-roce", 6), ("rsc-phase1", 4)])
def test_kea_takes_the_reservations_and_they_are_the_plans_addresses(name: str, version: int, tmp_path: Path) -> None:
    plan = plan_of(name)
    server = first_server(plan)
    text = files_of(plan, server)[f"etc/kea/kea-dhcp{version}.conf"].content.decode()
    place = tmp_path / "kea.conf"
    place.write_text(text.replace('"memfile",', f'"memfile", "name": "{tmp_path}/leases",'))
    nics = json.loads(text)[f"Dhcp{version}"]["interfaces-config"]["interfaces"]
    pairs = [nic.partition("/") for nic in nics]
    links = "\n".join(f"ip link add {nic} type veth peer name p{nic}" for nic, _, _ in pairs)
    links += "".join(f"\nip addr add {address}/64 dev {nic}" for nic, _, address in pairs if address)
    done = run(
        "unshare", "--net", "sh", "-ec", f"{links}\nkea-dhcp{version} -t {place}", KEA_LOCKFILE_DIR=str(tmp_path)
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "ERROR" not in done.stdout
    held = {
        (row["hw-address"], row["hostname"], row["ip-addresses"][0] if version == 6 else row["ip-address"])
        for subnet in json.loads(text)[f"Dhcp{version}"][f"subnet{version}"]
        for row in subnet["reservations"]
    }
    racks = servers_by_rack(plan)
    assert held == {
        (format_mac(nic.mac), node, format_address(nic.interface.address or 0, version))
        for node, nics in boot_nics(plan).items()
        if server in racks[plan.by_name[node].rack]
        for nic in nics
    }


def test_kea_hears_relays_and_knows_an_adapter_by_nothing_else() -> None:
    """What firmware asks with is neither what iPXE asks with nor what the next boot does."""
    plan = plan_of("lab-roce")
    server = first_server(plan)
    v6 = json.loads(files_of(plan, server)["etc/kea/kea-dhcp6.conf"].content)["Dhcp6"]
    # RFC 8415, 18.2.1: behind a server of any other preference a client waits for a better one.
    assert {"name": "preference", "data": "255", "always-send": True} in v6["option-data"]
    own = {c.a.port: ip_address(c.a.address or 0) for c in plan.cables_of[server] if c.fabric == "frontend"}
    assert v6["interfaces-config"]["interfaces"] == [f"{name}/{address}" for name, address in own.items()]
    for subnet in v6["subnet6"]:
        (pool,) = subnet["pools"]
        assert pool["client-class"] == "KNOWN"
        assert IPv6Network(pool["pool"]).subnet_of(IPv6Network(subnet["subnet"]))
        held = [ip_address(text) for row in subnet["reservations"] for text in row["ip-addresses"]]
        assert not [address for address in held if address in IPv6Network(pool["pool"])]
    plan = plan_of("rsc-phase1")
    v4 = json.loads(files_of(plan, first_server(plan))["etc/kea/kea-dhcp4.conf"].content)["Dhcp4"]
    assert v4["match-client-id"] is False
    assert not [subnet for subnet in v4["subnet4"] if "pools" in subnet]


def test_rack_switches_send_requests_to_the_server_that_has_the_reservations() -> None:
    plan = plan_of("lab-roce")
    server = first_server(plan)
    address = next(cable.a.address for cable in plan.cables_of[server] if cable.fabric == "frontend")
    for switch in plan.devices_of("rsw"):
        serves = any(cable.a.device in boot_nics(plan) for cable in plan.cables_of[switch.name])
        (agent,) = (item for item in Rendering(plan).of_device(switch.name) if item.path.endswith("agent.conf"))
        config = json.loads(agent.content)["sw"]
        for hosts in (
            next(vlan for vlan in config["vlans"] if vlan["name"] == "hosts"),
            next(interface for interface in config["interfaces"] if interface["name"] == "hosts"),
        ):
            assert hosts.get("dhcpRelayAddressV6") == (format_address(address or 0, 6) if serves else None)


def test_noted_addresses_take_the_place_of_planned_ones(tmp_path: Path) -> None:
    (tmp_path / "macs.csv").write_text("device,port,mac\ngpu-p00r00n1,fe1,0C-42-A1-5B-00-0C\n")
    plan = plan_with(tmp_path, "lab-roce", "boot: {servers: services, fabric: frontend, macs: macs.csv}\n")
    files = files_of(plan, first_server(plan))
    assert "srv/http/by-mac/0c-42-a1-5b-00-0c.ipxe" in files
    assert b"gpu-p00r00n1" in files["srv/http/by-mac/0c-42-a1-5b-00-0c.ipxe"].content
    macs = [nic.mac for nics in boot_nics(plan).values() for nic in nics]
    assert len(set(macs)) == len(macs)
    assert sum(mac >> 40 == 0x02 for mac in macs) == len(macs) - 1


def test_dnsmasq_and_nginx_take_their_files(tmp_path: Path) -> None:
    plan = plan_of("lab-roce")
    files = files_of(plan, first_server(plan))
    write({path: files[path] for path in files if path.startswith(("etc/dnsmasq.d/", "etc/nginx/"))}, tmp_path)
    (tmp_path / "nginx.conf").write_text(
        f"pid {tmp_path}/pid;\nerror_log stderr;\nevents {{}}\nhttp {{ include {tmp_path}/etc/nginx/conf.d/*.conf; }}\n"
    )
    for command in (
        ("dnsmasq", "--test", f"--conf-file={tmp_path}/etc/dnsmasq.d/clusterwright-boot.conf"),
        ("nginx", "-t", "-q", "-c", f"{tmp_path}/nginx.conf"),
    ):
        done = run(*command)
        text = f"{done.stdout}{done.stderr}"
        assert done.returncode == 0 or "Cannot assign requested address" in text, text


@pytest.mark.parametrize(
    ("name", "paths"),
    [
        (
            "lab-roce",
            "mkosi.conf mkosi.sources kea-dhcp6.conf boot.ipxe 02-00-00-00-00-00.ipxe clusterwright-boot.conf",
        ),
        ("roce-24k", "mkosi.conf mkosi.repo mkosi.postinst.chroot ks.cfg"),
        ("rsc-phase1", "mkosi.conf mkosi.sources user-data meta-data 02-00-00-00-41-40.ipxe"),
    ],
)
def test_golden_files(name: str, paths: str) -> None:
    plan = plan_of(name)
    files = files_of(plan, first_server(plan))
    version = identity(plan).version.encode()
    found = {path: item for path, item in files.items() if path.rpartition("/")[2] in paths.split()}
    assert {path.rpartition("/")[2] for path in found} >= set(paths.split())
    for path, artifact in found.items():
        # every other change of a node's files changes the digest, and says nothing about these
        place = path.replace(version.decode(), "VERSION")
        assert_golden(f"images/{name}/{place}", artifact.content.replace(version, b"VERSION"))


def test_golden_files_that_only_a_boot_brings() -> None:
    names = ["image-check", "ssh-host-key", "acs-off", "image-check.service", "ssh-host-key.service", "acs-off.service"]
    files = {artifact.path: artifact for artifact in image_only_files(plan_of("lab-roce"), "training")}
    found = {path: item for path, item in files.items() if path.rpartition("/")[2] in names}
    assert len(found) == len(names)
    for path, artifact in found.items():
        assert_golden(f"images/lab-roce/node/{path}", artifact.content)


@pytest.mark.parametrize("name", ["lab-roce", "roce-24k", "rsc-phase1"])
def test_shells_take_every_script(name: str, tmp_path: Path) -> None:
    plan = plan_of(name)
    files = files_of(plan, first_server(plan))
    write_shared(files, write(files, tmp_path, "srv/images/training/"))
    scripts = [path for path in tmp_path.rglob("*") if path.is_file() and path.read_bytes()[:2] == b"#!"]
    scripts = [path for path in scripts if path.read_text().startswith("#!/bin/sh")]
    assert {"image-check", "ssh-host-key", "acs-off"} <= {path.name for path in scripts}
    for script in scripts:
        assert run("sh", "-n", script).returncode == 0


@pytest.mark.parametrize("name", ["lab-roce", "lab-ib", "roce-24k", "ib-24k", "rsc-phase1"])
def test_mkosi_reads_every_definition(name: str, tmp_path: Path) -> None:
    plan = plan_of(name)
    write(files_of(plan, first_server(plan)), tmp_path, "srv/images/training/")
    done = run(CHECKOUT / "tools/build-image", "--check", tmp_path)
    assert done.returncode == 0, done.stderr
    packages = re.search(r"Packages: (.*)\n((?: {20,}\S.*\n)*)", done.stderr)
    assert packages is not None, done.stderr
    read = {packages[1].strip(), *packages[2].split()}
    image = plan.spec.image("training")
    assert image is not None
    assert {package.name for package in image.packages} <= read
    with (tmp_path / "mkosi.conf").open("a") as stream:
        stream.write("Pakages=vim\n")
    assert "Pakages" in run(CHECKOUT / "tools/build-image", "--check", tmp_path).stderr


def test_sshd_takes_the_settings(tmp_path: Path) -> None:
    plan = plan_of("lab-roce")
    write_shared(files_of(plan, first_server(plan)), tmp_path)
    run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / "key"))
    config = tmp_path / "sshd_config"
    config.write_text(f"HostKey {tmp_path}/key\nInclude {tmp_path}/etc/ssh/sshd_config.d/*.conf\n")
    Path("/run/sshd").mkdir(exist_ok=True)
    done = run("/usr/sbin/sshd", "-t", "-f", config)
    assert done.returncode == 0, done.stderr
    effective = run("/usr/sbin/sshd", "-T", "-f", config).stdout
    assert "passwordauthentication no" in effective
    assert "authorizedkeysfile /etc/ssh/authorized_keys.d/%u" in effective


def test_systemd_takes_the_units_of_the_image(tmp_path: Path) -> None:
    plan = plan_of("lab-roce")
    write_shared(files_of(plan, first_server(plan)), tmp_path)
    shutil.copytree("/usr/lib/systemd/system", tmp_path / "usr/lib/systemd/system", symlinks=True)
    (tmp_path / "lib").symlink_to("usr/lib")
    for unit in ("ssh-host-key.service", "image-check.service", "acs-off.service"):
        done = run(
            "systemd-analyze", f"--root={tmp_path}", "verify", "--man=no", f"{tmp_path}/etc/systemd/system/{unit}"
        )
        assert done.returncode == 0, done.stderr
        assert not [line for line in done.stderr.splitlines() if unit in line], done.stderr


def test_firmware_is_told_of_ipxe_where_the_servers_have_it(tmp_path: Path) -> None:
    overlay = "boot: {servers: services, fabric: frontend, ipxe: /usr/share/ipxe/ipxe-x86_64.efi}\n"
    files = files_of(plan_with(tmp_path, "lab-roce", overlay), "svc-v00n0")
    kea = json.loads(files["etc/kea/kea-dhcp6.conf"].content)["Dhcp6"]
    urls = [option["data"] for kind in kea["client-classes"] for option in kind.get("option-data", ())]
    assert {url.rpartition("/")[2] for url in urls if "://" in url} == {"boot.ipxe", "ipxe-x86_64.efi"}
    assert b"tftp-root=/usr/share/ipxe\n" in files["etc/dnsmasq.d/clusterwright-boot.conf"].content
    assert b"alias /usr/share/ipxe/ipxe-x86_64.efi;" in files["etc/nginx/conf.d/clusterwright-boot.conf"].content


def test_an_install_and_a_boot_into_memory_ask_for_what_the_server_has(tmp_path: Path) -> None:
    for delivery in ("memory", "disk"):
        plan = plan_with(tmp_path, "rsc-phase1", f"images:\n  - {{name: training, delivery: {delivery}}}\n")
        files = files_of(plan, first_server(plan))
        script = next(item.content.decode() for path, item in files.items() if "/by-mac/" in path)
        named = re.findall(r"https?://[^/\s]+/((?:nodes|images)/\S+?)(?:;|\s|$)", script)
        assert named
        for path in named:
            built = re.fullmatch(r"images/training_\w{12}\.(cpio\.zst|vmlinuz)", path)
            assert built or f"srv/http/{path}".rstrip("/") in {*files, *(str(Path(file).parent) for file in files)}, (
                path
            )


def test_a_changed_setting_changes_the_digest_and_a_changed_kernel_asks_for_a_reboot(tmp_path: Path) -> None:
    before = identity(plan_of("lab-roce"))
    texts = {
        "sysctl": "images:\n  - {name: training, sysctl: {net.core.netdev_max_backlog: 300000}}\n",
        "kernel": "images:\n  - {name: training, kernel: {package: linux-image-cloud-amd64}}\n",
        "hugepages": "images:\n  - {name: training, hugepages: {size: 2M, count: 17}}\n",
        "filter": "flows:\n  - {name: ssh, ports: [2222]}\n",
        "elsewhere": "site: {rack_units: 47}\n",
    }
    found = {}
    for what, text in texts.items():
        (tmp_path / what).mkdir()
        found[what] = identity(plan_with(tmp_path / what, "lab-roce", text))
    assert len({before.digest, *(each.digest for each in found.values())}) == 5
    assert found["elsewhere"] == before
    assert {what for what, each in found.items() if each.boot_digest != before.boot_digest} == {"kernel", "hugepages"}
    assert {what for what, each in found.items() if each.version != before.version} == {"kernel"}


def test_only_what_is_built_asks_for_another_image(tmp_path: Path) -> None:
    """A changed file reaches nodes beside the image: their scripts name what is built already."""
    before = plan_of("lab-roce")
    files = files_of(before, first_server(before))
    texts = {
        "nccl": "nccl: {qps_per_connection: 2}\n",
        "key": f"site: {{operators: [{{name: netops, keys: [ssh-ed25519 {KEY}]}}]}}\n",
        "flow": "flows:\n  - {name: ssh, ports: [2222]}\n",
    }
    for what, text in texts.items():
        (tmp_path / what).mkdir()
        after = plan_with(tmp_path / what, "lab-roce", text)
        now = files_of(after, first_server(after))
        scripts = [path for path in files if path.endswith(".ipxe")]
        assert scripts
        assert [path for path in scripts if now[path].content != files[path].content] == [], what
        definition = [path for path in files if path.startswith("srv/images/")]
        assert [path for path in definition if now[path].content != files[path].content] == [], what
        trees = [path for path in files if path.endswith("/tree.cpio")]
        assert [path for path in trees if now[path].content == files[path].content] == [], what


def test_a_boot_server_of_ours_has_the_programs_that_it_offers_with() -> None:
    """Its files alone would lie on it unread."""
    plan = plan_of("lab-border")
    definition = files_of(plan, first_server(plan))["srv/images/server/mkosi.conf"].content.decode()
    assert {"dnsmasq", "ipxe", "kea-dhcp6-server", "nginx", "slurmctld"} <= set(definition.split())
    assert "kea-dhcp4-server" not in definition.split()
    wants = "etc/systemd/system/multi-user.target.d/90-clusterwright.conf"
    told = files_of(plan, first_server(plan))[wants].content.decode()
    assert {f"Wants={unit}.service" for unit in ("dnsmasq", "nginx", "kea-dhcp6-server")} <= set(told.split())
    other = next(device.name for device in plan.devices_of("storage"))
    assert "nginx" not in files_of(plan, other)[wants].content.decode()


def test_sshd_starts_by_itself_and_a_node_has_one_host_key(tmp_path: Path) -> None:
    """A reload of a daemon that Debian's socket started ends it: it cannot take the socket's port again."""
    plan = plan_of("lab-roce")
    units = write_shared(files_of(plan, first_server(plan)), tmp_path) / "etc/systemd/system"
    assert {(units / unit).read_bytes() for unit in ("ssh.socket", "sshd-keygen.service")} == {b""}
    assert "Wants=ssh.service\n" in (units / "multi-user.target.d/90-clusterwright.conf").read_text()
