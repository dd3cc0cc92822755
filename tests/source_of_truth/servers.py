"""Real servers for tests: Nautobot with PostgreSQL and Redis of this machine, and a NetBox that somebody brings.

What is installed and the migrated database lie under .cache/, by version: installing takes half a minute and half a
gigabyte, migrating four minutes of processor time, once. Starting takes seconds after that.
"""

from __future__ import annotations

import http.client
import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from html import unescape
from pathlib import Path
from urllib.parse import urlencode, urlsplit

ROOT = Path(__file__).parents[2]
NAUTOBOT = "3.2.7"
ACCOUNT = "postgres"  # the server refuses to run as root; the Debian package brings this account
TOKEN = "0123456789abcdef0123456789abcdef01234567"
_SUPERUSER = f"""
from django.contrib.auth import get_user_model
from nautobot.users.models import Token
user = get_user_model().objects.create_superuser("admin", "admin@example.net", "admin")
Token.objects.create(user=user, key="{TOKEN}")
"""


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def _run(*command: str | Path, account: str | None = None, **more: str) -> None:
    prefix = ("runuser", "-u", account, "--") if account and os.getuid() == 0 else ()
    done = subprocess.run(
        [*prefix, *command], capture_output=True, text=True, check=False, cwd="/", env={**os.environ, **more}
    )
    assert done.returncode == 0, done.stdout + done.stderr


@contextmanager
def database(place: Path) -> Iterator[Path]:
    """A PostgreSQL server, reached over a socket in the folder that is given."""
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
        _run("psql", "-h", place, "-U", ACCOUNT, "-qc", "create database nautobot")
        yield place
    finally:
        _run(programs / "pg_ctl", "-D", data, "-m", "immediate", "stop", account=ACCOUNT)


def _installed() -> Path:
    """The folder of programs of Nautobot, installed when it is not there yet."""
    place = ROOT / ".cache" / f"nautobot-{NAUTOBOT}"
    if not (place / "ready").exists():
        uv = subprocess.run(
            [ROOT / "tools" / "bootstrap-uv"], capture_output=True, text=True, check=True
        ).stdout.strip()
        _run(uv, "venv", "--quiet", "--clear", "--python", "python3.11", place)
        _run(uv, "pip", "install", "--quiet", "--python", place / "bin" / "python", f"nautobot=={NAUTOBOT}")
        (place / "ready").touch()
    return place / "bin"


@contextmanager
def nautobot(place: Path) -> Iterator[str]:
    """The address of a Nautobot server with nothing in it but its own states, which takes TOKEN."""
    program = _installed() / "nautobot-server"
    redis, port, config = _free_port(), _free_port(), place / "nautobot_config.py"
    dump = ROOT / ".cache" / f"nautobot-{NAUTOBOT}.dump"
    _run(program, "init", "--disable-installation-metrics", config)
    settings = {
        "NAUTOBOT_CONFIG": str(config), "NAUTOBOT_ROOT": str(place), "NAUTOBOT_SECRET_KEY": "s" * 50,
        "NAUTOBOT_DB_HOST": str(place), "NAUTOBOT_DB_NAME": "nautobot", "NAUTOBOT_DB_USER": ACCOUNT,
        "NAUTOBOT_DB_PASSWORD": "", "NAUTOBOT_REDIS_PORT": str(redis), "NAUTOBOT_ALLOWED_HOSTS": "*",
    }  # fmt: skip
    with database(place):
        queue = subprocess.Popen(
            ["redis-server", "--port", str(redis), "--bind", "127.0.0.1", "--save", "", "--dir", place],
            stdout=subprocess.DEVNULL,
        )
        log = place / "nautobot.log"
        try:
            if dump.exists():
                _run("pg_restore", "-h", place, "-U", ACCOUNT, "-d", "nautobot", dump)
            else:
                _run(program, "migrate", "--noinput", **settings)
                _run(program, "shell", "--interface", "python", "--command", _SUPERUSER, **settings)
                _run("pg_dump", "-h", place, "-U", ACCOUNT, "-Fc", "-f", dump.with_suffix(".part"), "nautobot")
                dump.with_suffix(".part").replace(dump)
            with log.open("w") as said:
                server = subprocess.Popen(
                    [program, "runserver", f"127.0.0.1:{port}", "--noreload", "--insecure"],
                    stdout=said, stderr=said, cwd="/", env={**os.environ, **settings},
                )  # fmt: skip
            try:
                _wait_for(port, server, log)
                yield f"http://127.0.0.1:{port}"
            finally:
                server.terminate()
                server.wait(30)
        finally:
            queue.terminate()
            queue.wait(30)


def _wait_for(port: int, server: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + 300
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
    raise AssertionError(f"Nautobot does not answer:\n{log.read_text(errors='replace')[-4000:]}")


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
        fields = {"data": content, "format": form, "csv_delimiter": "comma" if form == "csv" else "auto"}
        status, text = self.ask("POST", path, fields | {"import_method": "direct"} | _hidden(self.ask("GET", path)[1]))
        return "" if status == 302 else f"{status}: {unescape(re.sub('<[^>]*>', ' ', text))}"


def _hidden(page: str) -> dict[str, str]:
    found = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)
    assert found, page[:500]
    return {"csrfmiddlewaretoken": found[1]}
