"""Makes access tokens, right ones and wrong ones, with keys made once a run. It verifies none."""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

DROP: Final = object()
"""As a value of `header` or `claims`: leave that member out."""

HASHES: Final[dict[str, hashes.HashAlgorithm]] = {
    "256": hashes.SHA256(),
    "384": hashes.SHA384(),
    "512": hashes.SHA512(),
    "1": hashes.SHA1(),  # noqa: S303  (a token signed so must be refused)
}


def encode(raw: bytes) -> bytes:
    """Base64url without padding."""
    return urlsafe_b64encode(raw).rstrip(b"=")


def encode_int(number: int, size: int | None = None) -> str:
    """An integer as JWK members have it."""
    return encode(number.to_bytes(size or (number.bit_length() + 7) // 8, "big")).decode()


@cache
def private_key(name: str) -> Any:
    """A private key by name, made when first asked for."""
    match name:
        case "small":
            return rsa.generate_private_key(65537, 1024)  # noqa: S505  (must be refused)
        case "ec" | "ec-shared":
            return ec.generate_private_key(ec.SECP256R1())
        case "p384":
            return ec.generate_private_key(ec.SECP384R1())
        case "koblitz":
            return ec.generate_private_key(ec.SECP256K1())
        case "ed":
            return ed25519.Ed25519PrivateKey.generate()
        case "ed448":
            return ed448.Ed448PrivateKey.generate()
        case _:
            return rsa.generate_private_key(65537, 2048)


OCT_SECRET: Final = b"a secret that is published by mistake, 48 bytes."


def public_jwk(name: str, **members: Any) -> dict[str, Any]:
    """The public JWK of a key, with further members."""
    public = private_key(name).public_key()
    if isinstance(public, rsa.RSAPublicKey):
        numbers = public.public_numbers()
        form = {"kty": "RSA", "n": encode_int(numbers.n), "e": encode_int(numbers.e)}
    elif isinstance(public, ec.EllipticCurvePublicKey):
        point = public.public_numbers()
        size = (public.key_size + 7) // 8
        curve = {"secp256r1": "P-256", "secp384r1": "P-384", "secp256k1": "secp256k1"}
        form = {
            "kty": "EC",
            "crv": curve[public.curve.name],
            "x": encode_int(point.x, size),
            "y": encode_int(point.y, size),
        }
    else:
        raw = public.public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
        curve_name = "Ed25519" if isinstance(public, ed25519.Ed25519PublicKey) else "Ed448"
        form = {"kty": "OKP", "crv": curve_name, "x": encode(raw).decode()}
    return {**form, **members}


def public_bytes(name: str, encoding: serialization.Encoding) -> bytes:
    """The public key as PEM or DER."""
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    made: bytes = private_key(name).public_key().public_bytes(encoding, form)
    return made


def sign(data: bytes, key: str | bytes, algorithm: str) -> bytes:
    """A signature as JWS has it; `key` is a name of `private_key`, or a secret for HS*."""
    digest = HASHES.get(algorithm[2:].rstrip("K"), hashes.SHA256())
    if isinstance(key, bytes):
        return hmac.new(key, data, getattr(hashlib, digest.name)).digest()
    private = private_key(key)
    if isinstance(private, ec.EllipticCurvePrivateKey):
        r, s = decode_dss_signature(private.sign(data, ec.ECDSA(digest)))
        size = (private.key_size + 7) // 8
        return r.to_bytes(size, "big") + s.to_bytes(size, "big")
    if not isinstance(private, rsa.RSAPrivateKey):
        signature: bytes = private.sign(data)
        return signature
    if algorithm.startswith("PS"):
        pss = padding.PSS(padding.MGF1(digest), salt_length=digest.digest_size)
        return private.sign(data, pss, digest)
    return private.sign(data, padding.PKCS1v15(), digest)


KIDS: Final = {
    "rsa": "rsa-1",
    "rsa2": "rsa-2",
    "ec": "ec-1",
    "ed": "ed-1",
    "small": "small-1",
    "enc": "enc-1",
    "koblitz": "koblitz-1",
    "ed448": "ed448-1",
    "p384": "p384-1",
    "shared": "shared",
    "ec-shared": "shared",
    "twin1": "twin",
    "twin2": "twin",
}
ALGORITHMS: Final = {
    "ec": "ES256",
    "ec-shared": "ES256",
    "p384": "ES384",
    "ed": "EdDSA",
    "ed448": "EdDSA",
    "koblitz": "ES256K",
}


@dataclass(frozen=True)
class TokenFactory:
    """Makes tokens of one issuer for one audience.

    `resource` is a second audience the service accepts. `clock` gives the seconds since the epoch
    that times in tokens are relative to. `base` are claims that every token has unless changed.
    """

    issuer: str = "https://issuer.test/"
    audience: str = "https://twinframe.test/graph"
    resource: str = "https://twinframe.test/mcp"
    clock: Callable[[], float] = time.time
    base: Mapping[str, Any] = field(default_factory=dict)

    @property
    def now(self) -> int:
        """The time, in whole seconds."""
        return int(self.clock())

    def jwks(self) -> dict[str, Any]:
        """The key set of the issuer, with keys among them that must not be used."""
        keys = [
            public_jwk("rsa", kid="rsa-1", use="sig", alg="RS256"),
            public_jwk("rsa2", kid="rsa-2", use="sig"),  # no alg, as some issuers have it
            public_jwk("ec", kid="ec-1", use="sig", alg="ES256"),
            public_jwk("ed", kid="ed-1", use="sig", alg="EdDSA"),
            public_jwk("small", kid="small-1", use="sig", alg="RS256"),
            public_jwk("enc", kid="enc-1", use="enc", alg="RS256"),
            {"kty": "oct", "kid": "oct-1", "alg": "HS256", "k": encode(OCT_SECRET).decode()},
            public_jwk("koblitz", kid="koblitz-1", use="sig", alg="ES256K"),
            public_jwk("ed448", kid="ed448-1", use="sig", alg="EdDSA"),
            public_jwk("p384", kid="p384-1", use="sig", alg="ES384"),
            public_jwk("shared", kid="shared", use="sig", alg="RS256"),
            public_jwk("ec-shared", kid="shared", use="sig", alg="ES256"),
            public_jwk("twin1", kid="twin", use="sig", alg="RS256"),
            public_jwk("twin2", kid="twin", use="sig", alg="RS256"),
        ]
        return {"keys": keys}

    def claims(self, **changes: Any) -> dict[str, Any]:
        """The claims of a good token, changed; `DROP` leaves one out."""
        claims = {
            "iss": self.issuer,
            "aud": self.audience,
            "sub": "client-1@clients",
            "exp": self.now + 3600,
            "iat": self.now - 1,
            "jti": "token-1",
            "client_id": "client-1",
            "scope": "mcp:tools",
            "permissions": ["mcp/*"],
            **self.base,
            **changes,
        }
        return {name: value for name, value in claims.items() if value is not DROP}

    def header(self, key: str = "rsa", **changes: Any) -> dict[str, Any]:
        """The header of a good token signed with a key, changed; `DROP` leaves a member out."""
        header = {"alg": ALGORITHMS.get(key, "RS256"), "typ": "JWT", **changes}
        if "kid" not in header and key in KIDS:
            header["kid"] = KIDS[key]
        return {name: value for name, value in header.items() if value is not DROP}

    def token(
        self,
        key: str = "rsa",
        header: Mapping[str, Any] | None = None,
        secret: bytes | None = None,
        sign_as: str = "",
        **claims: Any,
    ) -> bytes:
        """A token: good but for the changes; `secret` signs it with an HMAC instead of the key."""
        head = self.header(key, **(header or {}))
        algorithm = sign_as or head.get("alg")
        return self.raw(
            json.dumps(head).encode(),
            json.dumps(self.claims(**claims)).encode(),
            key if secret is None else secret,
            algorithm if isinstance(algorithm, str) else ALGORITHMS.get(key, "RS256"),
        )

    def raw(
        self, header: bytes, payload: bytes, key: str | bytes = "rsa", algorithm: str = "RS256"
    ) -> bytes:
        """A token of these very bytes, properly signed."""
        data = encode(header) + b"." + encode(payload)
        return data + b"." + encode(sign(data, key, algorithm))

    def signed(self, payload: bytes | str) -> bytes:
        """A token with a good header, and this payload."""
        raw = payload.encode("utf-8") if isinstance(payload, str) else payload
        return self.raw(json.dumps(self.header()).encode(), raw)

    def headed(self, header: bytes | str) -> bytes:
        """A token with good claims, and this header."""
        raw = header.encode("utf-8") if isinstance(header, str) else header
        return self.raw(raw, self.payload().encode())

    def payload(self, more: str = "", /, **changes: Any) -> str:
        """The JSON text of good claims; `more` is put before the closing brace."""
        text = json.dumps(self.claims(**changes))
        return f"{text[:-1]}, {more}}}" if more else text

    def unsigned(self, header: Mapping[str, Any], signature: bytes = b"", **claims: Any) -> bytes:
        """A token with this header and any signature."""
        data = encode(json.dumps(header).encode()) + b"."
        return data + encode(json.dumps(self.claims(**claims)).encode()) + b"." + signature
