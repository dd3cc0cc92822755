"""Rotation and destruction, on the embedded store and on Vault's own transit engine, through crashes."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from clusterwright.finding import ClusterwrightError
from clusterwright.keys.file_store import FileKms
from clusterwright.keys.kms import Kms, KmsError
from clusterwright.keys.rotation import LEDGER, Keeper, newest
from clusterwright.keys.schedule import RotationStep, overdue, steps
from clusterwright.keys.transit import TransitKms
from clusterwright.spec.encryption import KeySchedule

REPOSITORY = Path(__file__).parents[2]
KEYS = (
    KeySchedule("kek", "wrapping", "security", 90, 97, None, None, ()),
    KeySchedule("faces", "data", "data-platform", 30, 100, "kek", None, ()),
    KeySchedule("texts", "data", "data-platform", 60, 365, "kek", None, ()),
)
START = date(2026, 1, 1)
LATER = date(2026, 4, 20)  # day 109: the first version of faces is past its 100 days, that of kek past its 97
PLAINTEXT = b"a page of the training set"


@pytest.fixture(scope="module")
def engine() -> Iterator[TransitKms]:
    """The transit engine, answering on an address of its own."""
    program = subprocess.run([REPOSITORY / "tools/build-transit"], capture_output=True, text=True, check=False)
    assert program.returncode == 0, program.stderr
    environment = {**os.environ, "VAULT_TOKEN": "test-token"}
    with subprocess.Popen([program.stdout.strip()], stdout=subprocess.PIPE, text=True, env=environment) as server:
        assert server.stdout is not None
        yield TransitKms(server.stdout.readline().strip(), "test-token")
        server.terminate()


_names = iter(range(10_000))


@pytest.fixture(params=["file", "transit"])
def keeper(request: pytest.FixtureRequest, tmp_path: Path) -> Keeper:
    if request.param == "file":
        return Keeper(tmp_path, FileKms(tmp_path / "kms.json", tmp_path / "root.key"), KEYS)
    name = f"kek-{next(_names)}"  # the engine outlives a test, so each has a wrapping key of its own
    own = tuple(
        KeySchedule(name if key.name == "kek" else key.name, key.kind, key.owner, key.rotate_days, key.delete_days,
                    name if key.wrapped_by else None, None, ())
        for key in KEYS
    )  # fmt: skip
    return Keeper(tmp_path, request.getfixturevalue("engine"), own)


def wrapping_of(keeper: Keeper) -> str:
    return keeper.keys[0].name


def rotate(keeper: Keeper, on: date) -> list[RotationStep]:
    told: list[RotationStep] = []
    keeper.rotate(on, told.append)
    return told


def encrypt(keeper: Keeper, key: str) -> tuple[str, bytes]:
    """What a writer of data does: the wrapped key stands beside the ciphertext, the key in clear is forgotten."""
    wrapped = newest(keeper.ledger(), key).wrapped
    assert wrapped is not None
    nonce = os.urandom(12)
    return wrapped, nonce + AESGCM(keeper.kms.unwrap(wrapping_of(keeper), wrapped)).encrypt(nonce, PLAINTEXT, None)


def decrypt(keeper: Keeper, wrapped: str, sealed: bytes) -> bytes:
    return AESGCM(keeper.kms.unwrap(wrapping_of(keeper), wrapped)).decrypt(sealed[:12], sealed[12:], None)


def test_data_under_a_destroyed_version_is_unreadable_and_rewrapped_data_is_readable(keeper: Keeper) -> None:
    rotate(keeper, START)
    old_faces, faces = encrypt(keeper, "faces")
    old_texts, texts = encrypt(keeper, "texts")
    assert decrypt(keeper, old_faces, faces) == PLAINTEXT
    rotate(keeper, LATER)
    with pytest.raises(KmsError):  # not even with the wrapped key that a thief copied on the first day
        decrypt(keeper, old_faces, faces)
    with pytest.raises(KmsError):
        decrypt(keeper, old_texts, texts)
    first = keeper.ledger().live("texts")[0]
    assert first.number == 1
    assert first.wrapped not in (None, old_texts)
    assert decrypt(keeper, first.wrapped or "", texts) == PLAINTEXT
    assert [version.number for version in keeper.ledger().live("faces")] == [2]


def test_another_data_key_does_not_open_what_a_destroyed_one_sealed(keeper: Keeper) -> None:
    rotate(keeper, START)
    _, faces = encrypt(keeper, "faces")
    rotate(keeper, LATER)
    with pytest.raises(InvalidTag):
        decrypt(keeper, newest(keeper.ledger(), "faces").wrapped or "", faces)


def test_what_is_due_is_done_once(keeper: Keeper) -> None:
    assert [step.action.value for step in rotate(keeper, START)] == ["create", "new", "new"]
    assert not rotate(keeper, START)
    assert rotate(keeper, LATER)
    assert not rotate(keeper, LATER)
    assert not list(overdue(keeper.keys, keeper.ledger(), LATER))


def test_neglected_keys_are_named_with_their_owner(keeper: Keeper) -> None:
    rotate(keeper, START)
    late = list(overdue(keeper.keys, keeper.ledger(), date(2026, 12, 1)))
    assert f"{wrapping_of(keeper)} version 1 should have been destroyed on 2026-04-08 (security)" in late
    assert "faces version 1 should have been destroyed on 2026-04-11 (data-platform)" in late


class Dying:
    """A service in front of another whose n-th call never comes back: before the call, or after it was done."""

    def __init__(self, inner: Kms, calls: int, *, done: bool) -> None:
        self._inner, self._left, self._done = inner, calls, done

    def __getattr__(self, name: str) -> Any:
        def call(*args: Any) -> Any:
            self._left -= 1
            if self._left == 0 and not self._done:
                raise Died
            answer = getattr(self._inner, name)(*args)
            if self._left == 0:
                raise Died
            return answer

        return call


class Died(Exception):
    pass


def dies(keeper: Keeper, calls: int, *, done: bool) -> bool:
    """Whether a run was killed by its n-th call; False when it ended before."""
    try:
        Keeper(keeper.folder, Dying(keeper.kms, calls, done=done), keeper.keys).rotate(LATER, lambda step: None)
    except Died:
        return True
    return False


@pytest.mark.parametrize("done", [False, True], ids=["before", "after"])
def test_a_crash_at_any_call_leaves_nothing_lost_and_the_next_run_ends_it(keeper: Keeper, done: bool) -> None:
    rotate(keeper, START)
    _, texts = encrypt(keeper, "texts")
    deaths = 0
    while dies(keeper, deaths + 2, done=done):  # a run looks at the service once before it acts
        deaths += 1
        ledger = keeper.ledger()
        for key in ("faces", "texts"):
            for version in ledger.live(key):
                keeper.kms.unwrap(wrapping_of(keeper), version.wrapped or "")
        assert decrypt(keeper, ledger.live("texts")[0].wrapped or "", texts) == PLAINTEXT
    assert deaths >= 3
    rotate(keeper, LATER)
    assert not list(steps(keeper.keys, keeper.ledger(), LATER))
    assert not list(overdue(keeper.keys, keeper.ledger(), LATER))
    assert decrypt(keeper, keeper.ledger().live("texts")[0].wrapped or "", texts) == PLAINTEXT


def test_a_ledger_beside_another_service_is_refused(keeper: Keeper, tmp_path: Path) -> None:
    rotate(keeper, START)
    other = FileKms(tmp_path / "other.json", tmp_path / "other.key")
    with pytest.raises(ClusterwrightError, match=r"another service\. Nothing was changed"):
        Keeper(keeper.folder, other, keeper.keys).rotate(LATER, lambda step: None)


def test_old_copies_of_the_embedded_store_do_not_open_with_todays_root_key(tmp_path: Path) -> None:
    store, root = tmp_path / "kms.json", tmp_path / "root.key"
    keeper = Keeper(tmp_path, FileKms(store, root), KEYS)
    rotate(keeper, START)
    copy = store.read_bytes()
    rotate(keeper, LATER)
    store.write_bytes(copy)
    with pytest.raises(KmsError, match="another store's root key"):
        FileKms(store, root)


def test_no_key_in_clear_lies_in_the_folder(tmp_path: Path) -> None:
    keeper = Keeper(tmp_path, FileKms(tmp_path / "kms.json", tmp_path.parent / f"{tmp_path.name}.key"), KEYS)
    rotate(keeper, START)
    clear = keeper.kms.unwrap("kek", newest(keeper.ledger(), "faces").wrapped or "")
    for path in tmp_path.iterdir():
        content = path.read_bytes()
        assert clear not in content
        assert clear.hex().encode() not in content
        assert path.stat().st_mode & 0o077 == 0, path.name


def test_a_damaged_ledger_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / LEDGER).write_text("{")
    keeper = Keeper(tmp_path, FileKms(tmp_path / "kms.json", tmp_path / "root.key"), KEYS)
    with pytest.raises(ClusterwrightError, match="the ledger is damaged"):
        keeper.ledger()


def test_a_refusing_server_is_told_apart_from_one_that_is_not_there(engine: TransitKms) -> None:
    with pytest.raises(KmsError, match="403, permission denied"):
        TransitKms(engine.address, "wrong").state("kek")
    with pytest.raises(KmsError, match="cannot be reached"):
        TransitKms("http://127.0.0.1:9", "test-token").state("kek")
