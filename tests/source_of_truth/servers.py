"""Real servers for tests: Nautobot and NetBox, with PostgreSQL and Redis of this machine.

What is installed and the migrated databases lie under .cache/, by version: installing takes a minute and half a
gigabyte each, migrating four and eight minutes of processor time, once. Starting takes seconds after that.
"""

from __future__ import annotations

import http.client
import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode, urlsplit

ROOT = Path(__file__).parents[2]
ACCOUNT = "postgres"  # the server refuses to run as root; the Debian package brings this account
TOKEN = "0123456789abcdef0123456789abcdef01234567"
_SUPERUSER = """
from django.contrib.auth import get_user_model
from {module} import Token
user = get_user_model().objects.create_superuser("admin", "admin@example.net", "admin")
Token.objects.create(user=user, {fields})
"""


@dataclass(frozen=True)
class Program:
    """A server to install from PyPI: its command, the Pythons that it runs on, and how it is set up.

    ``configure`` writes what it reads into a folder, given the port of Redis, and gives its environment; ``superuser``
    is what its shell runs to make an administrator with TOKEN.
    """

    name: str
    version: str
    command: str
    pythons: tuple[str, ...]
    superuser: str
    configure: Callable[[Path, Path, int], Mapping[str, str]]

    @property
    def place(self) -> Path:
        """Where it is installed."""
        return ROOT / ".cache" / f"{self.name}-{self.version}"


def _configure_nautobot(program: Path, place: Path, redis: int) -> Mapping[str, str]:
    config = place / "nautobot_config.py"
    _run(program, "init", "--disable-installation-metrics", config)
    return {
        "NAUTOBOT_CONFIG": str(config), "NAUTOBOT_ROOT": str(place), "NAUTOBOT_SECRET_KEY": "s" * 50,
        "NAUTOBOT_DB_HOST": str(place), "NAUTOBOT_DB_NAME": "nautobot", "NAUTOBOT_DB_USER": ACCOUNT,
        "NAUTOBOT_DB_PASSWORD": "", "NAUTOBOT_REDIS_PORT": str(redis), "NAUTOBOT_ALLOWED_HOSTS": "*",
    }  # fmt: skip


def _configure_netbox(_: Path, place: Path, redis: int) -> Mapping[str, str]:
    queue = {"HOST": "127.0.0.1", "PORT": redis, "USERNAME": "", "PASSWORD": "", "SSL": False}
    (place / "conf").mkdir()
    (place / "conf" / "configuration.py").write_text(
        f"""
ALLOWED_HOSTS = ["*"]
DATABASES = {{"default": {{"NAME": "netbox", "USER": {ACCOUNT!r}, "PASSWORD": "", "HOST": {str(place)!r}}}}}
REDIS = {{"tasks": {queue | {"DATABASE": 0}!r}, "caching": {queue | {"DATABASE": 1}!r}}}
SECRET_KEY = {"s" * 50!r}
API_TOKEN_PEPPERS = {{1: {"p" * 50!r}}}
""",
        encoding="utf-8",
    )
    return {"NETBOX_ROOT": str(place)}


