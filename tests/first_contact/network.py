"""A management port, its switch and the site's server as network namespaces: a relay, Kea, nginx, each a real program.

ISC's relay stands for the switch's: it asks from the gateway's address, and writes the port's name into option 82.
"""

from __future__ import annotations

import contextlib
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from clusterwright.extras.lab.namespaces import inside, remove_namespaces, run_ip
from clusterwright.output.rendering import Rendering
from clusterwright.plan.first_contact import PortContact, contacts
from clusterwright.plan.model import Plan, format_address

PREFIX = "cw-contact-"
DEVICE, SWITCH, SERVER = (f"{PREFIX}{name}" for name in ("device", "switch", "server"))
PORT = "eth0"
WAIT_S = 30
UPLINK_IPV4, UPLINK_IPV6 = "192.0.2.1", "2001:db8::1"
_START = """\
set -eu
mount --make-rprivate /
for place in etc/kea etc/nginx/conf.d srv/first-contact; do
    mkdir -p "/$place" "{tree}/$place"
    mount --bind "{tree}/$place" "/$place"
done
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /var/lib
mount --bind {logs} /var/log/nginx
mkdir -p /run/kea /run/lock /var/lib/kea /var/lib/nginx
kea-dhcp{version} -c /etc/kea/kea-dhcp{version}.conf > {logs}/kea.log 2>&1 &
nginx -g 'daemon off;' > {logs}/nginx.log 2>&1 &
wait
"""


class Answer(NamedTuple):
    """What a DHCP client was given, by the names that it gives its script."""

    given: dict[str, str]
    logs: Path


def contact_of(plan: Plan, device: str) -> PortContact:
    """The management port of a device."""
    return next(contact for contact in contacts(plan) if contact.device == device)


def write_site(plan: Plan, folder: Path) -> Path:
    """The server's files as they would lie on it."""
    for artifact in Rendering(plan).of_site():
        place = folder / artifact.path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(artifact.content)
    return folder


@contextmanager
def network(plan: Plan, device: str, folder: Path, mac: str) -> Iterator[Path]:
    """Within, the server and the relay of a device run; gives the folder of their logs."""
    contact = contact_of(plan, device)
    subnet = plan.host_subnet_of[contact.fabric, contact.switch]
    gateway = format_address(subnet.gateway or 0, subnet.version)
    section = plan.spec.first_contact
    assert section is not None
    tree, logs = write_site(plan, folder / "tree"), folder / "logs"
    logs.mkdir()
    logs.chmod(0o777)
    remove_namespaces(PREFIX)
    with ExitStack() as stack:
        stack.callback(remove_namespaces, PREFIX)
        run_ip("".join(f"netns add {name}\n" for name in (DEVICE, SWITCH, SERVER)))
        run_ip(
            f"link add {PORT} address {mac} netns {DEVICE} type veth peer name {contact.switch_port} netns {SWITCH}\n"
            f"link add uplink netns {SWITCH} type veth peer name {PORT} netns {SERVER}\n"
        )
        # Addresses are there at once: nobody else has them. So are link-local ones, which Kea and clients bind to.
        for name in (DEVICE, SWITCH, SERVER):
            with inside(name):
                for setting in Path("/proc/sys/net/ipv6/conf").glob("*/accept_dad"):
                    setting.write_text("0")
        at_once = " nodad" if subnet.version == 6 else ""
        length, uplink = (128, UPLINK_IPV6) if subnet.version == 6 else (32, UPLINK_IPV4)
        up = "link set lo up\nlink set {port} up\n"
        run_ip(up.format(port=PORT), DEVICE)
        run_ip(
            f"{up.format(port=contact.switch_port)}link set uplink up\n"
            f"addr add {gateway}/{subnet.prefix_length} dev {contact.switch_port}{at_once}\n"
            f"addr add {uplink}/{length} dev uplink{at_once}\nroute add {section.server}/{length} dev uplink\n",
            SWITCH,
        )
        run_ip(
            f"{up.format(port=PORT)}addr add {section.server}/{length} dev {PORT}{at_once}\n"
            f"route add {uplink}/{length} dev {PORT}\nroute add default via {uplink} dev {PORT}\n",
            SERVER,
        )
        forwarding = {4: "ipv4/ip_forward", 6: "ipv6/conf/all/forwarding"}[subnet.version]
        with inside(SWITCH):
            Path(f"/proc/sys/net/{forwarding}").write_text("1")
        script = _START.format(tree=tree, logs=logs, version=subnet.version)
        _background(
            stack, SERVER, ["unshare", "--mount", "--fork", "--kill-child", "sh", "-c", script], logs / "server"
        )
        _wait(lambda: f"DHCP{subnet.version}_STARTED" in _text(logs / "kea.log"), logs)
        relay = ["dhcrelay", "-4", "-d", "-a", "-id", contact.switch_port, "-iu", "uplink", str(section.server)]
        if subnet.version == 6:
            relay = ["dhcrelay", "-6", "-d", "-l", contact.switch_port, "-u", f"{section.server}%uplink"]
        _background(stack, SWITCH, relay, logs / "relay")
        _wait(lambda: "Sending on" in _text(logs / "relay"), logs)
        yield logs


