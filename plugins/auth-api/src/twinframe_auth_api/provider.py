"""A permission provider that asks an HTTP service for the permissions of each caller."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

from cachetools import TLRUCache

from twinframe.access.permissions import Caller, PermissionProvider
from twinframe.model.values import JsonValue
from twinframe_auth_api.breaker import CircuitBreaker
from twinframe_auth_api.client import OK, BoundedClient
from twinframe_auth_api.credentials import ClientCredentials, Credentials, FixedToken
from twinframe_auth_api.errors import AnswerRefusedError, UserRefusedError
from twinframe_auth_api.flights import Flights
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


_LOG = logging.getLogger(__name__)
_NONE: Final[frozenset[str]] = frozenset()
_UNAUTHORIZED = 401
_ABOUT_THE_SERVICE: Final = frozenset((_UNAUTHORIZED, 408, 429))
"""Refusals that say nothing about the user.

SEC: the others must not count as failures of the service, or one user it does not know could close
the graph to all.
"""


@dataclass(frozen=True, slots=True)
class _Statement:
    """What the service stated, good until `until`."""

    permissions: frozenset[str]
    until: float


def _read_until(_subject: str, statement: _Statement, _now: float) -> float:
    return statement.until


class ApiProvider(PermissionProvider):
    """Asks `GET {base_url}{check_endpoint}` about `sub` and reads `{"permissions": [...]}`.

    SEC: any failure (no connection, time-out, redirect, status other than 200, an answer too long
    or of another form) means no permissions and a log line; there is no fallback to claims, and
    failures are not remembered. A statement is used for `cache_expiration_minutes` after its call
    began, never longer; with 0, only by callers that came before their call began, so a revocation
    that was acknowledged holds for each request after it. `read_permissions` does not raise,
    however caller or service misbehave. `clock` counts seconds. `resource` is the hosted graph in
    question; empty means the graph that the settings name.
    """

    def __init__(
        self,
        settings: ApiProviderSettings,
        clock: Callable[[], float] = time.monotonic,
        resource: str = "",
    ) -> None:
        self._settings = settings
        self._resource = resource
        self._clock = clock
        self._lifetime = settings.cache_expiration_minutes * 60
        self._client = BoundedClient(settings)
        self._credentials: Credentials = (
            ClientCredentials(self._client, settings, clock)
            if settings.token_endpoint
            else FixedToken(settings.bearer_token.get_secret_value())
        )
        self._breaker = CircuitBreaker(settings.breaker_failures, settings.breaker_seconds, clock)
        self._flights = Flights(self._ask, self._lifetime, clock)
        self._known: TLRUCache[str, _Statement] = TLRUCache(
            settings.cache_size, ttu=_read_until, timer=clock
        )

    async def read_permissions(self, caller: Caller) -> frozenset[str]:
        """Return the permissions that the service states for the caller's subject."""
        known = self._known.get(caller.subject)
        if known is not None:
            return known.permissions
        try:
            return await self._flights.join(caller.subject)
        except AnswerRefusedError as error:
            if error.__cause__ is not None:  # not one of those `_ask` knows
                _LOG.error("Asking the permission service failed.", exc_info=error.__cause__)
            return _refuse(caller.subject, error)

    async def close(self) -> None:
        """End the calls under way, which leaves their callers without permissions, and close the
        connections.
        """
        await self._flights.close()
        await self._credentials.close()
        await self._client.close()
        self._known.clear()

    async def _ask(self, subject: str) -> frozenset[str]:
        """Make one call and handle each of its outcomes."""
        try:
            url = render_url(self._settings, subject, self._resource)
        except AnswerRefusedError as error:
            return _refuse(subject, error)
        if not self._breaker.admit():
            _LOG.debug("The permission service is not asked now.", extra={"subject": subject})
            return _NONE
        begun = self._clock()
        try:
            async with asyncio.timeout(self._settings.timeout_seconds):
                permissions = await self._read_statement(url)
        except UserRefusedError as error:
            self._breaker.record_success()
            return _refuse(subject, error)
        except (AnswerRefusedError, TimeoutError) as error:
            self._breaker.record_failure(_render_reason(error))
            return _refuse(subject, error)
        self._breaker.record_success()
        if self._lifetime:
            self._known[subject] = _Statement(permissions, begun + self._lifetime)
        return permissions

    async def _read_statement(self, url: str) -> frozenset[str]:
        token = await self._credentials.read_token()
        answer = await self._client.read_answer(url, token=token)
        if answer.status == _UNAUTHORIZED and self._credentials.forget(token):
            token = await self._credentials.read_token()
            answer = await self._client.read_answer(url, token=token)
        if answer.status != OK:
            about_user = 400 <= answer.status < 500 and answer.status not in _ABOUT_THE_SERVICE
            kind = UserRefusedError if about_user else AnswerRefusedError
            raise kind(f"status {answer.status}")
        return _build_permissions(answer.document)


def _refuse(subject: str, error: Exception) -> frozenset[str]:
    _LOG.warning(
        "The permission service gave no usable answer; the caller has no permissions.",
        extra={"subject": subject, "reason": _render_reason(error)},
    )
    return _NONE


def _render_reason(error: Exception) -> str:
    return "no complete answer in time" if isinstance(error, TimeoutError) else str(error)


def _build_permissions(document: JsonValue) -> frozenset[str]:
    permissions = document.get("permissions") if isinstance(document, dict) else None
    if not isinstance(permissions, list):
        raise AnswerRefusedError('not an object with an array "permissions"')
    texts = [item for item in permissions if isinstance(item, str)]
    if len(texts) != len(permissions):
        raise AnswerRefusedError("a permission that is not text")
    return frozenset(texts)
