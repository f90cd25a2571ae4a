"""The use cases of the data plane as interfaces that the responders call.

Ids are decoded; documents are parsed JSON; returned bodies are JSON text in UTF-8 that is sent
unchanged. Errors are those of `twinframe.errors`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from twinframe.graph.twins.bulk import ItemResult
from twinframe.graph.twins.transaction_operations import Operation
from twinframe.http.event_ports import EventRoutes, EventStreams
from twinframe.http.streaming import ByteStream
from twinframe.model.pages import Page, PageRequest
from twinframe.model.values import JsonValue
from twinframe.settings import BulkSettings
from twinframe.storage.base import IncomingRelationship, StoredDocument
from twinframe.storage.triples import Content, SparqlQuery, Syntax


class Twins(Protocol):
    """Use cases of whole twins."""

    async def read_twin(self, twin_id: str) -> StoredDocument:
        """Return the twin."""

    async def put_twin(
        self,
        twin_id: str,
        document: JsonValue,
        if_none_match: str | None,
        if_match: str | None,
    ) -> StoredDocument:
        """Create or replace a twin; return it as stored."""

    async def patch_twin(
        self, twin_id: str, patch: JsonValue, if_match: str | None, if_none_match: str | None
    ) -> str:
        """Apply a JSON Patch; return the new ETag."""

    async def delete_twin(
        self, twin_id: str, if_match: str | None, if_none_match: str | None
    ) -> None:
        """Delete a twin that has no relationships."""


class Components(Protocol):
    """Use cases of components of twins; their ETag is the twin's."""

    async def read_component(self, twin_id: str, name: str) -> StoredDocument:
        """Return the component."""

    async def patch_component(
        self,
        twin_id: str,
        name: str,
        patch: JsonValue,
        if_match: str | None,
        if_none_match: str | None,
    ) -> str:
        """Apply a JSON Patch; return the twin's new ETag."""


class Relationships(Protocol):
    """Use cases of relationships, which are named by source twin and id."""

    async def read_relationship(self, source_id: str, relationship_id: str) -> StoredDocument:
        """Return the relationship."""

    async def put_relationship(
        self,
        source_id: str,
        relationship_id: str,
        document: JsonValue,
        if_none_match: str | None,
        if_match: str | None,
    ) -> StoredDocument:
        """Create or replace a relationship; return it as stored."""

    async def patch_relationship(
        self,
        source_id: str,
        relationship_id: str,
        patch: JsonValue,
        if_match: str | None,
        if_none_match: str | None,
    ) -> str:
        """Apply a JSON Patch; return the new ETag."""

    async def delete_relationship(
        self,
        source_id: str,
        relationship_id: str,
        if_match: str | None,
        if_none_match: str | None,
    ) -> None:
        """Delete the relationship."""

    async def list_relationships(
        self, source_id: str, name: str | None, page: PageRequest
    ) -> Page[bytes]:
        """Return outgoing relationships, of one name if it is given."""

    async def list_incoming(self, target_id: str, page: PageRequest) -> Page[IncomingRelationship]:
        """Return incoming relationships."""


class Models(Protocol):
    """Use cases of DTDL models; answers are ModelData documents."""

    async def create_models(self, documents: list[JsonValue]) -> Sequence[bytes]:
        """Store models, all or none, in the order given."""

    async def list_models(
        self, dependencies_for: Sequence[str], include_definition: bool, page: PageRequest
    ) -> Page[bytes]:
        """Return models in upload order; with `dependencies_for` those models and all they depend
        on.
        """

    async def read_model(self, model_id: str, include_definition: bool) -> bytes:
        """Return the model."""

    async def read_whole_model(self, model_id: str) -> bytes:
        """Return the model with all that it inherits merged in."""

    async def decommission_model(self, model_id: str, patch: JsonValue) -> None:
        """Apply the only JSON Patch that a model accepts."""

    async def delete_model(self, model_id: str) -> None:
        """Delete a model that no other model refers to."""

    async def delete_all_models(self) -> None:
        """Delete all models."""


class Telemetry(Protocol):
    """Use cases of telemetry of twins and components."""

    async def publish(
        self,
        twin_id: str,
        component: str | None,
        payload: JsonValue,
        message_id: str,
        source_time: str | None,
    ) -> None:
        """Accept one message."""


class QueryWarning(Protocol):
    """A name in a query that no stored model defines."""

    @property
    def code(self) -> str:
        """The kind of name."""

    @property
    def message(self) -> str:
        """The warning's text for people."""

    @property
    def line(self) -> int:
        """Line of the text, from 1; 0 if unknown."""

    @property
    def column(self) -> int:
        """Column of the text, from 1; 0 if unknown."""

    @property
    def suggestion(self) -> str | None:
        """The nearest known name."""


