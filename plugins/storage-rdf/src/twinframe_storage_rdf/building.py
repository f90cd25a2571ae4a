"""Builds the store and its RDF engine from the settings, without opening them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from twinframe.runtime.diagnosis.directories import check_directory
from twinframe.runtime.diagnosis.endpoints import check_endpoint
from twinframe.runtime.diagnosis.findings import Finding, build_warning
from twinframe.runtime.diagnosis.secrecy import check_secret
from twinframe_storage_rdf.engines.oxigraph import OxigraphEngine
from twinframe_storage_rdf.engines.rdflib_engine import RdflibEngine
from twinframe_storage_rdf.engines.sparql import SparqlEngine
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
    return RdfStore(SparqlEngine(settings), names, shared=True)


def _build_rdflib(settings: RdfSettings, graph: str) -> RdflibEngine:
    configuration = settings.rdflib_configuration.replace("{graph}", quote(graph, safe=""))
    return RdflibEngine(settings.rdflib_store, configuration)


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
