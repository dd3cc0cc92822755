"""A node with Docker's bridge and one container, and a machine of the campus, as network namespaces."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

NODE_ADDRESS, CAMPUS, CONTAINER = "10.10.0.2", "10.20.0.9", "172.17.0.2"
# What dockerd 27 writes with iptables for its bridge and `docker run -p 8080:80 -p 8081:81`
# (libnetwork/drivers/bridge/setup_ip_tables_linux.go).
DOCKERS_RULES = """
-t nat -N DOCKER
-t nat -A PREROUTING -m addrtype --dst-type LOCAL -j DOCKER
-t nat -A OUTPUT ! -d 127.0.0.0/8 -m addrtype --dst-type LOCAL -j DOCKER
-t nat -A POSTROUTING -s 172.17.0.0/16 ! -o docker0 -j MASQUERADE
-t nat -A DOCKER -i docker0 -j RETURN
-t nat -A DOCKER ! -i docker0 -p tcp --dport 8080 -j DNAT --to-destination 172.17.0.2:80
-t nat -A DOCKER ! -i docker0 -p tcp --dport 8081 -j DNAT --to-destination 172.17.0.2:81
-P FORWARD DROP
-N DOCKER
-A FORWARD -o docker0 -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
-A FORWARD -o docker0 -j DOCKER
-A FORWARD -i docker0 ! -o docker0 -j ACCEPT
-A FORWARD -i docker0 -o docker0 -j ACCEPT
-A DOCKER -d 172.17.0.2/32 ! -i docker0 -o docker0 -p tcp --dport 80 -j ACCEPT
-A DOCKER -d 172.17.0.2/32 ! -i docker0 -o docker0 -p tcp --dport 81 -j ACCEPT
"""
LISTEN = """
import selectors, socket, sys
listening = selectors.DefaultSelector()
for port in map(int, sys.argv[1:]):
    listener = socket.create_server(("", port))
    listening.register(listener, selectors.EVENT_READ)
print("listening", flush=True)
while True:
    for key, _ in listening.select():
        connection, peer = key.fileobj.accept()
        connection.sendall(peer[0].encode())
        connection.close()
"""
CONNECT = """
import socket, sys
source = (sys.argv[3], 0) if len(sys.argv) > 3 else None
try:
    with socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=1.5, source_address=source) as connection:
        print(connection.recv(64).decode())
except OSError:
    print("no")
"""


@dataclass(frozen=True, slots=True)
class Namespaces:
    """The names of the network namespaces."""

    node: str
    container: str
    campus: str


def entered(namespace: str, *arguments: str) -> list[str]:
    return ["ip", "netns", "exec", namespace, *arguments]


@contextmanager
def node_with_docker() -> Iterator[Namespaces]:
    """Node, container and campus with addresses and Docker's rules, before any filter of ours."""
    names = Namespaces(f"dn{os.getpid()}", f"dc{os.getpid()}", f"ds{os.getpid()}")
    node, container, campus = names.node, names.container, names.campus
    commands = [
        f"netns add {node}",
        f"netns add {container}",
        f"netns add {campus}",
        f"-n {node} link set lo up",
        f"-n {node} link add fe0 type veth peer name p0 netns {campus}",
        f"-n {node} link add docker0 type bridge",
        f"-n {node} link add veth0 type veth peer name eth0 netns {container}",
        f"-n {node} link set veth0 master docker0",
        f"-n {node} address add {NODE_ADDRESS}/26 dev fe0",
        f"-n {node} address add 172.17.0.1/16 dev docker0",
        *(f"-n {node} link set {name} up" for name in ("fe0", "docker0", "veth0")),
        f"-n {container} address add {CONTAINER}/16 dev eth0",
        f"-n {container} address add 10.20.0.77/32 dev eth0",
        f"-n {container} link set eth0 up",
        f"-n {container} route add default via 172.17.0.1",
        f"-n {campus} address add {CAMPUS}/16 dev p0",
        f"-n {campus} link set p0 up",
        f"-n {campus} route add 10.10.0.0/26 dev p0",
        f"-n {campus} route add 172.17.0.0/16 via {NODE_ADDRESS} onlink dev p0",
        f"-n {node} route add 10.20.0.0/16 dev fe0",
    ]
    try:
        for line in commands:
            subprocess.run(["ip", *line.split()], check=True)
        subprocess.run(entered(node, "sysctl", "-qw", "net.ipv4.ip_forward=1"), check=True)
        for line in DOCKERS_RULES.split("\n"):
            if line:
                subprocess.run(entered(node, "iptables-nft", *line.split()), check=True)
        yield names
    finally:
        for name in (node, container, campus):
            subprocess.run(["ip", "netns", "delete", name], check=False)
