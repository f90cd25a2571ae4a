"""The engine and the store that the settings ask for. It opens nothing."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

from twinframe.errors import ConfigurationError
from twinframe_storage_rdf.engines.oxigraph import OxigraphEngine
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
    if settings.engine == "oxigraph" and settings.in_process:
        place = Path(settings.directory) / quote(graph, safe="")
        return RdfStore(OxigraphEngine(place), names, shared=False)
    raise ConfigurationError(
        f"Storage__Rdf__Engine={settings.engine} is not built yet in this release with these "
        "settings: use oxigraph with an empty Directory or InProcess=true, or rdflib."
    )
