"""The engine and the store that the settings ask for. It opens nothing."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

from twinframe.errors import ConfigurationError
from twinframe_storage_rdf.engines.oxigraph import OxigraphEngine
from twinframe_storage_rdf.engines.process import ProcessEngine
from twinframe_storage_rdf.engines.rdflib_engine import RdflibEngine
from twinframe_storage_rdf.mapping import GraphNames
from twinframe_storage_rdf.settings import RdfSettings
from twinframe_storage_rdf.store import RdfStore


def build_store(settings: RdfSettings, graph: str) -> RdfStore:
    """The store of the graph named `graph`."""
    names = GraphNames(graph, settings.ontology)
    if settings.engine == "rdflib":
        return RdfStore(RdflibEngine(), names, shared=False)
    if settings.engine == "oxigraph" and not settings.directory:
        return RdfStore(OxigraphEngine(), names, shared=False)
    if settings.engine == "oxigraph":
        place = Path(settings.directory) / quote(graph, safe="")
        if settings.in_process:
            return RdfStore(OxigraphEngine(place / "store"), names, shared=False, place=place)
        engine = ProcessEngine(place, settings.idle_seconds)
        return RdfStore(engine, names, shared=True, place=place)
    raise ConfigurationError("Storage__Rdf__Engine=sparql is not in this release yet.")
