"""An HTTP client with one connection pool and bounded answers, for a service that may be broken or
hostile.
"""

from __future__ import annotations

import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from http.cookiejar import CookieJar, DefaultCookiePolicy

import httpx2

from twinframe import __version__
from twinframe.errors import InputError, SettingsError
from twinframe.model.json import JsonLimits, parse_json
from twinframe.model.values import JsonValue
from twinframe_auth_api.errors import AnswerRefusedError
from twinframe_auth_api.settings import ApiProviderSettings

OK = 200

_LIMITS = JsonLimits(max_depth=8, max_keys=1000)
_JSON = re.compile(r"application/(?:[\w.+-]+\+)?json[ \t]*(?:;.*)?", re.ASCII | re.IGNORECASE)
_KEEP_IDLE_SECONDS = 1.5
"""NOTE: below what servers keep (gunicorn 2 s, uvicorn 5 s), so that no call uses a connection that
the server is closing: the call would fail, and refuse a caller without cause.
"""


@dataclass(frozen=True, slots=True)
class Answer:
    """A complete answer: its status, and its document if the status is 200."""

    status: int
    document: JsonValue = None


class BoundedClient:
    """Sends one request at a time for each caller; it has no time limit of its own.

    SEC: certificates are verified; redirects are not followed; proxies, credentials and trust are
    not taken from the environment; no cookie is kept (one user's session must not ask for
    another); nothing compressed is accepted, so nothing grows while it is read.
    """

    def __init__(self, settings: ApiProviderSettings) -> None:
        self._most = settings.max_answer_bytes
        self._client = httpx2.AsyncClient(
            verify=_load_trust(settings.ca_file),
            headers={
                "Accept": "application/json",
                "Accept-Encoding": "identity",
                "User-Agent": f"twinframe/{__version__}",
            },
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
            limits=httpx2.Limits(
                max_connections=settings.max_connections,
                max_keepalive_connections=settings.max_connections,
                keepalive_expiry=_KEEP_IDLE_SECONDS,
            ),
            timeout=None,
            follow_redirects=False,
            trust_env=False,
        )

    async def read_answer(
        self, url: str, *, token: str = "", form: Mapping[str, str] | None = None
    ) -> Answer:
        """Send `GET url`, or `POST` of a form. Raises `AnswerRefusedError` for any unusable answer.

        An answer with a status other than 200 has no document; its body is not read.
        """
        request = self._client.stream(
            "GET" if form is None else "POST",
            url,
            headers={"Authorization": f"Bearer {token}"} if token else {},
            data=form,
        )
        try:
            async with request as response:
                if response.status_code != OK:
                    return Answer(response.status_code)
                body = await self._read_body(response)
            return Answer(OK, parse_json(body, _LIMITS, noun="answer"))
        except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, OSError) as error:
            raise AnswerRefusedError(f"{type(error).__name__}: {error}") from error
        except InputError as error:
            raise AnswerRefusedError(error.message) from error

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def _read_body(self, response: httpx2.Response) -> bytes:
        kind = response.headers.get("Content-Type", "")
        if not _JSON.fullmatch(kind):
            raise AnswerRefusedError(f"the content type {kind[:80]!r} is not application/json")
        coding = response.headers.get("Content-Encoding", "identity")
        if coding.strip().lower() != "identity":
            raise AnswerRefusedError(f"the content encoding {coding[:80]!r} was not asked for")
        body = bytearray()
        # PERF: pieces are at most what one read of the socket gives (64 KiB).
        async for part in response.aiter_raw():
            body += part
            if len(body) > self._most:
                raise AnswerRefusedError(f"more than {self._most} bytes")
        return bytes(body)


@lru_cache(maxsize=4)
def _load_trust(ca_file: str) -> ssl.SSLContext:
    # PERF: reading the system's authorities takes 80 ms and 1 MiB; the providers of all graphs
    # share them.
    if not ca_file:
        return httpx2.create_ssl_context(trust_env=False)
    try:
        return ssl.create_default_context(cafile=ca_file)
    except OSError as error:  # an SSLError is one
        reason = error.strerror or str(error)
        raise SettingsError(
            f"Authorization__ApiProvider__CaFile={ca_file}: {reason}. It must be a PEM file with "
            "the certificates to trust."
        ) from error
