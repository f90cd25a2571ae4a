"""Builds `configuration.json`, which gives the page its facts about the service."""

from __future__ import annotations

from dataclasses import dataclass

from twinframe.hooks.sites import ServiceFacts
from twinframe.model.values import JsonValue
from twinframe_explorer.settings import ExplorerSettings


@dataclass(frozen=True, slots=True)
class SignIn:
    """How people sign in: a public client of an issuer, with Authorization Code and PKCE."""

    authority: str
    client_id: str
    scopes: tuple[str, ...]
    audience: str


def build_sign_in(settings: ExplorerSettings, service: ServiceFacts) -> SignIn | None:
    """Return how people sign in; None where no sign-in is needed, or where they paste a token."""
    authority = settings.authority or service.authority
    if not (service.takes_tokens and settings.client_id and authority):
        return None
    needed = ("openid", *service.scopes, *(service.control_scopes if service.control else ()))
    return SignIn(
        authority,
        settings.client_id,
        settings.scopes or tuple(dict.fromkeys(needed)),
        settings.audience or service.audience,
    )


def build_configuration(
    settings: ExplorerSettings, service: ServiceFacts, base: str
) -> dict[str, JsonValue]:
    """The document, in the form of `Configuration` of the page's `api/types`."""
    sign_in = build_sign_in(settings, service)
    return {
        "version": service.version,
        "base": base,
        "authentication": service.asks,
        "signIn": None
        if sign_in is None
        else {
            "authority": sign_in.authority,
            "clientId": sign_in.client_id,
            "scopes": list(sign_in.scopes),
            "audience": sign_in.audience,
        },
        "audience": service.audience,
        "controlAudience": service.control_audience,
        "control": service.control or None,
        "hosting": service.hosting,
        "events": service.events,
        "heartbeat": service.heartbeat,
    }
