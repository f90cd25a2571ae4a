"""The store of API keys: creates, lists, revokes and looks them up."""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import orjson

from twinframe.access.authentication.credentials_file import CredentialsFile, Row
from twinframe.access.authentication.secret_hashes import SecretHash, build_hash, build_secret
from twinframe.errors import NotFound

_VERSION = 1
_SCHEMA = """
CREATE TABLE api_keys (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  salt BLOB NOT NULL,
  digest BLOB NOT NULL,
  permissions TEXT NOT NULL,
  created REAL NOT NULL,
  expires REAL,
  revoked REAL
) WITHOUT ROWID
"""
_COLUMNS = "id, name, permissions, created, expires, revoked"
_FIND = f"SELECT {_COLUMNS}, salt, digest FROM api_keys WHERE id = ?"  # noqa: S608  (constants)
_LIST = f"SELECT {_COLUMNS} FROM api_keys ORDER BY created, id"  # noqa: S608  (constants)
_INSERT = "INSERT INTO api_keys VALUES (?, ?, ?, ?, ?, ?, ?, NULL)"
_REVOKE = "UPDATE api_keys SET revoked = coalesce(revoked, ?) WHERE id = ?"

_ID_BYTES = 8
_PREFIX = "tfk"
# NOTE: the prefix is for scanners of leaked secrets; the id for logs, lists and revocation.
_KEY = re.compile(rf"{_PREFIX}_([0-9a-f]{{{2 * _ID_BYTES}}})_([0-9a-f]{{64}})")


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A stored key. Times are seconds since the epoch; `expires` None is never."""

    id: str
    name: str
    permissions: frozenset[str]
    created: float
    expires: float | None = None
    revoked: float | None = None

    def is_expired(self, now: float) -> bool:
        """Whether the key has expired."""
        return self.expires is not None and now >= self.expires


class ApiKeys:
    """The keys in the file at `path`. Every method may raise `StorageError`."""

    def __init__(self, path: Path, clock: Callable[[], float] = time.time) -> None:
        self.file = CredentialsFile(path, _SCHEMA, _VERSION)
        self._clock = clock

    def create(
        self, name: str, permissions: Iterable[str], lifetime: float | None = None
    ) -> tuple[ApiKey, str]:
        """Create a key; return it and its text, which is not stored. `lifetime` in seconds, None is
        for ever.

        The permissions are stored as given: check them before.
        """
        now = self._clock()
        key = ApiKey(
            id=secrets.token_hex(_ID_BYTES),
            name=name,
            permissions=frozenset(permissions),
            created=now,
            expires=None if lifetime is None else now + lifetime,
        )
        secret = build_secret()
        hashed = build_hash(secret)
        listed = orjson.dumps(sorted(key.permissions)).decode()
        row = (key.id, name, hashed.salt, hashed.digest, listed, key.created, key.expires)
        with self.file.write() as connection:
            connection.execute(_INSERT, row)
        return key, f"{_PREFIX}_{key.id}_{secret}"

    def list_keys(self) -> list[ApiKey]:
        """List all keys, the oldest first, including revoked and expired ones."""
        return [_build_key(row) for row in self.file.read(_LIST)]

    def find(self, key_id: str) -> tuple[ApiKey, SecretHash] | None:
        """The key of an id, with the hash of its secret."""
        for row in self.file.read(_FIND, (key_id,)):
            return _build_key(row), SecretHash(row[6], row[7])
        return None

    def revoke(self, key_id: str) -> None:
        """Refuse the key from the next request on, for ever. Raises `NotFound`."""
        if self.find(key_id) is None:
            raise NotFound(
                f"There is no API key {key_id!r}; `twinframe apikey list` shows the ids."
            )
        with self.file.write() as connection:
            connection.execute(_REVOKE, (self._clock(), key_id))


def parse_key(text: str) -> tuple[str, str] | None:
    """Id and secret of a key's text, None for another form."""
    found = _KEY.fullmatch(text)
    return (found[1], found[2]) if found is not None else None


@lru_cache(maxsize=1024)
def _parse_permissions(text: str) -> frozenset[str]:
    return frozenset(orjson.loads(text))


def _build_key(row: Row) -> ApiKey:
    key_id, name, permissions, created, expires, revoked = row[:6]
    return ApiKey(key_id, name, _parse_permissions(permissions), created, expires, revoked)
