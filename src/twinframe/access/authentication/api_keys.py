"""The authenticator of API keys in the header `X-API-Key`."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from twinframe.access.authentication.api_keys_store import ApiKey, ApiKeys, parse_key
from twinframe.access.authentication.port import MISSING, Authenticator, Headers
from twinframe.access.authentication.secret_hashes import NO_SECRET, SecretHash
from twinframe.access.permissions import API_KEY, Caller
from twinframe.errors import StorageError, Unauthenticated

_LOG = logging.getLogger("twinframe.access.authentication")
_HEADER = b"x-api-key"
_MOST_KNOWN = 1024


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
            self._tell(error.message)
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
            self._tell(error.message)
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
            self._tell(
                f"There are no API keys at {self._keys.file.path}: every one is refused. Make one "
                "with `twinframe apikey create`."
            )

    def _tell(self, problem: str) -> None:
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
    )
