"""What programs that are started get of the caller's environment, and that none is started with all of it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from clusterwright.child_environment import child_environment, proxy_environment
from clusterwright.deploy.pulumi.project import pulumi_environment

PACKAGE = Path(__file__).parents[1] / "src" / "clusterwright"
ON_NODES = {"node_health", "node_watch"}  # programs that no shell of a user starts
STARTING = {"run", "Popen", "call", "check_call", "check_output"}


def starts_of(path: Path) -> list[ast.Call]:
    """The calls that start programs, in a module."""
    calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
    return [
        call
        for call in calls
        if isinstance(call.func, ast.Attribute)
        and isinstance(call.func.value, ast.Name)
        and call.func.value.id == "subprocess"
        and call.func.attr in STARTING
    ]


def test_no_program_is_started_with_the_whole_environment() -> None:
    modules = [path for path in PACKAGE.rglob("*.py") if path.relative_to(PACKAGE).parts[0] not in ON_NODES]
    starts = [(path, call) for path in modules for call in starts_of(path)]
    assert len(starts) > 20
    without = [f"{path}:{call.lineno}" for path, call in starts if "env" not in {word.arg for word in call.keywords}]
    assert not without
    whole = [path for path in modules if "**os.environ" in path.read_text() or "environ.copy()" in path.read_text()]
    assert not whole


def test_secrets_and_settings_of_others_stay_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MY_SECRET", "NETBOX_TOKEN", "ANSIBLE_STDOUT_CALLBACK", "LD_PRELOAD", "http_proxy", "BASH_ENV"):
        monkeypatch.setenv(name, "x")
    monkeypatch.setenv("LC_ALL", "en_US.ISO-8859-1")
    child = child_environment()
    assert not {"MY_SECRET", "NETBOX_TOKEN", "ANSIBLE_STDOUT_CALLBACK", "LD_PRELOAD", "http_proxy"} & child.keys()
    assert (child["LC_ALL"], child["LANG"]) == ("C.UTF-8", "C.UTF-8")
    assert child_environment(names=["MY_SECRET"])["MY_SECRET"] == "x"


def test_the_engine_gets_what_state_and_secrets_need_and_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pulumi").write_text("#!/bin/sh\n")
    (tmp_path / "pulumi").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    names = ("AWS_ACCESS_KEY_ID", "PGPASSWORD", "PULUMI_CONFIG_PASSPHRASE", "VAULT_TOKEN", "NAMED")
    for name in (*names, "OTHER", "ANSIBLE_STRATEGY"):
        monkeypatch.setenv(name, "x")
    environment = pulumi_environment(tmp_path, ["NAMED"])
    assert environment.keys() >= set(names)
    assert not {"OTHER", "ANSIBLE_STRATEGY"} & environment.keys()


def test_what_stays_on_this_machine_goes_through_no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example.net:3128")
    monkeypatch.setenv("NO_PROXY", "intern.example.net")
    monkeypatch.delenv("no_proxy", raising=False)
    found = proxy_environment()
    assert found["HTTPS_PROXY"] == "http://proxy.example.net:3128"
    assert found["NO_PROXY"] == "intern.example.net,localhost,127.0.0.1,::1"
    assert "127.0.0.1" in found["no_proxy"]
