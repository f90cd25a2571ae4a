"""API keys: what is stored, what is accepted, and that a change counts at the next request."""

from __future__ import annotations

import asyncio
import hmac
import logging
import os
import signal
import sqlite3
import stat
import subprocess
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.forks import CODE
from tests.waiting import PATIENCE, Threads
from twinframe.access.authentication.api_keys import ApiKeyAuthenticator, ApiKeys, parse_key
from twinframe.access.authentication.port import MISSING
from twinframe.access.permissions import Caller
from twinframe.errors import NotFound, StorageError, Unauthenticated

PERMISSIONS = ("digitaltwins/read", "models/*")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "var" / "api-keys.sqlite"


@pytest.fixture
def authenticator(path: Path) -> Iterator[ApiKeyAuthenticator]:
    made = ApiKeyAuthenticator(path)
    asyncio.run(made.start())
    yield made
    asyncio.run(made.stop())


def show(authenticator: ApiKeyAuthenticator, *keys: str) -> Caller:
    headers = [(b"x-api-key", key.encode("latin-1")) for key in keys]
    return asyncio.run(authenticator.authenticate([(b"host", b"h"), *headers]))


def refusal(authenticator: ApiKeyAuthenticator, *keys: str) -> str:
    with pytest.raises(Unauthenticated) as caught:
        show(authenticator, *keys)
    assert caught.value.message == Unauthenticated("").message
    return caught.value.reason


def test_a_key_says_who_calls_and_what_they_may_do(
    path: Path, authenticator: ApiKeyAuthenticator
) -> None:
    key, text = ApiKeys(path).create("nightly import", PERMISSIONS, 60)
    caller = show(authenticator, text)
    assert caller == Caller(
        f"apikey:{key.id}", kind="api key", permissions=frozenset(PERMISSIONS), expires=key.expires
    )
    assert caller.claims == {"name": "nightly import"}
    assert caller.scopes == frozenset()


def test_blanks_around_a_key_are_none_of_it(path: Path, authenticator: ApiKeyAuthenticator) -> None:
    key, text = ApiKeys(path).create("a", PERMISSIONS)
    for sent in (f"{text} ", f" {text}", f"\t {text} \t"):
        assert show(authenticator, sent).subject == f"apikey:{key.id}"
        assert show(authenticator, sent).shown == key.name


def test_no_key_is_no_credential_and_two_are_refused(
    path: Path, authenticator: ApiKeyAuthenticator
) -> None:
    _key, text = ApiKeys(path).create("a", PERMISSIONS)
    assert refusal(authenticator) == MISSING
    assert refusal(authenticator, text, text) == "more than one X-API-Key header was sent"


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text[:-1],
        lambda text: text + "0",
        lambda text: text.upper(),
        lambda text: text.replace("_", " _"),
        lambda text: f"{text}, {text}",
        lambda text: text.replace("tfk_", "tfx_"),
        lambda text: text.replace("_", "-"),
        lambda text: text + "\n",
        lambda text: f"Bearer {text}",
        lambda _text: "",
        lambda _text: "tfk__",
        lambda _text: "é" * 85,
        lambda _text: f"tfk_{'0' * 16}_" + "\xb2" * 64,
        lambda _text: "x" * 100_000,
    ],
)
def test_what_has_not_exactly_the_form_of_a_key_is_refused(
    path: Path, authenticator: ApiKeyAuthenticator, change: object
) -> None:
    _key, text = ApiKeys(path).create("a", PERMISSIONS)
    assert callable(change)
    assert "not of the form" in refusal(authenticator, change(text))


@given(st.text(max_size=120))
def test_no_text_but_a_key_is_parsed_as_one(text: str) -> None:
    parsed = parse_key(text)
    assert parsed is None or f"tfk_{parsed[0]}_{parsed[1]}" == text


def test_a_wrong_secret_and_an_unknown_id_are_refused_with_one_message(
    path: Path, authenticator: ApiKeyAuthenticator
) -> None:
    keys = ApiKeys(path)
    first, text = keys.create("a", PERMISSIONS)
    second, _text = keys.create("b", PERMISSIONS)
    secret = text.rpartition("_")[2]
    assert refusal(authenticator, f"tfk_{first.id}_{'0' * 64}").startswith("the secret is not")
    assert refusal(authenticator, f"tfk_{second.id}_{secret}").startswith("the secret is not")
    assert refusal(authenticator, f"tfk_{'0' * 16}_{secret}").startswith("there is no API key")


