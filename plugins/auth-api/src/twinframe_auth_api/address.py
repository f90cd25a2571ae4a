"""Builds the URL for asking the permission service about one user."""

from __future__ import annotations

from urllib.parse import quote

from twinframe_auth_api.errors import AnswerRefusedError
from twinframe_auth_api.settings import ApiProviderSettings

LONGEST_SUBJECT = 1024
"""Characters. OpenID Connect Core 1.0, section 2, allows 255; and each may be kept in the cache."""


def render_url(settings: ApiProviderSettings, subject: str, resource: str = "") -> str:
    """Build the URL to ask about `subject`. Raises `AnswerRefusedError` if the subject does not
    fit.

    `resource` is the hosted graph in question; empty means the service's own graph, which the
    settings name. SEC: `graph=service` then distinguishes the service's own graph from a hosted
    graph of that name, whose id a tenant has chosen.

    SEC: a subject is data of the token's issuer; it must not be able to name another path.
    """
    if subject in ("", ".", ".."):
        raise AnswerRefusedError(f"the subject {subject!r} cannot be asked for")
    if len(subject) > LONGEST_SUBJECT:
        raise AnswerRefusedError(f"the subject is longer than {LONGEST_SUBJECT} characters")
    endpoint = settings.check_endpoint
    name = resource or settings.resource_name
    filled = endpoint.replace("{userId}", _encode(subject)).replace("{resourceName}", _encode(name))
    if filled == endpoint:
        filled += "&" if "?" in endpoint else "?"
        filled += f"scopeType=resource&scopeId={_encode(name)}"
        filled += f"&userId={_encode(subject)}" + ("" if resource else "&graph=service")
    return settings.base_url + filled


def _encode(text: str) -> str:
    # NOTE: the braces of a later placeholder are encoded too, so nothing is replaced twice.
    try:
        return quote(text, safe="")
    except UnicodeEncodeError as error:
        raise AnswerRefusedError("the subject is not valid Unicode") from error
