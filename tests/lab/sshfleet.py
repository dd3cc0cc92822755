"""A fleet of hosts on one Linux machine, each with a real sshd: what Ansible deploys to in tests and benchmarks.

A host is a network namespace on a bridge with mount, process, host-name and IPC namespaces of its own. Its root is an
overlay over this machine's root, so that it has this machine's programs and a private /etc. The controller is one more
network namespace: nothing here touches the machine's own network. Needs root, iproute2, util-linux and openssh-server.
"""

from __future__ import annotations

import base64
import contextlib
import fcntl
import gzip
import os
import secrets
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO

from clusterwright.durable import open_lock, own_folder, took_lock
from clusterwright.extras.lab.namespaces import NETNS, inside, remove_namespaces, run_ip
from clusterwright.finding import ClusterwrightError

_FLEETS = Path("/run/clusterwright-fleets")
_CONTROLLER_MAC = "02:cf:ff:00:00:01"
_START_TIMEOUT_S = 30
_PROGRAMS = {"ip": "iproute2", "unshare": "util-linux", "nsenter": "util-linux", "ssh-keygen": "openssh-client"}
_SSHD = "/usr/sbin/sshd"

_SSHD_CONFIG = """\
HostKey /etc/ssh/fleet_host_key
AuthorizedKeysFile /etc/ssh/fleet_authorized_keys
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
StrictModes no
UsePAM no
UseDNS no
PidFile none
MaxStartups 100
"""

# Becomes process 1 of a host, or has systemd-nspawn start systemd as that. /proc/sys is read-only but for net/:
# everything else there belongs to the whole machine.
_HOST_SCRIPT = """
mount -t tmpfs -o mode=0755 tmpfs "$FLEET/mnt"
mkdir "$FLEET/mnt/upper" "$FLEET/mnt/work" "$FLEET/mnt/root"
mount -t overlay -o "lowerdir=/,upperdir=$FLEET/mnt/upper,workdir=$FLEET/mnt/work" overlay "$FLEET/mnt/root"
root="$FLEET/mnt/root"
install -m 0600 "$FLEET/$HOST.key" "$root/etc/ssh/fleet_host_key"
install -m 0600 "$FLEET/id.pub" "$root/etc/ssh/fleet_authorized_keys"
install -m 0600 "$FLEET/sshd_config" "$root/etc/ssh/fleet_sshd_config"
cd "$root"
if [ "$INIT" = systemd ]; then
    echo c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1 > etc/machine-id
    printf '[Service]\\nRuntimeDirectory=sshd\\nExecStart=/usr/sbin/sshd -D -f /etc/ssh/fleet_sshd_config\\n' \\
        > etc/systemd/system/fleet.service
    ln -s /dev/null etc/systemd/system/timers.target # what this machine does now and then, its hosts need not
    mkdir etc/systemd/system/basic.target.wants
    ln -s ../fleet.service etc/systemd/system/basic.target.wants/fleet.service
    export SYSTEMD_NSPAWN_API_VFS_WRITABLE=network
    exec systemd-nspawn --quiet --directory="$root" --register=no --keep-unit --console=passive --machine="$HOST" \\
        --network-namespace-path="$NETWORK" --capability=CAP_NET_ADMIN --boot systemd.unit=basic.target
fi
mount -t proc proc proc
mount --bind proc/sys proc/sys
mount --bind proc/sys/net proc/sys/net
mount -o remount,bind,ro proc/sys
mount -t sysfs -o ro sysfs sys
mount --rbind /dev dev
mount -t tmpfs -o mode=0755 tmpfs run
mount -t tmpfs -o mode=1777 tmpfs tmp
mkdir run/sshd run/old
pivot_root . run/old
cd /
umount -l /run/old
hostname unnamed
exec /usr/sbin/sshd -D -e -f /etc/ssh/fleet_sshd_config
"""


@dataclass(frozen=True, slots=True)
class FleetHost:
    """A running host. Its sshd listens at ``address``, port 22; ``mac`` is that of its one interface."""

    name: str
    address: str
    mac: str
    namespace: str


