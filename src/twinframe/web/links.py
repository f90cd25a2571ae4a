"""Absolute links in answers: next pages and incoming relationships.

It makes no token: a token is opaque here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import quote, urlencode

from twinframe.storage.base import IncomingRelationship
from twinframe.web.errors import BadRequestTarget
from twinframe.web.exchange import Exchange
from twinframe.web.framing import is_host
from twinframe.web.guard import read_raw_path

DEFAULT_API_VERSION = "2023-10-31"

Kept = Mapping[str, str | Sequence[str]]
"""Query parameters of a listing that its next link repeats."""


class Links:
    """Builds links as the caller reached the service, or under `public_url` when it is set."""

    def __init__(self, public_url: str) -> None:
        self._public_url = public_url.rstrip("/")

    @property
    def is_fixed(self) -> bool:
        """Whether links are the same whatever Host a caller names."""
        return bool(self._public_url)

    def build_origin(self, exchange: Exchange) -> str:
        """Scheme and authority, such as `https://twins.example`."""
        if self._public_url and not exchange.own_host:
            return self._public_url
        host = exchange.host
        if not host and exchange.scope.get("server"):  # HTTP/1.0 without Host
            address, port = exchange.scope["server"]
            host = f"{address}:{port}".encode("ascii")
        if not is_host(host):
            raise BadRequestTarget("The Host header is not well-formed.")
        scheme = self._public_url.partition(":")[0] or exchange.scope["scheme"]
        return f"{scheme}://{host.decode('ascii')}"

    def build_next(self, exchange: Exchange, token: str, api_version: str, kept: Kept) -> str:
        """The link of a listing's next page: the same path, `kept` parameters, token, version.

        NOTE: the page size is in the token: the vendor's Python client follows a link without
        repeating its headers.
        """
        query = {**kept, "continuationToken": token, "api-version": api_version}
        path = read_raw_path(exchange.scope).decode("ascii")
        return (
            f"{self.build_origin(exchange)}{path}?{urlencode(query, doseq=True, quote_via=quote)}"
        )

    def build_delete_job(self, exchange: Exchange, job_id: str, api_version: str) -> str:
        """The link of a delete job."""
        path = f"{exchange.target.base}/jobs/deletions/{quote(job_id, safe='')}"
        version = quote(api_version, safe="")
        return f"{self.build_origin(exchange)}{path}?api-version={version}"

    def build_relationship_prefix(self, exchange: Exchange) -> str:
        """What all links to relationships start with; see `build_relationship`."""
        return f"{self.build_origin(exchange)}{exchange.target.base}/digitaltwins/"

    def build_relationship(
        self, prefix: str, relationship: IncomingRelationship, api_version: str
    ) -> str:
        """The link of a relationship under its source twin."""
        source = quote(relationship.source_id, safe="")
        name = quote(relationship.relationship_id, safe="")
        version = quote(api_version, safe="")
        return f"{prefix}{source}/relationships/{name}?api-version={version}"
