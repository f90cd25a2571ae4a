"""The event sink `webhook`, which sends each event as a POST to a URL of the operator's.

It follows no redirects. SPEC: CloudEvents HTTP binding 1.0.2, structured mode; HTTP 1.1 Web Hooks
for Event Delivery 1.0.1 (the handshake against abuse); Standard Webhooks 1.0 (the signature).
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import hmac
import ipaddress
import re
import time
from email.utils import parsedate_to_datetime
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Final, Self
from urllib.parse import quote, urlsplit

import httpx2
from pydantic import Field, SecretStr, field_validator, model_validator

from twinframe import hookimpl
from twinframe.hooks.event_sinks.base import (
    STRUCTURED,
    DeliveryFailed,
    DeliveryRefused,
    EndpointGone,
    EventSink,
    Message,
)
from twinframe.hooks.event_sinks.trust import build_trust
from twinframe.settings import Count, Seconds, Section

_MOST_ANSWER_BYTES: Final = 64 * 1024
_MOST_DIGITS: Final = 18
_MOST_REASON: Final = 200
"""The most characters of a message of the network library: it may contain a receiver's answer."""
_HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
"""SPEC: RFC 9110 section 5.1."""
_SECRET_PREFIX: Final = "whsec_"  # noqa: S105  (the standard's mark, no secret)
_REFUSALS: Final = frozenset({400, 413, 415, 422})
"""Statuses after which the same request cannot succeed later.

Others may be mended meanwhile: 401, 403 and 404 by the receiver's operator, 408, 425 and 429 by
waiting.
"""
_GONE: Final = 410
"""SPEC: HTTP 1.1 Web Hooks 2.1: the receiver is retired, nothing more shall be sent there."""


class WebhookSettings(Section):
    """A URL that takes events."""

    url: str = Field(
        description="URL to which events are sent by POST: https, or http on this machine.",
    )
    secret: SecretStr = Field(
        default=SecretStr(""),
        description="Secret that signs requests according to Standard Webhooks: text, or `whsec_` "
        "and Base64. Empty: requests are not signed.",
    )
    headers: dict[str, SecretStr] = Field(
        default={}, description="Further headers of each request, such as Authorization."
    )
    origin: str = Field(
        default="",
        description="Name that the receiver must allow in the handshake. Empty: the host name in "
        "`Server__PublicUrl`, or `localhost`.",
    )
    handshake: bool = Field(
        default=True,
        description="Ask the receiver by OPTIONS whether it wants events, before the first event "
        "is sent.",
    )
    allow_http: bool = Field(
        default=False,
        description="Allow http to other machines. Anybody on the network can then read the "
        "events.",
    )
    certificate_authority: str = Field(
        default="", description="PEM file of the authorities to trust. Empty: those of the system."
    )
    timeout: Seconds = Field(default=15.0, description="Seconds for the receiver to answer.")
    max_connections: Count = Field(default=32, description="Most connections of a worker.")

    @field_validator("url")
    @classmethod
    def _check_url(cls, value: str) -> str:
        try:
            parts = urlsplit(value)
            _ = parts.port, httpx2.URL(value)
        except (ValueError, httpx2.InvalidURL) as error:
            raise ValueError(f"must be an address that can be asked: {error}") from None
        if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
            raise ValueError(
                "must be an address such as https://receiver.example/events, without user and "
                "password (those go into Headers)"
            )
        return value

    @field_validator("secret")
    @classmethod
    def _check_secret(cls, value: SecretStr) -> SecretStr:
        try:
            key = build_key(value.get_secret_value())
        except binascii.Error:
            raise ValueError("must be Base64 behind whsec_") from None
        if not key and value.get_secret_value():
            # SEC: nothing would be signed, although the operator believes that it is.
            raise ValueError("must have a key in Base64 behind whsec_")
        return value

    @field_validator("headers")
    @classmethod
    def _check_headers(cls, value: dict[str, SecretStr]) -> dict[str, SecretStr]:
        for name, text in value.items():
            # SEC: no value set here may end a header and begin another.
            content = text.get_secret_value()
            if not (_HEADER_NAME.fullmatch(name) and content.isascii() and content.isprintable()):
                raise ValueError(
                    f"{name!a} is no header with a value of printable ASCII characters"
                )
        return value

    @model_validator(mode="after")
    def _check_transport(self) -> Self:
        parts = urlsplit(self.url)
        if parts.scheme == "http" and not self.allow_http and not _is_here(parts.hostname or ""):
            raise ValueError(
                "Url must begin with https: anybody between could read and change events. "
                "AllowHttp=true allows it all the same"
            )
        return self


