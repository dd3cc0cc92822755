"""A control node and execution nodes on this machine: real receptors with rendered configurations, each its own machine
as far as processes go. When one is killed, everything that it had started dies with it.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import TracebackType

from clusterwright.deploy.ansible.execution import ConnectedMesh, MeshNode
from clusterwright.deploy.ansible.receptor import Receptor, ReceptorError
from clusterwright.hosts.receptor.writer import Peer, ReceptorView, configuration, worker

CONTROLLER = "control"
REPOSITORY = Path(__file__).parents[3]


@cache
def program() -> str:
    """Receptor itself."""
    result = subprocess.run(
        [REPOSITORY / "tools/debian13-package", "receptor"], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, f"receptor is missing: {result.stderr}"
    return f"{result.stdout.strip()}/usr/bin/receptor"


class ReceptorMesh:
    """A mesh in this thread's network, as a context manager. ``pods`` maps execution node to the pods it works for."""

    def __init__(self, pods: Mapping[str, tuple[str, ...]]) -> None:
        self._pods = pods
        self._scratch = tempfile.TemporaryDirectory(prefix="cw-mesh-")
        self.folder = Path(self._scratch.name)
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._ports = {name: 27190 + index for index, name in enumerate(pods)}
        self.receptor = Receptor(self.state(CONTROLLER) / "control.sock", answer_s=10)

    def state(self, name: str) -> Path:
        """What stands for the folder in memory of one machine."""
        return self.folder / name / "run"

    def __enter__(self) -> ReceptorMesh:
        try:
            self.make_keys(self.folder, (CONTROLLER, *self._pods))
            for name in (*self._pods, CONTROLLER):
                self.start(name)
            self.wait_for({CONTROLLER, *self._pods})
        except BaseException:
            self._remove()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._remove()

    def execution(self, pods: Mapping[str, str], silent_after_s: float = 60) -> ConnectedMesh:
        """The mesh as a deployment is told of it; ``pods`` maps device to pod."""
        nodes = tuple(MeshNode(name, own) for name, own in self._pods.items())
        return ConnectedMesh(self.receptor.socket_path, nodes, pods, lost_after_s=2, silent_after_s=silent_after_s)

    def start(self, name: str, pki: Path | None = None) -> None:
        """Starts a machine; with ``pki``, under the certificates of another authority."""
        listens = name != CONTROLLER
        peers = tuple(Peer(node, f"127.0.0.1:{port}") for node, port in self._ports.items())
        view = ReceptorView(
            name,
            CONTROLLER,
            listens,
            "127.0.0.1",
            self._ports.get(name, 0),
            () if listens else peers,
            pki=str(pki or self.folder / name / "pki"),
            state=str(self.state(name)),
            worker=str(self.folder / name / "worker"),
        )
        scratch = self.state(name) / "tmp"
        scratch.mkdir(parents=True, exist_ok=True)
        script = self.folder / name / "worker"
        script.write_bytes(worker(str(Path(sys.executable).parent / "ansible-runner")))
        script.chmod(0o755)
        config = self.folder / name / "receptor.conf"
        config.write_bytes(configuration(view))
        search = f"{Path(sys.executable).parent}:/usr/sbin:/usr/bin:/sbin:/bin"
        with (self.folder / name / "log").open("ab") as log:
            self._processes[name] = subprocess.Popen(
                ["unshare", "--pid", "--fork", "--kill-child=KILL", "--mount-proc", program(), "--config", str(config)],
                stdout=log,
                stderr=log,
                env={"PATH": search, "TMPDIR": str(scratch), "HOME": str(self.state(name))},
            )

    def kill(self, name: str) -> None:
        """Ends a machine as a power cut does."""
        process = self._processes.pop(name)
        process.kill()
        process.wait()

    def signal(self, name: str, word: str, number: int) -> None:
        """Sends a signal to those processes of a machine whose command line has ``word``, the youngest first."""
        for pid in sorted(_below(self._processes[name].pid), reverse=True):
            with contextlib.suppress(OSError):
                if word.encode() in Path(f"/proc/{pid}/cmdline").read_bytes().partition(b"--command-runner")[0]:
                    os.kill(pid, number)

    def ask(self, name: str, line: str, payload: str) -> str:
        """What a machine's control service answers in the end, to a line and a payload written by hand."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(20)
            connection.connect(str(self.state(name) / "control.sock"))
            connection.sendall(f"{line}\n{payload}".encode())
            connection.shutdown(socket.SHUT_WR)
            with connection.makefile("r") as answers:
                return answers.read()

    def wait_for(self, names: set[str]) -> None:
        """Until the control node has a route to exactly ``names``."""
        deadline = time.monotonic() + 30
        while True:
            try:
                found = self.receptor.reachable()
            except ReceptorError:
                found = frozenset()
            if found == names:
                return
            assert time.monotonic() < deadline, f"the mesh reaches {sorted(found)}: {self.logs()}"
            time.sleep(0.1)

    def logs(self) -> str:
        return "\n".join(f"{path.parent.name}: {path.read_text()}" for path in sorted(self.folder.glob("*/log")))

    def units(self, name: str) -> list[str]:
        """The work units of which a machine still has files."""
        return sorted(path.parent.name for path in self.state(name).glob("data/*/*/status"))

    @staticmethod
    def make_keys(folder: Path, names: tuple[str, ...]) -> None:
        """An authority, certificates for ``names`` under ``folder/NAME/pki``, and the key that signs work."""
        authority = folder / "authority.pem", folder / "authority.key"

        def run(*words: str) -> None:
            done = subprocess.run([program(), *words], capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr

        run("--cert-init", "commonname=mesh", "bits=2048", f"outcert={authority[0]}", f"outkey={authority[1]}")
        signing = folder / "signing.pem"
        subprocess.run(["openssl", "genrsa", "-out", signing, "2048"], check=True, capture_output=True)
        for name in names:
            pki = folder / name / "pki"
            pki.mkdir(parents=True)
            (pki / "authority.pem").write_bytes(authority[0].read_bytes())
            request = ["bits=2048", f"commonname={name}", f"nodeid={name}", "ipaddress=127.0.0.1"]
            run("--cert-makereq", *request, f"outreq={pki}/request.pem", f"outkey={pki}/key.pem")
            issuer = [f"cacert={authority[0]}", f"cakey={authority[1]}"]
            issued = [f"req={pki}/request.pem", f"outcert={pki}/certificate.pem", "verify=yes"]
            run("--cert-signreq", *issued, *issuer)
            if name == CONTROLLER:
                (pki / "work-signing.pem").write_bytes(signing.read_bytes())
            else:
                public = ("openssl", "rsa", "-in", signing, "-pubout", "-out", pki / "work-signing.pub.pem")
                subprocess.run(public, check=True, capture_output=True)

    def _remove(self) -> None:
        for name in list(self._processes):
            self.kill(name)
        self._scratch.cleanup()


def _below(pid: int) -> list[int]:
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, task.read_text().split()):
            found += [child, *_below(child)]
    return found
