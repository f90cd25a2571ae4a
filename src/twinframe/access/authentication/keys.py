"""The public verification keys of a JWK Set."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from jwt import PyJWK, PyJWTError

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
