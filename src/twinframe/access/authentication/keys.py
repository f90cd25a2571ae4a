"""The public verification keys of a JWK Set, the port for their source, and files as a source."""

from __future__ import annotations

import logging
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from jwt import PyJWK, PyJWTError

from twinframe.access.authentication.compact import parse_object, render_value
from twinframe.errors import Unauthenticated
from twinframe.model.values import JsonValue

MAX_SET_BYTES: Final = 1024 * 1024
"""The longest JWK Set that is read, more than 2,000 RSA keys.

All of its keys are used: omitting some would refuse callers that the issuer accepts.
"""

_MIN_RSA_BITS: Final = 2048
_MAX_RSA_BITS: Final = 8192
_BASE64URL: Final = re.compile(r"[A-Za-z0-9_-]+={0,2}")

_RSA: Final = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")
_FORMS: Final[dict[tuple[str, str], tuple[tuple[str, ...], tuple[str, ...]]]] = {
    ("RSA", ""): (_RSA, ("n", "e")),
    ("EC", "P-256"): (("ES256",), ("x", "y")),
    ("EC", "P-384"): (("ES384",), ("x", "y")),
    ("EC", "P-521"): (("ES512",), ("x", "y")),
    ("OKP", "Ed25519"): (("EdDSA",), ("x",)),
}
"""Key type and curve -> the algorithms it may be used for, the first by default; its public
members.
"""


@dataclass(frozen=True, slots=True)
class VerificationKey:
    """A public key, for exactly one algorithm (RFC 8725 section 3.1).

    Equality is that of the key material, so that equal sets read twice are equal.
    """

    kid: str | None
    algorithm: str
    material: tuple[str, ...]
    _jwk: PyJWK = field(repr=False, compare=False)

    def verify(self, signed: bytes, signature: bytes) -> bool:
        """Return whether `signature` is one of `signed` by the owner of this key."""
        return self._jwk.Algorithm.verify(signed, self._jwk.key, signature)


@dataclass(frozen=True, slots=True)
class KeySet:
    """The keys an issuer signs with at present.

    `left_out` counts the entries of its JWK Set that cannot verify a signature.
    """

    keys: tuple[VerificationKey, ...]
    left_out: int = field(default=0, compare=False)
    _named: dict[str | None, list[VerificationKey]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        named: dict[str | None, list[VerificationKey]] = {}
        for key in self.keys:
            named.setdefault(key.kid, []).append(key)
        object.__setattr__(self, "_named", named)  # frozen

    def __str__(self) -> str:
        """How many keys there are, for findings and logs."""
        count = len(self.keys)
        text = "1 key" if count == 1 else f"{count} keys"
        return f"{text} (and {self.left_out} that are of no use)" if self.left_out else text

    def find(self, kid: str | None, algorithm: str) -> VerificationKey | None:
        """Return the key to verify a token with this header; None when `kid` is not known.

        Without `kid` only a set of one key is unambiguous. Raises `Unauthenticated` when no new set
        of keys could change the refusal.
        """
        named = self.keys if kid is None else self._named.get(kid, ())
        if not named:
            return None
        if kid is None and len(named) > 1:
            raise Unauthenticated("the header has no kid and the issuer has several keys")
        fitting = [key for key in named if key.algorithm == algorithm]
        if not fitting:
            # SEC: the key defines its algorithm; the token has no say in it.
            raise Unauthenticated(f"the key is not for {algorithm}")
        if len(fitting) > 1:
            raise Unauthenticated("the issuer has several keys of this kid and algorithm")
        return fitting[0]


def build_key_set(document: Mapping[str, JsonValue]) -> KeySet:
    """Build the usable keys of a JWK Set (RFC 7517 section 5), each reduced to its public members.

    Keys for other purposes, of other types, too short or too long, symmetric or malformed are left
    out. An empty set is valid: so an issuer withdraws all of its keys. Raises `ValueError` for what
    is no JWK Set.
    """
    entries = document.get("keys")
    if not isinstance(entries, list):
        raise ValueError("it has no array `keys`, so it is no JWK Set")  # noqa: TRY004  (data)
    built = [_build_key(entry) for entry in entries]
    usable = dict.fromkeys(key for key in built if key is not None)
    return KeySet(tuple(usable), built.count(None))


def _build_key(entry: JsonValue) -> VerificationKey | None:
    if not isinstance(entry, dict) or not _is_for_signatures(entry):
        return None
    kty, kid = entry.get("kty"), entry.get("kid")
    curve = entry.get("crv") if kty != "RSA" else ""
    if not isinstance(kty, str) or not isinstance(curve, str):
        return None
    algorithms, members = _FORMS.get((kty, curve), ((), ()))
    # NOTE: some issuers give no `alg`; it follows from type and curve then.
    algorithm = entry.get("alg", algorithms[0] if algorithms else None)
    if algorithm not in algorithms or not (kid is None or (isinstance(kid, str) and kid)):
        return None
    material = tuple(str(entry.get(member, "")) for member in members)
    if not all(map(_BASE64URL.fullmatch, material)):
        return None
    public = {
        "kty": kty,
        **({"crv": curve} if curve else {}),
        **dict(zip(members, material, strict=True)),
    }
    jwk = _load_jwk(public, str(algorithm))
    if jwk is None:
        return None
    return VerificationKey(kid, str(algorithm), (kty, curve, *material), jwk)


def _is_for_signatures(entry: dict[str, JsonValue]) -> bool:
    operations = entry.get("key_ops", ["verify"])
    return (
        entry.get("use", "sig") == "sig" and isinstance(operations, list) and "verify" in operations
    )


def _load_jwk(public: dict[str, str], algorithm: str) -> PyJWK | None:
    if len(public.get("n", "")) > _MAX_RSA_BITS // 4 or len(public.get("e", "")) > 8:
        return None  # PERF: the cost of a verification grows with both
    try:
        jwk = PyJWK(public, algorithm)
        jwk.Algorithm.prepare_key(jwk.key)
    except (PyJWTError, UnsupportedAlgorithm, ValueError, TypeError, OverflowError):
        return None
    key = jwk.key
    if isinstance(key, RSAPublicKey) and not _MIN_RSA_BITS <= key.key_size <= _MAX_RSA_BITS:
        return None
    return jwk


class KeySource(ABC):
    """Returns the key to verify a token with.

    `generation` grows whenever a key was withdrawn or replaced: tokens verified before must then be
    verified again.
    """

    generation: int = 0

    async def start(self) -> None:  # noqa: B027  (a source may have nothing to start)
        """Prepare in the process that serves; never waits for an issuer, never fails."""

    async def stop(self) -> None:  # noqa: B027
        """Cancel what is under way."""

    @abstractmethod
    def touch(self) -> bool:
        """Refresh the keys when it is time, without waiting for it.

        Returns True when the known keys are still valid, and with them the tokens they verified.
        Called for each request: it costs nothing while there is nothing to do.
        """

    @abstractmethod
    async def find(self, kid: str | None, algorithm: str) -> VerificationKey:
        """Return the key for a token's header; may request it from the issuer.

        Raises `Unauthenticated` when there is none, or the issuer's keys are unavailable; never
        anything else.
        """


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
