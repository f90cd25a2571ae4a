"""URLs in answers: next pages, jobs, incoming relationships and discovery."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import quote, urlencode, urlsplit

from twinframe.http.exchange import Exchange
from twinframe.http.guard import read_raw_path
from twinframe.http.hosts import KnownHosts, build_local_host
from twinframe.settings import Settings
from twinframe.storage.base import IncomingRelationship

DEFAULT_API_VERSION = "2023-10-31"

Kept = Mapping[str, str | Sequence[str]]
"""Query parameters of a listing that its next link repeats."""


class Links:
    """Builder of links below `Server__PublicUrl`, else below the address the caller used.

    SEC: a client or proxy may send any Host: only a name of the service appears in an answer, see
    `KnownHosts`. `login` is the URL whose origin discovery names if no public one is set.
    """

    def __init__(self, settings: Settings, login: str = "") -> None:
        self._public_url = settings.server.public_url.rstrip("/")
        parts = urlsplit(login)
        self._login = f"{parts.scheme}://{parts.netloc}" if login else ""
        self._known = KnownHosts(settings, [settings.server.bind])

    @property
    def is_fixed(self) -> bool:
        """Whether discovery is the same for every Host."""
        return bool(self._public_url or self._login)

    def build_origin(self, exchange: Exchange) -> str:
        """Return the scheme and authority that discovery names, such as `https://twins.example`.

        If the Host is no name of the service, they are those of the address the request came in at,
        which leads to no other server.
        """
        if not exchange.own_host and (self._public_url or self._login):
            return self._public_url or self._login
        return self._find_origin(exchange) or (
            f"{exchange.scope['scheme']}://{build_local_host(exchange.scope)}"
        )

    def _find_origin(self, exchange: Exchange) -> str:
        """Return the origin of links; empty, so that they are relative, if the Host is not
        trusted.
        """
        if self._public_url and not exchange.own_host:
            return self._public_url
        host, scope = exchange.host.decode("latin-1"), exchange.scope
        if not self._known.knows(host) and host != build_local_host(scope):
            return ""
        scheme = self._public_url.partition(":")[0] or scope["scheme"]
        return f"{scheme}://{host}"

    def build_next(self, exchange: Exchange, token: str, api_version: str, kept: Kept) -> str:
        """Return the link of a listing's next page: the same path, `kept` parameters, token,
        version.

        NOTE: the page size is in the token: the vendor's Python client follows a link without
        repeating its headers.
        """
        query = {**kept, "continuationToken": token, "api-version": api_version}
        path = read_raw_path(exchange.scope).decode("ascii")
        return (
            f"{self._find_origin(exchange)}{path}?{urlencode(query, doseq=True, quote_via=quote)}"
        )

    def build_delete_job(self, exchange: Exchange, job_id: str, api_version: str) -> str:
        """Return the link of a delete job."""
        path = f"{exchange.target.base}/jobs/deletions/{quote(job_id, safe='')}"
        version = quote(api_version, safe="")
        return f"{self._find_origin(exchange)}{path}?api-version={version}"

    def build_relationship_prefix(self, exchange: Exchange) -> str:
        """Return the prefix of all links to relationships; see `build_relationship`."""
        return f"{self._find_origin(exchange)}{exchange.target.base}/digitaltwins/"

    def build_relationship(
        self, prefix: str, relationship: IncomingRelationship, api_version: str
    ) -> str:
        """Return the link of a relationship under its source twin."""
        source = quote(relationship.source_id, safe="")
        name = quote(relationship.relationship_id, safe="")
        version = quote(api_version, safe="")
        return f"{prefix}{source}/relationships/{name}?api-version={version}"
