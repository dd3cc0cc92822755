"""The site's own servers, which a spec names and nobody renders: names as the rendered zones have them, and the time.

They stand behind the switch of the hall, where everything outside the cluster would be.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from clusterwright.extras.lab.namespaces import inside, run_ip
from clusterwright.lists.dns import zone_files
from clusterwright.lists.records import Inventory
from clusterwright.plan.model import Plan

_SINCE_1900_S = 2_208_988_800
_NTP = "!BBbbII4s8s8s8s8s"


@contextmanager
def site_servers(plan: Plan, namespace: str, folder: Path) -> Iterator[None]:
    """Within, the servers for names and time that the spec names answer in ``namespace``."""
    site = plan.spec.site
    for address in (*site.dns, *site.ntp):
        run_ip(f"addr add {address}/{128 if ':' in address else 32} dev lo nodad\n", namespace)
    hosts = folder / "hosts"
    hosts.write_text("".join(f"{line}\n" for line in _hosts(plan)))
    command = ["dnsmasq", "--keep-in-foreground", "--conf-file=/dev/null", "--user=root", "--log-facility=-"]
    command += ["--no-resolv", "--no-hosts", f"--addn-hosts={hosts}", "--bind-interfaces", "--log-queries"]
    # The site's zones are its own: of a name without an IPv4 address it says so, and does not refuse to answer.
    command += [f"--local=/{zone}/" for zone in (site.domain, "in-addr.arpa", "ip6.arpa")]
    command += [f"--listen-address={address}" for address in site.dns]
    with ExitStack() as stack, (folder / "dns.log").open("w") as stream:
        for address in site.ntp:
            stack.enter_context(_clock(namespace, address))
        with inside(namespace):
            process = subprocess.Popen(command, stdout=stream, stderr=subprocess.STDOUT)
        try:
            yield
        finally:
            process.kill()
            process.wait()


def _hosts(plan: Plan) -> Iterator[str]:
    """The addresses of the rendered zone of the site's domain, as a hosts file."""
    domain = plan.spec.site.domain
    for line in zone_files(Inventory(plan), 1)[f"{domain}.zone"]:
        match line.split():
            case [name, "A" | "AAAA", address]:
                yield f"{address} {name}.{domain}"


@contextmanager
def _clock(namespace: str, address: str) -> Iterator[None]:
    """A server of this machine's time: RFC 4330, 4 and 5."""
    with inside(namespace):
        own = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM)
    own.bind((address, 123))

    def answer() -> None:
        while True:
            try:
                asked, whom = own.recvfrom(512)
            except OSError:
                return
            if not asked:  # the socket was shut down
                return
            seconds, rest = divmod(time.time() + _SINCE_1900_S, 1)
            now = struct.pack("!II", int(seconds), int(rest * 2**32))
            own.sendto(struct.pack(_NTP, 0x24, 1, 6, -20, 0, 0, b"LOCL", now, asked[40:48], now, now), whom)

    threading.Thread(target=answer, daemon=True).start()
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            own.shutdown(socket.SHUT_RDWR)
        own.close()
