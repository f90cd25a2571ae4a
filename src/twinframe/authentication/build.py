"""Puts token authentication together from the settings. It verifies nothing."""

from __future__ import annotations

from pathlib import Path

from twinframe.authentication.bearer import BearerAuthenticator
from twinframe.authentication.claims import TokenPolicy
from twinframe.authentication.issuer import IssuerAddress, IssuerKeys
from twinframe.authentication.key_cache import KeyAges, KeyCache
from twinframe.authentication.key_file import KeyFile
from twinframe.authentication.key_source import KeySource
from twinframe.authentication.port import Authenticator
from twinframe.authentication.tokens import TokenVerifier
from twinframe.authentication.verified import VerifiedTokens
from twinframe.settings import AuthenticationSettings


def build_token_authenticator(
    settings: AuthenticationSettings, audiences: tuple[str, ...]
) -> Authenticator:
    """The authenticator of bearer tokens for one of these audiences; empty names do not count.

    Raises `ValueError` when no audience or no issuer is left: every token of anybody would do.
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
    """Where the issuer's keys come from: the file, else the issuer."""
    if settings.keys_file:
        return KeyFile(Path(settings.keys_file))
    issuer = IssuerKeys(
        IssuerAddress(
            settings.expected_issuer,
            settings.authority,
            settings.metadata_address,
            settings.jwks_uri,
        ),
        settings.keys_timeout,
    )
    return KeyCache(issuer.read, KeyAges(settings.keys_lifetime, settings.keys_max_age))
