"""The issuer's keys in a local file, read again when it changes."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from twinframe.access.authentication.compact import parse_object, render_value
from twinframe.access.authentication.key_source import KeySource
from twinframe.access.authentication.keys import (
    MAX_SET_BYTES,
    KeySet,
    VerificationKey,
    build_key_set,
)
from twinframe.errors import Unauthenticated

_LOG: Final = logging.getLogger(__name__)

_LOOK_EVERY: Final = 1.0


class KeyFile(KeySource):
    """The keys of a JWK Set in a file.

    The file is checked for changes at most once a second. If it is removed or broken, the keys read
    last stay valid; if it is missing at the start, there are none until it appears. An empty set
    withdraws all keys.
    """

    def __init__(self, path: Path, steady: Callable[[], float] = time.monotonic) -> None:
        self._path = path
        self._steady = steady
        self._keys: KeySet | None = None
        self._stamp: tuple[int, int, int] | None = None
        self._problem = "the file was not read yet"
        self._look_at = float("-inf")

    async def start(self) -> None:
        """Read the file, so that errors in it are logged at the start."""
        self.touch()

    def touch(self) -> bool:
        """Read the file again if it changed, at most once a second; the cached keys are valid."""
        now = self._steady()
        if now >= self._look_at:
            self._look_at = now + _LOOK_EVERY
            self._look()
        return True

    async def find(self, kid: str | None, algorithm: str) -> VerificationKey:
        """Return the key for a token's header, see `KeySource.find`."""
        self.touch()
        if self._keys is None:
            raise Unauthenticated(f"the issuer's keys are not known: {self._problem}")
        key = self._keys.find(kid, algorithm)
        if key is None:
            raise Unauthenticated(f"the file of keys has no key {render_value(kid)}")
        return key

    def _look(self) -> None:
        try:
            status = self._path.stat()
            stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
            if stamp != self._stamp:
                self._take(read_keys(self._path))
                # SEC: only now: what could not be read before may withdraw a key.
                self._stamp = stamp
        except (OSError, ValueError) as error:
            if str(error) != self._problem:
                self._problem = str(error)
                _LOG.warning("the file of the issuer's keys is no use: %s", error)

    def _take(self, keys: KeySet) -> None:
        if self._keys is not None and keys != self._keys:
            self.generation += 1
            _LOG.info("the file of the issuer's keys changed: %s now", keys)
        if not keys.keys:
            _LOG.warning("the file of the issuer's keys has none of use: tokens are refused")
        self._keys = keys
        self._problem = ""


def read_keys(path: Path) -> KeySet:
    """Read the JWK Set in a file. Raises `OSError`, or `ValueError` for an invalid one."""
    with path.open("rb") as file:
        raw = file.read(MAX_SET_BYTES + 1)
    if len(raw) > MAX_SET_BYTES:
        raise ValueError(f"{path} is longer than {MAX_SET_BYTES} bytes")
    try:
        return build_key_set(parse_object(raw, str(path)))
    except Unauthenticated as error:
        raise ValueError(error.reason) from None
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
