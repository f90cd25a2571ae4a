"""The store of registered clients: adds, lists, rotates, removes and authenticates them."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import orjson

from twinframe.access.authentication.credentials_file import (
    NO_SECRET,
    CredentialsFile,
    Row,
    SecretHash,
    build_hash,
    build_secret,
)
from twinframe.errors import NotFound

FILE = "clients.sqlite"

_VERSION = 1
_SCHEMA = """
CREATE TABLE clients (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  permissions TEXT NOT NULL,
  scopes TEXT NOT NULL,
  audiences TEXT NOT NULL,
  created REAL NOT NULL,
  salt BLOB NOT NULL,
  digest BLOB NOT NULL,
  old_salt BLOB,
  old_digest BLOB,
  old_until REAL
) WITHOUT ROWID
"""
_COLUMNS = "id, name, permissions, scopes, audiences, created, old_until"
_HASHES = "salt, digest, old_salt, old_digest"
_FIND = f"SELECT {_COLUMNS}, {_HASHES} FROM clients WHERE id = ?"  # noqa: S608  (constants)
_LIST = f"SELECT {_COLUMNS} FROM clients ORDER BY created, id"  # noqa: S608  (constants)
_INSERT = "INSERT INTO clients VALUES (?, ?, ?, ?, ?, ?, ?, ?, NULL, NULL, NULL)"
_ROTATE = (
    "UPDATE clients SET old_salt = salt, old_digest = digest, old_until = ?, salt = ?, digest = ?"
    " WHERE id = ?"
)
_REMOVE = "DELETE FROM clients WHERE id = ?"
_ID_BYTES = 12


@dataclass(frozen=True, slots=True)
class Client:
    """A registered client. Empty `audiences` are all of the server's.

    `created` and `old_until` are seconds since the epoch; until `old_until` the secret before the
    last one is valid too.
    """

    id: str
    name: str
    permissions: tuple[str, ...]
    scopes: tuple[str, ...]
    audiences: tuple[str, ...]
    created: float
    old_until: float | None = None


class Clients:
    """The clients in a directory. Every method may raise `StorageError`."""

    def __init__(self, directory: Path, clock: Callable[[], float] = time.time) -> None:
        self.file = CredentialsFile(directory / FILE, _SCHEMA, _VERSION)
        self._clock = clock

    def add(
        self,
        name: str,
        permissions: Iterable[str] = (),
        scopes: Iterable[str] = (),
        audiences: Iterable[str] = (),
    ) -> tuple[Client, str]:
        """Add a client; return it and its secret, which is not stored."""
        client = Client(
            id=secrets.token_hex(_ID_BYTES),
            name=name,
            permissions=tuple(sorted(set(permissions))),
            scopes=tuple(dict.fromkeys(scopes)),
            audiences=tuple(dict.fromkeys(audiences)),
            created=self._clock(),
        )
        secret = build_secret()
        hashed = build_hash(secret)
        lists = (client.permissions, client.scopes, client.audiences)
        texts = [orjson.dumps(values).decode() for values in lists]
        row = (client.id, name, *texts, client.created, hashed.salt, hashed.digest)
        with self.file.write() as connection:
            connection.execute(_INSERT, row)
        return client, secret

    def list_clients(self) -> list[Client]:
        """All clients, the oldest first."""
        return [_build_client(row) for row in self.file.read(_LIST)]

    def rotate(self, client_id: str, overlap: float = 0.0) -> str:
        """Replace the secret; the old one is valid for `overlap` seconds more.

        Raises `NotFound`.
        """
        secret = build_secret()
        hashed = build_hash(secret)
        until = self._clock() + overlap
        self._change(_ROTATE, (until, hashed.salt, hashed.digest, client_id), client_id)
        return secret

    def remove(self, client_id: str) -> None:
        """Remove a client: it gets no more tokens. Raises `NotFound`."""
        self._change(_REMOVE, (client_id,), client_id)

    def authenticate(self, client_id: str, secret: str) -> Client | None:
        """Return the client of this id and secret, else None.

        SEC: one read and two comparisons whether there is such a client or not.
        """
        rows = self.file.read(_FIND, (client_id,))
        current, old = _parse_hashes(rows[0]) if rows else (NO_SECRET, NO_SECRET)
        sent = secret.encode()
        is_current, is_old = current.matches(sent), old.matches(sent)
        if not (rows and (is_current or is_old)):
            return None
        client = _build_client(rows[0])
        in_time = client.old_until is not None and self._clock() < client.old_until
        return client if is_current or in_time else None

    def _change(self, sql: str, parameters: tuple[object, ...], client_id: str) -> None:
        changed = 0
        if self.file.exists():
            with self.file.write() as connection:
                changed = connection.execute(sql, parameters).rowcount
        if not changed:
            raise NotFound(
                f"There is no client {client_id!r}; `twinframe client list` shows the ids."
            )


def _parse_hashes(row: Row) -> tuple[SecretHash, SecretHash]:
    salt, digest, old_salt, old_digest = row[7:]
    old = NO_SECRET if old_salt is None else SecretHash(old_salt, old_digest)
    return SecretHash(salt, digest), old


def _build_client(row: Row) -> Client:
    client_id, name, permissions, scopes, audiences, created, old_until = row[:7]
    return Client(
        client_id,
        name,
        tuple(orjson.loads(permissions)),
        tuple(orjson.loads(scopes)),
        tuple(orjson.loads(audiences)),
        created,
        old_until,
    )
