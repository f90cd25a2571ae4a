"""Builds token authentication from the settings."""

from __future__ import annotations

import ssl
from pathlib import Path

from twinframe.access.authentication.issuer import IssuerAddress, IssuerKeys
from twinframe.access.authentication.key_cache import KeyAges, KeyCache
from twinframe.access.authentication.keys import KeyFile, KeySource
from twinframe.access.authentication.port import Authenticator
from twinframe.access.authentication.tokens import (
    BearerAuthenticator,
    TokenPolicy,
    TokenVerifier,
    VerifiedTokens,
)
from twinframe.errors import SettingsError
from twinframe.settings import AuthenticationSettings


def build_token_authenticator(
    settings: AuthenticationSettings, audiences: tuple[str, ...]
) -> Authenticator:
    """Build the authenticator of bearer tokens for one of these audiences; empty names are ignored.

    Raises `ValueError` when no audience or no issuer is left, because any token would be accepted.
    """
    policy = TokenPolicy(
        settings.expected_issuer,
        frozenset(audience for audience in audiences if audience),
        frozenset(settings.algorithms),
        settings.leeway,
        settings.max_token_lifetime,
        settings.max_token_bytes,
    )
    if not policy.audiences or not policy.issuer:
        raise ValueError("an issuer and an audience must be set before tokens can be accepted")
    keys = build_key_source(settings)
    return BearerAuthenticator(
        TokenVerifier(policy, keys), keys, VerifiedTokens(settings.token_cache, settings.leeway)
    )


def build_key_source(settings: AuthenticationSettings) -> KeySource:
    """Build the source of the issuer's keys: the file, else the issuer."""
    if settings.keys_file:
        return KeyFile(Path(settings.keys_file))
    issuer = build_issuer(settings)
    return KeyCache(issuer.read, KeyAges(settings.keys_lifetime, settings.keys_max_age))


def build_issuer(settings: AuthenticationSettings) -> IssuerKeys:
    """Build the reader of the issuer's keys over HTTP. Raises `SettingsError`."""
    return IssuerKeys(
        IssuerAddress(
            settings.expected_issuer,
            settings.authority,
            settings.metadata_address,
            settings.jwks_uri,
        ),
        settings.keys_timeout,
        trust=load_trust(settings.ca_file),
    )


def load_trust(ca_file: str) -> ssl.SSLContext | None:
    """Load the certificate authorities of a file; None for those of the system.

    Raises `SettingsError`.
    """
    if not ca_file:
        return None
    try:
        return ssl.create_default_context(cafile=ca_file)
    except OSError as error:  # an SSLError is one
        raise SettingsError(
            f"Authentication__CaFile={ca_file}: {error.strerror or error}. It must be a PEM file "
            "with the certificates to trust."
        ) from error
