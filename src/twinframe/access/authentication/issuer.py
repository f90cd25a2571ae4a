"""Reads an issuer's keys over HTTP, from its metadata or its key address, without caching them."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

import httpx2

from twinframe.access.authentication.compact import parse_object, render_value
from twinframe.access.authentication.key_cache import KeysUnavailable
from twinframe.access.authentication.keys import MAX_SET_BYTES, KeySet, build_key_set
from twinframe.errors import Unauthenticated
from twinframe.model.values import JsonValue
from twinframe.settings import check_endpoint

_HEADERS: Final = {
    "Accept": "application/json, application/jwk-set+json",
    # SEC: the size of a compressed answer is known only after it took the memory.
    "Accept-Encoding": "identity",
    "User-Agent": "twinframe",
}


@dataclass(frozen=True, slots=True)
class IssuerAddress:
    """The addresses of an issuer.

    `issuer` is its exact name. Of the rest the first that is set is used: `keys` is the address of
    its JWK Set, `metadata` that of its metadata, `authority` the base URL of its metadata.
    """

    issuer: str
    authority: str = ""
    metadata: str = ""
    keys: str = ""


class IssuerKeys:
    """Reads the keys of one issuer; `read` fits `KeyCache`.

    Only configured addresses are used, and the one that the issuer's own metadata names: https, or
    plain http from this machine to itself. Metadata is read each time: an old address may still
    return keys that the issuer withdrew by naming another. No redirect is followed, no proxy and no
    credential of the environment is used, an answer has `timeout` seconds and `MAX_SET_BYTES`.
    """

    def __init__(
        self,
        address: IssuerAddress,
        timeout: float,
        transport: httpx2.AsyncBaseTransport | None = None,
        trust: ssl.SSLContext | None = None,
    ) -> None:
        self._address = address
        self._timeout = timeout
        self._transport = transport
        self._context = trust

    async def read(self) -> KeySet:
        """Return the issuer's current keys. Raises `KeysUnavailable` for any unusable answer."""
        try:
            # NOTE: one client per read: they are minutes apart, and nothing needs closing later.
            async with self._build_client() as client:
                url = self._address.keys or await self._find_keys(client)
                return await self._read_keys(client, url)
        except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, OSError) as error:
            raise KeysUnavailable(f"{type(error).__name__} {error}") from error

    async def _read_keys(self, client: httpx2.AsyncClient, url: str) -> KeySet:
        try:
            # PERF: a set of 1 MiB takes 60 ms to load; other requests must not wait for it.
            return await asyncio.to_thread(build_key_set, await self._get(client, url))
        except ValueError as error:
            raise KeysUnavailable(f"{url}: {error}") from None

    def _build_client(self) -> httpx2.AsyncClient:
        if self._context is None:
            # The system's authorities, and those that SSL_CERT_FILE names.
            self._context = httpx2.create_ssl_context()
        return httpx2.AsyncClient(
            verify=self._context,
            timeout=self._timeout,
            follow_redirects=False,
            trust_env=False,
            transport=self._transport,
        )

    async def _find_keys(self, client: httpx2.AsyncClient) -> str:
        problem = "no address of metadata is set"
        for url in self._metadata_urls():
            try:
                document = await self._get(client, url)
            except _NotHere as error:
                problem = str(error)
                continue
            return self._check_metadata(url, document)
        raise KeysUnavailable(problem)

    def _metadata_urls(self) -> Iterator[str]:
        if self._address.metadata:
            yield self._address.metadata
            return
        base = self._address.authority.rstrip("/")
        yield f"{base}/.well-known/openid-configuration"
        # SPEC: RFC 8414 section 3: between host and path, unlike OpenID Connect Discovery.
        parts = urlsplit(base)
        yield f"{parts.scheme}://{parts.netloc}/.well-known/oauth-authorization-server{parts.path}"

    def _check_metadata(self, url: str, document: dict[str, JsonValue]) -> str:
        issuer, keys = document.get("issuer"), document.get("jwks_uri")
        # SPEC: RFC 8414 section 3.3: identical, or the metadata belongs to another issuer.
        if issuer != self._address.issuer:
            raise KeysUnavailable(
                f"{url} is of issuer {render_value(issuer)}, not {self._address.issuer}"
            )
        try:
            address = check_endpoint(keys) if isinstance(keys, str) else ""
        except ValueError:
            address = ""
        # SEC: a remote issuer must not point to this machine.
        if not address or (address[:5] == "http:" and url[:5] != "http:"):
            raise KeysUnavailable(f"{url} names no usable jwks_uri: {render_value(keys)}")
        return address

    async def _get(self, client: httpx2.AsyncClient, url: str) -> dict[str, JsonValue]:
        try:
            async with asyncio.timeout(self._timeout):
                body = await _read_body(client, url)
        except TimeoutError:
            raise KeysUnavailable(f"{url} gave no whole answer in {self._timeout:g} s") from None
        try:
            return await asyncio.to_thread(parse_object, body, "answer")
        except Unauthenticated as error:
            raise KeysUnavailable(f"{url}: {error.reason}") from None


class _NotHere(KeysUnavailable):
    """An address without a document of this kind; another address may have it."""


async def _read_body(client: httpx2.AsyncClient, url: str) -> bytes:
    async with client.stream("GET", url, headers=_HEADERS) as answer:
        if answer.status_code != 200:
            raise _NotHere(f"{url} answered {answer.status_code}")
        kind = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
        if not (
            kind == "application/json" or (kind[:12] == "application/" and kind[-5:] == "+json")
        ):
            raise _NotHere(f"{url} answered with content type {render_value(kind)}, not JSON")
        if answer.headers.get("content-encoding", "identity").lower() != "identity":
            raise KeysUnavailable(f"{url} answered compressed")
        body = bytearray()
        async for part in answer.aiter_raw():
            body += part
            if len(body) > MAX_SET_BYTES:
                raise KeysUnavailable(f"{url} answered more than {MAX_SET_BYTES} bytes")
    return bytes(body)
