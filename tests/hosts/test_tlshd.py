"""tlshd itself with the rendered configuration: it reads it, and says what is wrong with a damaged one.

Its handshakes come from the kernel (CONFIG_NET_HANDSHAKE), which most machines that run tests are without: there it
reads everything, says that the kernel has no such service, and ends.
"""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from tests.hosts.tls_authority import Authority
from tests.plans import plan_of

from clusterwright.output.rendering import Rendering

REPOSITORY = Path(__file__).parents[2]
CONFIG = "etc/tlshd/config"
UNIT = "etc/systemd/system/tlshd.service.d/90-clusterwright.conf"
READ = "Kernel handshake service is not available"
SCRIPT = """
set -e
mkdir -p {folder}/upper {folder}/work
mount -t overlay overlay -o lowerdir=/etc,upperdir={folder}/upper,workdir={folder}/work /etc
LD_LIBRARY_PATH={library} exec timeout 20 {command}
"""


@cache
def unpacked(package: str) -> Path:
    """A package of Debian 13, which has the first tlshd of Debian; nothing is installed."""
    result = subprocess.run(
        [REPOSITORY / "tools/debian13-package", package], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, f"{package} cannot be had: {result.stderr}"
    return Path(result.stdout.strip())


@cache
def rendered(path: str) -> str:
    (artifacts,) = (
        artifact for artifact in Rendering(plan_of("lab-roce")).of_device("gpu-p00r00n0") if artifact.path == path
    )
    return artifacts.content.decode()


def commands(word: str) -> list[str]:
    """What the rendered unit does: the commands after ``ExecStart=`` or ``ExecStartPre=``."""
    lines = [line.partition("=") for line in rendered(UNIT).splitlines()]
    return [value for name, _, value in lines if name == word and value]


def tlshd(folder: Path, config: str | None, command: str) -> tuple[int, str]:
    """Starts it in a mount namespace with an /etc of its own, as the unit does but in the foreground."""
    upper = folder / "upper"
    (upper / "pki/clusterwright").mkdir(parents=True)
    authority = Authority(upper / "pki/clusterwright", "authorities")
    authority.issue("node", ["gpu-p00r00n0.lab.example.net"])
    (upper / "tlshd").mkdir()
    if config is not None:
        (upper / "tlshd/config").write_text(config)
    library = unpacked("libnl-genl-3-200") / "usr/lib/x86_64-linux-gnu"
    program = unpacked("ktls-utils") / "usr/sbin/tlshd"
    line = command.replace("/usr/sbin/tlshd", f"{shlex.quote(str(program))} -s", 1)
    script = SCRIPT.format(folder=shlex.quote(str(folder)), library=shlex.quote(str(library)), command=line)
    done = subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def test_it_reads_the_file_that_the_unit_names(tmp_path: Path) -> None:
    (command,) = commands("ExecStart")
    status, said = tlshd(tmp_path, rendered(CONFIG), command)
    assert (status, READ in said, "config" in said) == (0, True, False), said


DAMAGE: dict[str, tuple[Callable[[str], str | None], str]] = {
    "no file": (lambda _: None, "Failed to load config file: No such file"),
    "a section that does not end": (lambda text: text.replace("]", "", 1), "Failed to load config file"),
    "a key without a value": (
        lambda text: text.replace("x509.truststore=", "x509.truststore "),
        "not a key-value pair",
    ),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_it_refuses_a_damaged_one_clearly(tmp_path: Path, name: str) -> None:
    damage, expected = DAMAGE[name]
    (command,) = commands("ExecStart")
    status, said = tlshd(tmp_path, damage(rendered(CONFIG)), command)
    assert (status, expected in said, READ in said) == (1, True, False), said


def test_left_to_itself_it_looks_elsewhere(tmp_path: Path) -> None:
    """Why the unit names the file: 1.0.0 of Debian 13 looks for /etc/tlshd.conf."""
    status, said = tlshd(tmp_path, rendered(CONFIG), "/usr/sbin/tlshd")
    assert (status, "Failed to load config file: No such file" in said) == (1, True), said


def test_one_that_knows_no_revocation_is_not_started() -> None:
    (guard,) = commands("ExecStartPre")
    program = unpacked("ktls-utils") / "usr/sbin/tlshd"
    asked = [word.replace("/usr/sbin/tlshd", str(program)) for word in shlex.split(guard)]
    assert subprocess.run(asked, check=False).returncode == 1
    knows = [word.replace("/usr/sbin/tlshd", __file__) for word in shlex.split(guard)]
    assert "x509.crl" in Path(__file__).read_text()
    assert subprocess.run(knows, check=False).returncode == 0
