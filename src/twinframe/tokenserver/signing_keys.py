"""Keys that sign tokens, and their public halves as JSON Web Keys."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias, assert_never

import orjson
from cryptography.hazmat.primitives.asymmetric.ec import (
    SECP256R1,
    EllipticCurvePrivateKey,
    generate_private_key,
)
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key as generate_rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

Algorithm: TypeAlias = Literal["RS256", "ES256", "EdDSA"]
PrivateKey: TypeAlias = RSAPrivateKey | EllipticCurvePrivateKey | Ed25519PrivateKey

_RSA_BITS = 2048
# SPEC: RFC 7638 section 3.2 and RFC 8037 section 2, in the order of their names.
_THUMBPRINT = {"RSA": ("e", "kty", "n"), "EC": ("crv", "kty", "x", "y"), "OKP": ("crv", "kty", "x")}


@dataclass(frozen=True)  # no slots: properties are cached
class SigningKey:
    """A private key as PEM text and the one algorithm it signs with."""

    algorithm: Algorithm
    pem: str

    @cached_property
    def private_key(self) -> PrivateKey:
        """The key itself. Raises `ValueError` for a PEM of another kind."""
        # PERF: checking the primes of an RSA key takes 40 ms. The file is our own, and the
        # thumbprint stored with it shows that it is the one that was written.
        key = load_pem_private_key(
            self.pem.encode(), password=None, unsafe_skip_rsa_key_validation=True
        )
        if not isinstance(key, _KINDS[self.algorithm]):
            raise ValueError(f"a key of {self.algorithm} is expected")  # noqa: TRY004
        return key

    @cached_property
    def public_jwk(self) -> dict[str, Any]:
        """The public half as a JSON Web Key with `kid`, `use` and `alg`."""
        match self.private_key:
            case RSAPrivateKey() as rsa:
                members = RSAAlgorithm.to_jwk(rsa.public_key(), as_dict=True)
            case EllipticCurvePrivateKey() as curve:
                members = ECAlgorithm.to_jwk(curve.public_key(), as_dict=True)
            case Ed25519PrivateKey() as edwards:
                members = OKPAlgorithm.to_jwk(edwards.public_key(), as_dict=True)
            case unknown:
                assert_never(unknown)
        members.pop("key_ops", None)
        kid = build_thumbprint(members)
        return {**members, "kid": kid, "use": "sig", "alg": self.algorithm}

    @property
    def kid(self) -> str:
        """Its name: the thumbprint of the public half."""
        kid: str = self.public_jwk["kid"]
        return kid


def build_signing_key(algorithm: Algorithm) -> SigningKey:
    """Build a new key. PERF: RSA takes up to half a second, the others under a millisecond."""
    key: PrivateKey
    match algorithm:
        case "RS256":
            key = generate_rsa(65537, _RSA_BITS)
        case "ES256":
            key = generate_private_key(SECP256R1())
        case "EdDSA":
            key = Ed25519PrivateKey.generate()
        case unknown:
            assert_never(unknown)
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return SigningKey(algorithm, pem.decode())


def build_thumbprint(jwk: dict[str, Any]) -> str:
    """Compute the SHA-256 thumbprint of a public JSON Web Key (RFC 7638), base64url without
    padding.
    """
    members = {name: jwk[name] for name in _THUMBPRINT[jwk["kty"]]}
    digest = hashlib.sha256(orjson.dumps(members)).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


_KINDS: dict[str, type[PrivateKey]] = {
    "RS256": RSAPrivateKey,
    "ES256": EllipticCurvePrivateKey,
    "EdDSA": Ed25519PrivateKey,
}
