"""The use cases of models: upload, list, read, decommission, delete.

An upload is parsed before the transaction and checked again in it only when models changed
meanwhile.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final, cast

import orjson

from twinframe.dtdl import Interface
from twinframe.dtdl.outline import Element, read_elements
from twinframe.errors import InvalidArgument, LimitExceeded, ModelNotFound
from twinframe.graph.context.context import GraphContext
from twinframe.graph.context.model_cache import ModelCache
from twinframe.graph.events.recorder import EventRecorder
from twinframe.graph.history.history import History
from twinframe.graph.models.uploads import Upload, parse_upload
from twinframe.model.clock import render_upload_time
from twinframe.model.ids import parse_model_id
from twinframe.model.pages import FIRST_PAGE, Page, PageRequest
from twinframe.model.patches import parse_patch
from twinframe.model.values import JsonValue
from twinframe.storage.base import ChangeKind, GraphSession, GraphTransaction, ModelRecord

_CHUNK = 1000


class Models:
    """Reading and writing models."""

    def __init__(self, context: GraphContext) -> None:
        self._context = context
        self._history = History(context)

    async def create_models(self, documents: JsonValue) -> list[bytes]:
        """Store DTDL interfaces, all or none; return the ModelData of each in the given order.

        Errors: `InvalidArgument`, `LimitExceeded`, `ModelParsingFailed`,
        `ModelVersionNotSupported`, `ModelAlreadyExists`.
        """
        checked = self._check_documents(documents)
        runner = self._context.runner
        moment = render_upload_time(self._context.write_clock())

        def parse(session: GraphSession) -> Upload:
            self._check_sizes(checked)
            return parse_upload(session, checked, moment)

        upload = await runner.scan(parse, self._context.settings.query.timeout)

        recorder = self._context.join_request().recorder

        def apply(transaction: GraphTransaction) -> list[bytes]:
            current = upload
            if transaction.read_schema_version() != upload.version:
                current = parse(transaction)
            # Read again: the time is not before that of models stored while it was parsed.
            stored = render_upload_time(self._context.write_clock())
            records = [replace(record, upload_time=stored) for record in current.records]
            transaction.put_models(records)
            rendered = [render_model(record, with_definition=False) for record in records]
            for record, data in zip(records, rendered, strict=True):
                recorder.record_model(transaction, ChangeKind.MODEL_CREATED, record.model_id, data)
            return rendered

        return await self._context.write(apply)

    async def list_models(
        self,
        dependencies_for: Sequence[str] = (),
        include_definition: bool = False,
        page: PageRequest = FIRST_PAGE,
        as_of: int | None = None,
    ) -> Page[bytes]:
        """List ModelData by upload; `dependencies_for` limits it to those and what they need.

        Dependencies are bases and interfaces of components, transitively. Errors:
        `InvalidArgument`, `LimitExceeded`, `ModelNotFound`, `InvalidContinuationToken`,
        `HistoryNotKept`.
        """
        roots = self._check_roots(dependencies_for)
        arguments = cast("list[JsonValue]", roots)
        listing = await self._history.open_listing(as_of, "models", arguments, include_definition)
        start, size = listing.start(page)
        after = cast("int", start or 0)

        def read(session: GraphSession) -> Sequence[tuple[int, bytes]]:
            wanted = sorted(_read_dependencies(session, roots).items()) if roots else None

            def fetch(after: int | None, limit: int) -> Sequence[tuple[int, bytes]]:
                if wanted is None:
                    some = session.read_models(after=after or 0, limit=limit)
                else:
                    some = _read_behind(session, wanted, after or 0, limit)
                return [
                    (each.position, render_model(each, with_definition=include_definition))
                    for each in some
                ]

            return listing.gather(fetch, after, size, len)

        seen = self._history.show(as_of, read)
        found = await self._context.runner.scan(seen, self._context.settings.query.timeout)
        return listing.page(found, size, len)

    async def read_model(
        self, model_id: str, include_definition: bool = False, as_of: int | None = None
    ) -> bytes:
        """The ModelData of one model; `InvalidArgument`, `ModelNotFound`, `HistoryNotKept`."""
        parse_model_id(model_id)
        record = await self._history.run(as_of, lambda session: session.read_model(model_id))
        if record is None:
            raise ModelNotFound(model_id)
        return render_model(record, with_definition=include_definition)

    async def read_whole_model(self, model_id: str, as_of: int | None = None) -> bytes:
        """Return the ModelData of one model with its inherited contents.

        Errors: `InvalidArgument`, `ModelNotFound`, `HistoryNotKept`, `LimitExceeded` for more than
        a page may hold.
        Its definition has the contents and schemas of its bases beside its own, and further members
        list all contents by kind, and the bases.
        """
        parse_model_id(model_id)

        def read(session: GraphSession) -> bytes:
            record = session.read_model(model_id)
            # An earlier state has a cache of its own: the worker's is of the present one.
            models = self._context.models if as_of is None else ModelCache()
            interface = models.open(session).find_interface(model_id)
            if record is None or interface is None:
                raise ModelNotFound(model_id)
            found = [record.document]
            for base in filter(None, map(session.read_model, interface.ancestors)):
                found.append(base.document)
                self._check_whole(model_id, sum(map(len, found)))
            whole = _render_whole(interface, [orjson.loads(document) for document in found])
            return b"%b,%b" % (render_model(record, with_definition=False)[:-1], whole[1:])

        seen = self._history.show(as_of, read)
        return await self._context.runner.scan(seen, self._context.settings.query.timeout)

    async def decommission_model(self, model_id: str, patch: JsonValue) -> None:
        """Apply a patch that replaces `/decommissioned` by true.

        SPEC: decommissioning cannot be undone. Errors: `JsonPatchInvalid`, `InvalidArgument`,
        `ModelNotFound`.
        """
        parse_model_id(model_id)
        operations = parse_patch(
            patch, max_operations=self._context.settings.graph.max_patch_operations
        )
        for operation in operations:
            if operation.verb != "replace" or operation.path != ("decommissioned",):
                operation.refuse("of a model only /decommissioned can be replaced.")
            if operation.value is not True:
                operation.refuse("/decommissioned can only become true; it cannot be undone.")

        recorder = self._context.join_request().recorder

        def apply(transaction: GraphTransaction) -> None:
            record = transaction.read_model(model_id)
            if record is None:
                raise ModelNotFound(model_id)
            if operations and not record.decommissioned:
                transaction.set_decommissioned(model_id, True)
                data = render_model(replace(record, decommissioned=True), with_definition=False)
                recorder.record_model(transaction, ChangeKind.MODEL_DECOMMISSIONED, model_id, data)

        await self._context.write(apply)

    async def delete_model(self, model_id: str) -> None:
        """Delete a model that no other refers to; its twins are kept.

        Errors: `InvalidArgument`, `ModelNotFound`, `ModelReferenced`.
        """
        parse_model_id(model_id)

        recorder = self._context.join_request().recorder

        def apply(transaction: GraphTransaction) -> None:
            record = transaction.read_model(model_id)
            transaction.delete_models([model_id])
            if record is not None:
                _record_deleted(recorder, transaction, record)

        await self._context.write(apply)

    async def delete_all_models(self) -> None:
        """Delete every model at once; twins are kept."""

        recorder = self._context.join_request().recorder

        def apply(transaction: GraphTransaction) -> None:
            going: list[ModelRecord] = []
            while records := transaction.read_models(
                after=going[-1].position if going else 0, limit=_CHUNK
            ):
                going += records
            if going:
                transaction.delete_models([record.model_id for record in going])
            for record in going:
                _record_deleted(recorder, transaction, record)

        await self._context.write(apply)

    def _check_whole(self, model_id: str, size: int) -> None:
        most = self._context.settings.graph.max_page_bytes
        if size > most:
            raise LimitExceeded(
                f"The model {model_id} and those it extends have more than {most} bytes "
                "(Graph__MaxPageBytes). Read them one by one."
            )

    def _check_documents(self, documents: JsonValue) -> list[JsonValue]:
        limits = self._context.settings.graph
        if not isinstance(documents, list):
            raise InvalidArgument("Models are uploaded as a JSON array of DTDL interfaces.")
        if not documents:
            raise InvalidArgument("There is no model in the upload; send at least one interface.")
        if len(documents) > limits.max_models_per_request:
            raise LimitExceeded(
                f"The upload has {len(documents)} models; at most "
                f"{limits.max_models_per_request} are taken at once."
            )
        return documents

    def _check_sizes(self, documents: Sequence[JsonValue]) -> None:
        most = self._context.settings.graph.max_model_bytes
        for at, document in enumerate(documents):
            size = len(orjson.dumps(document))
            if size > most:
                raise LimitExceeded(
                    f"The model at position {at} has {size} bytes; at most {most} are taken."
                )

    def _check_roots(self, model_ids: Sequence[str]) -> list[str]:
        most = self._context.settings.graph.max_models_per_request
        if len(model_ids) > most:
            raise LimitExceeded(
                f"dependenciesFor names {len(model_ids)} models; at most {most} are taken at once."
            )
        return [parse_model_id(model_id) for model_id in dict.fromkeys(model_ids)]


def _record_deleted(
    recorder: EventRecorder, transaction: GraphTransaction, record: ModelRecord
) -> None:
    data = render_model(record, with_definition=False)
    recorder.record_model_deleted(transaction, record, data)


def render_model(record: ModelRecord, *, with_definition: bool) -> bytes:
    """Render the wire's ModelData from stored JSON text."""
    parts = [
        b'{"id":' + orjson.dumps(record.model_id),
        b'"description":' + record.description,
        b'"displayName":' + record.display_name,
        b'"decommissioned":' + (b"true" if record.decommissioned else b"false"),
        b'"uploadTime":' + orjson.dumps(record.upload_time),
    ]
    if with_definition:
        parts.append(b'"model":' + record.document)
    return b",".join(parts) + b"}"


