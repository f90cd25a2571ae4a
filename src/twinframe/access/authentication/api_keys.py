"""API keys: their store, and the authenticator of the header `X-API-Key`."""

from __future__ import annotations

import logging
import re
import secrets
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import orjson

from twinframe.access.authentication.credentials_file import (
    NO_SECRET,
    CredentialsFile,
    Row,
    SecretHash,
    build_hash,
    build_secret,
)
from twinframe.access.authentication.port import MISSING, Authenticator, Headers
from twinframe.access.permissions import API_KEY, Caller
from twinframe.errors import NotFound, StorageError, Unauthenticated

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
        """Create a key; return it and its unstored text. `lifetime` in seconds, None: ever.

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


_LOG = logging.getLogger("twinframe.access.authentication")
_HEADER = b"x-api-key"
_MOST_KNOWN = 1024


def is_api_key(text: str) -> bool:
    """Return whether a text has the form of an API key."""
    return _KEY.fullmatch(text) is not None


class ApiKeyAuthenticator(Authenticator):
    """Reads one `X-API-Key` header of the form `tfk_<id>_<secret>`.

    The version of the key file is checked at each request, so a new or revoked key counts at once,
    in every worker. A file that is missing or unreadable contains no key.

    PERF: 7 us for a key that was looked up before, 13 us for another one. SEC: the difference
    reveals whether an id is in use. Ids are 64 random bits and grant nothing; the secret is
    compared in constant time.
    """

    def __init__(self, path: Path, clock: Callable[[], float] = time.time) -> None:
        self._keys = ApiKeys(path)
        self._clock = clock
        self._told = ""
        self._version = (0, 0)
        self._known: dict[str, _Known] = {}

    async def start(self) -> None:
        """Log a file that is missing or unreadable; the service starts nevertheless."""
        try:
            self._keys.file.read("SELECT 1")
        except StorageError as error:
            self._warn_once(error.message)
        else:
            self._tell_if_missing()

    async def stop(self) -> None:
        """Close the file."""
        self._keys.file.close()

    async def authenticate(self, headers: Headers) -> Caller:
        """Return the caller whose key this is. Raises `Unauthenticated`."""
        sent = [value for name, value in headers if name == _HEADER]
        if not sent:
            raise Unauthenticated(MISSING)
        if len(sent) > 1:
            raise Unauthenticated("more than one X-API-Key header was sent")
        parsed = parse_key(sent[0].strip(b" \t").decode("latin-1"))
        if parsed is None:
            raise Unauthenticated("the API key is not of the form tfk_<id>_<secret>")
        return self._check(*parsed)

    def _check(self, key_id: str, secret: str) -> Caller:
        try:
            found = self._find(key_id)
        except StorageError as error:
            self._warn_once(error.message)
            raise Unauthenticated("the file of API keys cannot be read") from error
        # SEC: an unknown id takes as long as a wrong secret.
        hashed = found.hashed if found is not None else NO_SECRET
        is_right = hashed.matches(secret.encode())
        if found is None:
            self._tell_if_missing()
            raise Unauthenticated(f"there is no API key {key_id}")
        key = found.key
        if not is_right:
            raise Unauthenticated(f"the secret is not that of API key {key_id}")
        if key.revoked is not None:
            raise Unauthenticated(f"API key {key_id} ({key.name}) is revoked")
        if key.is_expired(self._clock()):
            raise Unauthenticated(f"API key {key_id} ({key.name}) has expired")
        self._told = ""
        return found.caller

    def _find(self, key_id: str) -> _Known | None:
        version = self._keys.file.read_version()
        # NOTE: read before the key: the cached version is never newer than the cached key.
        if version != self._version or len(self._known) >= _MOST_KNOWN:
            self._known.clear()
            self._version = version
        known = self._known.get(key_id)
        if known is None:
            found = self._keys.find(key_id)
            if found is None:
                return None
            known = self._known[key_id] = _Known(*found, build_caller(found[0]))
        return known

    def _tell_if_missing(self) -> None:
        if not self._keys.file.exists():
            self._warn_once(
                f"There are no API keys at {self._keys.file.path}: every one is refused. Make one "
                "with `twinframe apikey create`."
            )

    def _warn_once(self, problem: str) -> None:
        # NOTE: once, until a key was accepted or the problem changes: not once a request.
        if problem != self._told:
            self._told = problem
            _LOG.warning("%s", problem)


class _Known(NamedTuple):
    key: ApiKey
    hashed: SecretHash
    caller: Caller


def build_caller(key: ApiKey) -> Caller:
    """Build the caller that this key authenticates."""
    return Caller(
        subject=f"apikey:{key.id}",
        claims={"name": key.name},
        kind=API_KEY,
        permissions=key.permissions,
        expires=key.expires,
        name=key.name,
    )
