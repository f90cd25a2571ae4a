"""The explorer as a site: the page, its files, and the documents that it reads.

These are `configuration.json`, `language.json` and `sample.ndjson`.
Every path below the site that names no file gets the page, which renders its own views.
"""

from __future__ import annotations

import asyncio
import gzip
import html
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import orjson

from twinframe.errors import SettingsError
from twinframe.hooks.sites import Content, ServiceFacts, Site, SiteRequest, build_content
from twinframe.model.values import JsonValue
from twinframe.query.cypher.vocabulary import (
    Vocabulary,
    build_cypher_vocabulary,
    build_vendor_vocabulary,
)
from twinframe_explorer.files import HASHED, PACKAGED, read_assets
from twinframe_explorer.sample import render_sample
from twinframe_explorer.settings import ORIGIN, ExplorerSettings


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


def render_language() -> bytes:
    """The document, in the form of `LanguageWords` of the page's `api/types`."""
    return orjson.dumps(
        {
            "cypher": _build_dialect(build_cypher_vocabulary()),
            "adt": _build_dialect(build_vendor_vocabulary()),
        }
    )


def _build_dialect(vocabulary: Vocabulary) -> JsonValue:
    return {
        "keywords": list(vocabulary.keywords),
        "writing": list(vocabulary.writing),
        "functions": [
            {
                "name": word.name,
                "signature": word.signature,
                "documentation": word.documentation,
                "group": word.group,
                "aliases": list(word.aliases),
                "aggregate": word.aggregate,
            }
            for word in vocabulary.functions
        ],
    }


PATH: Final = "/explorer"

_HTML: Final = "text/html; charset=utf-8"
_JSON: Final = "application/json"
_NDJSON: Final = "application/x-ndjson"
_MOST_BASES: Final = 8  # a base path may be called in any letter case
_MISSING: Final = """<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>twinframe explorer</title></head>
<body>
<h1>The explorer is not built</h1>
<p>In a checkout run <code>make explorer</code>, which needs Node.js 20 or later, and load this page
again; otherwise <code>pip install --force-reinstall twinframe-explorer</code> and restart.</p>
</body>
</html>
"""


class ExplorerSite(Site):
    """Serves the page at its path and at every path below it that names no file."""

    def __init__(self, settings: ExplorerSettings, service: ServiceFacts) -> None:
        self._settings = settings
        self._service = service
        self._policy = build_policy(settings, service)
        self._directory = Path(settings.directory) if settings.directory else PACKAGED
        self._assets = read_assets(self._directory, self._policy)
        self._language = build_content(render_language(), _JSON)
        self._sample: Content | None = None
        self._kept: dict[tuple[str, str], Content] = {}

    @property
    def path(self) -> str:
        return PATH

    @property
    def is_start(self) -> bool:
        return True

    async def read(self, request: SiteRequest) -> Content | None:
        name = "/".join(request.segments)
        if name == "configuration.json":
            return self._keep(request.base, name, self._build_configuration)
        if name == "language.json":
            return self._language
        if name == "sample.ndjson":
            return await self._read_sample()
        if self._assets is None:  # it may be built by now
            self._assets = read_assets(self._directory, self._policy)
        if self._assets is None:
            return build_content(_MISSING.encode(), _HTML, status=503)
        found = self._assets.files.get(name)
        if found is not None or request.segments[:1] == (HASHED,):
            return found
        page = self._assets.page
        return self._keep(request.base, "", lambda base: self._build_page(page, base))

    async def _read_sample(self) -> Content:
        """Build the sample when it is first asked for, in a thread: it takes 50 ms and more."""
        if self._sample is None:
            self._sample = await asyncio.to_thread(_build_sample)
        return self._sample

    def _keep(self, base: str, name: str, build: Callable[[str], Content]) -> Content:
        """Build content that depends on the base path alone, once for each base path."""
        found = self._kept.get((base, name))
        if found is None:
            found = build(base)
            if len(self._kept) < 2 * _MOST_BASES:
                self._kept[base, name] = found
        return found

    def _build_page(self, page: str, base: str) -> Content:
        """Build the page with the address that its links are relative to."""
        place = html.escape(f"{base}{PATH}/", quote=True)
        text = page.replace("<head>", f'<head><base href="{place}">', 1)
        return build_content(text.encode(), _HTML, policy=self._policy)

    def _build_configuration(self, base: str) -> Content:
        document = build_configuration(self._settings, self._service, base)
        return build_content(orjson.dumps(document), _JSON)


def _build_sample() -> Content:
    body = render_sample()
    return build_content(body, _NDJSON, codings={"gzip": gzip.compress(body, mtime=0)})


def build_policy(settings: ExplorerSettings, service: ServiceFacts) -> str:
    """Build the Content-Security-Policy of the page: it may call the service and the sign-in
    issuer.

    SEC: nothing inline and nothing from other hosts, so text stored in a twin cannot become a
    script. Raises `SettingsError` for an address whose origin cannot stand in the header.
    """
    sign_in = build_sign_in(settings, service)
    named = [_find_origin("Control__PublicUrl", service.control)]
    if sign_in is not None:
        key = "Explorer__Authority" if settings.authority else "Authentication__Authority"
        named.append(_find_origin(key, sign_in.authority))
    origins = " ".join(dict.fromkeys(["'self'", *filter(None, named), *settings.origins]))
    return (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
        f"font-src 'self'; worker-src 'self'; connect-src {origins}; form-action 'none'; "
        "frame-ancestors 'none'; base-uri 'self'"
    )


def _find_origin(key: str, address: str) -> str:
    """Return the origin of a URL; empty for a path, which is on the service itself."""
    try:
        parts = urlsplit(address)
    except ValueError as error:
        raise SettingsError(f"{key}={address} is no URL: {error}.") from error
    if not parts.netloc:
        return ""
    origin = f"{parts.scheme}://{parts.netloc}"
    if not ORIGIN.fullmatch(origin):
        raise SettingsError(
            f"{key}={address} cannot stand in the explorer's Content-Security-Policy: write its "
            "host with a-z, 0-9, '.' and '-' (xn--… for other letters), without a user."
        )
    return origin
