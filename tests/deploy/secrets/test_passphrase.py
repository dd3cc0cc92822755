"""The passphrase of a deployment's stacks: another one than they were made with is refused before anything is begun."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from tests.cli.in_process import command

from clusterwright.data_files import folder
from clusterwright.deploy.secrets import passphrase
from clusterwright.deploy.secrets.passphrase import require_passphrase, salt_of_none
from clusterwright.finding import ClusterwrightError

RIGHT = "bread and butter"
# Made by Pulumi 3.230 with that passphrase.
SALT = "v1:MKGl7fe5m0o=:v1:uW2Y6RfsZHXZzzFt:LqOEWnv3vgvSfIXWFs5m7bOdb52w3w=="


def write_stack(project: Path, salt: str) -> None:
    project.mkdir(exist_ok=True)
    (project / "Pulumi.lab-upper.yaml").write_text(f"config: {{}}\nencryptionsalt: {salt}\n")


def test_the_passphrase_of_a_stack_is_known_by_its_salt(tmp_path: Path) -> None:
    write_stack(tmp_path, SALT)
    (tmp_path / "phrase").write_text(f"{RIGHT}\n")

    require_passphrase(tmp_path, ["lab-upper", "lab-pod0"], {"PULUMI_CONFIG_PASSPHRASE": RIGHT})
    require_passphrase(tmp_path, ["lab-upper"], {"PULUMI_CONFIG_PASSPHRASE_FILE": str(tmp_path / "phrase")})
    require_passphrase(tmp_path, ["lab-pod0"], {})


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({"PULUMI_CONFIG_PASSPHRASE": "wrong"}, "PULUMI_CONFIG_PASSPHRASE holds another one"),
        ({}, "PULUMI_CONFIG_PASSPHRASE is empty"),
        ({"PULUMI_CONFIG_PASSPHRASE_FILE": "/dev/null"}, "PULUMI_CONFIG_PASSPHRASE_FILE holds another one"),
        ({"PULUMI_CONFIG_PASSPHRASE_FILE": "/none"}, "/none cannot be read"),
    ],
)
def test_another_passphrase_is_refused(tmp_path: Path, environment: dict[str, str], said: str) -> None:
    write_stack(tmp_path, SALT)

    with pytest.raises(ClusterwrightError, match=said) as raised:
        require_passphrase(tmp_path, ["lab-upper"], environment)

    assert str(raised.value).endswith("Nothing was touched.")
    assert "wrong" not in str(raised.value)


LOCAL = {"PULUMI_BACKEND_URL": "file:///var/lib/state?metadata=skip"}


def test_the_salt_of_no_passphrase_is_what_it_says_and_is_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    salt = salt_of_none(LOCAL)
    write_stack(tmp_path, salt)

    for is_tried in (False, True):
        if is_tried:
            monkeypatch.setattr(passphrase, "_SALT_OF_NONE", "")
        require_passphrase(tmp_path, ["lab-upper"], {})
        with pytest.raises(ClusterwrightError, match="PULUMI_CONFIG_PASSPHRASE holds another one"):
            require_passphrase(tmp_path, ["lab-upper"], {"PULUMI_CONFIG_PASSPHRASE": RIGHT})

    for committed in (Path(__file__).parents[3] / "stacks").glob("Pulumi.*-*.yaml"):
        assert f"\nencryptionsalt: {salt}\n" in committed.read_text(), "and not tried there either"


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"PULUMI_BACKEND_URL": "https://api.pulumi.com"},
        {**LOCAL, "PULUMI_CONFIG_PASSPHRASE": RIGHT},
        {**LOCAL, "PULUMI_CONFIG_PASSPHRASE_FILE": __file__},
    ],
)
def test_another_passphrase_or_a_service_makes_its_own_salt(environment: dict[str, str]) -> None:
    assert salt_of_none(environment) == ""


@pytest.mark.parametrize("salt", ["v1:fa0O:v1:not base64:x", "v2:another:form", ""])
def test_a_form_that_is_not_known_is_left_to_the_engine(tmp_path: Path, salt: str) -> None:
    write_stack(tmp_path, f'"{salt}"')

    require_passphrase(tmp_path, ["lab-upper"], {"PULUMI_CONFIG_PASSPHRASE": "wrong"})


@pytest.mark.slow
@pytest.mark.usefixtures("pulumi_on_the_path")
def test_commands_with_another_passphrase_change_nothing_and_say_why(tmp_path: Path) -> None:
    spec, root, phrase = tmp_path / "spec.yaml", tmp_path / "up", tmp_path / "phrase"
    shutil.copy(folder("inventory") / "lab-roce.yaml", spec)
    phrase.write_text(f"{RIGHT}\n")

    def run(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        where = ("--pod", "pod0", "--root", str(root))
        return command(words[0], spec, *where, *words[1:], cwd=tmp_path, environment=environment)

    def files() -> dict[str, bytes]:
        kept = ("flash", "state", "audit", "rollout", "deployed")
        return {str(path): path.read_bytes() for name in kept for path in (root / name).rglob("*") if path.is_file()}

    assert run("up", PULUMI_CONFIG_PASSPHRASE_FILE=str(phrase)).returncode == 0
    spec.write_text(spec.read_text().replace("net.core.netdev_max_backlog: 250000", "net.core.netdev_max_backlog: 1"))
    before = files()

    for words in (("up",), ("refresh",), ("destroy", "--yes")):
        refused = run(*words, PULUMI_CONFIG_PASSPHRASE="wrong")

        assert refused.returncode == 2, refused.stdout + refused.stderr
        assert "lab-roce-pod0 was made with another passphrase" in refused.stderr
        assert refused.stdout == ""
        assert files() == before
    shown = run("preview", PULUMI_CONFIG_PASSPHRASE="wrong")
    assert shown.returncode == 3
    assert "preview failed: the stack was made with another passphrase than PULUMI_CONFIG_PASSPHRASE" in shown.stdout
    assert files() == before

    assert run("up", PULUMI_CONFIG_PASSPHRASE=RIGHT).returncode == 0
