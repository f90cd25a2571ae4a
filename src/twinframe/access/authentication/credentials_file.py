"""An SQLite file of credentials that one process writes while several read, and secret hashes.

Reads are not cached, so a write counts from the next read on, in every process. A caller that
caches checks the version first.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from twinframe.errors import StorageError
from twinframe.runtime.locks import hold_lock

_READ_SECONDS = 0.25  # a reader never waits for a writer in WAL mode, only for its first start
_WRITE_SECONDS = 10.0

Row = tuple[Any, ...]


class CredentialsFile:
    """A file at `path` with the tables that `schema` creates; `version` is the schema's.

    A missing file counts as empty. The first write creates it with mode 0600, and its directory.
    """

    def __init__(self, path: Path, schema: str, version: int) -> None:
        self.path = path
        self._schema = schema
        self._version = version
        self._reader: sqlite3.Connection | None = None
        self._identity = (0, 0)
        self._opened = 0

    def exists(self) -> bool:
        """Whether the file exists."""
        return self.path.exists()

    def read_version(self) -> tuple[int, int]:
        """Return a value that changes whenever the contents may have changed. Raises
        `StorageError`.

        PERF: 1.9 us, and 1.1 us to stat the file.
        """
        rows = self.read("PRAGMA data_version")
        return self._opened, rows[0][0] if rows else 0

    def read(self, sql: str, parameters: Sequence[object] = ()) -> list[Row]:
        """Return the rows of a statement; none if the file is missing. Raises `StorageError`.

        PERF: 3.3 us for a row by its key, and 1.1 us to stat the file.
        """
        try:
            reader = self._open_reader()
            return reader.execute(sql, parameters).fetchall() if reader is not None else []
        except (sqlite3.Error, OSError) as error:
            self.close()
            raise StorageError(f"{self.path} cannot be read: {error}.") from error

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """Open a transaction: on disk when the block ends, rolled back when it raises.

        Raises `StorageError`.
        """
        try:
            connection = self._open_writer()
            try:
                connection.execute("BEGIN IMMEDIATE")
                self._migrate(connection)
                yield connection
                connection.execute("COMMIT")
            finally:
                connection.close()  # which rolls back uncommitted changes
        except (sqlite3.Error, OSError) as error:
            raise StorageError(f"{self.path} cannot be written: {error}.") from error

    def close(self) -> None:
        """Close the reading connection; the next read opens another."""
        if self._reader is not None:
            self._reader.close()
            self._reader = None
            self._opened += 1

    def _open_reader(self) -> sqlite3.Connection | None:
        try:
            found = os.stat(self.path)  # noqa: PTH116  (PERF: half the time of Path.stat)
        except FileNotFoundError:
            self.close()
            return None
        # NOTE: an inode is not reused while the file is open: equal means the same file.
        if self._reader is not None and self._identity == (found.st_dev, found.st_ino):
            return self._reader
        self.close()
        reader = sqlite3.connect(
            f"{self.path.absolute().as_uri()}?mode=ro",
            uri=True,
            timeout=_READ_SECONDS,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            is_complete = self._is_complete(reader)
        except BaseException:
            reader.close()
            raise
        if not is_complete:
            reader.close()
            return None
        self._reader = reader
        self._opened += 1
        self._identity = (found.st_dev, found.st_ino)
        return reader

    def _open_writer(self) -> sqlite3.Connection:
        make_directory(self.path.parent, 0o700)
        with suppress(FileExistsError):
            # SEC: created before SQLite opens it, which would apply the umask; its -wal and -shm
            # files get the mode of this one.
            os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        connection = sqlite3.connect(self.path, timeout=_WRITE_SECONDS, isolation_level=None)
        try:
            # NOTE: SQLite does not wait while another process turns a new file to its log.
            with hold_lock(self.path.with_name(f"{self.path.name}.lock"), _WRITE_SECONDS):
                connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=FULL")
            connection.execute("PRAGMA foreign_keys=ON")
        except BaseException:
            connection.close()
            raise
        return connection

    def _migrate(self, connection: sqlite3.Connection) -> None:
        if self._is_complete(connection):
            return
        for statement in self._schema.split(";"):
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version={self._version:d}")

    def _is_complete(self, connection: sqlite3.Connection) -> bool:
        """Whether the tables exist; the process that created the file may have been killed."""
        found: int = connection.execute("PRAGMA user_version").fetchone()[0]
        if found not in (0, self._version):
            raise StorageError(
                f"{self.path} is of version {found}; this program reads version {self._version}."
            )
        return found == self._version


def make_directory(path: Path, mode: int) -> None:
    """Create a directory and its missing parents. Raises `OSError`.

    SEC: whatever the umask is, only the owner can write into any of them: anybody else could
    replace this directory by another. (`Path.mkdir` gives `mode` to the last alone.)
    """
    missing = [folder for folder in path.parents if not folder.exists()]
    for folder in reversed(missing):
        folder.mkdir(mode=0o755, exist_ok=True)
    path.mkdir(mode=mode, exist_ok=True)


_SECRET_BYTES = 32
_SALT_BYTES = 16


@dataclass(frozen=True, slots=True)
class SecretHash:
    """A salt and the SHA-256 of salt and secret, stored instead of a generated secret.

    A generated secret has 256 bits of randomness, so it cannot be found by trying, however fast one
    try is: a slow hash (scrypt) would only make each request expensive. Passwords need one.
    """

    salt: bytes
    digest: bytes

    def matches(self, secret: bytes) -> bool:
        """Whether this is the hash of the secret; compared in constant time."""
        return hmac.compare_digest(hashlib.sha256(self.salt + secret).digest(), self.digest)


def build_secret() -> str:
    """Build a new secret: 64 hexadecimal digits, safe in shells and URLs."""
    return secrets.token_hex(_SECRET_BYTES)


def build_hash(secret: str) -> SecretHash:
    """The hash of a generated secret under a new salt."""
    salt = secrets.token_bytes(_SALT_BYTES)
    return SecretHash(salt, hashlib.sha256(salt + secret.encode()).digest())


NO_SECRET = build_hash(build_secret())
"""The hash of a secret that no caller has.

SEC: compare with it where there is no stored hash, so that it takes as long.
"""
