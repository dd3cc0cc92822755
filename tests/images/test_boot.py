"""A node's image, built from the rendered definition and booted as its boot server hands it out.

Every expected value comes from the spec and the plan, never from a file of the image.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from ipaddress import ip_address
from pathlib import Path

import pytest
from tests.images.virtual_node import WITHOUT_HARDWARE, Machine, boot
from tests.plans import FROM_MIRRORS, plan_with

from clusterwright.artifact import Artifact
from clusterwright.output.rendering import Rendering
from clusterwright.plan.boot import boot_nics, servers_by_rack
from clusterwright.plan.model import Device, Plan
from clusterwright.spec.image import Image

CHECKOUT = Path(__file__).parents[2]
SPEC, NODE = "lab-roce", "gpu-p01r01n1"
HTTP = "srv/http/"

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]  # the boot has its own, which says what it waited for


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    return plan_with(tmp_path_factory.mktemp("spec"), SPEC, FROM_MIRRORS)


@pytest.fixture(scope="module")
def node(plan: Plan) -> Device:
    return plan.by_name[NODE]


@pytest.fixture(scope="module")
def image(plan: Plan, node: Device) -> Image:
    found = plan.spec.image(node.image or "")
    assert found is not None
    return found


@pytest.fixture(scope="module")
def served(plan: Plan, node: Device) -> Mapping[str, Artifact]:
    server = servers_by_rack(plan)[node.rack][0]
    return {artifact.path: artifact for artifact in Rendering(plan).of_device(server)}


@pytest.fixture(scope="module")
def built(served: Mapping[str, Artifact], image: Image, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder with what tools/build-image makes of the rendered definition."""
    folder = tmp_path_factory.mktemp("image")
    root = f"srv/images/{image.name}/"
    for path, artifact in served.items():
        if path.startswith(root):
            place = folder / "definition" / path.removeprefix(root)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(artifact.content)
            place.chmod(artifact.mode)
    done = subprocess.run(
        [CHECKOUT / "tools/build-image", folder / "definition", folder / "out", "--compress-output=none"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    yield folder / "out"
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def said(
    plan: Plan,
    image: Image,
    served: Mapping[str, Artifact],
    built: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Mapping[str, str]:
    """What the booted node says of itself, by section."""
    assert shutil.which("qemu-system-x86_64"), "QEMU is missing: apt-get install qemu-system-x86"
    mac = boot_nics(plan)[NODE][0].mac.to_bytes(6, "big").hex("-")
    script = served[f"{HTTP}by-mac/{mac}.ipxe"].content.decode()
    kernel = re.search(r"^kernel (\S+)/images/(\S+) (.*?) \|\|", script, re.M)
    assert kernel is not None
    archives = re.findall(r"^initrd --name (\S+) http://[^/]+/(\S+) \|\|", script, re.M)
    assert [f"initrd={name}" for name, _ in archives] == kernel[3].split()[: len(archives)]
    (_, first), *beside = archives
    golden = built / Path(first).name.removesuffix(".zst")
    machine = Machine(built / kernel[2], (golden, *(served[HTTP + path].content for _, path in beside)), kernel[3])
    settings = [*image.sysctl, "net.ipv4.ip_forward", "net.ipv6.conf.all.forwarding", "net.ipv6.conf.be0.accept_ra"]
    return boot(plan, NODE, machine, tmp_path_factory.mktemp("machine"), settings, list(image.masked_units))


def test_every_unit_is_healthy(said: Mapping[str, str]) -> None:
    assert said["failed"].split() == []
    assert said["jobs"].split() == []
    assert said["check"].strip() == "passed"
    assert set(WITHOUT_HARDWARE) <= set(re.findall(r"systemd\.mask=(\S+)", said["cmdline"]))


def test_the_node_knows_its_name_and_its_image(plan: Plan, said: Mapping[str, str], image: Image) -> None:
    assert said["hostname"].strip() == NODE
    release = dict(line.split("=", 1) for line in said["release"].split())
    assert release["IMAGE_ID"].strip('"') == image.name
    assert f"training_{release['IMAGE_VERSION'].strip(chr(34))}" in " ".join(
        artifact.content.decode()
        for artifact in Rendering(plan).of_device("svc-v00n0")
        if artifact.path.endswith(".ipxe")
    )


def test_kernel_settings_are_those_of_the_spec(said: Mapping[str, str], image: Image) -> None:
    held = dict(re.findall(r"^(\S+) = (.*)$", said["sysctl"], re.M))
    for name, value in image.sysctl.items():
        assert held[name].split() == value.split(), name
    assert held["net.ipv4.ip_forward"] == held["net.ipv6.conf.all.forwarding"] == "0"
    assert held["net.ipv6.conf.be0.accept_ra"] == "0"


def test_modules_and_parameters_are_those_of_the_spec(said: Mapping[str, str], image: Image) -> None:
    loaded = set(said["modules"].split())
    assert {module.replace("-", "_") for module in image.modules} <= loaded
    assert not set(image.blacklist) & loaded
    assert set(image.kernel_parameters) <= set(said["cmdline"].split())
    assert image.hugepages is not None
    assert int(said["hugepages"].split()[1]) == image.hugepages.count


def test_nics_bear_names_and_rates_of_the_plan_at_their_pci_addresses(plan: Plan, said: Mapping[str, str]) -> None:
    model = plan.spec.catalogue[plan.by_name[NODE].model]
    pci = {nic.interface: nic.pci for group in model.nic_groups for nic in group.nics}
    ends = {cable.a.port: cable for cable in plan.cables_of[NODE] if cable.a.side == "host"}
    held = {name: (address, int(mtu)) for name, address, mtu in (line.split() for line in said["nics"].splitlines())}
    mtu = {fabric.name: fabric.mtu for fabric in plan.spec.fabrics}
    assert held == {port: (pci[port], mtu[cable.fabric]) for port, cable in ends.items()}
    addresses = {
        (link["ifname"], info["local"], info["prefixlen"])
        for link in json.loads(said["addresses"])
        for info in link["addr_info"]
        if info.get("scope") == "global"
    }
    assert addresses == {
        (port, str(ip_address(cable.a.address or 0)), cable.a.prefix_length) for port, cable in ends.items()
    }


def test_there_is_no_default_route(said: Mapping[str, str]) -> None:
    routes = json.loads(said["routes"]) + json.loads(said["routes6"])
    assert len(routes) > 20
    assert not [route for route in routes if route["dst"] in ("default", "0.0.0.0/0", "::/0") and "dev" in route]


def test_the_packet_filter_is_loaded_with_the_flows_of_the_spec(plan: Plan, said: Mapping[str, str]) -> None:
    rules = said["filter"]
    for hook in ("input", "forward", "output"):
        assert re.search(rf"hook {hook} priority \w+; policy drop;", rules), hook
    before_the_system = {zone.name for zone in plan.spec.zones if zone.kind == "boot"}
    for flow in plan.spec.flows:
        if "compute" in (flow.source, flow.target) and not {flow.source, flow.target} & before_the_system:
            for low, high in flow.ports:
                text = str(low) if low == high else f"{low}-{high}"
                assert re.search(rf"{flow.protocol} dport \{{? ?[^}}\n]*\b{text}\b", rules), flow.name


def test_nccl_uses_the_adapters_in_rail_order(plan: Plan, said: Mapping[str, str]) -> None:
    settings = dict(line.split("=", 1) for line in said["nccl"].splitlines() if line and not line.startswith("#"))
    model = plan.spec.catalogue[plan.by_name[NODE].model]
    rails = sorted(
        (cable.a.rail, cable.a.port) for cable in plan.cables_of[NODE] if cable.fabric == "backend"
    )  # fmt: skip
    verbs = {nic.interface: nic.rdma_device for group in model.nic_groups for nic in group.nics}
    assert settings["NCCL_IB_HCA"] == "=" + ",".join(str(verbs[port]) for _, port in rails)
    fabric = plan.spec.fabric("backend")
    assert fabric is not None
    assert fabric.addressing is not None
    assert settings["NCCL_IB_ADDR_RANGE"] == str(fabric.addressing.hosts)


def test_rdma_devices_have_the_plans_addresses_as_roce_v2_gids(plan: Plan, said: Mapping[str, str]) -> None:
    gids = {
        (part.split()[0], ip_address(gid))
        for part in said["gids"].split("hca_id:")[1:]
        for gid in re.findall(r"GID\[ *\d+\]:\s+(\S+), RoCE v2", part)
        if not ip_address(gid).is_link_local
    }
    model = plan.spec.catalogue[plan.by_name[NODE].model]
    verbs = {nic.interface: nic.rdma_device for group in model.nic_groups for nic in group.nics}
    assert gids == {
        (verbs[cable.a.port], ip_address(cable.a.address or 0))
        for cable in plan.cables_of[NODE]
        if cable.fabric == "backend"
    }
    assert re.findall(r"active_mtu:\s+(\d+)", said["gids"]) == ["4096"] * 8


def test_the_node_judges_itself_and_misses_what_the_machine_lacks(plan: Plan, said: Mapping[str, str]) -> None:
    verdict = json.loads(said["health"])
    gpus = plan.spec.catalogue[plan.by_name[NODE].model].gpus
    assert gpus is not None
    found = {check["name"]: check for check in verdict["checks"]}
    assert (verdict["node"], verdict["ok"]) == (NODE, False)
    assert verdict["reason"].startswith("node-health: gpu-count (0 of 8 GPUs")
    assert (found["gpu-count"]["observed"], found["gpu-count"]["expected"]) == ("0", str(gpus.count))
    # What a virtual machine has is judged by the running system.
    held = ("default-route", "hugepages", "image", "kernel-parameters")
    assert {name: found[name]["reason"] for name in held} == dict.fromkeys(held, "")
    assert "/home is not mounted" in found["mounts"]["reason"]


def test_limits_are_those_of_the_spec(said: Mapping[str, str], image: Image) -> None:
    locked = re.search(r"Max locked memory +(\S+) +(\S+)", said["limits"])
    files = re.search(r"Max open files +(\S+) +(\S+)", said["limits"])
    assert locked is not None
    assert files is not None
    assert set(locked.groups()) == {image.limits["memlock"]}
    assert set(files.groups()) == {image.limits["nofile"]}


def test_users_have_the_operators_keys_and_no_password(plan: Plan, said: Mapping[str, str], image: Image) -> None:
    keys = {operator.name: operator.keys for operator in plan.spec.site.operators}
    for user in image.users:
        assert f"{user.name}:{user.uid}:{user.shell}" in said["users"].split()
        for operator in user.operators:
            assert all(key in said["keys"] for key in keys[operator])
    assert all(line.split(":")[1][:1] in ("!", "*") for line in said["shadow"].split())
    assert "passwordauthentication no" in said["sshd"]


def test_masked_units_stay_masked(said: Mapping[str, str], image: Image) -> None:
    assert dict(line.split() for line in said["masked"].splitlines()) == dict.fromkeys(image.masked_units, "masked")


def test_the_image_holds_no_secret_and_no_identity(built: Path) -> None:
    (archive,) = (path for path in built.glob("*.cpio") if not path.is_symlink())
    with archive.open("rb") as stream:
        listing = subprocess.run(["cpio", "--list", "--quiet"], stdin=stream, capture_output=True, check=True)
    names = set(listing.stdout.decode().split())
    assert not [name for name in names if re.search(r"etc/ssh/ssh_host_|munge\.key|var/lib/systemd/random-seed", name)]
    assert "etc/hostname" not in names
    assert b"\n-----BEGIN OPENSSH PRIVATE KEY-----\n" not in archive.read_bytes()
