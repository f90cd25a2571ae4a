"""Hashes of generated secrets: what is stored instead of them. They are no hashes of passwords.

A generated secret has 256 bits of randomness, so nobody finds it by trying, however fast one try
is: a salted SHA-256 is enough. A slow hash (scrypt) would make each request cost what an attacker
wants it to cost.
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
    """A new secret: 64 hexadecimal digits, which no shell, URL or double click breaks."""
    return secrets.token_hex(_SECRET_BYTES)


def build_hash(secret: str) -> SecretHash:
    """The hash of a generated secret under a new salt."""
    salt = secrets.token_bytes(_SALT_BYTES)
    return SecretHash(salt, hashlib.sha256(salt + secret.encode()).digest())


NO_SECRET = build_hash(build_secret())
"""The hash of a secret nobody has.

SEC: where there is nothing to compare with, compare with this, so that it takes as long.
"""