NAUTOBOT = Program(
    "nautobot", "3.2.7", "nautobot-server", ("3.11", "3.12", "3.13"),
    _SUPERUSER.format(module="nautobot.users.models", fields=f"key={TOKEN!r}"), _configure_nautobot,
)  # fmt: skip
NETBOX = Program(
    "netbox", "4.7.3", "netbox", ("3.12", "3.13", "3.14"),
    _SUPERUSER.format(module="users.models", fields=f"version=1, token={TOKEN!r}"), _configure_netbox,
)  # fmt: skip


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def _run(*command: str | Path, account: str | None = None, folder: str = "/", **more: str) -> str:
    prefix = ("runuser", "-u", account, "--") if account and os.getuid() == 0 else ()
    done = subprocess.run(
        [*prefix, *command], capture_output=True, text=True, check=False, cwd=folder, env={**os.environ, **more}
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@contextmanager
def database(place: Path, name: str) -> Iterator[Path]:
    """A PostgreSQL server with an empty database, reached over a socket in the folder that is given."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    assert found, "no PostgreSQL server here: install the Debian package postgresql"
    programs = found[-1].parent
    if os.getuid() == 0:
        shutil.chown(place, ACCOUNT)
    data = place / "data"
    _run(programs / "initdb", "-D", data, "--auth=trust", f"--username={ACCOUNT}", "--no-sync", account=ACCOUNT)
    options = f"-k {place} -c listen_addresses='' -c fsync=off -c synchronous_commit=off"
    _run(programs / "pg_ctl", "-D", data, "-l", place / "log", "-o", options, "-w", "start", account=ACCOUNT)
    try:
        _run("psql", "-h", place, "-U", ACCOUNT, "-qc", f"create database {name}")
        yield place
    finally:
        _run(programs / "pg_ctl", "-D", data, "-m", "immediate", "stop", account=ACCOUNT)


def python_for(program: Program) -> str | None:
    """An interpreter of this machine that the program runs on, None where there is none."""
    known = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for version in program.pythons:
        for found in (shutil.which(f"python{version}"), *map(str, known.glob(f"{version}.*/bin/python"))):
            if found and subprocess.run([found, "-c", ""], capture_output=True, check=False).returncode == 0:
                return found
    return None


def _installed(program: Program) -> Path:
    """The command of a program, installed when it is not there yet."""
    if not (program.place / "ready").exists():
        uv = subprocess.run(
            [ROOT / "tools" / "bootstrap-uv"], capture_output=True, text=True, check=True
        ).stdout.strip()
        python = python_for(program)
        assert python, f"{program.name} asks for Python {program.pythons[0]}"
        _run(uv, "venv", "--quiet", "--clear", "--python", python, program.place)
        wanted = f"{program.name}=={program.version}"
        _run(uv, "pip", "install", "--quiet", "--python", program.place / "bin" / "python", wanted)
        (program.place / "ready").touch()
    return program.place / "bin" / program.command


class Serving(NamedTuple):
    """A server that runs: its address, its command, and the environment that its commands ask for."""

    url: str
    command: Path
    settings: Mapping[str, str]

    def load(self, folder: Path) -> None:
        """Runs the program that fills a server from within, in the folder that it lies in, and what it names then."""
        program = "import runpy; runpy.run_path('load.py', run_name='__main__')"
        shell = ("--interface", "python") if self.command.name == NAUTOBOT.command else ()
        said = _run(self.command, "shell", *shell, "--command", program, folder=str(folder), **self.settings)
        for line in said.partition(" commands:\n")[2].splitlines():
            _run(self.command, *line.split(), **self.settings)


@contextmanager
def serving(program: Program, place: Path) -> Iterator[Serving]:
    """A server with nothing in it but its own states, which takes TOKEN and admin's password "admin"."""
    command = _installed(program)
    redis, port = _free_port(), _free_port()
    dump = program.place.with_name(f"{program.place.name}.dump")
    settings = program.configure(command, place, redis)
    with database(place, program.name):
        queue = subprocess.Popen(
            ["redis-server", "--port", str(redis), "--bind", "127.0.0.1", "--save", "", "--dir", place],
            stdout=subprocess.DEVNULL,
        )
        log = place / "server.log"
        try:
            if dump.exists():
                _run("pg_restore", "-h", place, "-U", ACCOUNT, "-d", program.name, dump)
            else:
                _run(command, "migrate", "--noinput", **settings)
                shell = ("--interface", "python") if program is NAUTOBOT else ()
                _run(command, "shell", *shell, "--command", program.superuser, **settings)
                _run("pg_dump", "-h", place, "-U", ACCOUNT, "-Fc", "-f", dump.with_suffix(".part"), program.name)
                dump.with_suffix(".part").replace(dump)
            with log.open("w") as said:
                server = subprocess.Popen(
                    [command, "runserver", f"127.0.0.1:{port}", "--noreload", "--insecure"],
                    stdout=said, stderr=said, cwd="/", env={**os.environ, **settings},
                )  # fmt: skip
            try:
                _wait_for(port, server, log)
                yield Serving(f"http://127.0.0.1:{port}", command, settings)
            finally:
                server.terminate()
                server.wait(30)
        finally:
            queue.terminate()
            queue.wait(30)


def _wait_for(port: int, server: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + 900
    while time.monotonic() < until and server.poll() is None:
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            connection.request("GET", "/api/status/", headers={"Authorization": f"Token {TOKEN}"})
            status = connection.getresponse().status
            connection.close()
            if status == 200:
                return
        except OSError:
            time.sleep(0.5)
    raise AssertionError(f"The server does not answer:\n{log.read_text(errors='replace')[-4000:]}")


class NetboxForms:
    """NetBox's import forms, filled as a person fills them."""

    def __init__(self, url: str, name: str, password: str) -> None:
        self._at, self._cookies = urlsplit(url), dict[str, str]()
        page = self.ask("GET", "/login/")[1]
        status, text = self.ask(
            "POST", "/login/", {"username": name, "password": password, "next": "/"} | _hidden(page)
        )
        assert status == 302, text[:500]

    def ask(self, method: str, path: str, fields: dict[str, str] | None = None) -> tuple[int, str]:
        connection = http.client.HTTPConnection(self._at.hostname or "", self._at.port, timeout=900)
        headers = {"Cookie": "; ".join(f"{name}={value}" for name, value in self._cookies.items())}
        if fields is not None:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        connection.request(method, path, urlencode(fields) if fields is not None else None, headers)
        answer = connection.getresponse()
        for cookie in answer.headers.get_all("Set-Cookie") or ():
            name, _, value = cookie.partition(";")[0].partition("=")
            self._cookies[name] = value
        text = answer.read().decode()
        connection.close()
        return answer.status, text

    def take(self, endpoint: str, content: str, form: str) -> str:
        """Imports a file; the page's complaints, "" where every row was taken."""
        path = f"/{endpoint}/import/"
        fields = {"data": content, "format": form, "csv_delimiter": "," if form == "csv" else "auto"}
        status, text = self.ask("POST", path, fields | {"import_method": "direct"} | _hidden(self.ask("GET", path)[1]))
        told = " ".join(unescape(re.sub("<[^>]*>", " ", text)).split())
        return "" if status == 302 else f"{status}: {told[-600:]}"


def _hidden(page: str) -> dict[str, str]:
    match = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)
    assert match, page[:500]
    return {"csrfmiddlewaretoken": match[1]}
