"""An application over a graph in memory, served by the tests. It validates nothing."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import orjson

from tests.unit.graph.inline_runner import InlineRunner
from twinframe.errors import (
    InvalidArgument,
    ModelNotFound,
    RelationshipNotFound,
    TwinNotFound,
)
from twinframe.graph.context.context import GraphContext
from twinframe.graph.delivery.endpoints import NO_ENDPOINTS
from twinframe.graph.delivery.routes import EventRoutes
from twinframe.graph.delivery.streams import EventStreams
from twinframe.graph.derivations.computing import Computing
from twinframe.graph.derivations.derivations import Derivations
from twinframe.graph.history.changes import Changes
from twinframe.graph.history.history import History
from twinframe.graph.ingestion.standing import Standings
from twinframe.graph.keeping.keeping import Keeping
from twinframe.graph.queries.triples import Triples
from twinframe.graph.series.series import Series
from twinframe.graph.transfer.exporting import Portable
from twinframe.graph.transfer.jobs.deletions import DeleteJobs
from twinframe.graph.transfer.jobs.imports import ImportJobs
from twinframe.graph.transfer.locations.locations import build_locations
from twinframe.graph.transfer.uploads.uploads import Uploads
from twinframe.graph.twins.bulk import Bulk
from twinframe.graph.twins.transactions import Transactions
from twinframe.graph.workspaces.workspaces import Workspaces
from twinframe.http.application import build_application
from twinframe.model.etags import Condition
from twinframe.model.pages import Page, PageRequest
from twinframe.model.values import JsonValue
from twinframe.runtime.memory import MemoryAccount
from twinframe.settings import ServerSettings, Settings
from twinframe.storage.base import IncomingRelationship, StoredDocument
from twinframe.storage.memory import MemoryStore


def build_etag(number: int) -> str:
    return f'W/"00000000-0000-0000-0000-{number:012d}"'


@dataclass
class Documents:
    """Documents by key with their etags, and every call that was made."""

    stored: dict[tuple[str, ...], StoredDocument] = field(default_factory=dict)
    calls: list[tuple[object, ...]] = field(default_factory=list)
    writes: int = 0

    def put(self, key: tuple[str, ...], document: JsonValue) -> StoredDocument:
        self.writes += 1
        stored = StoredDocument(build_etag(self.writes), orjson.dumps(document))
        self.stored[key] = stored
        return stored


@dataclass
class FakeTwins:
    documents: Documents

    async def read_twin(self, twin_id: str, as_of: int | None = None) -> StoredDocument:
        found = self.documents.stored.get((twin_id,))
        if found is None:
            raise TwinNotFound(twin_id)
        return found

    async def put_twin(
        self,
        twin_id: str,
        document: JsonValue,
        condition: Condition,
    ) -> StoredDocument:
        self.documents.calls.append(("put_twin", twin_id, document, condition))
        stored = self.documents.stored.get((twin_id,))
        condition.check(None if stored is None else stored.etag, "it")
        return self.documents.put((twin_id,), document)

    async def patch_twin(self, twin_id: str, patch: JsonValue, condition: Condition) -> str:
        self.documents.calls.append(("patch_twin", twin_id, patch, condition))
        await self.read_twin(twin_id)
        return self.documents.put((twin_id,), patch).etag

    async def delete_twin(self, twin_id: str, condition: Condition) -> None:
        self.documents.calls.append(("delete_twin", twin_id, condition))
        await self.read_twin(twin_id)
        del self.documents.stored[(twin_id,)]


@dataclass
class FakeComponents:
    documents: Documents

    async def read_component(self, twin_id: str, name: str, as_of: int | None) -> StoredDocument:
        return StoredDocument(build_etag(7), orjson.dumps({"twin": twin_id, "component": name}))

    async def patch_component(
        self,
        twin_id: str,
        name: str,
        patch: JsonValue,
        condition: Condition,
    ) -> str:
        self.documents.calls.append(("patch_component", twin_id, name, patch, condition))
        return build_etag(8)


@dataclass
class FakeRelationships:
    documents: Documents

    async def read_relationship(
        self, source_id: str, relationship_id: str, as_of: int | None = None
    ) -> StoredDocument:
        found = self.documents.stored.get((source_id, relationship_id))
        if found is None:
            raise RelationshipNotFound(source_id, relationship_id)
        return found

    async def put_relationship(
        self,
        source_id: str,
        relationship_id: str,
        document: JsonValue,
        condition: Condition,
    ) -> StoredDocument:
        return self.documents.put((source_id, relationship_id), document)

    async def patch_relationship(
        self,
        source_id: str,
        relationship_id: str,
        patch: JsonValue,
        condition: Condition,
    ) -> str:
        return self.documents.put((source_id, relationship_id), patch).etag

    async def delete_relationship(
        self,
        source_id: str,
        relationship_id: str,
        condition: Condition,
    ) -> None:
        await self.read_relationship(source_id, relationship_id)
        del self.documents.stored[(source_id, relationship_id)]

    async def list_relationships(
        self, source_id: str, name: str | None, page: PageRequest, as_of: int | None
    ) -> Page[bytes]:
        self.documents.calls.append(("list_relationships", source_id, name, page))
        found = [d.body for key, d in self.documents.stored.items() if key[0] == source_id]
        if page.token is None and page.size is not None and len(found) > page.size:
            return Page(tuple(found[: page.size]), "next/page+1=")
        return Page(tuple(found))

    async def list_incoming(
        self, target_id: str, page: PageRequest, as_of: int | None
    ) -> Page[IncomingRelationship]:
        return Page((IncomingRelationship("röom/1", "rel 1", "feeds"),))


@dataclass
class FakeModels:
    documents: Documents

    async def create_models(self, documents: list[JsonValue]) -> Sequence[bytes]:
        if not documents:
            raise InvalidArgument("no models")
        return [orjson.dumps({"id": document}) for document in documents]

    async def list_models(
        self,
        dependencies_for: Sequence[str],
        include_definition: bool,
        page: PageRequest,
        as_of: int | None,
    ) -> Page[bytes]:
        self.documents.calls.append(
            ("list_models", tuple(dependencies_for), include_definition, page)
        )
        return Page((b'{"id":"a"}', b'{"id":"b"}'), None if page.token else "more")

    async def read_model(self, model_id: str, include_definition: bool, as_of: int | None) -> bytes:
        if not model_id.startswith("dtmi:"):
            raise ModelNotFound(model_id)
        return orjson.dumps({"id": model_id, "definition": include_definition})

    async def read_whole_model(self, model_id: str, as_of: int | None) -> bytes:
        return orjson.dumps({"id": model_id, "whole": True})

    async def decommission_model(self, model_id: str, patch: JsonValue) -> None:
        self.documents.calls.append(("decommission_model", model_id, patch))

    async def delete_model(self, model_id: str) -> None:
        self.documents.calls.append(("delete_model", model_id))

    async def delete_all_models(self) -> None:
        self.documents.calls.append(("delete_all_models",))


@dataclass
class FakeTelemetry:
    documents: Documents

    async def publish(
        self,
        twin_id: str,
        component: str | None,
        payload: JsonValue,
        message_id: str,
        source_time: str | None,
    ) -> None:
        self.documents.calls.append(
            ("publish", twin_id, component, payload, message_id, source_time)
        )


@dataclass
class FakeQueryPage:
    rows: Sequence[bytes]
    continuation_token: str | None
    charge: float
    warnings: Sequence[object] = ()


@dataclass
class FakeQueries:
    documents: Documents

    def run_at_once(self, *_asked: object) -> None:
        """Nothing is short."""

    async def run(
        self,
        text: str | None,
        parameters: Mapping[str, JsonValue],
        continuation_token: str | None,
        page_size: int | None,
        as_of: str | int | None = None,
    ) -> FakeQueryPage:
        self.documents.calls.append(("run", text, dict(parameters), continuation_token, page_size))
        if text == "crash":
            raise ZeroDivisionError
        if text in ("slow", "slower"):
            await asyncio.sleep(0.3 if text == "slow" else 1.5)
        if text == "large":
            return FakeQueryPage([b'"' + b"x" * 8_000_000 + b'"'], None, 1.0)
        return FakeQueryPage([b'{"a":1}', b'{"a":2}'], None if continuation_token else 'k"1', 6.19)


class FakeGraph:
    """All use cases over one set of documents."""

    def __init__(self) -> None:
        self.documents = Documents()
        self.twins = FakeTwins(self.documents)
        self.components = FakeComponents(self.documents)
        self.relationships = FakeRelationships(self.documents)
        self.models = FakeModels(self.documents)
        self.telemetry = FakeTelemetry(self.documents)
        self.queries = FakeQueries(self.documents)
        context = GraphContext(InlineRunner(MemoryStore()), Settings())  # a graph without models
        self.bulk = Bulk(context)
        self.changes = Changes(context)
        self.derivations = Derivations(context, Computing(context, None))
        self.workspaces = Workspaces(context)
        self.series = Series(context, None)  # an installation without points
        self.standings = Standings(context, hosted=False)
        self.event_routes = EventRoutes(context, NO_ENDPOINTS, hosted=False)
        self.import_jobs = ImportJobs(context, build_locations(context.settings.jobs))
        self.delete_jobs = DeleteJobs(context)
        self.uploads = Uploads(context)
        history = History(context)
        self.portable = Portable(context, history)
        self.keeping = Keeping(context, history, None)
        self.event_streams = EventStreams(context)
        self.transactions = Transactions(context)
        self.triples = Triples(context, None, None)  # an installation without RDF


def build_served() -> object:
    """The application a server process of the tests serves; limits come as one JSON text.

    `TEST_MEMORY` is what the account of memory has, in bytes.
    """
    server = ServerSettings.model_validate_json(os.environ.get("TEST_SERVER", "{}"))
    graph = FakeGraph()
    graph.documents.put(("room-1",), {"$dtId": "room-1", "temperature": 21.5})
    memory = MemoryAccount(int(os.environ.get("TEST_MEMORY", "300000000")))
    return build_application(graph, Settings(server=server), memory=memory)
