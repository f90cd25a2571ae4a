"""Permissions as an HTTP service states them now. It keeps no answer and never guesses."""

from __future__ import annotations

import asyncio
import logging
from urllib.parse import quote

import httpx

from twinframe.errors import InputError
from twinframe.model.json import JsonLimits, parse_json
from twinframe.model.values import JsonValue
from twinframe.permissions.base import Caller, PermissionProvider
from twinframe_auth_api.settings import ApiProviderSettings

_LOG = logging.getLogger(__name__)
_LIMITS = JsonLimits(max_depth=8, max_keys=1000)


class AnswerRefusedError(Exception):
    """The service's answer is not one that can be trusted to state permissions."""


class ApiProvider(PermissionProvider):
    """Asks `GET {base_url}{check_endpoint}` for each call and reads `{"permissions": [...]}`.

    SEC: any failure (no connection, time-out, redirect, status but 200, an answer too long or of
    another form) is no permissions and a log line; there is no fallback. Redirects are not
    followed, and neither proxies nor credentials are taken from the environment.
    """

    def __init__(self, settings: ApiProviderSettings) -> None:
        self._settings = settings
        token = settings.bearer_token.get_secret_value()
        self._client = httpx.AsyncClient(
            headers={"Accept": "application/json"}
            | ({"Authorization": f"Bearer {token}"} if token else {}),
            timeout=settings.timeout_seconds,
            follow_redirects=False,
            trust_env=False,
        )

    async def read_permissions(self, caller: Caller) -> frozenset[str]:
        """What the service answers for the caller's subject."""
        try:
            async with asyncio.timeout(self._settings.timeout_seconds):
                body = await self._read_answer(render_url(self._settings, caller.subject))
            return _build_permissions(parse_json(body, _LIMITS))
        except (
            AnswerRefusedError,
            InputError,
            TimeoutError,
            httpx.HTTPError,
            httpx.InvalidURL,
            OSError,
        ) as error:
            _LOG.warning(
                "The permission service gave no usable answer; the caller has no permissions.",
                extra={"subject": caller.subject, "reason": f"{type(error).__name__}: {error}"},
            )
            return frozenset()

    async def close(self) -> None:
        """Close the connections to the service."""
        await self._client.aclose()

    async def _read_answer(self, url: str) -> bytes:
        async with self._client.stream("GET", url) as response:
            if response.status_code != httpx.codes.OK:
                raise AnswerRefusedError(f"status {response.status_code}")
            body = bytearray()
            async for part in response.aiter_bytes():
                body += part
                if len(body) > self._settings.max_answer_bytes:
                    raise AnswerRefusedError(f"more than {self._settings.max_answer_bytes} bytes")
        return bytes(body)


def render_url(settings: ApiProviderSettings, subject: str) -> str:
    """The address to ask about `subject`. Raises `AnswerRefusedError` if it fits in none.

    SEC: a subject is data of the token's issuer; it must not be able to name another path.
    """
    if subject in ("", ".", ".."):
        raise AnswerRefusedError(f"the subject {subject!r} cannot be asked for")
    endpoint = settings.check_endpoint
    filled = endpoint.replace("{userId}", _encode(subject)).replace(
        "{resourceName}", _encode(settings.resource_name)
    )
    if filled == endpoint:
        filled += "&" if "?" in endpoint else "?"
        filled += f"scopeType=resource&scopeId={_encode(settings.resource_name)}"
        filled += f"&userId={_encode(subject)}"
    return settings.base_url + filled


def _encode(text: str) -> str:
    # NOTE: the braces of a later placeholder are encoded too, so nothing is replaced twice.
    try:
        return quote(text, safe="")
    except UnicodeEncodeError as error:
        raise AnswerRefusedError("the subject is not valid Unicode") from error


def _build_permissions(document: JsonValue) -> frozenset[str]:
    permissions = document.get("permissions") if isinstance(document, dict) else None
    if not isinstance(permissions, list):
        raise AnswerRefusedError('not an object with an array "permissions"')
    texts = [item for item in permissions if isinstance(item, str)]
    if len(texts) != len(permissions):
        raise AnswerRefusedError("a permission that is not text")
    return frozenset(texts)
