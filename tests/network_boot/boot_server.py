"""A boot server as it was rendered, in a network namespace: Kea, dnsmasq for TFTP, nginx, each with its own files.

The rendered tree lies where the server would have it, in a mount namespace of its own.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from clusterwright.extras.lab.namespaces import inside

_PLACES = ("etc/kea", "etc/dnsmasq.d", "etc/nginx/conf.d", "srv/http")
_START = """\
set -eu
mount --make-rprivate /
for place in {places}; do
    mkdir -p "/$place"
    mount --bind "{tree}/$place" "/$place"
done
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /var/lib
mount --bind {logs} /var/log/nginx
mkdir -p /run/kea /run/lock /var/lib/kea /var/lib/nginx /var/lib/misc
hostname {name}
[ ! -e {tree}/etc/tmpfiles.d/clusterwright-installing.conf ] ||
    systemd-tmpfiles --create {tree}/etc/tmpfiles.d/clusterwright-installing.conf
for conf in /etc/kea/kea-dhcp4.conf /etc/kea/kea-dhcp6.conf; do
    [ ! -e "$conf" ] || "$(basename "$conf" .conf)" -c "$conf" > {logs}/kea.log 2>&1 &
done
dnsmasq --keep-in-foreground --conf-file=/dev/null --conf-dir=/etc/dnsmasq.d,*.conf --user=root --log-facility=- \\
    > {logs}/tftp.log 2>&1 &
nginx -g 'daemon off;' > {logs}/nginx.log 2>&1 &
touch {logs}/started
wait
"""


@contextmanager
def serving(namespace: str, name: str, tree: Path, addresses: Sequence[str], gateway: str, logs: Path) -> Iterator[int]:
    """Within, the server ``name`` runs what ``tree`` holds; gives the id of the process whose namespaces are its."""
    with inside(namespace):
        family = ["-6"] if ":" in gateway else []
        for line in (*addresses, f"route add default via {gateway}"):
            subprocess.run(["ip", *family, *line.split()], check=True)
        filters = tree / "etc/nftables.conf"
        subprocess.run(["nft", "-f", filters], check=True)
    script = _START.format(places=" ".join(_PLACES), tree=tree, name=name, logs=logs)
    command = ["unshare", "--mount", "--uts", "--pid", "--fork", "--mount-proc", "--kill-child", "sh", "-c", script]
    with inside(namespace), (logs / "server.log").open("w") as stream:
        process = subprocess.Popen(command, stdout=stream, stderr=subprocess.STDOUT)
    try:
        deadline = time.monotonic() + 30
        while not (logs / "started").exists():
            assert time.monotonic() < deadline, (logs / "server.log").read_text()
            assert process.poll() is None, (logs / "server.log").read_text()
            time.sleep(0.1)
        yield process.pid
    finally:
        process.kill()  # and with it all of its process namespace
        process.wait()
