"""The settings section `Storage__Rdf`."""

from __future__ import annotations

from typing import Literal, Self
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, model_validator

from twinframe.settings import Count, Seconds, Section, check_endpoint
from twinframe_storage_rdf.ontology import Ontology


class RdfSettings(Section):
    """Which engine keeps the triples, and where."""

    engine: Literal["oxigraph", "rdflib", "sparql"] = Field(
        default="oxigraph",
        description="`oxigraph`: embedded, on disk or in memory. `rdflib`: in memory, pure Python, "
        "for small graphs. `sparql`: a SPARQL 1.1 server.",
    )
    directory: str = Field(
        default="var/rdf",
        description="`oxigraph`: directory of the stores, one for each graph. It is created if it "
        "does not exist. Empty: graphs are in memory, for one process and until it "
        "ends.",
    )
    in_process: bool = Field(
        default=False,
        description="`oxigraph` on disk: open the store in the service itself, not in a store "
        "process. For development: one worker only, and no query can be stopped.",
    )
    idle_seconds: Seconds = Field(
        default=10.0,
        description="`oxigraph` on disk: seconds without any client after which the store "
        "process ends.",
    )
    query_bytes: Count = Field(
        default=256 * 1024**2,
        description="`oxigraph` on disk: bytes of memory that a caller's query may use. All that "
        "run at the same time may use twice as much together.",
    )
    ontology: dict[str, str] = Field(
        default_factory=dict,
        description="IRIs of public ontologies for models by DTMI, as a JSON object; a `*` in "
        "both stands for the last name segment. Fixed when a graph is created.",
    )
    rdflib_store: str = Field(
        default="default",
        description="`rdflib`: name of a store plugin of rdflib with named graphs; `default`: in "
        "memory.",
    )
    rdflib_configuration: str = Field(
        default="",
        description="`rdflib`: configuration with which the store plugin is opened; `{graph}` "
        "stands for the name of the graph.",
    )
    query_url: str = Field(default="", description="`sparql`: address of the query service.")
    update_url: str = Field(
        default="", description="`sparql`: address of the update service; empty: the query's."
    )
    authentication: Literal["none", "basic", "digest", "bearer"] = Field(
        default="none", description="`sparql`: how to log in."
    )
    user: str = Field(default="", description="`sparql`: name for `basic` and `digest`.")
    password: SecretStr = Field(
        default=SecretStr(""),
        description="`sparql`: password for `basic` and `digest`, token for `bearer`.",
    )
    ca_file: str = Field(
        default="", description="`sparql`: PEM file of the authorities to trust; empty: the usual."
    )
    connections: Count = Field(default=16, description="`sparql`: most connections of a worker.")
    connect_timeout: Seconds = Field(
        default=5.0, description="`sparql`: seconds a connection may take."
    )
    timeout: Seconds = Field(
        default=30.0, description="`sparql`: seconds an answer may take, reads and writes."
    )
    retries: int = Field(
        default=2, ge=0, le=10, description="`sparql`: times a failed read is tried again."
    )
    max_answer_bytes: Count = Field(
        default=256 * 1024**2, description="`sparql`: bytes of the largest answer that is read."
    )
    product: Literal["", "standard", "virtuoso"] = Field(
        default="",
        description="`sparql`: the product, if a proxy hides the server's `Server` header. Empty: "
        "by this header.",
    )

    @model_validator(mode="after")
    def _check_all(self) -> Self:
        if self.engine == "sparql":
            _check_address("QueryUrl", self.query_url)
            if self.update_url:
                _check_address("UpdateUrl", self.update_url)
        if self.authentication in ("basic", "bearer"):  # SEC: these send the secret itself
            for url in (self.query_url, self.update_url):
                check_endpoint(url)
        faults = list(Ontology(self.ontology).find_faults())
        if faults:
            raise ValueError(f"Ontology: {'; '.join(faults)}")
        return self


def _check_address(name: str, url: str) -> None:
    if not url:
        raise ValueError(f"{name} is needed with Engine=sparql")
    if "@" in url.partition("?")[0]:  # SEC: it would be sent in clear text, and shown in messages
        raise ValueError(f"{name} must name no user: set Authentication, User and Password")
    try:
        parts = urlsplit(url)
        host, _port = parts.hostname, parts.port
    except ValueError:
        host, parts = None, urlsplit("")
    if not host or parts.scheme not in ("http", "https"):
        raise ValueError(f"{name} must be a URL such as https://host:8890/sparql, not {url!a}")