class QueryPage(Protocol):
    """Rows of a query as JSON texts, the continuation and the cost."""

    @property
    def rows(self) -> Sequence[bytes]:
        """One JSON object per row."""

    @property
    def continuation_token(self) -> str | None:
        """None after the last page."""

    @property
    def charge(self) -> float:
        """The cost in query units."""

    @property
    def warnings(self) -> Sequence[QueryWarning]:
        """Possible mistakes in the query; given with its first page."""


class Queries(Protocol):
    """Use cases of queries of both languages."""

    async def run(
        self,
        text: str | None,
        parameters: Mapping[str, JsonValue],
        continuation_token: str | None,
        page_size: int | None,
    ) -> QueryPage:
        """Return one page of rows; with a token the text is not needed."""


class Bulk(Protocol):
    """Use cases of bulk writes."""

    @property
    def limits(self) -> BulkSettings:
        """The limits of one call."""

    async def put_twins(
        self, documents: JsonValue, if_none_match: str | None, if_match: str | None
    ) -> Sequence[ItemResult]:
        """Create or replace twins; return a result for each."""

    async def put_relationships(
        self, documents: JsonValue, if_none_match: str | None, if_match: str | None
    ) -> Sequence[ItemResult]:
        """Create or replace relationships; return a result for each."""


class Transactions(Protocol):
    """Use cases of transactions."""

    @property
    def limits(self) -> BulkSettings:
        """The limits of one transaction."""

    async def parse(self, body: JsonValue) -> Sequence[Operation]:
        """Return the operations of a body."""

    async def run(self, operations: Sequence[Operation]) -> Sequence[str | None]:
        """Apply the operations in order; return the new etag of each."""


class Triples(Protocol):
    """Use cases of the graph as RDF. The caller must close the streams."""

    @property
    def is_sparql_enabled(self) -> bool:
        """Whether SPARQL is enabled."""

    def check_support(self) -> None:
        """Raise an error if no plugin writes RDF."""

    async def export_graph(self, syntax: Syntax, content: Content) -> ByteStream:
        """Return the graph, of one state."""

    async def export_shapes(self, syntax: Syntax) -> ByteStream:
        """Return SHACL shapes of the stored models."""

    async def export_report(self, syntax: Syntax) -> ByteStream:
        """Return a SHACL report of the twins that violate the shapes."""

    async def parse_query(
        self, text: str, default_graphs: Sequence[str], named_graphs: Sequence[str]
    ) -> SparqlQuery:
        """Parse a SPARQL query."""

    async def run_query(self, query: SparqlQuery, syntax: Syntax) -> ByteStream:
        """Return the answer of a query in a syntax of its form."""


class ImportJobs(Protocol):
    """Use cases of import jobs; each job is JSON text."""

    async def put_job(self, job_id: str, document: JsonValue) -> bytes:
        """Accept an import job."""

    async def read_job(self, job_id: str) -> bytes:
        """Return the job."""

    async def list_jobs(self, page: PageRequest) -> Page[bytes]:
        """Return a page of jobs, the oldest first."""

    async def cancel_job(self, job_id: str) -> bytes:
        """Request the cancellation of a job."""

    async def resume_job(self, job_id: str) -> bytes:
        """Resume a job."""

    async def delete_job(self, job_id: str) -> None:
        """Delete the record of a job."""


class DeleteJobs(Protocol):
    """Use cases of delete jobs; each job is JSON text."""

    async def start_job(self, job_id: str | None, minutes: int) -> tuple[str, bytes]:
        """Accept a deletion of the whole graph; return its id and the job."""

    async def read_job(self, job_id: str) -> tuple[bytes, bool]:
        """Return the job and whether it has ended."""

    async def list_jobs(self, page: PageRequest) -> Page[bytes]:
        """Return a page of jobs, the oldest first."""


class GraphUseCases(Protocol):
    """All use cases of one graph."""

    @property
    def twins(self) -> Twins:
        """Twins."""

    @property
    def components(self) -> Components:
        """Components."""

    @property
    def relationships(self) -> Relationships:
        """Relationships."""

    @property
    def models(self) -> Models:
        """Models."""

    @property
    def telemetry(self) -> Telemetry:
        """Telemetry."""

    @property
    def queries(self) -> Queries:
        """Queries."""

    @property
    def triples(self) -> Triples:
        """The graph as RDF."""

    @property
    def bulk(self) -> Bulk:
        """Bulk writes."""

    @property
    def transactions(self) -> Transactions:
        """Transactions."""

    @property
    def import_jobs(self) -> ImportJobs:
        """Import jobs."""

    @property
    def delete_jobs(self) -> DeleteJobs:
        """Delete jobs."""

    @property
    def event_routes(self) -> EventRoutes:
        """Event routes."""

    @property
    def event_streams(self) -> EventStreams:
        """Event streams."""
