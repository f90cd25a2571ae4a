"""A graph opened in this process, for scripts and notebooks."""

from __future__ import annotations

import os
import warnings
from collections.abc import AsyncIterator, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from twinframe.graph.transfer.exporting import Exported
from twinframe.graph.twins.bulk import ItemResult
from twinframe.library.asynchronous import (
    TRANSACTION_SECONDS,
    AsyncLocalGraph,
    AsyncTransaction,
    Imported,
    open_async,
)
from twinframe.library.documents import AsOf, Document
from twinframe.library.loading import Loadable, Loaded
from twinframe.library.loop import LoopThread
from twinframe.library.operations import AsyncOperations
from twinframe.library.results import Result

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T")


class Operations:
    """The operations of `AsyncOperations`, which describes them, for code that waits."""

    def __init__(self, operations: AsyncOperations, loop: LoopThread) -> None:
        self._operations = operations
        self._loop = loop

    def _call(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return self._loop.call(coroutine)

    # --- models

    def create_models(self, models: Iterable[Mapping[str, Any]]) -> list[Document]:
        """Store DTDL interfaces, all or none, in any order; return their ModelData.

        Errors: `InvalidArgument`, `LimitExceeded`, `DtdlInvalid`, `ModelAlreadyExists`.
        """
        return self._call(self._operations.create_models(models))

    def read_model(self, model_id: str, *, as_of: AsOf | None = None) -> Document:
        """Return the ModelData of a model, with its definition as `model`.

        Errors: `ModelNotFound`.
        """
        return self._call(self._operations.read_model(model_id, as_of=as_of))

    def list_models(
        self,
        *,
        dependencies_for: Sequence[str] = (),
        definition: bool = False,
        as_of: AsOf | None = None,
    ) -> list[Document]:
        """List ModelData in the order of upload, with `definition` their documents, too.

        `dependencies_for`: only these models and those that they need. Errors: `ModelNotFound`.
        """
        return self._call(
            self._operations.list_models(
                dependencies_for=dependencies_for, definition=definition, as_of=as_of
            )
        )

    def decommission_model(self, model_id: str) -> None:
        """Let a model take no new twins; it cannot be undone. Errors: `ModelNotFound`."""
        self._call(self._operations.decommission_model(model_id))

    def delete_model(self, model_id: str) -> None:
        """Delete a model; its twins are kept. Errors: `ModelNotFound`, `ModelReferenced`."""
        self._call(self._operations.delete_model(model_id))

    # --- twins and components

    def put_twin(
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
        return self._call(
            self._operations.put_twin(
                twin_id, document, if_match=if_match, if_none_match=if_none_match
            )
        )

    def put_twins(self, documents: Iterable[Mapping[str, Any]]) -> list[ItemResult]:
        """Create or replace twins, each named by its `$dtId`; return what became of each.

        A refused twin has its `error` in its result and does not affect the others.
        """
        return self._call(self._operations.put_twins(documents))

    def read_twin(self, twin_id: str, *, as_of: AsOf | None = None) -> Document:
        """Return a twin. Errors: `TwinNotFound`."""
        return self._call(self._operations.read_twin(twin_id, as_of=as_of))

    def patch_twin(
        self, twin_id: str, patch: Sequence[Mapping[str, Any]], *, if_match: str | None = None
    ) -> str:
        """Apply a JSON Patch, a list of operations; return the new etag.

        Errors: `JsonPatchInvalid`, `ValidationFailed`, `TwinNotFound`, `PreconditionFailed`,
        `ModelDecommissioned` for a move to such a model, `LimitExceeded`.
        """
        return self._call(self._operations.patch_twin(twin_id, patch, if_match=if_match))

    def delete_twin(self, twin_id: str, *, if_match: str | None = None) -> None:
        """Delete a twin that has no relationships.

        Errors: `TwinNotFound`, `PreconditionFailed`, `RelationshipsNotDeleted`.
        """
        self._call(self._operations.delete_twin(twin_id, if_match=if_match))

    def list_twins(
        self, model_id: str | None = None, *, as_of: AsOf | None = None
    ) -> list[Document]:
        """List all twins, or those of a model and of models that extend it."""
        return self._call(self._operations.list_twins(model_id, as_of=as_of))

    def read_component(self, twin_id: str, name: str, *, as_of: AsOf | None = None) -> Document:
        """Return a component of a twin. Errors: `TwinNotFound`, `ComponentNotFound`."""
        return self._call(self._operations.read_component(twin_id, name, as_of=as_of))

    def patch_component(
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
        return self._call(self._operations.patch_component(twin_id, name, patch, if_match=if_match))

    # --- relationships

    def put_relationship(
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
        return self._call(
            self._operations.put_relationship(
                source_id,
                relationship_id,
                document,
                if_match=if_match,
                if_none_match=if_none_match,
            )
        )

    def put_relationships(self, documents: Iterable[Mapping[str, Any]]) -> list[ItemResult]:
        """Create or replace relationships, named by `$sourceId` and `$relationshipId`.

        See `put_twins`.
        """
        return self._call(self._operations.put_relationships(documents))

    def read_relationship(
        self, source_id: str, relationship_id: str, *, as_of: AsOf | None = None
    ) -> Document:
        """Return a relationship. Errors: `TwinNotFound`, `RelationshipNotFound`."""
        return self._call(
            self._operations.read_relationship(source_id, relationship_id, as_of=as_of)
        )

    def patch_relationship(
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
        return self._call(
            self._operations.patch_relationship(
                source_id, relationship_id, patch, if_match=if_match
            )
        )

    def delete_relationship(
        self, source_id: str, relationship_id: str, *, if_match: str | None = None
    ) -> None:
        """Delete a relationship.

        Errors: `TwinNotFound`, `RelationshipNotFound`, `PreconditionFailed`.
        """
        self._call(
            self._operations.delete_relationship(source_id, relationship_id, if_match=if_match)
        )

    def list_relationships(
        self, source_id: str, name: str | None = None, *, as_of: AsOf | None = None
    ) -> list[Document]:
        """List the outgoing relationships of a twin, or those of one name.

        Errors: `TwinNotFound`.
        """
        return self._call(self._operations.list_relationships(source_id, name, as_of=as_of))

    def list_incoming_relationships(
        self, target_id: str, *, as_of: AsOf | None = None
    ) -> list[Document]:
        """List the incoming relationships of a twin: source, id and name of each.

        Errors: `TwinNotFound`.
        """
        return self._call(self._operations.list_incoming_relationships(target_id, as_of=as_of))

    # --- queries

    def query(
        self, text: str, parameters: Mapping[str, Any] | None = None, *, as_of: AsOf | None = None
    ) -> Result:
        """Run a query, in Cypher or the vendor's language, and return all its rows.

        Errors: `QueryInvalid`, `QueryTimeout`, `LimitExceeded`.
        """
        return self._call(self._operations.query(text, parameters, as_of=as_of))

    def iterate(
        self, text: str, parameters: Mapping[str, Any] | None = None, *, as_of: AsOf | None = None
    ) -> Iterator[Document]:
        """Run a query and yield its rows, of which only a page is held in memory.

        Errors: as `query`.
        """
        pages = self._operations.iterate_pages(text, parameters, as_of=as_of)
        while (page := self._call(_take(pages))) is not None:
            yield from page

    def stream_arrow(
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
        return self._call(self._operations.stream_arrow(text, parameters, as_of=as_of, times=times))


class Transaction(Operations):
    """An open transaction: reads see its changes, and no other write of the graph runs meanwhile.

    A refused write changes nothing, and the transaction goes on. After an error of a statement that
    writes, of a model or of the storage it can only be rolled back: `TransactionFailed`. Use it
    from one thread. `as_of` is refused: it shows one state.
    """

    def __init__(self, transaction: AsyncTransaction, loop: LoopThread) -> None:
        super().__init__(transaction, loop)
        self._transaction = transaction

    def execute(self, text: str, parameters: Mapping[str, Any] | None = None) -> Result:
        """Run a statement of Cypher that may write; `counters` say what it changed.

        Errors: `QueryInvalid`, `QueryTimeout`, `LimitExceeded`, and those of the writes that it
        does.
        """
        return self._call(self._transaction.execute(text, parameters))


class LocalGraph(Operations):
    """A graph opened in this process, which several threads may use at once.

    Close it, or use it as a context manager. In a fork of the process it cannot be used.
    """

    def __init__(self, graph: AsyncLocalGraph, loop: LoopThread, name: str) -> None:
        super().__init__(graph, loop)
        self._graph = graph
        self._name = name

    @property
    def is_closed(self) -> bool:
        """Whether it was closed."""
        return self._loop.is_ended

    # --- statements and transactions

    def execute(
        self, text: str, parameters: Mapping[str, Any] | None = None, *, rehearse: bool = False
    ) -> Result:
        """Run a statement of Cypher that may write, all or nothing; `counters` say what it changed.

        With `rehearse` nothing of it is kept. Errors: `QueryInvalid`, `QueryTimeout`,
        `LimitExceeded`, and those of the writes that it does.
        """
        return self._call(self._graph.execute(text, parameters, rehearse=rehearse))

    @contextmanager
    def transaction(
        self, *, rehearse: bool = False, seconds: float = TRANSACTION_SECONDS
    ) -> Iterator[Transaction]:
        """Keep all that is done in the context, or nothing of it after an exception.

        It is open for at most `seconds`, in which all other writers of the graph wait; then it is
        rolled back. With `rehearse` nothing is kept. Errors: `StorageBusy` where its turn to write
        does not come, `QueryTimeout` after its time, `TransactionFailed`, `TransactionOutdated`.
        """
        context = self._graph.transaction(rehearse=rehearse, seconds=seconds)
        opened = self._call(_enter(context))
        try:
            yield Transaction(opened, self._loop)
        except BaseException as error:
            self._call(_exit(context, error))
            raise
        self._call(_exit(context, None))

    # --- telemetry

    def publish_telemetry(
        self,
        twin_id: str,
        payload: Mapping[str, Any],
        *,
        component: str | None = None,
        message_id: str | None = None,
        source_time: str | None = None,
    ) -> None:
        """Accept a message of a twin or of its component; a service delivers it to event routes.

        Errors: `InvalidArgument`, `TwinNotFound`, `ComponentNotFound`, `ValidationFailed`.
        """
        self._call(
            self._graph.publish_telemetry(
                twin_id,
                payload,
                component=component,
                message_id=message_id,
                source_time=source_time,
            )
        )

    # --- the past

    def changes(
        self,
        since: AsOf,
        until: AsOf | None = None,
        *,
        include: Sequence[str] = ("twins", "relationships", "models"),
    ) -> Iterator[Document]:
        """Yield how the graph differs between two states, a dictionary for each twin and so on.

        They are those of `GET /changes`; what was changed and changed back is none. `until` is now
        if it is None. Errors: `InvalidArgument`, `HistoryNotKept`, `Unsupported`.
        """
        pages = self._graph.change_pages(since, until, include=include)
        while (page := self._call(_take(pages))) is not None:
            yield from page

    def series(
        self,
        twin_id: str,
        path: str,
        since: AsOf,
        until: AsOf | None = None,
        *,
        every: str | None = None,
        aggregates: Sequence[str] = (),
    ) -> Result:
        """Return the values over time of a property or of telemetry: rows of `time` and `value`.

        With `every`, a step such as `1h`, rows have `time` and the `aggregates` of each step
        (`avg` if none is named). Errors: `InvalidArgument`, `TwinNotFound`, `SeriesNotFound`,
        `Unsupported`, `HistoryNotKept`, `QueryTimeout`.
        """
        return self._call(
            self._graph.series(twin_id, path, since, until, every=every, aggregates=aggregates)
        )

    # --- files

    def load(self, source: Loadable) -> Loaded:
        """Store models, twins and relationships of a file, a folder or documents.

        A file `*.json` has one document or a list: DTDL interfaces, twins with their `$dtId`,
        relationships with `$sourceId` and `$relationshipId`. Every other file is read as by
        `import_file`. Of a folder these are all `*.json`, `*.ndjson` and `*.ndjson.gz` below it,
        models first. A model that is there with the same document is skipped, a twin or
        relationship is replaced. What cannot be stored is left out and reported. Errors:
        `OSError`, `InvalidArgument` for what is no such document.
        """
        return self._call(self._graph.load(source))

    def import_file(self, path: str | os.PathLike[str]) -> Imported:
        """Store the models, twins and relationships of a file as `twinframe export` writes it.

        The file is NDJSON, plain or gzip, also of the vendor's service. Lines that cannot be stored
        are left out and reported. Errors: `OSError`, `InvalidArgument` for another file.
        """
        return self._call(self._graph.import_file(path))

    def export_file(self, path: str | os.PathLike[str], *, history: bool = False) -> Exported:
        """Write the graph to a file, with `history` every change that is kept, too.

        It is compressed where the name ends in `.gz`. The file is there when it is complete.
        Errors: `OSError`.
        """
        return self._call(self._graph.export_file(path, history=history))

    def close(self) -> None:
        """Finish what other threads have begun, and close the graph; again it has no effect."""
        self._loop.end()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self.is_closed else "open"
        return f"<LocalGraph {self._name}, {state}>"

    def __del__(self) -> None:
        loop: LoopThread | None = getattr(self, "_loop", None)
        if loop is not None and not loop.is_ended:
            warnings.warn(f"{self!r} was not closed", ResourceWarning, source=self, stacklevel=2)
            loop.release()


def open(  # noqa: A001  (`twinframe.open`, as users call it)
    path: str | os.PathLike[str] | None = None,
    *,
    settings: Mapping[str, Any] | None = None,
) -> LocalGraph:
    """Open a graph in this process, without a service; `with twinframe.open(path) as graph`.

    `path` is the file of a graph of the SQLite storage, `<directory>/<graph>.db`, which is created
    if it does not exist; `":memory:"`, and no arguments at all, give an empty graph in memory.
    `settings` have keys of the form `Storage__Provider`, and name another storage if there is no
    path; `os.environ` gives those of the environment. A service may have the graph open, too.

    Errors: `InvalidArgument` for another path, `SettingsError`, `PluginError`,
    `ConfigurationError`, `StorageError`.
    """
    loop = LoopThread()
    try:
        graph = loop.enter(open_async(path, settings=settings))
    except BaseException:
        loop.end()
        raise
    name = ":memory:" if path is None and settings is None else os.fspath(path or "of settings")
    return LocalGraph(graph, loop, name)


async def _enter(context: AbstractAsyncContextManager[T]) -> T:
    return await context.__aenter__()


async def _exit(context: AbstractAsyncContextManager[object], error: BaseException | None) -> None:
    """Exit a context. An error that comes out of it again is raised where it was raised first."""
    try:
        await context.__aexit__(type(error) if error else None, error, None)
    except BaseException as raised:
        if raised is not error:
            raise


async def _take(pages: AsyncIterator[list[Document]]) -> list[Document] | None:
    return await anext(pages, None)
