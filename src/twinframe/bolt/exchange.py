"""Exchanges a client's id and secret for an access token, at the token endpoint of an issuer.

SPEC: RFC 6749 section 4.4, with the client's credentials in `Authorization` (section 2.3.1).
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from base64 import b64encode
from hashlib import blake2b
from typing import Final
from urllib.parse import quote_plus

import httpx2
import orjson
from cachetools import TTLCache

from twinframe.access.back_off import BackOff
from twinframe.bolt.failures import LoginUnavailable
from twinframe.errors import Unauthenticated

_log: Final = logging.getLogger(__name__)

_MOST_AT_ONCE: Final = 8
_MOST_BYTES: Final = 64 * 1024
_LONGEST_ID: Final = 64
_KEPT: Final = 1_000
_KEPT_SECONDS: Final = 30.0
_REFUSED: Final = frozenset((400, 401, 403, 429))


class TokenExchange:
    """Gets tokens for logins, few at once, and holds back clients that keep failing.

    PERF: a driver opens many connections with the same credentials; a token serves all of them that
    come within half a minute.
    """

    def __init__(
        self,
        endpoint: str,
        audience: str,
        timeout: float,
        trust: ssl.SSLContext | None = None,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        """`timeout` is in seconds, `trust` the authorities of the endpoint's certificate."""
        self._endpoint = endpoint
        self._form = {"grant_type": "client_credentials", "audience": audience}
        self._timeout = timeout
        self._context = trust
        self._transport = transport
        self._back_off = BackOff()
        self._turns = asyncio.Semaphore(_MOST_AT_ONCE)
        self._kept: TTLCache[bytes, str] = TTLCache(_KEPT, _KEPT_SECONDS)

    async def fetch(self, client_id: str, secret: str, address: str, *, anew: bool = False) -> str:
        """Return an access token for a client at this network address; `anew`: none that is kept.

        Raises `Unauthenticated`, `LoginUnavailable`.
        """
        # SEC: what is kept does not give the secret away.
        kept = blake2b(f"{client_id}\0{secret}".encode("utf-8", "surrogatepass")).digest()
        token = None if anew else self._kept.get(kept)
        if token is None:
            key = address, client_id[:_LONGEST_ID]
            wait = self._back_off.read_wait(key)
            if wait > 0:
                raise Unauthenticated(
                    "the client has to wait after failed logins",
                    f"Too many failed logins; try again in {int(wait) + 1} s.",
                )
            token = await self._ask(client_id, secret)
            if token is None:
                self._back_off.add_failure(key)
                raise Unauthenticated("the token endpoint refused the client", _WRONG)
            self._back_off.forget(key)
            self._kept[kept] = token
        return token

    async def _ask(self, client_id: str, secret: str) -> str | None:
        """Return the token; None if the endpoint refuses the credentials."""
        try:
            async with asyncio.timeout(self._timeout), self._turns:
                status, body = await self._post(client_id, secret)
        except (TimeoutError, httpx2.HTTPError, httpx2.StreamError, OSError) as error:
            _log.warning("No token for a login: %s: %s", self._endpoint, error)
            raise LoginUnavailable from error
        if status in _REFUSED:
            return None
        try:
            token = orjson.loads(body).get("access_token") if status == 200 else None
        except (ValueError, AttributeError):
            token = None
        if not isinstance(token, str) or not token.isascii():
            _log.warning("No token for a login: %s answered %d.", self._endpoint, status)
            raise LoginUnavailable
        return token

    async def _post(self, client_id: str, secret: str) -> tuple[int, bytes]:
        pair = f"{quote_plus(client_id, errors='replace')}:{quote_plus(secret, errors='replace')}"
        headers = {
            "Authorization": f"Basic {b64encode(pair.encode()).decode()}",
            "Accept": "application/json",
            "Accept-Encoding": "identity",
            "User-Agent": "twinframe",
        }
        if self._context is None:
            self._context = httpx2.create_ssl_context()
        client = httpx2.AsyncClient(
            verify=self._context,
            timeout=self._timeout,
            follow_redirects=False,
            trust_env=False,
            transport=self._transport,
        )
        async with (
            client,
            client.stream("POST", self._endpoint, data=self._form, headers=headers) as answer,
        ):
            # SEC: the size of a compressed answer is known only after it took the memory.
            if answer.headers.get("content-encoding", "identity").lower() != "identity":
                raise httpx2.StreamError("the answer is compressed")
            body = bytearray()
            async for part in answer.aiter_bytes():
                body += part
                if len(body) > _MOST_BYTES:
                    raise httpx2.StreamError("the answer is too long")
            return answer.status_code, bytes(body)


_WRONG: Final = "The user and the password are not the id and the secret of a client."
