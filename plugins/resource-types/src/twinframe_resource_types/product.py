"""The base of resource types that an external product implements over HTTP.

The product answers these requests at its configured address:

- `PUT {address}/resources/{resource_id}`: bring the resource into this state, from any other. The
  answer may give `access_url`; one that gives `error_message` is a refusal.
- `DELETE {address}/resources/{resource_id}`: take it down. 404 and 410 count as success.
- `GET {address}/resources/{resource_id}`: report its health; `error_message` says what is wrong.

A good answer to PUT and GET is empty or a JSON object: anything else did not come from a product.

Each PUT and DELETE carries the `Idempotency-Key` of its operation, the same for all attempts.
`Twinframe-Incarnation` says which holder of the id it is for and `Twinframe-Fence` which attempt it
is, so a product can refuse a request that was superseded. The provisioner retries temporary
failures (no connection, a time-out, 408, 425, 429, 5xx) with growing pauses; any other status is
final.
"""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import Sequence
from http import HTTPStatus
from typing import ClassVar, Final, NamedTuple
from urllib.parse import urlsplit

import httpx2
import orjson

from twinframe import __version__
from twinframe.errors import InputError, SettingsError
from twinframe.hooks.resource_types.base import (
    ProvisionContext,
    Provisioned,
    ProvisionFailed,
    ResourceType,
)
from twinframe.hooks.resource_types.prices import Meter, Price, Sku
from twinframe.model.json import JsonLimits, parse_json
from twinframe.model.values import JsonValue
from twinframe_resource_types.settings import ProductSettings

_AGAIN: Final = frozenset({408, 425, 429})
_GONE: Final = frozenset({404, 410})
_LIMITS: Final = JsonLimits(max_depth=16, max_keys=1000)
_JSON: Final = re.compile(
    r"application/(?:[\w.+-]+\+)?json[ \t]*(?:;.*)?", re.ASCII | re.IGNORECASE
)
_LONGEST_MESSAGE: Final = 1000
_LONGEST_URL: Final = 2048


class Fees(NamedTuple):
    """What a resource costs in a month, by its sku."""

    pro: int
    enterprise: int


