"""What `make release` makes, in a copy: the tag and the files that are published. Docs name tags that are there."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from clusterwright import __version__
from clusterwright.rules.registry import all_rules

CHECKOUT = Path(__file__).parents[2]
GIT = {f"GIT_{who}_{what}": "t@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
NAME = f"clusterwright-{__version__}"


def run(*command: str | Path, cwd: Path, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=cwd, env={**os.environ, **GIT, **more}, capture_output=True, text=True, check=False
    )


def tracked() -> list[str]:
    listed = run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", cwd=CHECKOUT)
    return [name for name in listed.stdout.split("\0") if (CHECKOUT / name).is_file()]


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy in which a release was made, with what is published of it in ``dist``."""
    place = tmp_path_factory.mktemp("release")
    for name in tracked():
        copy = place / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes((CHECKOUT / name).read_bytes())
        copy.chmod((CHECKOUT / name).stat().st_mode)
    (place / ".cache").symlink_to(CHECKOUT / ".cache")
    for arguments in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-qm", "what is there")):
        run("git", *arguments, cwd=place)
    for steps in (["tag"], ["files", str(place / "dist")]):
        done = run(place / "tools/release", *steps, cwd=place)
        assert done.returncode == 0, done.stdout + done.stderr
    return place


def test_the_tag_is_made_once_of_a_dated_section(released: Path) -> None:
    assert run("git", "tag", cwd=released).stdout.split() == [f"v{__version__}"]
    changelog = (released / "CHANGELOG.md").read_text()
    assert re.search(rf"^## {re.escape(__version__)} \(\d{{4}}-\d\d-\d\d\)$", changelog, re.MULTILINE)
    assert "### Security" in run("git", "tag", "-n9999", cwd=released).stdout
    again = run(released / "tools/release", "tag", cwd=released)
    assert again.returncode != 0
    assert "exists" in again.stderr + again.stdout or "changes" in again.stderr + again.stdout


def test_the_release_knows_every_rule(released: Path) -> None:
    releases = json.loads((released / "src/clusterwright/rules/releases.json").read_text())
    assert {code for codes in releases.values() for code in codes} == set(all_rules())
    assert list(releases)[-1] == __version__


def test_sums_and_provenance_are_of_what_is_published(released: Path) -> None:
    dist = released / "dist"
    sums: dict[str, str] = {}
    for line in (dist / "SHA256SUMS").read_text().splitlines():
        digest, _, name = line.partition("  ")
        sums[name] = digest
    assert sums.keys() == {path.name for path in dist.iterdir()} - {"SHA256SUMS"}
    assert sums == {name: hashlib.sha256((dist / name).read_bytes()).hexdigest() for name in sums}
    statement = json.loads((dist / f"{NAME}.provenance.json").read_text())
    subject = {each["name"]: each["digest"]["sha256"] for each in statement["subject"]}
    built = (f"{name}-{__version__}" for name in ("clusterwright", "clusterwright_core"))
    assert subject == {name: sums[name] for each in built for name in (f"{each}-py3-none-any.whl", f"{each}.tar.gz")}
    definition = statement["predicate"]["buildDefinition"]
    head = run("git", "rev-parse", "HEAD", cwd=released).stdout.strip()
    assert definition["resolvedDependencies"][0]["digest"] == {"gitCommit": head}
    assert f"v{__version__}" in definition["externalParameters"]["ref"]


def test_the_bill_of_materials_has_every_package_of_the_lock(released: Path) -> None:
    bill = json.loads((released / "dist" / f"{NAME}.cdx.json").read_text())
    locked = re.findall(r"^([\w.-]+)==([^\s;\\]+)", (CHECKOUT / "requirements.lock").read_text(), re.MULTILINE)
    assert [(part["name"], part["version"]) for part in bill["components"]] == locked
    every = {part["bom-ref"] for part in bill["components"]} | {bill["metadata"]["component"]["bom-ref"]}
    assert {each["ref"] for each in bill["dependencies"]} == every
    reached = {url for each in bill["dependencies"] for url in each["dependsOn"]}
    assert reached == every - {bill["metadata"]["component"]["bom-ref"]}


def test_docs_and_samples_name_no_tag_that_is_not_there() -> None:
    """A tag in a sample is one that somebody copies: commits in full stand there instead, or one that exists."""
    tags = set(run("git", "tag", cwd=CHECKOUT).stdout.split())
    pages = [CHECKOUT / name for name in tracked() if name.endswith(".md") or name in ("action.yml", "CITATION.cff")]
    named: dict[str, Path] = {}
    for page in pages:
        for tag in re.findall(r"(?:clusterwright@|\brev: |--branch )(v\d[\w.]*)", page.read_text()):
            named[tag] = page
    assert named.keys() <= tags, named


class Database(BaseHTTPRequestHandler):
    """OSV's interface: one package has something known of it."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["queries"]
        results = [{"vulns": [{"id": "PYSEC-1"}]} if "jinja2" in each["package"]["purl"] else {} for each in asked]
        body = json.dumps({"results": results}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Says nothing."""


@pytest.fixture
def database() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Database) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_known_vulnerabilities_fail_the_check_and_silence_is_no_answer(database: str, tmp_path: Path) -> None:
    program = (sys.executable, CHECKOUT / "tools/check-vulnerabilities")
    lock = tmp_path / "one.lock"
    lock.write_text("click==8.1 \\\n    --hash=sha256:0\n")

    known = run(*program, cwd=tmp_path, OSV_URL=database)
    assert known.returncode == 1
    assert re.search(r"^pkg:pypi/jinja2@[\d.]+: PYSEC-1$", known.stdout, re.MULTILINE)
    assert run(*program, lock, cwd=tmp_path, OSV_URL=database).returncode == 0
    lock.write_text("")
    assert run(*program, lock, cwd=tmp_path, OSV_URL=database).returncode == 2
    assert run(*program, cwd=tmp_path, OSV_URL="http://127.0.0.1:9").returncode == 2
