"""The URL of the state backend: one that holds a secret is refused, and no message shows the secret."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.in_process import command

from clusterwright.data_files import folder
from clusterwright.deploy.pulumi.backend import VARIABLE, backend_url
from clusterwright.finding import ClusterwrightError

SPEC = folder("inventory") / "lab-roce.yaml"
SECRET = "hunter2"

WITH_A_SECRET = (
    f"postgres://user:{SECRET}@db.example.net/state",
    f"postgres://user:{SECRET}/x@db.example.net/state",
    "postgres://user:22/hunter2@db.example.net/state",
    f"postgres://[user:{SECRET}@db.example.net/state",
    f"postgres:user:{SECRET}@db.example.net/state",
    f" postgres://user:{SECRET}@db.example.net/state",
    f"postgres://user@db.example.net/state?password={SECRET}",
    f"postgres://user@db.example.net/state?sslpass%77ord={SECRET}",
    f"https://user:{SECRET}@pulumi.example.net",
    f"s3://bucket?endpoint=https://user:{SECRET}@s3.example.net",
    f"azblob://container?sv=1&sig={SECRET}",
)

WITHOUT = (
    "file:///srv/cluster/state",
    "file:///srv/ops@site/state",
    "s3://bucket?region=eu-1&endpoint=http://127.0.0.1:9000&s3ForcePathStyle=true",
    "postgres://user@db.example.net:5432/state?sslmode=verify-full&sslkey=/etc/ssl/key.pem",
    "postgres://user@/state?host=/run/postgresql",
    "gs://bucket",
)


@pytest.mark.parametrize("url", WITH_A_SECRET)
def test_a_url_with_a_secret_is_refused_and_not_shown(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, url)

    with pytest.raises(ClusterwrightError) as refused:
        backend_url(tmp_path)

    assert SECRET not in str(refused.value)


@pytest.mark.parametrize("url", WITHOUT)
def test_other_urls_are_taken_as_they_are(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, url)

    assert backend_url(tmp_path) == url


@pytest.mark.usefixtures("pulumi_on_the_path")
@pytest.mark.parametrize("action", ["preview", "up", "refresh", "destroy"])
def test_every_command_of_stacks_refuses_it(action: str, tmp_path: Path) -> None:
    place = ("--root", tmp_path / "up", "--pod", "services-rack0", "--backend", WITH_A_SECRET[0])

    refused = command(action, SPEC, *place, cwd=tmp_path)

    assert refused.returncode == 2
    assert "The URL of the state backend holds a password" in refused.stderr
    assert SECRET not in refused.stdout + refused.stderr
