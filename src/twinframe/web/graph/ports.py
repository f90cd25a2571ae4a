"""The use cases of the data plane as the responders call them. No implementation is here.

Ids are decoded; documents are parsed JSON; bodies that come back are JSON text in UTF-8 that goes
to the socket as it is. Errors are those of `twinframe.errors`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from twinframe.graph.bulk import ItemResult
from twinframe.graph.transaction_operations import Operation
from twinframe.model.pages import Page, PageRequest
from twinframe.model.values import JsonValue
from twinframe.settings import BulkSettings
from twinframe.storage.base import IncomingRelationship, StoredDocument
from twinframe.storage.triples import Content, SparqlQuery, Syntax
from twinframe.web.graph.event_ports import EventRoutes, EventStreams
from twinframe.web.streaming import ByteStream


class Twins(Protocol):
    """Twins, whole."""

    async def read_twin(self, twin_id: str) -> StoredDocument:
        """The twin."""

    async def put_twin(
        self,
        twin_id: str,
        document: JsonValue,
        if_none_match: str | None,
        if_match: str | None,
    ) -> StoredDocument:
        """Create or replace; the stored twin."""

    async def patch_twin(
        self, twin_id: str, patch: JsonValue, if_match: str | None, if_none_match: str | None
    ) -> str:
        """Apply a JSON Patch; the new ETag."""

    async def delete_twin(
        self, twin_id: str, if_match: str | None, if_none_match: str | None
    ) -> None:
        """Delete a twin that has no relationships."""


class Components(Protocol):
    """Components of twins; their ETag is the twin's."""

    async def read_component(self, twin_id: str, name: str) -> StoredDocument:
        """The component."""

    async def patch_component(
        self,
        twin_id: str,
        name: str,
        patch: JsonValue,
        if_match: str | None,
        if_none_match: str | None,
    ) -> str:
        """Apply a JSON Patch; the twin's new ETag."""


class Relationships(Protocol):
    """Relationships, named by source twin and id."""

    async def read_relationship(self, source_id: str, relationship_id: str) -> StoredDocument:
        """The relationship."""

    async def put_relationship(
        self,
        source_id: str,
        relationship_id: str,
        document: JsonValue,
        if_none_match: str | None,
        if_match: str | None,
    ) -> StoredDocument:
        """Create or replace; the stored relationship."""

    async def patch_relationship(
        self,
        source_id: str,
        relationship_id: str,
        patch: JsonValue,
        if_match: str | None,
        if_none_match: str | None,
    ) -> str:
        """Apply a JSON Patch; the new ETag."""

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
        """Outgoing relationships, of one name when it is given."""

    async def list_incoming(self, target_id: str, page: PageRequest) -> Page[IncomingRelationship]:
        """Incoming relationships."""


class Models(Protocol):
    """DTDL models; answers are ModelData documents."""

    async def create_models(self, documents: list[JsonValue]) -> Sequence[bytes]:
        """Store models, all or none, in the order given."""

    async def list_models(
        self, dependencies_for: Sequence[str], include_definition: bool, page: PageRequest
    ) -> Page[bytes]:
        """Models by upload; with `dependencies_for` those models and all they depend on."""

    async def read_model(self, model_id: str, include_definition: bool) -> bytes:
        """The model."""

    async def read_whole_model(self, model_id: str) -> bytes:
        """The model with all that it inherits merged in."""

    async def decommission_model(self, model_id: str, patch: JsonValue) -> None:
        """Apply the one JSON Patch a model takes."""

    async def delete_model(self, model_id: str) -> None:
        """Delete a model no other model refers to."""

    async def delete_all_models(self) -> None:
        """Delete all models."""


class Telemetry(Protocol):
    """Telemetry of twins and components."""

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
    """A name of a query that no stored model knows."""

    @property
    def code(self) -> str:
        """What kind of name it is."""

    @property
    def message(self) -> str:
        """For people."""

    @property
    def line(self) -> int:
        """Line of the text, from 1; 0 without a place."""

    @property
    def column(self) -> int:
        """Column of the text, from 1; 0 without a place."""

    @property
    def suggestion(self) -> str | None:
        """The nearest known name."""


