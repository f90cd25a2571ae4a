"""The file of the signing keys: private, whole at every moment, shared by several processes."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import time
from pathlib import Path

import orjson
import pytest

from tests.forks import CODE
from twinframe.errors import ConfigurationError
from twinframe.tokenserver.key_ring import parse_ring
from twinframe.tokenserver.key_store import KeyPolicy, KeyStore

POLICY = KeyPolicy("ES256", 3600, 90 * 86400)
ROTATE = """
import sys
from pathlib import Path
from twinframe.tokenserver.key_store import KeyPolicy, KeyStore
store = KeyStore(Path(sys.argv[1]), KeyPolicy("ES256", 3600, 90 * 86400))
for _ in range(int(sys.argv[2])):
    print(store.rotate().active.kid, flush=True)
"""


def run_rotations(directory: Path, count: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen([*CODE, ROTATE, str(directory), str(count)], stdout=subprocess.PIPE)


def test_the_keys_outlive_the_process_and_are_for_their_owner_alone(tmp_path: Path) -> None:
    directory = tmp_path / "var" / "auth"
    old = os.umask(0)
    try:
        assert KeyStore(directory, POLICY).maintain() is True
    finally:
        os.umask(old)
    store = KeyStore(directory, POLICY)
    assert store.maintain() is False
    assert KeyStore(directory, POLICY).read() == store.read()
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert stat.S_IMODE(directory.parent.stat().st_mode) == 0o755  # nobody else can rename in it
    assert {stat.S_IMODE(file.stat().st_mode) for file in directory.iterdir()} == {0o600}
    assert sorted(file.name for file in directory.iterdir()) == ["keys.json", "keys.lock"]


def test_a_rotation_is_seen_by_who_reads_and_the_old_key_stays_published(tmp_path: Path) -> None:
    server, operator = KeyStore(tmp_path, POLICY), KeyStore(tmp_path, POLICY)
    server.maintain()
    before = server.read()
    operator.rotate()
    after = server.read()
    assert after.active == before.next
    assert before.active in after.list_published()
    assert server.read() is after  # and is not parsed again


def test_keys_rotate_when_their_time_has_come(tmp_path: Path) -> None:
    now = [0.0]
    store = KeyStore(tmp_path, KeyPolicy("ES256", 60, 100), clock=lambda: now[0])
    store.maintain()
    first = store.read()
    now[0] = 99.0
    assert store.maintain() is False
    now[0] = 100.0
    assert store.maintain() is True
    assert store.read().active == first.next
    now[0] = 100.0 + 60 + 330
    store.maintain()
    assert first.active not in store.read().list_published()


def test_two_processes_that_rotate_lose_no_rotation(tmp_path: Path) -> None:
    KeyStore(tmp_path, POLICY).maintain()
    first = KeyStore(tmp_path, POLICY).read().active.kid
    processes = [run_rotations(tmp_path, 15) for _ in range(2)]
    signed = {first}
    for process in processes:
        printed, _ = process.communicate(timeout=120)
        assert process.returncode == 0
        signed |= set(printed.decode().split())
    assert len(signed) == 31  # no key was made active twice
    ring = KeyStore(tmp_path, POLICY).read()
    assert {key.kid for key in ring.list_published()} == signed | {ring.next.kid}


def test_a_kill_during_rotation_leaves_whole_keys_and_no_signer_unpublished(tmp_path: Path) -> None:
    store = KeyStore(tmp_path, POLICY)
    store.maintain()
    signed: set[str] = set()
    for round_ in range(12):
        process = run_rotations(tmp_path, 10_000)
        assert process.stdout is not None
        printed = [process.stdout.readline()]
        time.sleep(0.0007 * round_)
        process.send_signal(signal.SIGKILL)
        printed += process.stdout.read().splitlines(keepends=True)
        process.stdout.close()
        process.wait(120)
        signed |= {line.decode().strip() for line in printed if line.endswith(b"\n")}
        published = {key.kid for key in KeyStore(tmp_path, POLICY).read().list_published()}
        assert signed <= published
    names = {file.name for file in tmp_path.iterdir()}
    assert names <= {"keys.json", "keys.json.new", "keys.lock"}
    store.rotate()
    assert {file.name for file in tmp_path.iterdir()} == {"keys.json", "keys.lock"}


def test_what_a_killed_process_left_half_written_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "keys.json.new").write_bytes(b"half" * 10_000)
    (tmp_path / "keys.json.new").chmod(0o644)
    store = KeyStore(tmp_path, POLICY)
    store.maintain()
    assert parse_ring((tmp_path / "keys.json").read_bytes(), "") == store.read()
    assert stat.S_IMODE((tmp_path / "keys.json").stat().st_mode) == 0o600


def test_keys_that_others_may_read_are_refused(tmp_path: Path) -> None:
    store = KeyStore(tmp_path, POLICY)
    store.maintain()
    store.path.chmod(0o644)
    with pytest.raises(ConfigurationError, match="open to others"):
        KeyStore(tmp_path, POLICY).maintain()


def test_a_damaged_file_is_refused_and_never_replaced(tmp_path: Path) -> None:
    store = KeyStore(tmp_path, POLICY)
    store.maintain()
    text = store.path.read_bytes()
    store.path.write_bytes(text[: len(text) // 2])
    for attempt in (KeyStore(tmp_path, POLICY).maintain, store.read, store.rotate):
        with pytest.raises(ConfigurationError, match="does not hold the keys"):
            attempt()
    assert store.path.read_bytes() == text[: len(text) // 2]


def test_a_missing_file_is_told_to_readers(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot be read: No such file"):
        KeyStore(tmp_path, POLICY).read()


def test_a_key_is_named_by_its_thumbprint_in_the_file_too(tmp_path: Path) -> None:
    store = KeyStore(tmp_path, POLICY)
    store.maintain()
    document = orjson.loads(store.path.read_bytes())
    assert document["active"]["kid"] == store.read().active.kid
