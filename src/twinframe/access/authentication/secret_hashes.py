"""Salted hashes of generated secrets, stored instead of the secrets; unsuitable for passwords.

A generated secret has 256 bits of randomness, so it cannot be found by trying, however fast one try
is: a salted SHA-256 is enough. A slow hash (scrypt) would only make each request expensive.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass

_SECRET_BYTES = 32
_SALT_BYTES = 16


@dataclass(frozen=True, slots=True)
class SecretHash:
    """A salt and the SHA-256 of salt and secret."""

    salt: bytes
    digest: bytes

    def matches(self, secret: bytes) -> bool:
        """Whether this is the hash of the secret; compared in constant time."""
        return hmac.compare_digest(hashlib.sha256(self.salt + secret).digest(), self.digest)


def build_secret() -> str:
    """Build a new secret: 64 hexadecimal digits, safe in shells, in URLs and for double-click
    selection.
    """
    return secrets.token_hex(_SECRET_BYTES)


def build_hash(secret: str) -> SecretHash:
    """The hash of a generated secret under a new salt."""
    salt = secrets.token_bytes(_SALT_BYTES)
    return SecretHash(salt, hashlib.sha256(salt + secret.encode()).digest())


NO_SECRET = build_hash(build_secret())
"""The hash of a secret that no caller has.

SEC: compare with it where there is no stored hash, so that it takes as long.
"""
