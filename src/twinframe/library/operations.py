"""What a graph and a transaction on it both do, for code that awaits: each is one use case.

Documents in and out are dictionaries. Conditions are the texts of the headers `If-Match` and
`If-None-Match`: an etag, or `*`. `as_of` names an earlier state: a moment, as a `datetime` or text
with an offset, or the position of an event.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar, cast

import orjson

from twinframe.graph.models.models import Models
from twinframe.graph.queries.names import QueryWarning
from twinframe.graph.queries.queries import Queries, QueryPage
from twinframe.graph.statements.statements import StatementResult
from twinframe.graph.twins.bulk import Bulk, ItemResult
from twinframe.graph.twins.relationships import Relationships
from twinframe.graph.twins.twins import Components, Twins
from twinframe.library.batches import RowSpool
from twinframe.library.documents import AsOf, Document, JsonReader, parse_documents
from twinframe.library.results import Result
from twinframe.model.etags import parse_condition, parse_put_condition
from twinframe.model.ids import parse_model_id
from twinframe.model.pages import Page, PageRequest
from twinframe.model.rendering import list_members, render_row
from twinframe.model.values import JsonValue
from twinframe.settings import Settings
from twinframe.storage.base import StoredDocument

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T")

_DECOMMISSION: Final[JsonValue] = [{"op": "replace", "path": "/decommissioned", "value": True}]


class UseCases(Protocol):
    """The use cases that the operations call."""

    twins: Twins
    components: Components
    relationships: Relationships
    models: Models
    bulk: Bulk
    queries: Queries


class AsyncOperations(ABC):
    """Reads and writes models, twins, relationships and components, and runs queries.

    The errors are those of `twinframe.errors`, with `code`, `message` and `details`. Each method
    names its own. All may raise `StorageError`, reads of an earlier state `HistoryNotKept`.
    """

    def __init__(self, cases: UseCases, settings: Settings) -> None:
        self._cases = cases
        self._settings = settings
        self._reader = JsonReader(settings)

    # --- models

    async def create_models(self, models: Iterable[Mapping[str, Any]]) -> list[Document]:
        """Store DTDL interfaces, all or none, in any order; return their ModelData.

        Errors: `InvalidArgument`, `LimitExceeded`, `DtdlInvalid`, `ModelAlreadyExists`.
        """
        documents = await self._reader.read(list(models))
        found = await self._cases.models.create_models(cast("list[JsonValue]", documents))
        return parse_documents(found)

    async def read_model(self, model_id: str, *, as_of: AsOf | None = None) -> Document:
        """Return the ModelData of a model, with its definition as `model`.

        Errors: `ModelNotFound`.
        """
        at = await self._find(as_of)
        return _parse(await self._cases.models.read_model(model_id, True, at))

    async def list_models(
        self,
        *,
        dependencies_for: Sequence[str] = (),
        definition: bool = False,
        as_of: AsOf | None = None,
    ) -> list[Document]:
        """List ModelData in the order of upload, with `definition` their documents, too.

        `dependencies_for`: only these models and those that they need. Errors: `ModelNotFound`.
        """
        at, cases = await self._find(as_of), self._cases.models
        return parse_documents(
            await self._gather(
                lambda page: cases.list_models(dependencies_for, definition, page, at)
            )
        )

    async def decommission_model(self, model_id: str) -> None:
        """Let a model take no new twins; it cannot be undone. Errors: `ModelNotFound`."""
        await self._cases.models.decommission_model(model_id, _DECOMMISSION)

    async def delete_model(self, model_id: str) -> None:
        """Delete a model; its twins are kept. Errors: `ModelNotFound`, `ModelReferenced`."""
        await self._cases.models.delete_model(model_id)

    # --- twins and components

    async def put_twin(
        self,
        twin_id: str,
        document: Mapping[str, Any],
        *,
        if_match: str | None = None,
        if_none_match: str | None = None,
    ) -> Document:
        """Create or replace a twin, `{"$metadata": {"$model": ...}, ...}`; return it as stored.

        Errors: `InvalidArgument`, `ValidationFailed`, `ModelDecommissioned`, `LimitExceeded`,
        `PreconditionFailed`.
        """
        condition = parse_put_condition(if_match, if_none_match)
        body = await self._reader.read(document)
        return _build(await self._cases.twins.put_twin(twin_id, body, condition))

    async def put_twins(self, documents: Iterable[Mapping[str, Any]]) -> list[ItemResult]:
        """Create or replace twins, each named by its `$dtId`; return what became of each.

        A refused twin has its `error` in its result and does not affect the others.
        """
        return await self._put_many(documents, self._cases.bulk.put_twins)

    async def read_twin(self, twin_id: str, *, as_of: AsOf | None = None) -> Document:
        """Return a twin. Errors: `TwinNotFound`."""
        return _build(await self._cases.twins.read_twin(twin_id, await self._find(as_of)))

    async def patch_twin(
        self, twin_id: str, patch: Sequence[Mapping[str, Any]], *, if_match: str | None = None
    ) -> str:
        """Apply a JSON Patch, a list of operations; return the new etag.

        Errors: `JsonPatchInvalid`, `ValidationFailed`, `TwinNotFound`, `PreconditionFailed`,
        `ModelDecommissioned` for a move to such a model, `LimitExceeded`.
        """
        condition, body = parse_condition(if_match), await self._reader.read(patch)
        return await self._cases.twins.patch_twin(twin_id, body, condition)

    async def delete_twin(self, twin_id: str, *, if_match: str | None = None) -> None:
        """Delete a twin that has no relationships.

        Errors: `TwinNotFound`, `PreconditionFailed`, `RelationshipsNotDeleted`.
        """
        await self._cases.twins.delete_twin(twin_id, parse_condition(if_match))

    async def list_twins(
        self, model_id: str | None = None, *, as_of: AsOf | None = None
    ) -> list[Document]:
        """List all twins, or those of a model and of models that extend it."""
        text = "SELECT T FROM DIGITALTWINS T"
        if model_id is not None:
            text += f" WHERE IS_OF_MODEL(T, '{parse_model_id(model_id)}')"
        return [row["T"] async for row in self.iterate(text, as_of=as_of)]

    async def read_component(
        self, twin_id: str, name: str, *, as_of: AsOf | None = None
    ) -> Document:
        """Return a component of a twin. Errors: `TwinNotFound`, `ComponentNotFound`."""
        at = await self._find(as_of)
        return _build(await self._cases.components.read_component(twin_id, name, at))

    async def patch_component(
        self,
        twin_id: str,
        name: str,
        patch: Sequence[Mapping[str, Any]],
        *,
        if_match: str | None = None,
    ) -> str:
        """Apply a JSON Patch whose paths start in the component; return the twin's new etag.

        Errors: as `patch_twin`.
        """
        condition, body = parse_condition(if_match), await self._reader.read(patch)
        return await self._cases.components.patch_component(twin_id, name, body, condition)

    # --- relationships

    async def put_relationship(
        self,
        source_id: str,
        relationship_id: str,
        document: Mapping[str, Any],
        *,
        if_match: str | None = None,
        if_none_match: str | None = None,
    ) -> Document:
        """Create or replace a relationship; return it as stored.

        `document` is `{"$relationshipName": ..., "$targetId": ..., ...}`. Errors: `TwinNotFound`
        (source), `TargetTwinNotFound`, `PreconditionFailed`, `OperationNotAllowed`,
        `InvalidRelationship`, `ValidationFailed`, `LimitExceeded`.
        """
        condition = parse_put_condition(if_match, if_none_match)
        body = await self._reader.read(document)
        put = self._cases.relationships.put_relationship
        return _build(await put(source_id, relationship_id, body, condition))

    async def put_relationships(self, documents: Iterable[Mapping[str, Any]]) -> list[ItemResult]:
        """Create or replace relationships, named by `$sourceId` and `$relationshipId`.

        See `put_twins`.
        """
        return await self._put_many(documents, self._cases.bulk.put_relationships)

    async def read_relationship(
        self, source_id: str, relationship_id: str, *, as_of: AsOf | None = None
    ) -> Document:
        """Return a relationship. Errors: `TwinNotFound`, `RelationshipNotFound`."""
        at, read = await self._find(as_of), self._cases.relationships.read_relationship
        return _build(await read(source_id, relationship_id, at))

    async def patch_relationship(
        self,
        source_id: str,
        relationship_id: str,
        patch: Sequence[Mapping[str, Any]],
        *,
        if_match: str | None = None,
    ) -> str:
        """Apply a JSON Patch to the properties of a relationship; return its new etag.

        Errors: `JsonPatchInvalid`, `ValidationFailed`, `TwinNotFound`, `RelationshipNotFound`,
        `PreconditionFailed`, `LimitExceeded`.
        """
        condition, body = parse_condition(if_match), await self._reader.read(patch)
        patch_one = self._cases.relationships.patch_relationship
        return await patch_one(source_id, relationship_id, body, condition)

    async def delete_relationship(
        self, source_id: str, relationship_id: str, *, if_match: str | None = None
    ) -> None:
        """Delete a relationship.

        Errors: `TwinNotFound`, `RelationshipNotFound`, `PreconditionFailed`.
        """
        condition = parse_condition(if_match)
        await self._cases.relationships.delete_relationship(source_id, relationship_id, condition)

    async def list_relationships(
        self, source_id: str, name: str | None = None, *, as_of: AsOf | None = None
    ) -> list[Document]:
        """List the outgoing relationships of a twin, or those of one name.

        Errors: `TwinNotFound`.
        """
        at, cases = await self._find(as_of), self._cases.relationships
        return parse_documents(
            await self._gather(lambda page: cases.list_relationships(source_id, name, page, at))
        )

    async def list_incoming_relationships(
        self, target_id: str, *, as_of: AsOf | None = None
    ) -> list[Document]:
        """List the incoming relationships of a twin: source, id and name of each.

        Errors: `TwinNotFound`.
        """
        at, cases = await self._find(as_of), self._cases.relationships
        return [
            {
                "$relationshipId": one.relationship_id,
                "$sourceId": one.source_id,
                "$relationshipName": one.name,
            }
            for one in await self._gather(lambda page: cases.list_incoming(target_id, page, at))
        ]

    # --- queries

    async def query(
        self,
        text: str,
        parameters: Mapping[str, Any] | None = None,
        *,
        as_of: AsOf | None = None,
    ) -> Result:
        """Run a query, in Cypher or the vendor's language, and return all its rows.

        Errors: `QueryInvalid`, `QueryTimeout`, `LimitExceeded`.
        """
        rows: list[Document] = []
        charge = 0.0
        columns: tuple[str, ...] = ()
        warnings: tuple[QueryWarning, ...] = ()
        async for page in self._read_pages(text, parameters, as_of):
            rows += parse_documents(page.rows)
            charge += page.charge
            columns = columns or page.columns
            warnings = warnings or page.warnings
        return Result(rows, columns or tuple(list_members(rows)), warnings, charge=round(charge, 2))

    async def iterate(
        self,
        text: str,
        parameters: Mapping[str, Any] | None = None,
        *,
        as_of: AsOf | None = None,
    ) -> AsyncIterator[Document]:
        """Run a query and yield its rows, of which only a page is held in memory.

        Errors: as `query`.
        """
        async for rows in self.iterate_pages(text, parameters, as_of=as_of):
            for row in rows:
                yield row

    async def iterate_pages(
        self,
        text: str,
        parameters: Mapping[str, Any] | None = None,
        *,
        as_of: AsOf | None = None,
    ) -> AsyncIterator[list[Document]]:
        """Run a query and yield its rows page by page. Errors: as `query`."""
        async for page in self._read_pages(text, parameters, as_of):
            yield parse_documents(page.rows)

    async def stream_arrow(
        self,
        text: str,
        parameters: Mapping[str, Any] | None = None,
        *,
        as_of: AsOf | None = None,
        times: bool = True,
    ) -> pa.RecordBatchReader:
        """Run a query and return its rows as Arrow batches, of which one is in memory at a time.

        The rows are in a temporary file until they are read; columns are as of `Result.to_arrow`.
        Close the reader, or read it to its end. Errors: as `query`, `OSError`, and
        `ModuleNotFoundError` without pyarrow.
        """
        spool = RowSpool(times=times)
        columns: tuple[str, ...] = ()
        try:
            async for page in self._read_pages(text, parameters, as_of):
                columns = columns or page.columns
                await asyncio.to_thread(spool.add, page.rows)
            return spool.build_reader(columns)
        except BaseException:
            spool.close()
            raise

    # --- what they share

    @abstractmethod
    async def _find(self, as_of: AsOf | None) -> int | None:
        """Return the position of an earlier state."""

    @abstractmethod
    async def _start_query(
        self, text: str, parameters: Document, size: int, as_of: AsOf | None
    ) -> QueryPage:
        """Return the first page of a query."""

    async def _read_pages(
        self, text: str, parameters: Mapping[str, Any] | None, as_of: AsOf | None
    ) -> AsyncIterator[QueryPage]:
        values = await self._reader.read_parameters(parameters)
        size, queries = self._settings.query.max_page_size, self._cases.queries
        page = await self._start_query(text, values, size, as_of)
        yield page
        while page.continuation_token is not None:
            page = await queries.run(None, None, page.continuation_token, size)
            yield page

    async def _gather(self, read: Callable[[PageRequest], Awaitable[Page[T]]]) -> list[T]:
        """Return the items of all pages."""
        found: list[T] = []
        token: str | None = None
        while True:
            page = await read(PageRequest(self._settings.graph.max_page_size, token))
            found += page.items
            token = page.token
            if token is None:
                return found

    async def _put_many(
        self, documents: Iterable[Mapping[str, Any]], put: _Put
    ) -> list[ItemResult]:
        most, found = self._cases.bulk.limits.max_items, []
        items = list(documents)
        for start in range(0, len(items), most):
            found += await put(await self._reader.read(items[start : start + most]))
        return found


class _Put(Protocol):
    async def __call__(self, documents: JsonValue, /) -> list[ItemResult]: ...


def build_result(done: StatementResult) -> Result:
    """Return the result of a statement."""
    rows = parse_documents([render_row(done.columns, row) for row in done.rows])
    return Result(rows, tuple(done.columns), counters=done.counters, charge=done.charge)


def _parse(text: bytes) -> Document:
    return cast("Document", orjson.loads(text))


def _build(stored: StoredDocument) -> Document:
    return _parse(stored.body)
