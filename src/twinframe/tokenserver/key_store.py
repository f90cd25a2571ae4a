"""The key ring in a file, which several processes create, read and rotate."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from twinframe.access.authentication.credentials_file import make_directory
from twinframe.errors import ConfigurationError
from twinframe.runtime.files import write_durably
from twinframe.runtime.locks import hold_lock
from twinframe.tokenserver.key_ring import (
    KeyRing,
    build_ring,
    maintain,
    parse_ring,
    render_ring,
    rotate,
)
from twinframe.tokenserver.signing_keys import Algorithm

_FILE = "keys.json"
_LOCK = "keys.lock"


@dataclass(frozen=True, slots=True)
class KeyPolicy:
    """How keys are made and how long they serve, in seconds."""

    algorithm: Algorithm
    token_lifetime: float
    key_lifetime: float


class KeyStore:
    """The keys in a directory. Methods raise `ConfigurationError`; writing ones also `OSError`."""

    def __init__(
        self, directory: Path, policy: KeyPolicy, clock: Callable[[], float] = time.time
    ) -> None:
        self.path = directory / _FILE
        self._lock = directory / _LOCK
        self._policy = policy
        self._clock = clock
        self._ring: KeyRing | None = None
        self._identity: tuple[int, int, int, int] | None = None

    def read(self) -> KeyRing:
        """Return the ring in force.

        PERF: 1 us while the file is unchanged. Two changes within one tick of the file system's
        clock may look like none; `maintain` sees the difference, long before a key is dropped.
        """
        try:
            identity = self._identify()
        except OSError as error:
            raise ConfigurationError(f"{self.path} cannot be read: {error.strerror}.") from error
        if self._ring is None or identity != self._identity:
            self._ring = self._parse()
            self._identity = identity
        return self._ring

    def maintain(self) -> bool:
        """Create the first keys, rotate if it is time, drop expired ones; return True if it
        changed.

        Blocks: it waits for other processes, makes keys and writes.
        """
        policy = self._policy
        make_directory(self._lock.parent, 0o700)
        with hold_lock(self._lock):
            now = self._clock()
            if not self.path.exists():
                self._write(build_ring(policy.algorithm, policy.token_lifetime, now))
                return True
            self._check_mode()
            ring = self._parse()  # never cached: another process may have just rotated
            if ring != self._ring:
                self._identity = None
            kept = maintain(ring, policy.algorithm, policy.token_lifetime, policy.key_lifetime, now)
            if kept is not ring:
                self._write(kept)
            return kept is not ring

    def rotate(self) -> KeyRing:
        """Sign with the next key from now on. Blocks as `maintain` does."""
        self.maintain()
        with hold_lock(self._lock):
            ring = rotate(self._parse(), self._policy.algorithm, self._clock())
            self._write(ring)
            return ring

    def _parse(self) -> KeyRing:
        try:
            text = self.path.read_bytes()
        except OSError as error:
            raise ConfigurationError(f"{self.path} cannot be read: {error.strerror}.") from error
        return parse_ring(text, str(self.path))

    def _write(self, ring: KeyRing) -> None:
        write_durably(self.path, render_ring(ring))

    def _identify(self) -> tuple[int, int, int, int]:
        found = os.stat(self.path)  # noqa: PTH116  (PERF: half the time of Path.stat)
        return found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size

    def _check_mode(self) -> None:
        mode = stat.S_IMODE(self.path.stat().st_mode)
        if mode & 0o077:
            raise ConfigurationError(
                f"{self.path} is open to others (mode {mode:04o}). Set it to 0600, and rotate the "
                "keys with `twinframe auth-server --rotate-key` if others may have read them."
            )
