"""Data that was encrypted by its writer, read by a process that holds the key in memory alone."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import date
from pathlib import Path

from clusterwright.keys.file_store import FileKms
from clusterwright.keys.rotation import Keeper, newest
from clusterwright.spec.encryption import KeySchedule

KEYS = (
    KeySchedule("kek", "wrapping", "security", 90, 97, None, None, ()),
    KeySchedule("texts", "data", "data-platform", 60, 365, "kek", None, ()),
)
PLAINTEXT = b"a page of the training set, read by nobody else"
# The key goes into a sealed memory file: no path, no swap-backed folder, gone with the process.
READER = """
import os, sys
from pathlib import Path
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from clusterwright.keys.file_store import FileKms
store, root, wrapped, data = sys.argv[1:]
key = os.memfd_create("data-key", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
os.write(key, FileKms(Path(store), Path(root)).unwrap("kek", wrapped))
assert os.readlink(f"/proc/self/fd/{key}").startswith("/memfd:")
sealed = Path(data).read_bytes()
sys.stdout.buffer.write(AESGCM(os.pread(key, 32, 0)).decrypt(sealed[:12], sealed[12:], b"texts"))
sys.stdout.flush()
sys.stdin.readline()
"""
WRITER = READER.partition("sealed =")[0] + (
    "import os\n"
    "nonce = os.urandom(12)\n"
    "text = sys.stdin.buffer.read()\n"
    'Path(data).write_bytes(nonce + AESGCM(os.pread(key, 32, 0)).encrypt(nonce, text, b"texts"))\n'
)


def test_neither_key_nor_data_lies_on_a_disk_while_they_are_used(tmp_path: Path) -> None:
    store, root = tmp_path / "kms.json", tmp_path / "root.key"
    keeper = Keeper(tmp_path, FileKms(store, root), KEYS)
    keeper.rotate(date(2026, 1, 1), lambda step: None)
    wrapped = newest(keeper.ledger(), "texts").wrapped or ""
    data = tmp_path / "texts.sealed"
    arguments = [str(store), str(root), wrapped, str(data)]
    home = {**os.environ, "TMPDIR": str(tmp_path), "HOME": str(tmp_path)}
    subprocess.run([sys.executable, "-c", WRITER, *arguments], input=PLAINTEXT, env=home, check=True)
    command = [sys.executable, "-c", READER, *arguments]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=home) as reader:
        assert reader.stdout is not None
        assert reader.stdin is not None
        assert reader.stdout.read(len(PLAINTEXT)) == PLAINTEXT
        # The reader still runs and holds both: look at every file that it could have left, and at its command line.
        key = keeper.kms.unwrap("kek", wrapped)
        seen = [path for path in tmp_path.rglob("*") if path.is_file()]
        assert data in seen
        for path in (*seen, Path(f"/proc/{reader.pid}/cmdline")):
            content = path.read_bytes()
            assert PLAINTEXT not in content, path
            assert key not in content, path
            assert key.hex().encode() not in content, path
        reader.stdin.write(b"\n")
        reader.stdin.close()
    assert reader.returncode == 0