def test_an_unknown_id_is_compared_as_a_known_one_is(
    path: Path, authenticator: ApiKeyAuthenticator, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, _text = ApiKeys(path).create("a", PERMISSIONS)
    compared: list[int] = []
    compare = hmac.compare_digest

    def record(left: bytes, right: bytes) -> bool:
        compared.append(len(left))
        return compare(left, right)

    monkeypatch.setattr(
        "twinframe.access.authentication.credentials_file.hmac.compare_digest", record
    )
    for key_id in (key.id, "0" * 16):
        refusal(authenticator, f"tfk_{key_id}_{'0' * 64}")
    assert compared == [32, 32]


def test_a_revoked_key_is_refused_at_the_next_request_of_every_worker(path: Path) -> None:
    keys = ApiKeys(path)
    key, text = keys.create("a", PERMISSIONS)
    workers = [ApiKeyAuthenticator(path) for _ in range(3)]
    for worker in workers:
        assert show(worker, text).subject == f"apikey:{key.id}"
    keys.revoke(key.id)
    for worker in workers:
        assert "is revoked" in refusal(worker, text)
    [first] = keys.list_keys()
    keys.revoke(key.id)  # once more changes nothing
    assert keys.list_keys() == [first]


def test_a_key_expires_on_the_second(path: Path) -> None:
    now = [1000.0]
    keys = ApiKeys(path, clock=lambda: now[0])
    authenticator = ApiKeyAuthenticator(path, clock=lambda: now[0])
    _key, text = keys.create("a", PERMISSIONS, 60)
    now[0] = 1059.9
    assert show(authenticator, text).expires == 1060
    now[0] = 1060.0
    assert "has expired" in refusal(authenticator, text)


def test_a_missing_file_refuses_every_key_and_is_told_once(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    authenticator = ApiKeyAuthenticator(path)
    with caplog.at_level(logging.WARNING):
        asyncio.run(authenticator.start())
        for _ in range(3):
            refusal(authenticator, f"tfk_{'0' * 16}_{'0' * 64}")
    [told] = [record.message for record in caplog.records]
    assert told.startswith(f"There are no API keys at {path}: every one is refused.")
    assert not path.exists()
    _key, text = ApiKeys(path).create("a", PERMISSIONS)
    assert show(authenticator, text).kind == "api key"


def test_a_file_that_is_replaced_or_removed_counts_at_once(path: Path) -> None:
    _key, old = ApiKeys(path).create("old", PERMISSIONS)
    authenticator = ApiKeyAuthenticator(path)
    show(authenticator, old)
    for name in path.parent.iterdir():
        name.unlink()
    assert "there is no API key" in refusal(authenticator, old)
    _key, new = ApiKeys(path).create("new", PERMISSIONS)
    assert show(authenticator, new).claims == {"name": "new"}
    assert "there is no API key" in refusal(authenticator, old)


@pytest.mark.parametrize("content", [b"not a database at all" * 100, b"SQLite format 3\0" + b"x"])
def test_a_damaged_file_refuses_every_key_and_is_told_once(
    path: Path, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    authenticator = ApiKeyAuthenticator(path)
    with caplog.at_level(logging.WARNING):
        asyncio.run(authenticator.start())
        for _ in range(3):
            reason = refusal(authenticator, f"tfk_{'0' * 16}_{'0' * 64}")
            assert reason == "the file of API keys cannot be read"
    assert len(caplog.records) == 1
    with pytest.raises(StorageError):
        ApiKeys(path).create("a", PERMISSIONS)


def test_a_file_of_another_version_is_refused_with_a_reason(path: Path) -> None:
    keys = ApiKeys(path)
    _key, text = keys.create("a", PERMISSIONS)
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version=2")
    connection.close()
    assert "cannot be read" in refusal(ApiKeyAuthenticator(path), text)
    with pytest.raises(StorageError, match="is of version 2; this program reads version 1"):
        ApiKeys(path).list_keys()


def test_a_file_whose_maker_was_killed_before_its_tables_were_made_holds_no_key(path: Path) -> None:
    path.parent.mkdir()
    path.touch(0o600)
    assert ApiKeys(path).list_keys() == []
    _key, text = ApiKeys(path).create("a", PERMISSIONS)
    assert show(ApiKeyAuthenticator(path), text).kind == "api key"


def test_nobody_else_can_put_other_directories_in_the_place_of_ours(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "c" / "keys.sqlite"
    old = os.umask(0)
    try:
        ApiKeys(path).create("a", PERMISSIONS)
    finally:
        os.umask(old)
    modes = [stat.S_IMODE(folder.stat().st_mode) for folder in list(path.parents)[:3]]
    assert modes == [0o700, 0o755, 0o755]


def test_a_directory_that_is_a_link_is_used_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    ApiKeys(tmp_path / "link" / "keys.sqlite").create("a", PERMISSIONS)
    assert (tmp_path / "real" / "keys.sqlite").exists()


def test_neither_the_key_nor_its_secret_is_in_the_files_and_they_are_private(path: Path) -> None:
    old = os.umask(0)
    try:
        keys = ApiKeys(path)
        key, text = keys.create("a", PERMISSIONS)
        listed = keys.list_keys()  # a reader is open: -wal and -shm are there
        names = sorted(file.name for file in path.parent.iterdir())
    finally:
        os.umask(old)
    beside = [f"{path.name}{end}" for end in (".lock", "-shm", "-wal")]
    assert names == sorted([path.name, *beside])
    secret = text.rpartition("_")[2].encode()
    for file in path.parent.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert secret not in file.read_bytes()
    assert bytes.fromhex(secret.decode()) not in path.read_bytes()
    assert listed == [key]
    assert secret.decode() not in repr(listed)


def test_two_keys_of_one_name_differ_in_everything_else(path: Path) -> None:
    keys = ApiKeys(path)
    made = [keys.create("same", PERMISSIONS) for _ in range(20)]
    assert len({key.id for key, _text in made}) == 20
    assert len({text.rpartition("_")[2] for _key, text in made}) == 20
    assert all(len(text.rpartition("_")[2]) == 64 for _key, text in made)  # 256 bits


def test_revoking_an_unknown_key_says_where_the_ids_are(path: Path) -> None:
    with pytest.raises(NotFound, match="apikey list"):
        ApiKeys(path).revoke("nothing")
    assert not path.exists()


def test_what_a_worker_remembers_of_keys_is_bounded(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("twinframe.access.authentication.api_keys._MOST_KNOWN", 4)
    keys = ApiKeys(path)
    texts = [keys.create("a", PERMISSIONS)[1] for _ in range(10)]
    authenticator = ApiKeyAuthenticator(path)
    for text in texts * 2:
        assert show(authenticator, text).subject == f"apikey:{text.split('_')[1]}"
        assert len(authenticator._known) <= 4


def test_several_that_create_the_first_key_at_once_wait_for_each_other(tmp_path: Path) -> None:
    everyone = threading.Barrier(4)

    def create(path: Path) -> None:
        everyone.wait(PATIENCE)
        ApiKeys(path).create("a", PERMISSIONS)

    with Threads(4) as pool:
        for at in range(20):
            path = tmp_path / str(at) / "keys.sqlite"
            list(pool.map(create, [path] * 4))
            assert len(ApiKeys(path).list_keys()) == 4


WRITER = """
import sys
from pathlib import Path
from twinframe.access.authentication.api_keys import ApiKeys
keys = ApiKeys(Path(sys.argv[1]))
while True:
    print(keys.create("more", ["digitaltwins/read"])[1], flush=True)
"""


def test_every_key_that_was_printed_survives_a_kill(path: Path) -> None:
    for _ in range(4):
        process = subprocess.Popen(
            [*CODE, textwrap.dedent(WRITER), str(path)], stdout=subprocess.PIPE
        )
        assert process.stdout is not None
        printed = [process.stdout.readline() for _ in range(5)]
        time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        printed += process.stdout.read().splitlines(keepends=True)
        process.stdout.close()
        process.wait(120)
        authenticator = ApiKeyAuthenticator(path)
        for line in printed:
            if line.endswith(b"\n"):
                assert show(authenticator, line.decode().strip()).kind == "api key"
        asyncio.run(authenticator.stop())
    _key, text = ApiKeys(path).create("after", PERMISSIONS)
    assert show(ApiKeyAuthenticator(path), text).claims == {"name": "after"}


def test_a_writer_that_waits_in_its_transaction_holds_up_no_reader(path: Path) -> None:
    keys = ApiKeys(path)
    _key, text = keys.create("a", PERMISSIONS)
    authenticator = ApiKeyAuthenticator(path)
    with keys.file.write() as connection:
        connection.execute("UPDATE api_keys SET revoked = 1")
        assert show(authenticator, text).kind == "api key"  # not committed yet
    assert "is revoked" in refusal(authenticator, text)
