"""Builds the Bolt server of a worker, beside the API."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING

import twinframe
from twinframe.access.authentication.build import load_trust
from twinframe.access.gate import Gate
from twinframe.access.rates import CallerRates
from twinframe.bolt.connection import BoltService
from twinframe.bolt.exchange import TokenExchange
from twinframe.bolt.graphs import Databases, OwnDatabase, Ran
from twinframe.bolt.server import BoltServer
from twinframe.graph import Graph
from twinframe.runtime.memory import MemoryAccount
from twinframe.service.features import load_part
from twinframe.service.instruments import InstrumentService
from twinframe.settings import Settings, TlsSettings

if TYPE_CHECKING:
    from twinframe.control.hosting.service import HostingService

_AGENT = f"Neo4j/5.26.0 (compatible; twinframe/{twinframe.__version__})"
"""NOTE: drivers and tools read the version of Neo4j that they may take this for."""
_ROUTE = "bolt"
_METHOD = "RUN"


def build_server(
    graph: Graph,
    settings: Settings,
    gate: Gate | None,
    rates: CallerRates | None,
    memory: MemoryAccount,
    instruments: InstrumentService,
    hosting: HostingService | None,
) -> BoltServer:
    """Build the server over the service's own graph and the hosted ones."""
    own = OwnDatabase(graph, gate, settings.bolt.database)
    databases: Databases = own
    if hosting is not None:
        databases = load_part("twinframe.control.hosting.bolt").HostedDatabases(own, hosting.graphs)
    metrics = instruments.metrics

    def observe(database: str, ran: Ran) -> None:
        if metrics is not None:
            graph_id = "" if database == own.home else database
            metrics.note_request(_ROUTE, _METHOD, ran.status, ran.seconds, graph_id)

    service = BoltService(
        settings.bolt,
        databases,
        gate,
        rates,
        settings.authorization.api_scopes,
        _AGENT,
        settings.query.max_page_size,
        settings.cors.origins,
        _build_exchange(settings),
        observe,
    )
    return BoltServer(service, memory, build_tls(find_tls(settings)))


def _build_exchange(settings: Settings) -> TokenExchange | None:
    """Build what logs clients in by id and secret. Raises `SettingsError`."""
    own = settings.authentication
    if not settings.bolt.token_endpoint:
        return None
    endpoint, trust = settings.bolt.token_endpoint, load_trust(own.ca_file)
    return TokenExchange(endpoint, own.audience, own.keys_timeout, trust)


def find_tls(settings: Settings) -> TlsSettings:
    """Return the certificate of the listener: its own, else that of the API."""
    own = settings.bolt.tls
    return own if own.certificate else settings.server.tls


def build_tls(tls: TlsSettings) -> ssl.SSLContext | None:
    """Return the context of a certificate; None without one. Raises `OSError`."""
    if not tls.certificate:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(tls.certificate, tls.key)
    return context