class QueryPage(Protocol):
    """Rows of a query as JSON texts, where it goes on, and what it cost."""

    @property
    def rows(self) -> Sequence[bytes]:
        """One JSON object a row."""

    @property
    def continuation_token(self) -> str | None:
        """None after the last page."""

    @property
    def charge(self) -> float:
        """Query units."""

    @property
    def warnings(self) -> Sequence[QueryWarning]:
        """What may be wrong with the query, beside its first page."""


class Queries(Protocol):
    """Queries of both languages."""

    async def run(
        self,
        text: str | None,
        parameters: Mapping[str, JsonValue],
        continuation_token: str | None,
        page_size: int | None,
    ) -> QueryPage:
        """One page of rows; with a token the text is not needed."""


class Bulk(Protocol):
    """Many twins or relationships in one call."""

    @property
    def limits(self) -> BulkSettings:
        """How much one call may bring."""

    async def put_twins(
        self, documents: JsonValue, if_none_match: str | None, if_match: str | None
    ) -> Sequence[ItemResult]:
        """Create or replace twins; what became of each."""

    async def put_relationships(
        self, documents: JsonValue, if_none_match: str | None, if_match: str | None
    ) -> Sequence[ItemResult]:
        """Create or replace relationships; what became of each."""


class Transactions(Protocol):
    """Several writes, all or none."""

    @property
    def limits(self) -> BulkSettings:
        """How much one transaction may bring."""

    async def parse(self, body: JsonValue) -> Sequence[Operation]:
        """The operations of a body."""

    async def run(self, operations: Sequence[Operation]) -> Sequence[str | None]:
        """Apply them in order; the etag that each made."""


class Triples(Protocol):
    """The graph as RDF. Streams are to be closed."""

    @property
    def is_sparql_enabled(self) -> bool:
        """Whether SPARQL may be asked at all."""

    def check_support(self) -> None:
        """Refuse where nothing writes RDF."""

    async def export_graph(self, syntax: Syntax, content: Content) -> ByteStream:
        """The graph, of one state."""

    async def export_shapes(self, syntax: Syntax) -> ByteStream:
        """SHACL shapes of the stored models."""

    async def export_report(self, syntax: Syntax) -> ByteStream:
        """What of the twins departs from the shapes."""

    async def parse_query(
        self, text: str, default_graphs: Sequence[str], named_graphs: Sequence[str]
    ) -> SparqlQuery:
        """Read a SPARQL query."""

    async def run_query(self, query: SparqlQuery, syntax: Syntax) -> ByteStream:
        """Its answer in a syntax of its form."""


class ImportJobs(Protocol):
    """Import jobs; each comes as JSON text."""

    async def put_job(self, job_id: str, document: JsonValue) -> bytes:
        """Accept an import."""

    async def read_job(self, job_id: str) -> bytes:
        """The job."""

    async def list_jobs(self, page: PageRequest) -> Page[bytes]:
        """All jobs, the oldest first."""

    async def cancel_job(self, job_id: str) -> bytes:
        """Ask for its end."""

    async def resume_job(self, job_id: str) -> bytes:
        """Let it go on."""

    async def delete_job(self, job_id: str) -> None:
        """Forget it."""


class DeleteJobs(Protocol):
    """Delete jobs; each comes as JSON text."""

    async def start_job(self, job_id: str | None, minutes: int) -> tuple[str, bytes]:
        """Accept a deletion of the whole graph; its id, and the job."""

    async def read_job(self, job_id: str) -> tuple[bytes, bool]:
        """The job, and whether it has ended."""

    async def list_jobs(self, page: PageRequest) -> Page[bytes]:
        """All jobs, the oldest first."""


class Graph(Protocol):
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
        """Following events."""