class WebhookSink(EventSink):
    """Sends to one URL. `origin` is the name under which it requests permission."""

    def __init__(
        self,
        settings: WebhookSettings,
        origin: str = "localhost",
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        self._settings = settings
        self._origin = settings.origin or origin
        self._key = build_key(settings.secret.get_secret_value())
        self._transport = transport
        self._client: httpx2.AsyncClient | None = None
        # NOTE: waiting for a connection must not count as waiting for an answer.
        self._places = asyncio.Semaphore(settings.max_connections)
        self._interval = 0.0
        self._next = 0.0

    async def open(self) -> None:
        """Ask the receiver for permission, unless disabled; `DeliveryFailed` if it refuses."""
        client = self._client or self._build_client()
        self._client = client
        if self._settings.handshake:
            await self._shake_hands(client)

    async def send(self, message: Message) -> None:
        """POST it; a 2xx means accepted, 410 that no event will be accepted any more."""
        if self._client is None:
            raise DeliveryFailed("The webhook is not open.")
        await self._wait_for_rate()
        headers = {"content-type": STRUCTURED, **self._build_signature(message)}
        status, answer = await self._ask(self._client, "POST", headers, message.body)
        if 200 <= status < 300:
            return
        self._check_not_gone(status)
        text = f"{self._name} answered {status}."
        if status in _REFUSALS:
            raise DeliveryRefused(text)
        raise DeliveryFailed(text, read_retry_after(answer))

    async def close(self) -> None:
        """Close the connections."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    @property
    def _name(self) -> str:
        """The receiver's name in messages: a path or query may hold a secret."""
        parts = urlsplit(self._settings.url)
        return f"{parts.scheme}://{parts.netloc}"

    def _build_client(self) -> httpx2.AsyncClient:
        settings = self._settings
        extra = {name: text.get_secret_value() for name, text in settings.headers.items()}
        return httpx2.AsyncClient(
            headers={"user-agent": "twinframe", **extra},
            timeout=settings.timeout,
            limits=httpx2.Limits(max_connections=settings.max_connections),
            follow_redirects=False,  # SEC: the receiver must not redirect requests
            # SEC: nor store cookies: a new one with each answer would add up.
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
            verify=build_trust(settings.certificate_authority),
            transport=self._transport,
        )

    async def _shake_hands(self, client: httpx2.AsyncClient) -> None:
        asking = {"webhook-request-origin": self._origin, "webhook-request-rate": "*"}
        status, answer = await self._ask(client, "OPTIONS", asking, None)
        self._check_not_gone(status)
        allowed = answer.get("webhook-allowed-origin", "")
        names = {name.strip().casefold() for name in allowed.split(",")}
        if not 200 <= status < 300 or not names & {"*", self._origin.casefold()}:
            raise DeliveryFailed(
                f"{self._name} did not allow events: OPTIONS answered {status} with "
                f"WebHook-Allowed-Origin {allowed[:100]!a}, which must be * or {self._origin}. "
                "Handshake=false of the endpoint leaves the question out."
            )
        self._interval = read_interval(answer.get("webhook-allowed-rate", "*"))

    def _check_not_gone(self, status: int) -> None:
        if status == _GONE:
            raise EndpointGone(f"{self._name} answered 410: it is gone and wants no events.")

    async def _wait_for_rate(self) -> None:
        """Keep to the requests a minute that the receiver allowed."""
        if not self._interval:
            return
        now = asyncio.get_running_loop().time()
        mine = max(self._next, now)
        self._next = mine + self._interval
        await asyncio.sleep(mine - now)

    def _build_signature(self, message: Message) -> dict[str, str]:
        if not self._key:
            return {}
        stamp, name = str(int(time.time())), message.id
        if not (name.isascii() and name.isprintable()):
            # SEC: the sender of telemetry chose it; a line end in it would begin another header.
            name = quote(name, safe="")
        return {
            "webhook-id": name,
            "webhook-timestamp": stamp,
            "webhook-signature": build_signature(self._key, name, stamp, message.body),
        }

    async def _ask(
        self,
        client: httpx2.AsyncClient,
        method: str,
        headers: dict[str, str],
        body: bytes | None,
    ) -> tuple[int, httpx2.Headers]:
        """Return status and headers of the answer; its body is read and discarded."""
        try:
            async with (
                self._places,
                asyncio.timeout(self._settings.timeout),
                client.stream(method, self._settings.url, headers=headers, content=body) as answer,
            ):
                size = 0
                async for piece in answer.aiter_raw():
                    size += len(piece)
                    if size > _MOST_ANSWER_BYTES:
                        break
                return answer.status_code, answer.headers
        except TimeoutError:
            raise DeliveryFailed(
                f"{self._name} did not answer in {self._settings.timeout:g} s."
            ) from None
        except (httpx2.HTTPError, httpx2.StreamError, OSError) as error:
            reason = (str(error) or type(error).__name__)[:_MOST_REASON]
            raise DeliveryFailed(f"{self._name} cannot be reached: {reason}") from error


def build_key(secret: str) -> bytes:
    """Return the key of a secret; an empty one signs nothing.

    Raises `binascii.Error` for bad Base64.
    """
    if secret.startswith(_SECRET_PREFIX):
        return base64.b64decode(secret.removeprefix(_SECRET_PREFIX), validate=True)
    return secret.encode()


def build_signature(key: bytes, message_id: str, stamp: str, body: bytes) -> str:
    """Build the signature of Standard Webhooks: `v1,` and Base64 of the HMAC-SHA256."""
    signed = b"%b.%b.%b" % (message_id.encode(), stamp.encode("ascii"), body)
    digest = hmac.new(key, signed, hashlib.sha256).digest()
    return f"v1,{base64.b64encode(digest).decode()}"


def read_retry_after(headers: httpx2.Headers) -> float | None:
    """Return the seconds of `Retry-After`, a number or a date; None without one."""
    text = headers.get("retry-after", "").strip()
    if text.isascii() and text.isdecimal():
        return float(text)
    try:
        return max(parsedate_to_datetime(text).timestamp() - time.time(), 0.0)
    except (ValueError, OverflowError):
        return None


def read_interval(rate: str) -> float:
    """Return the seconds between two requests under an allowed rate a minute; 0 is no limit."""
    text = rate.strip()
    if not (text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS):
        return 0.0
    return 60 / int(text) if int(text) else 0.0


def _is_here(host: str) -> bool:
    """Return whether a host name denotes this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@hookimpl
def twinframe_settings() -> type[Section]:
    """Settings of a webhook."""
    return WebhookSettings


@hookimpl
def twinframe_event_sink(settings: Section, name: str, source: str) -> EventSink:
    """A sink of a URL."""
    del name
    assert isinstance(settings, WebhookSettings)  # noqa: S101  (the loader's promise)
    return WebhookSink(settings, source)
