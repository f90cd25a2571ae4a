"""Builds the store and its RDF engine from the settings, without opening them."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import httpx2

from twinframe.errors import ConfigurationError
from twinframe.runtime.diagnosis.directories import check_directory
from twinframe.runtime.diagnosis.endpoints import check_endpoint
from twinframe.runtime.diagnosis.findings import Finding, build_warning
from twinframe.runtime.diagnosis.secrecy import check_secret
from twinframe_storage_rdf.engines.oxigraph import OxigraphEngine
from twinframe_storage_rdf.engines.rdflib_engine import RdflibEngine
from twinframe_storage_rdf.engines.sparql import Remote, SparqlEngine
from twinframe_storage_rdf.mapping import GraphNames
from twinframe_storage_rdf.settings import RdfSettings
from twinframe_storage_rdf.store import RdfFileStore, RdfStore
from twinframe_storage_rdf.storeprocess.engine import ProcessEngine

_SECTION = "Storage__Rdf__"


def build_store(settings: RdfSettings, graph: str) -> RdfStore:
    """The store of the graph named `graph`."""
    names = GraphNames(graph, settings.ontology)
    if settings.engine == "rdflib":
        return RdfStore(_build_rdflib(settings, graph), names, shared=False)
    if settings.engine == "oxigraph" and not settings.directory:
        return RdfStore(OxigraphEngine(), names, shared=False)
    if settings.engine == "oxigraph":
        place = Path(settings.directory) / quote(graph, safe="")
        if settings.in_process:
            return RdfStore(OxigraphEngine(place / "store"), names, shared=False, place=place)
        engine = ProcessEngine(place, settings.idle_seconds, settings.query_bytes)
        return RdfFileStore(engine, names, place)
    return RdfStore(SparqlEngine(_build_remote(settings)), names, shared=True)


def _build_rdflib(settings: RdfSettings, graph: str) -> RdflibEngine:
    configuration = settings.rdflib_configuration.replace("{graph}", quote(graph, safe=""))
    return RdflibEngine(settings.rdflib_store, configuration)


def _build_remote(settings: RdfSettings) -> Remote:
    secret = settings.password.get_secret_value()
    auth: httpx2.Auth | None = None
    if settings.authentication == "basic":
        auth = httpx2.BasicAuth(settings.user, secret)
    elif settings.authentication == "digest":
        auth = httpx2.DigestAuth(settings.user, secret)
    return Remote(
        query_url=settings.query_url,
        update_url=settings.update_url or settings.query_url,
        auth=auth,
        token=secret if settings.authentication == "bearer" else "",
        verify=_load_authorities(settings.ca_file),
        connections=settings.connections,
        connect_timeout=settings.connect_timeout,
        timeout=settings.timeout,
        retries=settings.retries,
        most_bytes=settings.max_answer_bytes,
        product=settings.product,
    )


def _load_authorities(file: str) -> ssl.SSLContext | bool:
    if not file:
        return True
    try:
        return ssl.create_default_context(cafile=file)
    except OSError as error:
        raise ConfigurationError(
            f"Storage__Rdf__CaFile: {file} cannot be read as PEM certificates: {error}"
        ) from error


def list_findings(settings: RdfSettings) -> Iterator[Finding]:
    """Check the directory of an embedded store, or whether the server of a remote one answers."""
    if settings.engine == "sparql":
        yield from _check_server(settings)
    elif settings.engine == "oxigraph" and settings.directory:
        yield from check_directory(f"{_SECTION}Directory", Path(settings.directory))
    else:
        yield build_warning(
            "durability",
            f"{_SECTION}Engine={settings.engine} keeps graphs in memory only: all end with it.",
            f"Set {_SECTION}Engine=oxigraph and {_SECTION}Directory, unless that is what you want.",
        )


def _check_server(settings: RdfSettings) -> Iterator[Finding]:
    for name, url in (("QueryUrl", settings.query_url), ("UpdateUrl", settings.update_url)):
        if url:
            yield from check_endpoint(
                _SECTION + name, url, ca_file=settings.ca_file, timeout=settings.connect_timeout
            )
    yield from check_secret(f"{_SECTION}Password", settings.password.get_secret_value())