def _read_dependencies(session: GraphSession, roots: Iterable[str]) -> dict[int, str]:
    """Return the models that these depend on, and they themselves: ids by position.

    SEC: without their documents, of which 2,000 may have 2 GB.
    """
    found: dict[str, int] = {}
    absent: list[str] = []
    open_ = list(roots)
    while open_:
        model_id = open_.pop()
        if model_id in found:
            continue
        record = session.read_model(model_id)
        if record is None:
            absent.append(model_id)
            continue
        found[model_id] = record.position
        open_ += [*record.extends, *record.components]
    if absent:
        raise ModelNotFound(*absent)
    return {position: model_id for model_id, position in found.items()}


def _read_behind(
    session: GraphSession, wanted: Sequence[tuple[int, str]], after: int, limit: int
) -> list[ModelRecord]:
    """Return up to `limit` of the models `wanted` (position and id, in order) after a position."""
    start = bisect_right(wanted, after, key=lambda each: each[0])
    found = (session.read_model(model_id) for _, model_id in wanted[start : start + limit])
    return [record for record in found if record is not None]


_KINDS: Final = ("properties", "relationships", "components", "telemetries", "commands")


def _render_whole(interface: Interface, documents: Sequence[Element]) -> bytes:
    """Render a JSON object: `model`, `bases`, and a list of the contents of each kind.

    `documents` are those of the interface and of its ancestors, nearest first, as their authors
    wrote them; of elements with one name the nearest counts. SPEC: kinds and their names are those
    of Konnektr's answer.
    """
    contents = list(_merge(documents, "contents", "name"))
    model = {**documents[0], "contents": contents}
    if schemas := list(_merge(documents, "schemas", "@id")):
        model["schemas"] = schemas
    found: dict[str, object] = {"model": model, "bases": interface.ancestors}
    for kind in _KINDS:
        named = getattr(interface, kind)
        found[kind] = [element for element in contents if element.get("name") in named]
    return orjson.dumps(found)


def _merge(documents: Iterable[Element], member: str, key: str) -> Iterator[Element]:
    seen: set[object] = set()
    for document in documents:
        for element in read_elements(document.get(member)):
            name = element.get(key)
            if name is None or name not in seen:
                yield element
            seen.add(name)
