"""A node with its rendered filter and a file server outside of the spec, as network namespaces.

NFS-Ganesha is the server; the kernel of a test machine may have no client of NFS, so libnfs asks from the node.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.small.docker_node import NODE_ADDRESS, entered

OTHER_ADDRESS = "10.30.0.6"
_GANESHA = """
NFS_CORE_PARAM {{ Protocols = 4; NFS_Port = 2049; Enable_NLM = false; Enable_RQUOTA = false; }}
NFSV4 {{ Graceless = true; RecoveryRoot = "{folder}/recovery"; RecoveryBackend = fs; Only_Numeric_Owners = true; }}
EXPORT {{
    Export_Id = 1; Path = "{folder}/data"; Pseudo = "{export}"; Access_Type = RO; Squash = No_Root_Squash;
    Protocols = 4; Transports = TCP; SecType = sys; FSAL {{ Name = VFS; }}
}}
"""


@contextmanager
def node_and_file_server(folder: Path, export: str, address: str) -> Iterator[str]:
    """The namespace of a node; the server beside it exports a file `greeting` from two addresses."""
    node, server = f"fn{os.getpid()}", f"fs{os.getpid()}"
    commands = [
        f"netns add {node}",
        f"netns add {server}",
        f"-n {node} link set lo up",
        f"-n {server} link set lo up",
        f"-n {node} link add fe0 type veth peer name p0 netns {server}",
        f"-n {node} address add {NODE_ADDRESS}/26 dev fe0",
        f"-n {node} link set fe0 up",
        f"-n {server} address add {address}/32 dev p0",
        f"-n {server} address add {OTHER_ADDRESS}/32 dev p0",
        f"-n {server} link set p0 up",
        f"-n {server} route add 10.10.0.0/26 dev p0 src {address}",
        f"-n {node} route add 10.30.0.0/24 dev fe0",
    ]
    (folder / "data").mkdir()
    (folder / "recovery").mkdir()
    (folder / "data" / "greeting").write_text("from the file server\n")
    settings = folder / "ganesha.conf"
    settings.write_text(_GANESHA.format(folder=folder, export=export))
    try:
        for line in commands:
            subprocess.run(["ip", *line.split()], check=True)
        ganesha = ("ganesha.nfsd", "-F", "-f", str(settings), "-L", str(folder / "log"), "-p", str(folder / "pid"))
        with subprocess.Popen(entered(server, *ganesha)) as program:
            try:
                _wait_for_port(server, folder / "log")
                yield node
            finally:
                program.terminate()
    finally:
        for name in (node, server):
            subprocess.run(["ip", "netns", "delete", name], check=False)


def _wait_for_port(namespace: str, log: Path) -> None:
    until = time.monotonic() + 30
    while time.monotonic() < until:
        sockets = subprocess.run(entered(namespace, "ss", "-ltnH"), capture_output=True, text=True, check=True).stdout
        if ":2049 " in sockets:
            return
        time.sleep(0.2)
    raise AssertionError(f"NFS-Ganesha does not listen:\n{log.read_text()[-2000:]}")


def read_over_nfs(node: str, hosts: Path, source: str, version: str) -> str:
    """The file `greeting` of an export, asked from a node with its rendered /etc/hosts; "" without an answer."""
    server, _, export = source.partition(":/")
    url = f"nfs://{server}/{export}/greeting?version={version}"
    script = f'mount --bind {hosts} /etc/hosts && exec timeout 4 nfs-cat "{url}"'
    words = entered(node, "unshare", "--mount", "sh", "-c", script)
    return subprocess.run(words, capture_output=True, text=True, check=False).stdout