class ProductType(ResourceType):
    """A type whose resources a product implements; without an address they exist as records
    alone.
    """

    fees: ClassVar[Fees]

    def __init__(
        self,
        settings: ProductSettings | None = None,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        """`transport` replaces the network in tests."""
        self._settings = settings or ProductSettings()
        self._transport = transport
        self._trust: ssl.SSLContext | None = None

    def prices(self) -> Sequence[Price]:
        """A base fee."""
        return (
            Price(Sku.PRO, Meter.MONTH, self.fees.pro),
            Price(Sku.ENTERPRISE, Meter.MONTH, self.fees.enterprise),
        )

    async def provision(self, context: ProvisionContext) -> Provisioned:
        """Send the resource to the product."""
        self.parse_settings(context.settings)
        if not self._settings.product_url:
            section = type(self).__name__.removesuffix("Type")
            return Provisioned(
                note=f"No product is configured (Resources__{section}__ProductUrl): the resource "
                "is registered, and nothing else was done.",
            )
        await context.step("begun")
        answer = await self._ask("PUT", context, _build_body(context, self.name))
        await context.step("handed-over")
        if (message := _read_message(answer)) is not None:
            raise ProvisionFailed(message, final=True)
        return Provisioned(_read_url(answer))

    async def deprovision(self, context: ProvisionContext) -> None:
        """Ask the product to take the resource down."""
        if self._settings.product_url:
            await context.step("begun")
            await self._ask("DELETE", context)
            await context.step("taken-down")

    async def health(self, context: ProvisionContext) -> str | None:
        """Return the error that the product reports, if any."""
        if not self._settings.product_url:
            return None
        answer = await self._ask("GET", context)
        return "the product does not know it" if answer is None else _read_message(answer)

    async def _ask(
        self, method: str, context: ProvisionContext, body: bytes | None = None
    ) -> dict[str, JsonValue] | None:
        """Return the document of a good answer; None if the product has no such resource."""
        url = f"{self._settings.product_url}/resources/{context.name.resource_id}"
        headers = _build_headers(context) if method != "GET" else {}
        if body is not None:
            headers["Content-Type"] = "application/json"
        try:
            async with (
                asyncio.timeout(self._settings.timeout_seconds),
                self._build_client() as client,
                client.stream(method, url, content=body, headers=headers) as response,
            ):
                status = response.status_code
                is_good = HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES
                content = await self._read_body(response, strict=is_good and method != "DELETE")
        except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, OSError) as error:
            raise ProvisionFailed(
                f"The product cannot be reached: {type(error).__name__}."
            ) from error  # a TimeoutError is an OSError
        if method != "PUT" and status in _GONE:
            return None
        document = _parse_answer(content)
        if is_good:
            return document
        said = _read_message(document) or f"The product answered {status}."
        later = status in _AGAIN or status >= HTTPStatus.INTERNAL_SERVER_ERROR
        raise ProvisionFailed(said, final=not later)

    async def _read_body(self, response: httpx2.Response, *, strict: bool) -> bytes:
        """Return the body of a JSON answer, empty for another media type, which `strict`
        refuses.
        """
        if not _JSON.fullmatch(response.headers.get("Content-Type", "")):
            if strict and await _has_body(response):
                # A page of a proxy, or of another server at a mistyped address.
                raise ProvisionFailed("The product's answer is not JSON.")
            return b""
        if response.headers.get("Content-Encoding", "identity").strip().lower() != "identity":
            raise ProvisionFailed("The product answered with a content encoding; none was asked.")
        body = bytearray()
        async for part in response.aiter_raw():
            body += part
            if len(body) > self._settings.max_answer_bytes:
                raise ProvisionFailed(
                    f"The product answered with more than {self._settings.max_answer_bytes} bytes."
                )
        return bytes(body)

    def _build_client(self) -> httpx2.AsyncClient:
        # SEC: nothing is taken from the environment, no redirect is followed, no cookie is kept.
        headers = {
            "Accept": "application/json",
            "Accept-Encoding": "identity",
            "User-Agent": f"twinframe/{__version__}",
        }
        if token := self._settings.bearer_token.get_secret_value():
            headers["Authorization"] = f"Bearer {token}"
        return httpx2.AsyncClient(
            verify=self._load_trust(),
            headers=headers,
            timeout=None,  # bounded as a whole by the caller
            follow_redirects=False,
            trust_env=False,
            transport=self._transport,
        )

    def _load_trust(self) -> ssl.SSLContext:
        # PERF: reading the system's certificates takes tens of milliseconds: once, not each time.
        if self._trust is None:
            file = self._settings.ca_file
            try:
                self._trust = (
                    ssl.create_default_context(cafile=file)
                    if file
                    else httpx2.create_ssl_context(trust_env=False)
                )
            except OSError as error:  # an SSLError is one
                raise SettingsError(
                    f"CaFile={file}: {error.strerror or error}. It must be a PEM file with the "
                    "certificates to trust."
                ) from error
        return self._trust


def _build_headers(context: ProvisionContext) -> dict[str, str]:
    return {
        "Idempotency-Key": context.operation_id,
        "Twinframe-Incarnation": context.name.incarnation,
        "Twinframe-Fence": str(context.fence),
    }


def _build_body(context: ProvisionContext, type_name: str) -> bytes:
    return orjson.dumps(
        {
            "resource_id": context.name.resource_id,
            "incarnation": context.name.incarnation,
            "project_id": context.project_id,
            "name": context.title,
            "type": type_name,
            "sku": context.sku,
            "settings": context.settings,
            "attempt": context.attempt,
            "fence": context.fence,
        }
    )


def _parse_answer(content: bytes) -> dict[str, JsonValue]:
    if not content:
        return {}
    try:
        document = parse_json(content, _LIMITS, noun="answer")
    except InputError as error:
        raise ProvisionFailed(f"The product's answer is refused. {error.message}") from error
    if isinstance(document, dict):
        return document
    raise ProvisionFailed("The product's answer is not a JSON object.")


async def _has_body(response: httpx2.Response) -> bool:
    if response.status_code == HTTPStatus.NO_CONTENT:
        return False
    async for part in response.aiter_raw():
        if part:
            return True
    return False


def _read_message(answer: dict[str, JsonValue] | None) -> str | None:
    message = (answer or {}).get("error_message")
    return str(message)[:_LONGEST_MESSAGE] if message else None


def _read_url(answer: dict[str, JsonValue] | None) -> str | None:
    url = (answer or {}).get("access_url")
    if url is None:
        return None
    if isinstance(url, str) and len(url) <= _LONGEST_URL and url.isprintable():
        try:
            parts = urlsplit(url)
        except ValueError:
            parts = urlsplit("")
        if parts.scheme in ("https", "http") and parts.hostname:
            return url
    raise ProvisionFailed("The product answered with an access_url that is no URL.", final=True)