def _background(stack: ExitStack, namespace: str, command: list[str], log: Path) -> None:
    with inside(namespace), log.open("w") as stream:
        process = subprocess.Popen(command, stdout=stream, stderr=subprocess.STDOUT)

    def end() -> None:
        process.kill()
        process.wait()

    stack.callback(end)


def _text(file: Path) -> str:
    return file.read_text() if file.exists() else ""


def _wait(is_there: Callable[[], bool], logs: Path) -> None:
    deadline = time.monotonic() + WAIT_S
    while not is_there():
        assert time.monotonic() < deadline, "\n".join(f"{file}: {_text(file)}" for file in logs.iterdir())
        time.sleep(0.1)


def ask(folder: Path, configuration: str, version: int = 4) -> dict[str, str]:
    """What dhclient, told ``configuration``, is given; nothing where nobody answers."""
    folder.mkdir(exist_ok=True)
    (folder / "dhclient.conf").write_text(f"timeout 8;\n{configuration}")
    script, given = folder / "script", folder / "given"
    script.write_text(f"#!/bin/sh\ncase $reason in BOUND|BOUND6) env > {given};; esac\nexit 0\n")
    script.chmod(0o755)
    files = ("-cf", folder / "dhclient.conf", "-lf", folder / "leases", "-pf", folder / "pid", "-sf", script)
    with inside(DEVICE):
        # It stays behind to renew its address, and ends with its namespace.
        command = ["dhclient", f"-{version}", "-1", *map(str, files), PORT]
        # Over IPv6 it tries until somebody answers.
        with contextlib.suppress(subprocess.TimeoutExpired):
            subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=WAIT_S, check=False)
    return _environment(given)


def ask_as_onie(folder: Path, platform: str) -> dict[str, str]:
    """What busybox's client is given with the arguments of ONIE (opencomputeproject/onie, scripts/functions)."""
    folder.mkdir(exist_ok=True)
    script, given = folder / "script", folder / "given"
    script.write_text(f'#!/bin/sh\n[ "$1" != bound ] || env > {given}\nexit 0\n')
    script.chmod(0o755)
    words = [
        "-q",
        "-n",
        "-t",
        "4",
        "-T",
        "2",
        "-f",
        "-S",
        "-V",
        f"onie_vendor:{platform}",
        "-O",
        "114",
        "-x",
        "77:6f6e6965",
    ]
    command = ["busybox", "udhcpc", *words, "-s", str(script), "-i", PORT]
    with inside(DEVICE):
        subprocess.run(command, capture_output=True, timeout=WAIT_S, check=False)
    return _environment(given)


def _environment(file: Path) -> dict[str, str]:
    pairs = (line.partition("=") for line in _text(file).splitlines())
    return {name: value for name, _, value in pairs}


def fetch(given: dict[str, str], url: str, length: int, router: str = "") -> tuple[int, bytes]:
    """Status and content of a URL, fetched from the device with the address and router that it was given.

    Over IPv6 the ``router`` is one that announces itself.
    """
    router = router or given.get("new_routers") or given["router"]
    address = given.get("new_ip6_address") or given.get("new_ip_address") or given["ip"]
    at_once = " nodad" if ":" in address else ""
    run_ip(
        f"addr replace {address}/{length} dev {PORT}{at_once}\nroute replace default via {router} dev {PORT}\n", DEVICE
    )
    with inside(DEVICE):
        command = ["curl", "--silent", "--max-time", "10", "--write-out", "\n%{http_code}", url]
        ended = subprocess.run(command, capture_output=True, timeout=WAIT_S, check=True)
    content, _, status = ended.stdout.rpartition(b"\n")
    return int(status), content
