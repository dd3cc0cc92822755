"""Nodes send their logs to servers with the site's names alone: real rsyslog, real certificates, other names."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tests.plans import plan_of, plan_with

from clusterwright.hosts.linux.writer import system

NODE, PATH = "gpu-p00r00n0", "etc/rsyslog.d/90-clusterwright.conf"
APART = ("unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc")
OWN = """site:
  syslog_tls: {authority: /etc/pki/logs.pem, names: [logs.example.net]}
"""
# The server's certificate, the rendered forwarding, and one message that comes in on a port of this machine.
SCRIPT = """
set -e
ip link set lo up
ip address add {server} dev lo nodad
cd {folder}
python3 -c '{server_program}' {name} > received 2> refused &
while ! ss -ltn | grep -q 6514; do sleep 0.1; done
rsyslogd -n -f conf -i {folder}/pid > said 2>&1 &
for try in $(seq 100); do
    logger --udp --server 127.0.0.1 --port 5514 'job ends here'
    grep -q "ends here" received && exit 0
    grep -qx "b''" received && exit 1
    sleep 0.1
done
exit 1
"""
# Prints what each connection says; one that its client ends after the handshake says nothing.
SERVER = """
import socket, ssl, sys
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[1] + ".pem", sys.argv[1] + ".key")
listener = socket.create_server(("::", 6514), family=socket.AF_INET6)
while True:
    peer, _ = listener.accept()
    try:
        print(context.wrap_socket(peer, server_side=True).recv(4096), flush=True)
    except OSError as error:
        print(error, file=sys.stderr, flush=True)
"""


def _certificates(folder: Path, *names: str) -> None:
    """An authority, and a certificate of it for each name."""
    new = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
    signed = ["-CA", "ca.pem", "-CAkey", "ca.key", "-addext", "basicConstraints=critical,CA:FALSE"]
    _run([*new, "-subj", "/CN=authority", "-keyout", "ca.key", "-out", "ca.pem"], folder)
    for name in names:
        own = ["-subj", f"/CN={name}", "-addext", f"subjectAltName=DNS:{name}"]
        _run([*new, *signed, *own, "-keyout", f"{name}.key", "-out", f"{name}.pem"], folder)


def _run(command: list[str], folder: Path) -> None:
    subprocess.run(command, check=True, capture_output=True, cwd=folder)


@pytest.mark.parametrize(("name", "arrives"), [("logs.lab.example.net", True), ("logs.elsewhere.example.org", False)])
def test_logs_go_to_a_server_of_the_site_and_to_no_other(name: str, arrives: bool, tmp_path: Path) -> None:
    plan = plan_of("lab-roce")
    _certificates(tmp_path, name)
    (rendered,) = (artifact for artifact in system.WRITER.render(plan, plan.by_name[NODE]) if artifact.path == PATH)
    text = rendered.content.decode().replace("/etc/pki/clusterwright/authorities.pem", f"{tmp_path}/ca.pem")
    assert f"{tmp_path}/ca.pem" in text
    inputs = f"""global(workDirectory="{tmp_path}")
module(load="imudp")
input(type="imudp" address="127.0.0.1" port="5514")
"""
    (tmp_path / "conf").write_text(inputs + text)
    script = SCRIPT.format(folder=tmp_path, name=name, server_program=SERVER, server=f"{plan.spec.site.syslog[0]}/128")
    done = subprocess.run([*APART, "sh", "-c", script], capture_output=True, text=True, timeout=60, check=False)
    received = (tmp_path / "received").read_text()
    assert (done.returncode == 0) is arrives, done.stderr + (tmp_path / "said").read_text() + received
    assert received, "nobody came: a name that is refused is seen in the handshake"


def test_a_site_names_its_own_servers_and_authority(tmp_path: Path) -> None:
    plan = plan_with(tmp_path, "lab-roce", OWN)
    (rendered,) = (artifact for artifact in system.WRITER.render(plan, plan.by_name[NODE]) if artifact.path == PATH)
    text = rendered.content.decode()
    assert 'CAFile="/etc/pki/logs.pem"' in text
    assert 'StreamDriverPermittedPeers="logs.example.net"' in text
    assert "certvalid" not in text
