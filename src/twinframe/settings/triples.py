"""The settings sections of RDF: exports of a graph as triples, and the SPARQL endpoint."""

from __future__ import annotations

from pydantic import Field

from twinframe.settings.section import Bytes, Count, Seconds, Section


class ExportSettings(Section):
    """Limits of GET /export and what stands below it."""

    writer: str = Field(
        default="rdf",
        description="Storage plugin that writes graphs as RDF, also those of another storage.",
    )
    timeout: Seconds = Field(
        default=600.0, description="Seconds that writing down a whole graph may take."
    )
    max_bytes: Bytes = Field(
        default=16 * 1024**3,
        description="Largest export; its file takes as much room until the client has it.",
    )
    max_results: Count = Field(
        default=1000, description="Results of a validation report; with more it is not whole."
    )
    at_once: Count = Field(default=2, description="Exports of a worker at once; more is 503.")


class SparqlSettings(Section):
    """The read-only SPARQL endpoint and its limits; only for graphs that are stored as RDF."""

    enabled: bool = Field(default=False, description="Answer at /sparql.")
    timeout: Seconds = Field(default=30.0, description="Seconds a query may run.")
    max_text_bytes: Bytes = Field(default=64 * 1024, description="Longest query text.")
    max_depth: Count = Field(default=32, le=256, description="Deepest nesting of brackets.")
    max_result_bytes: Bytes = Field(
        default=64 * 1024 * 1024, description="Largest answer; more is an error."
    )
    at_once: Count = Field(default=2, description="Queries of a worker at once; more is 503.")