class SshFleet:
    """Running hosts, as a context manager; leaving it removes every trace.

    ``addresses`` maps host to its IPv4 or IPv6 address, on the one ``interface`` it has; ``controller`` is the
    controller's address, of the same IP version. Every pair talks directly, whatever the addresses: a packet filter
    sees who speaks from where as in the real network, without its routers. Attributes: ``hosts`` by name,
    ``private_key`` (path) that root of each host accepts, ``known_hosts`` (path) with every host's own key. What a
    killed process left is removed by whoever starts a fleet next. Raises ClusterwrightError when a program or a right
    is missing, or a host does not come up. With ``systemd`` each host boots a systemd of its own, into basic.target
    (package systemd-container): a second instead of milliseconds.
    """

    def __init__(
        self,
        addresses: Mapping[str, str],
        controller: str = "10.213.0.1",
        interface: str = "eth0",
        *,
        systemd: bool = False,
    ) -> None:
        token = secrets.token_hex(3)
        self._folder = _FLEETS / token
        self._controller = f"cw-{token}-ctl"
        self._controller_address = controller
        self._interface = interface
        self._systemd = systemd
        self._lock: IO[str] | None = None
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self.hosts = {
            name: FleetHost(
                name,
                address,
                f"02:cf:00:00:{index // 256:02x}:{index % 256:02x}",
                f"cw-{token}-{index}",
            )
            for index, (name, address) in enumerate(addresses.items())
        }
        self.private_key = self._folder / "id"
        self.known_hosts = self._folder / "known_hosts"

    def __enter__(self) -> SshFleet:
        _require_programs({"systemd-nspawn": "systemd-container"} if self._systemd else {})
        own_folder(_FLEETS)
        with open_lock(_FLEETS / "lock") as starting:
            fcntl.flock(starting, fcntl.LOCK_EX)
            _remove_leftovers()
            own_folder(self._folder)
            (self._folder / "mnt").mkdir()
            self._lock = open_lock(self._folder / "lock")
            fcntl.flock(self._lock, fcntl.LOCK_EX)
        try:
            self._make_keys()
            self._make_network()
            for host in self.hosts.values():
                self._processes[host.name] = self._start(host)
            self._wait_for_sshd()
        except BaseException:
            self._remove()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._remove()

    @contextlib.contextmanager
    def as_controller(self) -> Iterator[None]:
        """Within, this thread, threads started from it and their child processes use the controller's network."""
        with inside(self._controller):
            yield

    def run(self, host: str, *command: str) -> str:
        """Run a program inside a host, past SSH, and return its standard output. Raises CalledProcessError."""
        process = self._processes[host].pid
        inner = Path(f"/proc/{process}/task/{process}/children").read_text().split()[0]
        return subprocess.run(
            ["nsenter", "--target", inner, "--all", "--", *command], check=True, capture_output=True, text=True
        ).stdout

    def cut(self, host: str) -> None:
        """Unplug a host: its link goes down."""
        run_ip(f"link set {self._interface} down\n", namespace=self.hosts[host].namespace)

    def _make_keys(self) -> None:
        (self._folder / "sshd_config").write_text(_SSHD_CONFIG)
        for name, comment in [("id", "fleet"), *((f"{host}.key", host) for host in self.hosts)]:
            command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", comment, "-f", str(self._folder / name)]
            subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
        public = {host.address: self._folder / f"{host.name}.key.pub" for host in self.hosts.values()}
        self.known_hosts.write_text("".join(f"{address} {path.read_text()}" for address, path in public.items()))

    def _make_network(self) -> None:
        hosts = tuple(self.hosts.values())
        controller = self._controller
        nodad = " nodad" if ":" in self._controller_address else ""
        run_ip("".join(f"netns add {name}\n" for name in (controller, *(host.namespace for host in hosts))))
        # The kernel has one neighbour table for all namespaces: permanent entries keep it from being swept when many
        # hosts talk at once.
        run_ip(
            f"link set lo up\nlink add br0 address {_CONTROLLER_MAC} type bridge\nlink set br0 up\n"
            f"addr add {self._controller_address} dev br0{nodad}\n"
            + "".join(
                f"link add p{index} master br0 type veth peer name {self._interface} "
                f"address {host.mac} netns {host.namespace}\nlink set p{index} up\n"
                f"route add {host.address} dev br0\n"
                f"neigh add {host.address} lladdr {host.mac} dev br0 nud permanent\n"
                for index, host in enumerate(hosts)
            ),
            namespace=controller,
        )
        for host in hosts:
            run_ip(
                f"link set lo up\nlink set {self._interface} up\n"
                f"addr add {host.address} dev {self._interface}{nodad}\n"
                f"route add {self._controller_address} dev {self._interface}\n"
                f"neigh add {self._controller_address} lladdr {_CONTROLLER_MAC} dev {self._interface} nud permanent\n",
                namespace=host.namespace,
            )

    def _start(self, host: FleetHost) -> subprocess.Popen[bytes]:
        network = str(NETNS / host.namespace)
        # systemd-nspawn makes the other namespaces itself, and finds nobody in /proc from within a process namespace.
        own = () if self._systemd else ("--uts", "--ipc", "--pid", "--fork", "--kill-child=KILL")
        variables = {"FLEET": str(self._folder), "HOST": host.name, "NETWORK": network}
        with (self._folder / f"{host.name}.log").open("wb") as log:
            return subprocess.Popen(
                [
                    *("nsenter", f"--net={network}", "unshare", "--mount", *own),
                    *("/bin/sh", "-euc", _HOST_SCRIPT),
                ],
                env={
                    "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
                    "INIT": "systemd" if self._systemd else "sshd",
                    **variables,
                },
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def _wait_for_sshd(self) -> None:
        deadline = time.monotonic() + _START_TIMEOUT_S
        with self.as_controller():
            for host in self.hosts.values():
                while not _answers(host.address):
                    if self._processes[host.name].poll() is not None or time.monotonic() > deadline:
                        log = (self._folder / f"{host.name}.log").read_text(errors="replace")
                        raise ClusterwrightError(f"fleet host {host.name} does not come up: {log.strip()}")
                    time.sleep(0.02)

    def _remove(self) -> None:
        _remove_fleet(self._folder)
        for process in self._processes.values():
            process.wait()
        if self._lock is not None:
            self._lock.close()


def put(fleet: SshFleet, name: str, path: str, text: str) -> None:
    """A file on a host, which has a /tmp of its own."""
    packed = base64.b64encode(gzip.compress(text.encode())).decode()
    script = 'mkdir -p "${1%/*}"; echo "$0" | base64 -d | gunzip > "$1"; chmod 755 "$1"'
    fleet.run(name, "sh", "-c", script, packed, path)


def _require_programs(more: Mapping[str, str]) -> None:
    for program, package in {**_PROGRAMS, **more}.items():
        if shutil.which(program) is None:
            raise ClusterwrightError(f"an SSH fleet needs the program {program}: install the package {package}")
    if not Path(_SSHD).exists():
        raise ClusterwrightError("an SSH fleet needs sshd: install the package openssh-server")
    if os.geteuid() != 0:
        raise ClusterwrightError("an SSH fleet is made of namespaces, which takes root: run as root")


def _remove_leftovers() -> None:
    # A fleet's owner holds its lock for as long as it lives, however it dies.
    for folder in sorted(path for path in _FLEETS.iterdir() if path.is_dir() and not path.is_symlink()):
        with open_lock(folder / "lock") as lock:
            if took_lock(lock):
                _remove_fleet(folder)


def _remove_fleet(folder: Path) -> None:
    remove_namespaces(f"cw-{folder.name}-")
    shutil.rmtree(folder)


def _answers(address: str) -> bool:
    try:
        with socket.create_connection((address, 22), timeout=1) as connection:
            return connection.recv(4) == b"SSH-"
    except OSError:
        return False
